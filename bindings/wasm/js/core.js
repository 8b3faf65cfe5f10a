// Everything that all three builds have. `types.d.ts` documents it.

import { bytes, factors, index, list, number, options, text, vector, whole, wrong } from './arguments.js';
import { CondyleError, problemsOf } from './error.js';

export { CondyleError };

/** The object of the module behind an object of this file. */
export const RAW = Symbol('raw');

const gone = new Proxy(
    {},
    {
        get() {
            throw new CondyleError('disposed', 'the object is disposed');
        },
    },
);

export class Owner {
    constructor(raw) {
        this[RAW] = raw;
    }

    dispose() {
        const raw = this[RAW];
        // Also if `free` throws, because the object is in use further up.
        this[RAW] = gone;
        if (raw !== gone) raw.free();
    }
}

/** Throws for a disposed object, whose memory may belong to another one. */
export function alive({ [RAW]: raw }) {
    if (raw === gone) gone.view;
}

// Browsers without `using` have no such symbol.
if (Symbol.dispose) {
    Owner.prototype[Symbol.dispose] = Owner.prototype.dispose;
}

/** A view of the module's memory, made again only if the memory has grown or the place has changed. */
export class View {
    constructor(memory, Type = Float32Array) {
        this.memory = memory;
        this.Type = Type;
        this.view = undefined;
    }

    at(address, length) {
        const { view, memory } = this;
        if (view?.buffer === memory.buffer && view.byteOffset === address && view.length === length) return view;
        return (this.view = new this.Type(memory.buffer, address, length));
    }
}

/** Imports of the module. */
export const imports = {
    condyleError: (code, message, facts) => new CondyleError(code, message, facts ? JSON.parse(facts) : {}),
    condyleFile(beside, path) {
        const { all, folder } = beside;
        try {
            // A path comes from the file, so it may be "constructor" or "__proto__".
            const own = [folder + path, path].find((it) => Object.hasOwn(all, it));
            if (own !== undefined) return bytes(path, all[own]);
            // Files dropped on a page have no folder.
            const name = path.split('/').pop();
            const same = Object.keys(all).filter((it) => it.split('/').pop() === name);
            return same.length === 1 ? bytes(same[0], all[same[0]]) : undefined;
        } catch (error) {
            // An exception that passes through the module leaks everything that is on its stack.
            beside.error ??= error;
            return undefined;
        }
    },
    condyleGround(ground, x, y, z, point) {
        const { byteOffset } = point;
        try {
            const found = ground.below(x, y, z);
            if (!found) return false;
            number('the height of the ground', found.height);
            vector('the normal of the ground', found.normal, 3);
            // The function may use the module, whose memory grows: the old view is then empty.
            const out = point.length > 0 ? point : new Float64Array(ground.memory.buffer, byteOffset, 4);
            out[0] = found.height;
            out.set(found.normal, 1);
            return true;
        } catch (error) {
            ground.failed ??= { error };
            return false;
        }
    },
};

/** Compiles the module. */
export async function compile(source) {
    source = await source;
    if (source instanceof WebAssembly.Module) return source;
    if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
    if (!(source instanceof Response)) {
        const url = source instanceof Request ? source : new URL(source, globalThis.location?.href);
        // Node cannot fetch files.
        if (url.protocol === 'file:' && globalThis.process?.getBuiltinModule) {
            return WebAssembly.compile(await process.getBuiltinModule('node:fs/promises').readFile(url));
        }
        source = await fetch(url);
    }
    if (!source.ok) throw new CondyleError('unreadable', `${source.url} cannot be read: status ${source.status}`);
    // A server that sends another type than application/wasm.
    if (!source.headers.get('content-type')?.startsWith('application/wasm')) {
        return WebAssembly.compile(await source.arrayBuffer());
    }
    return WebAssembly.compileStreaming(source);
}

/** Makes an object of the module that reads the files `beside` a document, and throws what failed there. */
export function reading(beside, make) {
    let made;
    try {
        made = make();
    } catch (error) {
        throw beside.error ?? error;
    }
    if (beside.error === undefined) return made;
    made.free();
    throw beside.error;
}

/** Whether a .glb or .gltf has meshes compressed by Draco. */
function hasDraco(data) {
    const isBinary = data[0] === 0x67 && data[1] === 0x6c && data[2] === 0x54 && data.length > 20;
    const end = isBinary ? 20 + new DataView(data.buffer, data.byteOffset).getUint32(12, true) : data.length;
    // White space or a brace: the files of other formats begin otherwise.
    if (!isBinary && ![9, 10, 13, 32, 0x7b, 0xef].includes(data[0])) return false;
    return new TextDecoder('latin1').decode(data.subarray(0, end)).includes('KHR_draco_mesh_compression');
}

