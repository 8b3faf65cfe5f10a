// The first picture: the built-in person, played by the small module until somebody touches the page.

import { init } from 'condyle/player';

import { at, make, say } from './dom.js';
import { builtIn, bytes } from './files.js';
import { document as parse } from './load.js';

/** Sphere around the person in the walk. */
const SPHERE = [0, 0.87, 0.02, 0.95];

/** Number of vertices of the person, which the small module does not read. */
const VERTICES = '4,933';

export class First {
    /**
     * @param {import('./stage.js').Stage} stage
     * @returns {Promise<First>} after the first picture
     */
    static async open(stage) {
        const [condyle, sources, clips] = await Promise.all([
            init(),
            builtIn('person'),
            bytes('characters/person.condyle'),
        ]);
        const model = await condyle.open(clips, { name: 'person.condyle' });
        const gltf = await parse(sources[0]);
        return new First(stage, sources, model, gltf);
    }

    constructor(stage, sources, model, { scene }) {
        this.stage = stage;
        this.sources = sources;
        this.model = model;
        this.scene = scene;
        this.pose = model.pose();
        this.time = 0;
        this.playing = !matchMedia('(prefers-reduced-motion: reduce)').matches;
        const bones = new Map();
        scene.traverse((object) => {
            object.frustumCulled = false;
            bones.set(object.userData.name ?? object.name, object);
        });
        /** Object of each joint; its matrix comes from the pose. */
        this.bones = model.joints.map(({ name }) => bones.get(name));
        for (const bone of this.bones) if (bone) bone.matrixWorldAutoUpdate = false;
        stage.scene.add(scene);
        stage.fit(SPHERE);
        this.describe();
        this.last = performance.now();
        this.frame(this.last);
    }

    /** Fills the page, so that it looks as it will after the first touch. */
    describe() {
        const { clips, joints } = this.model;
        const item = ({ name, seconds }, index) => {
            const inside = [name, `${seconds.toFixed(2)} s`].map((text) =>
                make('span', { textContent: text }),
            );
            const button = make('button', { type: 'button' }, ...inside);
            button.setAttribute('aria-pressed', String(index === 0));
            return make('li', {}, button);
        };
        at('clips').replaceChildren(...clips.map(item));
        say('facts', `${joints.length} joints, ${VERTICES} vertices, ${clips.length} clips`);
        at('scrub').max = clips[0].end;
        at('play').setAttribute('aria-label', this.playing ? 'Pause' : 'Play');
        at('play-icon').setAttribute('href', this.playing ? '#i-pause' : '#i-play');
    }

    frame(now) {
        if (this.ended) return;
        const seconds = Math.min((now - this.last) / 1000, 0.1);
        this.last = now;
        if (this.playing || this.stage.dirty) this.draw(seconds);
        requestAnimationFrame((next) => this.frame(next));
    }

    draw(seconds) {
        const { end } = this.model.clips[0];
        if (this.playing) this.time = (this.time + seconds) % end;
        const { model } = this.pose.sample(0, this.time).toModel();
        this.bones.forEach((bone, joint) => bone?.matrixWorld.fromArray(model, 16 * joint));
        at('scrub').value = this.time;
        say('clock', `${this.time.toFixed(3)} of ${end.toFixed(3)} s`);
        this.stage.render([() => {}]);
    }

    /** Ends: the page draws from now on. */
    end() {
        this.ended = true;
        this.stage.scene.remove(this.scene);
        this.scene.traverse(({ geometry, material, skeleton }) => {
            geometry?.dispose();
            material?.dispose();
            skeleton?.dispose();
        });
        this.model.dispose();
    }
}
