// What `condyle` has in addition to the player: meshes, rays, solvers.

import { index, list, number, options, text, vector, whole, world, wrong } from './arguments.js';
import { CondyleError, Owner, PlayerModel, Pose, RAW, View, alive } from './core.js';

/** A function that decodes documents with Draco. The module is loaded for the first one, once. */
export function decoder(source) {
    let loading;
    const load = async () => {
        const draco = await import('./draco.js');
        return { draco, module: await draco.load(await source) };
    };
    return async (...file) => {
        loading ??= load().catch((error) => {
            // The next file tries again.
            loading = undefined;
            throw error;
        });
        const { draco, module } = await loading;
        return draco.expanded(module, ...file);
    };
}

export class Model extends PlayerModel {
    get height() {
        const box = this[RAW].bounds(undefined);
        return box.length > 0 ? box[4] - box[1] : 0;
    }

    get hasSprings() {
        return this[RAW].has_springs();
    }

    setUnit(metres) {
        this[RAW].set_unit(number('metres', metres));
    }

    toFrames(clip, given) {
        const { radius } = options(given, ['error', 'millimetres', 'radius']);
        const error = this.bound(given);
        index('clip', clip, this.clips, 'clip()');
        if (radius !== undefined) number('radius', radius);
        this[RAW].to_frames(clip, error, radius);
        this.readClips();
        return this.clips[clip].frames;
    }

    dropFrames(clip) {
        this[RAW].drop_frames(index('clip', clip, this.clips, 'clip()'));
        this.readClips();
    }

    /** Error in units of the file. */
    bound({ error, millimetres } = {}) {
        const found = error ?? millimetres / 1000 / (this.unit ?? 1);
        if (typeof found === 'number' && found > 0 && found < Infinity) return found;
        const text = `set error or millimetres to a finite number above 0; they are ${error} and ${millimetres}`;
        throw new CondyleError('out-of-range', text);
    }

    motion(clip, from, to, given) {
        const { loop = false } = options(given, ['loop']);
        index('clip', clip, this.clips, 'clip()');
        for (const it of [from, to]) number('a time', it);
        const [x, y, z, w, ...translation] = this[RAW].motion(clip, from, to, loop);
        return { rotation: [x, y, z, w], translation };
    }

    geometry(mesh) {
        alive(this);
        const raw = new this.build.Geometry(this[RAW], index('mesh', mesh, this.meshes));
        try {
            return {
                positions: raw.positions(),
                normals: raw.normals(),
                indices: raw.indices(),
                skinIndices: raw.skin_indices(),
                skinWeights: raw.skin_weights(),
            };
        } finally {
            raw.free();
        }
    }

    sphere(clip) {
        if (clip !== undefined) index('clip', clip, this.clips, 'clip()');
        const clips = clip !== undefined ? [clip] : this.clips.length > 0 ? [...this.clips.keys()] : [undefined];
        const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
        for (const clip of clips) {
            this[RAW].bounds(clip).forEach((v, at) => (box[at] = at < 3 ? Math.min(box[at], v) : Math.max(box[at], v)));
        }
        if (box[0] > box[3]) return [0, 0, 0, 0];
        const { center, radius } = around(box);
        // The clip is looked at 65 times only.
        return [...center, radius * 1.02];
    }

    feet(pelvis, legs) {
        index('joint', pelvis, this.joints, 'joint()');
        if (!Array.isArray(legs) || legs.length === 0) throw wrong('legs', 'an array of one leg or more', legs);
        const joints = legs.flatMap((leg) => {
            const { hip, knee, foot, toe } = options(leg, ['hip', 'knee', 'foot', 'toe']);
            const all = toe === undefined ? [hip, knee, foot] : [hip, knee, foot, toe];
            for (const joint of all) index('joint', joint, this.joints, 'joint()');
            return [hip, knee, foot, toe ?? 65535];
        });
        alive(this);
        return new Feet(new this.build.Feet(this[RAW], pelvis, Uint16Array.from(joints)));
    }

    pose() {
        return new MeshPose(this);
    }

    warmPose(pose, clip, time) {
        super.warmPose(pose, clip, time);
        const kinds = [(it) => it.skin >= 0, (it) => it.skin < 0].map((is) => this.meshes.findIndex(is));
        for (const mesh of kinds.filter((it) => it >= 0)) pose.skin(mesh);
        pose.bounds();
    }
}

function around([x, y, z, X, Y, Z]) {
    const radius = Math.hypot(X - x, Y - y, Z - z) / 2;
    return { min: [x, y, z], max: [X, Y, Z], center: [(x + X) / 2, (y + Y) / 2, (z + Z) / 2], radius };
}