/**
 * Makes an instance of a build. `build` is its JavaScript, `Model` its class of models. `expanded` decodes meshes
 * compressed by Draco, if the build opens such files.
 */
export async function start(build, Model, version, source, expanded) {
    const raw = build(imports);
    await raw.start(await compile(source));
    const memory = raw.memory();
    return {
        version,
        memory,
        async open(files, given) {
            const { name: wanted, model, unit, zUp = false, warm = true } = options(given, ['name', 'model', 'unit', 'zUp', 'warm']);
            if (wanted !== undefined) text('name', wanted);
            if (model !== undefined) text('model', model);
            if (unit !== undefined) number('unit', unit);
            const { name, data, all } = chosen(files, wanted);
            const beside = { all, folder: name.slice(0, name.lastIndexOf('/') + 1), error: undefined };
            const decoded = expanded && hasDraco(data) ? await expanded(name, data, beside) : { data, problems: [] };
            const read = reading(beside, () => raw.Model.open(name, decoded.data, beside, model, unit, zUp));
            const opened = new Model(raw, memory, read);
            const isNew = ({ place, what }) => !opened.problems.some((it) => it.place === place && it.what === what);
            opened.problems.unshift(...decoded.problems.filter(isNew));
            try {
                if (warm) opened.warm();
            } catch (error) {
                // The model is usable: the call that fails throws the same error again.
                if (!(error instanceof CondyleError)) throw error;
            }
            return opened;
        },
    };
}

/** The file to open among several. */
function chosen(files, name) {
    if (files instanceof ArrayBuffer || ArrayBuffer.isView(files)) {
        return { name: name ?? 'model', data: bytes('the file', files), all: {} };
    }
    if (typeof files !== 'object' || files === null || Array.isArray(files)) throw wrong('the file', 'bytes, or an object of bytes by name', files);
    const names = Object.keys(files);
    if (names.length === 0) throw wrong('the file', 'bytes, or an object of bytes by name', files);
    const models = names.filter((it) => /\.(glb|gltf|vrm|vrma|bvh|condyle)$/i.test(it));
    const found = name ?? (models.length === 1 ? models[0] : names.length === 1 ? names[0] : undefined);
    if (found === undefined) {
        const text = models.length > 1 ? 'the files hold several models; set the option name' : 'no file is a model';
        throw new CondyleError(models.length > 1 ? 'several-models' : 'no-such-model', text, { names: models });
    }
    if (!Object.hasOwn(files, found)) throw new CondyleError('no-such-model', `there is no file ${found}`, { names });
    return { name: found, data: bytes(found, files[found]), all: files };
}

/** Events of one call, at most. */
const MOST_EVENTS = 10_000;

/** Whole loops of a clip before a time, and the time in the loop, as in the library's `Looping::Wrap`. */
function wrapped(time, duration) {
    const rest = time % duration;
    const loops = Math.round((time - rest) / duration);
    if (rest >= 0) return [loops, rest];
    const seconds = rest + duration;
    return seconds < duration ? [loops - 1, seconds] : [loops, 0];
}

export class PlayerModel extends Owner {
    constructor(build, memory, raw) {
        super(raw);
        this.build = build;
        this.memory = memory;
        const facts = JSON.parse(raw.facts());
        this.name = facts.name;
        this.document = facts.document;
        this.joints = facts.names.map((name, at) => ({ name, parent: facts.parents[at], node: facts.nodes[at] }));
        this.skins = facts.skins.map((joints) => ({ joints: Uint16Array.from(joints) }));
        const colors = raw.colors();
        this.meshes = facts.meshes.map((name, at) => {
            const [skin, joint, node, primitive, vertices, triangles, morphTargets, shown] = facts.parts[at];
            const color = Array.from(colors.subarray(4 * at, 4 * at + 4));
            return { name, skin, joint, node, primitive, vertices, triangles, morphTargets, color, shown: shown === 1 };
        });
        this.problems = problemsOf(facts).map((it) => {
            const node = /^\/nodes\/(\d+)/.exec(it.place);
            const joint = node ? this.joints.findIndex((joint) => joint.node === Number(node[1])) : -1;
            return joint < 0 ? it : { ...it, joint };
        });
        this.readClips();
    }

