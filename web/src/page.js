// The page: opens characters, and draws a frame after each change.

import { init } from 'condyle';

import { Body } from './body.js';
import { Skeleton } from './bones.js';
import { list } from './checks.js';
import { Other } from './clips.js';
import { Compression } from './compression.js';
import { Controls } from './controls.js';
import { Crowd } from './crowd.js';
import { at, checked, choices, make, on, say } from './dom.js';
import { asked, BUILT_IN, builtIn, dropped, fetched, read, watch } from './files.js';
import { Feet, Hand } from './hand.js';
import * as heat from './heat.js';
import { load, release } from './load.js';
import { Player } from './player.js';
import { Share } from './share.js';
import { fault } from './texts.js';

export class Page {
    /**
     * @param {import('condyle').Condyle<import('condyle').Model>} condyle
     * @param {import('./stage.js').Stage} stage
     */
    constructor(condyle, stage) {
        this.condyle = condyle;
        this.stage = stage;
        this.player = new Player();
        this.controls = new Controls(this);
        this.crowd = new Crowd(this);
        this.skeleton = new Skeleton(this);
        this.compression = new Compression(this);
        this.hand = new Hand(this);
        this.feet = new Feet(this);
        this.share = new Share(this);
        /** The character on the stage. @type {import('./load.js').Character | undefined} */
        this.character = undefined;
        /** Key of the built-in character, or undefined for other files. */
        this.builtIn = undefined;
        /** Number of attempts to open files, and the number of the one that is shown. */
        this.asked = 0;
        this.shownTurn = 0;
        this.last = performance.now();
        requestAnimationFrame((now) => this.frame(now));
    }

    get model() {
        return this.character?.model;
    }

    /** The pose that the skeleton and the rays belong to. */
    get shownPose() {
        return this.compression.isCompared ? this.packedPose : this.pose;
    }

    /** Marks the picture as out of date. */
    changed() {
        this.stage.dirty = true;
    }

    /** @param {(body: Body) => void} call */
    bodies(call) {
        if (this.body) for (const body of [this.body, this.packedBody]) call(body);
    }

    /**
     * Shows a character.
     *
     * @param {import('./files.js').Source[]} sources The first is shown, the others add clips.
     * `keep` leaves clip, time and camera: those of the picture `instead` of which the character is shown.
     *
     * @param {number} turn Number of the attempt. A character that was asked for later is not replaced.
     * @param {{ builtIn?: string, keep?: boolean, instead?: import('./first.js').First }} options
     */
    async open(sources, turn, { builtIn: key, keep = false, instead } = {}) {
        const character = await load(this.condyle, sources[0]);
        let others;
        try {
            refuseFar(sphereOf(character.model));
            others = await this.others(character.model, sources.slice(1));
        } catch (error) {
            release(character);
            throw error;
        }
        if (turn < this.shownTurn) {
            for (const other of others) other.dispose();
            release(character);
            instead?.end();
            return;
        }
        this.shownTurn = turn;
        const { time, current, from, to, playing } = this.player;
        const before = keep ? { time, from, to, playing, name: current?.name } : undefined;
        this.close();
        if (instead) {
            Object.assign(before, { time: instead.time, playing: instead.playing });
            instead.end();
        }
        this.character = character;
        this.opened = others;
        this.builtIn = key;
        const { model } = character;
        this.pose = model.pose();
        this.packedPose = model.pose();
        this.body = new Body(character, this.pose);
        this.packedBody = new Body(character, this.packedPose);
        this.bodies((body) => this.stage.scene.add(body.object));
        const clips = [model, ...others.map((other) => other.model)].map(({ clips }) => clips);
        this.player.open(
            clips.flatMap((list, at) =>
                list.map((clip, index) => ({ ...clip, index, from: others[at - 1] })),
            ),
        );
        for (const part of [this.skeleton, this.compression, this.crowd, this.hand, this.feet, this.controls])
            part.open();
        list(this);
        const at0 = BUILT_IN.findIndex((it) => it.key === key);
        at('built-in').value = at0 >= 0 ? key : '';
        if (before) this.resume(before);
        else this.fit();
        this.shown();
        document.title = `${character.name} – Condyle`;
    }

    /** Goes on where the player was before the file was opened again. */
    resume({ time, from, to, playing, name }) {
        const clip = this.player.clips.findIndex((it) => it.name === name);
        if (clip >= 0) this.controls.choose(clip);
        if (from > this.player.from || to < this.player.to)
            this.player.range(from, Math.min(to, this.player.to));
        this.player.seek(time);
        this.player.playing = playing;
    }