class Feet extends Owner {
    reset() {
        this[RAW].reset();
    }
}

const NONE = new Float32Array(0);
const GOAL = ['joint', 'position', 'orientation', 'offset', 'weight'];
const LAYER = ['clip', 'seconds', 'weight', 'mask'];
const PLACE = ['seconds', 'weight', 'clip', 'time', 'loop', 'world'];

export class MeshPose extends Pose {
    constructor(model) {
        super(model);
        const { memory, meshes } = model;
        this.posed = meshes.map((mesh) => new PosedMesh(this, memory, mesh));
        this.weights = meshes.map(() => new View(memory));
        this.results = new View(memory, Float64Array);
        this.dual = false;
    }

    /** Numbers of the last result. */
    result(failed) {
        this.check(failed);
        return this.results.at(this[RAW].out(), this[RAW].out_count());
    }

    reached(failed) {
        const [distance, angle, iterations, met] = this.result(failed);
        return { distance, angle, iterations, met: met === 1 };
    }

    get skinning() {
        return this.dual ? 'dual' : 'linear';
    }

    set skinning(method) {
        if (method !== 'linear' && method !== 'dual') throw wrong('skinning', '"linear" or "dual"', method);
        this.dual = method === 'dual';
        this[RAW].set_dual(this.dual);
    }

    get methods() {
        return this.owner.build.methods().split(' ');
    }

    sampleFrames(layers) {
        if (!Array.isArray(layers) || layers.length < 1 || layers.length > 8) throw wrong('layers', 'an array of 1 to 8 layers', layers);
        const { length } = this.owner.joints;
        // Kept, so that a frame leaves no garbage.
        this.layers ??= { numbers: new Float64Array(24), masks: new Float32Array(8 * length) };
        const { numbers, masks } = this.layers;
        let isMasked = false;
        for (let at = 0; at < layers.length; at++) {
            const { clip, seconds, weight = 1, mask } = options(layers[at], LAYER);
            this.masked(clip, seconds, 'weight', weight, mask);
            numbers[3 * at] = clip;
            numbers[3 * at + 1] = seconds;
            numbers[3 * at + 2] = weight;
            isMasked ||= mask !== undefined;
        }
        for (let at = 0; isMasked && at < layers.length; at++) {
            const { mask } = layers[at];
            if (mask === undefined) masks.fill(1, at * length, (at + 1) * length);
            else masks.set(mask, at * length);
        }
        return this.check(this[RAW].sample_frames(numbers, isMasked ? masks : NONE, layers.length));
    }

    interpolate(clip, seconds, t, method) {
        number('t', t);
        return this.check(this.at(clip, seconds).interpolate(clip, seconds, t, text('method', method)));
    }

    skin(mesh) {
        const address = this[RAW].skin(index('mesh', mesh, this.owner.meshes));
        if (address === 0) throw this[RAW].error();
        const posed = this.posed[mesh];
        posed.address = address;
        posed.normalAddress = this[RAW].normals(mesh);
        posed.normalCount = this[RAW].normal_count(mesh);
        return posed;
    }

    morphs(mesh) {
        index('mesh', mesh, this.owner.meshes);
        return this.weights[mesh].at(this[RAW].morphs(mesh), this.owner.meshes[mesh].morphTargets);
    }

    raycast(origin, direction, max = Infinity) {
        const hit = this.result(this[RAW].raycast(ray(origin, direction, max)));
        if (hit.length === 0) return undefined;
        const [mesh, triangle, distance, joint] = hit;
        const vector = (at) => Array.from(hit.subarray(at, at + 3));
        return { mesh, triangle, distance, joint, position: vector(4), normal: vector(7), weights: vector(10) };
    }

    raycastHitboxes(origin, direction, max = Infinity) {
        const hit = this.result(this[RAW].raycast_hitboxes(ray(origin, direction, max)));
        if (hit.length === 0) return undefined;
        const [joint, distance, ...position] = hit;
        return { joint, distance, position };
    }

    bounds() {
        const box = this.result(this[RAW].bounds());
        return around(box.length > 0 ? box : [0, 0, 0, 0, 0, 0]);
    }

    errors(other) {
        if (other === this) throw new CondyleError('same-pose', 'a pose has no errors against itself');
        const [max, mesh, vertex] = this.result(this[RAW].errors(this.alike(other)));
        const { meshes } = this.owner;
        const values = (mesh) => this.weights[mesh].at(this[RAW].differences_of(mesh), meshes[mesh].vertices);
        return { max, mesh, vertex, values };
    }