    readClips() {
        const { clips, sizes, events } = JSON.parse(this[RAW].clips());
        const numbers = this[RAW].clip_numbers();
        let at = 0;
        this.clips = clips.map((name, clip) => {
            const [start, end, error] = numbers.subarray(at, (at += 3));
            const [compressed, bytes, hasMotion, isUnpacked] = sizes[clip];
            const times = events[clip].map((name) => ({ name, seconds: numbers[at++] }));
            const [rate, frameError, seamError, frameBytes] = numbers.subarray(at, (at += isUnpacked ? 4 : 0));
            return {
                name,
                start,
                end,
                seconds: end - start,
                compressed: compressed === 1,
                bytes,
                error,
                hasMotion: hasMotion === 1,
                events: times,
                frames: isUnpacked ? { rate, error: frameError, seamError, bytes: frameBytes } : undefined,
            };
        });
    }

    get unit() {
        return this[RAW].unit();
    }

    clip(name) {
        return named('clip', name, this.clips);
    }

    joint(name) {
        return named('joint', name, this.joints);
    }

    addClip(name, data, given) {
        const { replace } = options(given, ['replace']);
        if (replace !== undefined) index('clip', replace, this.clips, 'clip()');
        const clip = this[RAW].add_clip(text('name', name), bytes('data', data), replace);
        this.readClips();
        return clip;
    }

    // In JavaScript, because it would add 5 % to the player's module.
    eventsPassed(clip, from, to, given) {
        const { loop = false, inclusive = false } = options(given, ['loop', 'inclusive']);
        index('clip', clip, this.clips, 'clip()');
        for (const it of [from, to]) number('a time', it);
        alive(this);
        const { events, seconds } = this.clips[clip];
        // Number of events up to a time, over all loops. Its differences neither lose nor repeat an event.
        const passed = (time, isBefore) => {
            const [loops, rest] = loop && seconds > 0 ? wrapped(time, seconds) : [0, time];
            const next = events.findIndex((it) => it.seconds > rest || (isBefore && it.seconds === rest));
            return loops * events.length + (next < 0 ? events.length : next);
        };
        const [first, last] = [passed(from, inclusive), passed(to, false)];
        const length = Math.abs(last - first);
        if (length > MOST_EVENTS) throw new CondyleError('too-many', `${length} events are passed; the limit is ${MOST_EVENTS}`);
        return Array.from({ length }, (_, at) => {
            const nth = last < first ? first - 1 - at : first + at;
            const loops = Math.floor(nth / events.length);
            const event = nth - loops * events.length;
            return { ...events[event], index: event, loops, clock: loops * seconds + events[event].seconds };
        });
    }

    mask(joints, given) {
        const { weight = 1, feather = 0 } = options(given, ['weight', 'feather']);
        const all = Array.isArray(joints) ? joints : [joints];
        const found = all.map((it) => (typeof it === 'string' ? this.joint(it) : index('joint', it, this.joints, 'joint()')));
        return this[RAW].mask(Uint16Array.from(found), number('weight', weight), whole('feather', feather, 65535));
    }

    crowd(count, given) {
        return new Crowd(this, whole('count', count), options(given, ['skins', 'joints', 'layout', 'stride', 'row']));
    }

    pose() {
        return new Pose(this);
    }

    /** Runs each stage some times, before the first frame does. */
    warm() {
        if (this.clips.length === 0) return;
        const clips = [true, false].map((it) => this.clips.findIndex((clip) => clip.compressed === it));
        const crowd = this.crowd(1);
        const pose = this.pose();
        try {
            for (let turn = 0; turn < 12; turn++) {
                for (const clip of clips.filter((it) => it >= 0)) {
                    const { start, seconds } = this.clips[clip];
                    const time = start + (seconds * turn) / 12;
                    crowd.instances.set([clip, time, clip, start, turn % 2 ? 0.5 : 0]);
                    crowd.advance(0.01);
                    crowd.update();
                    this.warmPose(pose, clip, time);
                }
            }
        } finally {
            crowd.dispose();
            pose.dispose();
        }
    }

    warmPose(pose, clip, time) {
        pose.sample(clip, time).blend(clip, 0, 0.5).toModel();
        if (this.skins.length > 0) pose.palette(0);
    }
}