    /** Opens files with further clips. @returns {Promise<Other[]>} */
    async others(target, sources) {
        const found = [];
        try {
            for (const source of sources) {
                const model = await this.condyle.open(source.files, { name: source.name, warm: false });
                try {
                    refuseFar(sphereOf(model));
                    found.push(new Other(model, source.name, target));
                } catch (error) {
                    model.dispose();
                    throw error;
                }
            }
        } catch (error) {
            for (const other of found) other.dispose();
            throw error;
        }
        return found;
    }

    close() {
        this.crowd.close();
        this.feet.feet?.dispose();
        this.feet.feet = undefined;
        this.bodies((body) => {
            this.stage.scene.remove(body.object);
            body.dispose();
            body.pose.dispose();
        });
        for (const other of this.opened ?? []) other.dispose();
        if (this.character) release(this.character);
        this.character = undefined;
    }

    fit() {
        if (!this.model) return;
        const split = this.compression.isSplit ? 2 : 1;
        const sphere = this.crowd.isShown ? this.crowd.sphere : this.sphere();
        this.stage.fit(
            sphere[3] > 0 ? sphere : around(this.pose, this.model),
            this.stage.width / split / this.stage.height,
        );
        this.changed();
    }

    /** Sphere around the character in the clip that plays. */
    sphere() {
        const { current } = this.player;
        return this.model.sphere(current && !current.from ? current.index : undefined);
    }

    /** Shows clip and time again, after they were set from elsewhere. */
    shown() {
        this.controls.clip();
        this.controls.time();
        this.compression.shown();
        this.changed();
    }

    frame(now) {
        const seconds = Math.min((now - this.last) / 1000, 0.1);
        this.last = now;
        try {
            if (this.model && (this.stage.dirty || this.player.playing)) {
                this.player.advance(seconds);
                this.draw(seconds);
            }
        } catch (error) {
            this.player.playing = false;
            this.stage.dirty = false;
            this.fail(error);
        }
        requestAnimationFrame((next) => this.frame(next));
    }

    /** Poses the character. */
    update(seconds = 0) {
        const { compression, pose, player } = this;
        const isCompared = compression.isCompared;
        player.sample(pose, !isCompared);
        if (!isCompared) {
            this.feet.apply(pose, seconds);
            this.hand.apply(pose);
            if (this.model.hasSprings && checked('springs')) pose.swing(player.playing ? seconds : 0);
        }
        if (isCompared) {
            compression.pose(pose);
            this.packedBody.dress(checked('heat') ? heat.material : undefined);
            this.packedBody.update();
        }
        if (!isCompared || compression.isSplit) this.body.update();
    }

    draw(seconds = 0) {
        this.controls.time();
        const { body, packedBody, stage, compression } = this;
        if (this.crowd.isShown) {
            this.crowd.update(this.player.playing ? seconds * this.player.speed : 0);
            stage.render([() => {}]);
            return;
        }
        this.update(seconds);
        const only = (one) => () => this.bodies((it) => (it.object.visible = it === one));
        const shown = compression.isCompared ? packedBody : body;
        stage.render(compression.isSplit ? [only(body), only(shown)] : [only(shown)]);
    }

    /** Writes a text on the picture that is legible on any background. */
    write(context, text, x, y, height = 13) {
        context.font = `${height}px system-ui, sans-serif`;
        context.lineJoin = 'round';
        context.lineWidth = 3;
        context.strokeStyle = '#000000';
        x = Math.min(x, this.stage.width - context.measureText(text).width - 4);
        context.strokeText(text, x, y);
        context.fillStyle = '#ffffff';
        context.fillText(text, x, y);
    }

