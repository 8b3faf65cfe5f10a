// Many characters from one bone texture, and the mixer of three.js for comparison.

import { CondyleCrowd } from 'condyle/three';
import { AnimationMixer, Matrix4 } from 'three';
import { clone } from 'three/addons/utils/SkeletonUtils.js';

import { at, on, say, value } from './dom.js';
import { count, milliseconds } from './texts.js';

/** Characters of a position of the slider: 1 to 10,000, ten positions for a factor of ten. */
export const crowdOf = (position) => Math.round(10 ** (position / 10));

/** Most characters that the mixer is measured with: they take memory and seconds to make. */
const MOST_MIXERS = 500;

export class Crowd {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        on('crowd', 'input', () => this.label());
        on('crowd', 'change', () => this.resize());
        on('mixer', 'click', () => this.measureMixer());
    }

    get isShown() {
        return this.drawn !== undefined;
    }

    open() {
        this.close();
        const { model, gltf } = this.page.character;
        // The crowd is drawn with the objects of GLTFLoader.
        this.isPossible = gltf !== undefined && model.clips.length > 0 && model.skins.length > 0;
        at('crowd').disabled = !this.isPossible;
        at('crowd').value = 0;
        this.label();
        say('crowd-time', '');
        say('mixer-time', this.isPossible ? '' : 'A crowd needs a glTF file with a skin and a clip.');
    }

    close() {
        if (!this.drawn) return;
        this.page.stage.scene.remove(this.drawn.object);
        this.drawn.dispose();
        this.drawn = undefined;
    }

    label() {
        const text = count(crowdOf(value('crowd')), 'character');
        say('crowd-text', crowdOf(value('crowd')).toLocaleString('en'));
        at('crowd').setAttribute('aria-valuetext', text);
    }

    resize() {
        const { page } = this;
        if (!page.character) return;
        const total = crowdOf(value('crowd'));
        this.close();
        say('mixer-time', '');
        say('crowd-time', '');
        if (total > 1) this.make(total);
        // A .condyle file has no clips for the mixer.
        at('mixer').disabled = !(this.isShown && this.page.character.gltf.animations.length > 0);
        page.bodies((body) => (body.object.visible = !this.isShown));
        page.compression.enable();
        page.compression.shown();
        page.fit();
    }

    make(total) {
        const { page } = this;
        const { gltf, model } = page.character;
        this.drawn = new CondyleCrowd(gltf, model, total);
        this.total = total;
        const [x, y, z, radius] = page.sphere();
        const columns = Math.ceil(Math.sqrt(total));
        const gap = radius * 1.25;
        const place = new Matrix4();
        const { instances } = this.drawn.crowd;
        for (let at = 0; at < total; at++) {
            const column = (at % columns) - (columns - 1) / 2;
            const row = Math.floor(at / columns) - (columns - 1) / 2;
            this.drawn.setMatrixAt(at, place.makeTranslation(column * gap - x, 0, row * gap - z));
            // Results of the compression come after the clips of the file.
            const source = at % page.compression.sources;
            // The compressed clip, if there is one, takes less time.
            const clip = page.compression.results.get(source)?.index ?? source;
            const { start, seconds } = model.clips[clip];
            // Golden ratio: neighbours are at different moments.
            instances.set([clip, start + seconds * ((at * 0.618034) % 1), -1, 0, 0], 5 * at);
        }
        page.stage.scene.add(this.drawn.object);
        this.sphere = [0, y, 0, (columns * gap) / 2 + radius * 0.2];
        this.times = [];
    }

    /** Poses all characters. */
    update(seconds) {
        const begin = performance.now();
        this.drawn.update(seconds);
        this.times.push(performance.now() - begin);
        if (this.times.length < 9) return;
        this.time = this.times.sort((a, b) => a - b)[4];
        this.times = [];
        say('crowd-time', `${milliseconds(this.time)} a frame for ${count(this.total, 'character')}`);
    }

    /** Poses clones by the mixer of three.js, without drawing them. */
    async measureMixer() {
        const { gltf, model } = this.page.character;
        const made = Math.min(this.total, MOST_MIXERS);
        say('mixer-time', `Making ${count(made, 'character')}…`);
        await new Promise((done) => setTimeout(done, 30));
        const all = Array.from({ length: made }, (_, at) => {
            const scene = clone(gltf.scene);
            const skeletons = new Set();
            scene.traverse((it) => it.isSkinnedMesh && skeletons.add(it.skeleton));
            const mixer = new AnimationMixer(scene);
            const clip = gltf.animations[at % gltf.animations.length];
            mixer.clipAction(clip).play();
            mixer.update((at * 0.618034) % Math.max(clip.duration, 0.001));
            return { scene, mixer, skeletons: [...skeletons] };
        });
        const times = [];
        for (let turn = 0; turn < 9; turn++) {
            const begin = performance.now();
            for (const { scene, mixer, skeletons } of all) {
                mixer.update(1 / 60);
                scene.updateMatrixWorld();
                for (const skeleton of skeletons) skeleton.update();
            }
            times.push(performance.now() - begin);
            await new Promise((done) => setTimeout(done));
        }
        for (const { skeletons } of all) for (const skeleton of skeletons) skeleton.dispose();
        const mixer = times.sort((a, b) => a - b)[4];
        const own = this.own(model, made);
        const both = `${milliseconds(mixer)} with the mixer of three.js, ${milliseconds(own)} with Condyle`;
        say('mixer-time', `${count(made, 'character')}: ${both}. ${(mixer / own).toFixed(0)} times faster.`);
    }

    /** Time of Condyle for as many characters as the mixer had. */
    own(model, made) {
        const crowd = model.crowd(made);
        const { instances } = crowd;
        for (let at = 0; at < made; at++) instances[5 * at] = this.drawn.crowd.instances[5 * at];
        const times = [];
        for (let turn = 0; turn < 25; turn++) {
            const begin = performance.now();
            crowd.advance(1 / 60);
            crowd.update();
            times.push(performance.now() - begin);
        }
        crowd.dispose();
        return Math.max(times.sort((a, b) => a - b)[12], 0.001);
    }
}