    reach(goals, given) {
        const { iterations = 100, shift } = options(given, ['iterations', 'shift']);
        if (!Array.isArray(goals)) throw wrong('goals', 'an array', goals);
        const { joints } = this.owner;
        const numbers = [];
        for (const goal of goals) {
            const { joint, position, orientation, offset = [0, 0, 0], weight = 1 } = options(goal, GOAL);
            index('joint', joint, joints, 'joint()');
            if (position) vector('position', position, 3);
            if (orientation) vector('orientation', orientation, 4);
            vector('offset', offset, 3);
            number('weight', weight);
            const put = (kind, [x = 0, y = 0, z = 0, w = 0] = []) => {
                numbers.push(joint, kind, x, y, z, w, ...offset, weight);
            };
            if (position || !orientation) put(position ? 0 : 2, position);
            if (orientation) put(1, orientation);
        }
        const { joint, ease = 1 } = options(shift, ['joint', 'ease']);
        if (shift) index('joint', joint, joints, 'joint()');
        whole('iterations', iterations);
        return this.reached(this[RAW].reach(Float32Array.from(numbers), iterations, joint, number('ease', ease)));
    }

    twoBone(joints, target, given) {
        const { pole, weight = 1, soft = 0 } = options(given, ['pole', 'weight', 'soft']);
        if (list('joints', joints).length !== 3) throw wrong('joints', 'an array of three joints', joints);
        for (const joint of joints) index('joint', joint, this.owner.joints, 'joint()');
        const numbers = [...vector('target', target, 3), ...(pole ? vector('pole', pole, 3) : [])];
        for (const it of [weight, soft]) number('weight or soft', it);
        return this.reached(this[RAW].two_bone(Uint16Array.from(joints), Float32Array.from(numbers), weight, soft));
    }

    aim(joint, axis, target, given) {
        const { weight = 1 } = options(given, ['weight']);
        index('joint', joint, this.owner.joints, 'joint()');
        const vectors = Float32Array.from([...vector('axis', axis, 3), ...vector('target', target, 3)]);
        return this.reached(this[RAW].aim(joint, vectors, number('weight', weight)));
    }

    place(feet, ground, given) {
        const { seconds, weight = 1, clip = -1, time = 0, loop = true, world: placed } = options(given, PLACE);
        if (!(feet instanceof Feet)) throw wrong('feet', 'the result of model.feet()', feet);
        for (const [what, it] of Object.entries({ seconds, weight, time })) number(what, it);
        if (clip !== -1) index('clip', clip, this.owner.clips, 'clip()');
        alive(this);
        const below = typeof ground === 'function' ? ground : plane(ground);
        const asked = { below, memory: this.results.memory, failed: undefined };
        const failed = feet[RAW].place(this[RAW], asked, seconds, weight, clip, time, loop, world(placed));
        if (asked.failed) throw asked.failed.error;
        const [, , , , hasContacts, ...velocity] = this.result(failed);
        const moved = velocity.length > 0 ? { velocity } : {};
        return { ...this.reached(false), hasContacts: hasContacts === 1, ...moved };
    }

    swing(seconds, given) {
        const { force = [0, 0, 0], weight = 1, world: placed } = options(given, ['force', 'weight', 'world']);
        for (const [what, it] of Object.entries({ seconds, weight })) number(what, it);
        const forces = Float32Array.from(vector('force', force, 3));
        return this.check(this[RAW].swing(seconds, forces, weight, world(placed)));
    }

    resetSprings() {
        this[RAW].reset_springs();
    }
}

class PosedMesh {
    /** The vertices belong to the pose, so they keep it alive. */
    constructor(pose, memory, mesh) {
        this.pose = pose;
        this.views = [new View(memory), new View(memory)];
        this.count = 3 * mesh.vertices;
    }

    get positions() {
        alive(this.pose);
        return this.views[0].at(this.address, this.count);
    }

    get normals() {
        alive(this.pose);
        return this.views[1].at(this.normalAddress, 3 * this.normalCount);
    }
}

function ray(origin, direction, max) {
    if (max !== Infinity) number('max', max);
    return Float32Array.from([...vector('origin', origin, 3), ...vector('direction', direction, 3), max]);
}

function plane(ground) {
    const { point, normal } = options(ground, ['point', 'normal']);
    vector('the point of the ground', point, 3);
    const [x, y, z] = vector('the normal of the ground', normal, 3);
    return (px, py, pz) => ({ height: point[1] - (x * (px - point[0]) + z * (pz - point[2])) / y, normal });
}