    /** @param {Blob} blob */
    download(blob, name) {
        const address = URL.createObjectURL(blob);
        make('a', { href: address, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(address), 10_000);
    }

    /** Shows an error. */
    fail(error, name) {
        const { title, text, list: lines } = fault(error, name);
        say('fault-title', title);
        say('fault-text', text);
        at('fault-list').replaceChildren(...lines.map((textContent) => make('li', { textContent })));
        at('fault').hidden = false;
        at('fault-close').focus();
    }

    /** Opens what a promise brings, and shows errors. Of two attempts, the later one is shown. */
    async attempt(name, sources, options) {
        const turn = ++this.asked;
        if (!options?.instead) say('busy', 'Opening…');
        document.body.dataset.state = 'loading';
        try {
            at('fault').hidden = true;
            const found = await sources;
            name = found[0]?.name ?? name;
            await this.open(found, turn, options);
        } catch (error) {
            // A bug of the library: what it left in its memory is not used for the next file.
            if (error instanceof WebAssembly.RuntimeError) this.condyle = await init();
            if (turn === this.asked) this.fail(error, name);
        } finally {
            if (turn === this.asked) {
                say('busy', '');
                document.body.dataset.state = 'ready';
            }
        }
    }
}

/** Distance in units beyond which the square of a coordinate overflows on a graphics card. */
const FARTHEST = 1e15;

/** Refuses a damaged model with vertices or joints too far away to draw. */
function refuseFar(sphere) {
    const far = sphere.find((it) => !(Math.abs(it) < FARTHEST));
    if (far === undefined) return;
    const distance = Number.isFinite(far) ? `${Math.abs(far).toPrecision(1)} units` : 'too many units';
    const error = new Error(`a part of the model is ${distance} away, farther than can be drawn`);
    throw Object.assign(error, { code: 'too-far' });
}

/** Sphere around all clips of a model, or around the joints at rest without meshes. */
function sphereOf(model) {
    const sphere = model.sphere();
    if (sphere[3] > 0) return sphere;
    const pose = model.pose();
    try {
        return around(pose, model);
    } finally {
        pose.dispose();
    }
}

/** Sphere around the joints, for files without meshes. */
function around(pose, { joints }) {
    const { model } = pose;
    const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
    for (let at = 0; at < 3 * joints.length; at++) {
        const axis = at % 3;
        const place = model[16 * ((at - axis) / 3) + 12 + axis];
        box[axis] = Math.min(box[axis], place);
        box[axis + 3] = Math.max(box[axis + 3], place);
    }
    const middle = [0, 1, 2].map((axis) => (box[axis] + box[axis + 3]) / 2);
    return [...middle, 0.55 * Math.hypot(...[0, 1, 2].map((axis) => box[axis + 3] - box[axis]))];
}

/** @param {Page} page */
function listen(page) {
    choices('built-in', [...BUILT_IN.map(({ key, text }) => [key, text]), ['', 'From a file']]);
    on('built-in', 'change', () => {
        const key = at('built-in').value;
        if (key) page.attempt(key, builtIn(key), { builtIn: key });
        else at('choose').click();
    });
    on('choose', 'change', async () => {
        if (at('choose').files.length > 0) await page.attempt('The file', read(at('choose').files));
        at('choose').value = '';
    });
    on('fault-close', 'click', () => {
        at('fault').hidden = true;
        at('stage').focus();
    });
    addEventListener('dragover', (event) => {
        event.preventDefault();
        document.body.classList.add('dropping');
    });
    addEventListener('dragleave', (event) => {
        if (!event.relatedTarget) document.body.classList.remove('dropping');
    });
    addEventListener('drop', (event) => {
        event.preventDefault();
        document.body.classList.remove('dropping');
        page.attempt('The file', dropped(event.dataTransfer));
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => page.changed());
}

/**
 * Starts the whole page.
 *
 * @param {import('./stage.js').Stage} stage
 * @param {import('./first.js').First} [first] The picture that is shown, and goes on.
 */
export async function start(stage, first) {
    const page = new Page(await init(), stage);
    listen(page);
    if (first) {
        const shown = { builtIn: 'person', keep: true, instead: first };
        await page.attempt('person', first.sources, shown);
    } else {
        await openAsked(page);
    }
    // A page that `condyle view` serves has another address each time.
    const isServed = new URLSearchParams(location.search).has('open');
    if (!isServed) navigator.serviceWorker?.register('offline.js').catch(() => {});
    return page;
}

/** Opens what the address of the page names. */
async function openAsked(page) {
    let addresses = [];
    try {
        addresses = asked(location.search);
    } catch (error) {
        page.fail(error, 'The file');
    }
    if (addresses.length > 0) await page.attempt(addresses[0], fetched(addresses));
    if (!page.model && at('fault').hidden) {
        const key = new URLSearchParams(location.hash.slice(1)).get('character') ?? BUILT_IN[0].key;
        await page.attempt(key, builtIn(key), { builtIn: key });
    }
    if (page.model && location.hash) await page.share.restore(location.hash);
    if (addresses.length > 0 && new URLSearchParams(location.search).has('watch')) {
        watch(addresses, () => page.attempt(addresses[0], fetched(addresses), { keep: true }));
    }
    if (!page.model) {
        say('busy', '');
        document.body.dataset.state = 'ready';
    }
}