function named(what, name, list) {
    text('name', name);
    const found = list.findIndex((it) => it.name === name);
    if (found >= 0) return found;
    const names = list.map((it) => it.name);
    throw new CondyleError(`no-such-${what}`, `there is no ${what} ${name}; there are ${names.join(', ')}`, { names });
}

export class Crowd extends Owner {
    constructor(model, count, { skins, joints = [], layout = 'columns', stride = 0, row = 1 }) {
        const all = list('skins', skins ?? model.skins.keys());
        const rows = layout === 'rows';
        if (!rows && layout !== 'columns') throw wrong('layout', '"columns" or "rows"', layout);
        const sizes = [whole('stride', stride), whole('row', row)];
        const followed = Uint16Array.from(list('joints', joints, 65535));
        alive(model);
        super(new model.build.Crowd(model[RAW], count, Uint32Array.from(all), followed, rows, ...sizes));
        this.count = count;
        this.stride = this[RAW].stride();
        this.offsets = Array.from(this[RAW].offsets());
        const places = [
            [this[RAW].instances(), 5 * count],
            [this[RAW].palettes(), (rows ? 12 : 16) * this[RAW].matrices()],
        ];
        this.views = places.map(([address, length]) => ({ address, length, view: new View(model.memory) }));
    }

    read(at) {
        alive(this);
        const { view, address, length } = this.views[at];
        return view.at(address, length);
    }

    get instances() {
        return this.read(0);
    }

    get palettes() {
        return this.read(1);
    }

    advance(seconds) {
        if (this[RAW].advance(number('seconds', seconds))) throw this[RAW].error();
    }

    update() {
        if (this[RAW].update()) throw this[RAW].error();
    }
}

export class Pose extends Owner {
    constructor(model) {
        alive(model);
        super(new model.build.Pose(model[RAW]));
        this.owner = model;
        this.views = { local: new View(model.memory), model: new View(model.memory) };
        this.palettes = model.skins.map(() => new View(model.memory));
    }

    check(failed) {
        if (failed) throw this[RAW].error();
        return this;
    }

    /** View at an address that a call returned; 0 stands for an error. */
    read(view, address, length) {
        if (address === 0) throw this[RAW].error();
        return view.at(address, length);
    }

    rest() {
        this[RAW].rest();
        return this;
    }

    /** Another pose in the same module. */
    alike(other) {
        const isAlike = other instanceof Pose && other.owner.build === this.owner.build;
        if (!isAlike) throw wrong('the other pose', 'a pose of the same model', other);
        alive(other);
        return other[RAW];
    }

    /** Checks a clip and its time. */
    at(clip, seconds) {
        index('clip', clip, this.owner.clips, 'clip()');
        number('seconds', seconds);
        return this[RAW];
    }

    /** Checks a weight with a mask. */
    masked(clip, seconds, what, weight, mask) {
        number(what, weight);
        if (mask !== undefined) factors(mask, this.owner.joints.length);
        return this.at(clip, seconds);
    }

    copy(other) {
        return other === this ? this : this.check(this[RAW].copy(this.alike(other)));
    }

    sample(clip, seconds) {
        return this.check(this.at(clip, seconds).sample(clip, seconds));
    }

    blend(clip, seconds, weight, mask) {
        return this.check(this.masked(clip, seconds, 'weight', weight, mask).blend(clip, seconds, weight, mask));
    }

    add(clip, seconds, amount, mask) {
        return this.check(this.masked(clip, seconds, 'amount', amount, mask).add(clip, seconds, amount, mask));
    }

    set(joint, transform) {
        const { rotation, translation, scale } = options(transform, ['rotation', 'translation', 'scale']);
        index('joint', joint, this.owner.joints, 'joint()');
        const numbers = new Float32Array(10).fill(NaN);
        if (rotation) numbers.set(vector('rotation', rotation, 4), 0);
        if (translation) numbers.set(vector('translation', translation, 3), 4);
        if (scale) numbers.set(vector('scale', scale, 3), 7);
        return this.check(this[RAW].set(joint, numbers));
    }

    toModel() {
        return this.check(this[RAW].update());
    }

    get local() {
        return this.read(this.views.local, this[RAW].local(), 10 * this.owner.joints.length);
    }

    get model() {
        return this.read(this.views.model, this[RAW].model(), 16 * this.owner.joints.length);
    }

    palette(skin) {
        const address = this[RAW].palette(index('skin', skin, this.owner.skins));
        return this.read(this.palettes[skin], address, 16 * this.owner.skins[skin].joints.length);
    }
}
