// Benchmark next to three.js's mixer in the same page: `CHROMIUM=… node browser.mjs --bench MODEL.glb`. Minima of
// several runs, because other programs disturb the machine.

import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { clone } from 'three/addons/utils/SkeletonUtils.js';
import { init } from 'condyle/encode';

/** Microseconds of the fastest of some runs. A short run is repeated, because the clock has steps of 5 µs. */
function fastest(runs, run) {
    let best = Infinity;
    for (let at = 0; at < runs; at++) {
        let [turns, passed] = [0, 0];
        const begin = performance.now();
        do {
            run(at + turns++);
            passed = performance.now() - begin;
        } while (passed < 1);
        best = Math.min(best, passed / turns);
    }
    return Math.round(best * 10_000) / 10;
}

globalThis.bench = async (path, clipName) => {
    const bytes = await (await fetch(path)).arrayBuffer();
    const condyle = await init();
    const first = performance.now();
    const model = await condyle.open(bytes, { name: path, warm: false });
    const open = performance.now() - first;
    const before = performance.now();
    model.warm();
    const warm = performance.now() - before;
    const named = model.clips.findIndex((it) => it.name === clipName);
    const authored = named < 0 ? 0 : named;
    const error = model.height / 2000;
    const { clip } = model.encode(authored, { error });
    const other = model.encode((authored + 1) % (model.clips.length - 1), { error }).clip;
    const pose = model.pose();
    const firstPose = performance.now();
    pose.sample(clip, 0.1).palette(0);
    const rows = { open, warm, 'first pose': performance.now() - firstPose };

    const gltf = await new GLTFLoader().parseAsync(bytes.slice(0), '');
    for (const [count, blended] of [[1, false], [100, false], [100, true], [1000, false]]) {
        const crowd = model.crowd(count);
        for (let at = 0; at < count; at++) {
            const seconds = model.clips[clip].seconds * ((at % 97) / 97);
            crowd.instances.set([clip, seconds, other, seconds, blended ? 0.5 : 0], 5 * at);
        }
        const measured = () => fastest(count < 1000 ? 300 : 40, () => crowd.update());
        const own = measured();
        // The same clips unpacked, with 40 % of their error in addition. A clip that jumps stays compressed.
        try {
            for (const it of [clip, other]) model.toFrames(it, { error: 0.4 * error });
        } catch (refused) {
            if (refused.code !== 'over-budget') throw refused;
        }
        const unpacked = measured();
        for (const it of [clip, other]) model.dropFrames(it);
        crowd.dispose();

        const scene = new THREE.Scene();
        const mixers = [];
        const skeletons = new Set();
        for (let at = 0; at < count; at++) {
            const copy = clone(gltf.scene);
            copy.traverse((it) => it.skeleton && skeletons.add(it.skeleton));
            scene.add(copy);
            const mixer = new THREE.AnimationMixer(copy);
            for (const animation of [authored, ...(blended ? [authored + 1] : [])]) {
                mixer.clipAction(gltf.animations[animation % gltf.animations.length]).play().setEffectiveWeight(blended ? 0.5 : 1);
            }
            mixer.update((at % 97) / 97);
            mixers.push(mixer);
        }
        const three = fastest(count < 1000 ? 30 : 6, () => {
            for (const mixer of mixers) mixer.update(1 / 60);
            scene.updateMatrixWorld(true);
            for (const skeleton of skeletons) skeleton.update();
        });
        rows[`${count}${blended ? ', two clips blended' : ''}`] = { condyle: own, unpacked, three, ratio: Math.round((10 * three) / own) / 10 };
    }

    const at = model.meshes.findIndex((it) => it.skin >= 0);
    const object = [];
    gltf.scene.traverse((it) => it.isSkinnedMesh && object.push(it));
    const own = fastest(100, (turn) => pose.sample(clip, turn / 1000).skin(at));
    const point = new THREE.Vector3();
    const three = fastest(10, () => {
        const { count } = object[0].geometry.attributes.position;
        for (let vertex = 0; vertex < count; vertex++) object[0].getVertexPosition(vertex, point);
    });
    rows['skinning of a mesh'] = { vertices: model.meshes[at].vertices, condyle: own, three, ratio: Math.round((10 * three) / own) / 10 };
    const [x, y, z, radius] = model.sphere(clip);
    const ray = fastest(100, (turn) => pose.sample(clip, turn / 1000).raycast([x, y, z + 2 * radius], [0, 0, -1]));
    gltf.scene.updateMatrixWorld(true);
    const caster = new THREE.Raycaster(new THREE.Vector3(x, y, z + 2 * radius), new THREE.Vector3(0, 0, -1));
    const threeRay = fastest(10, () => caster.intersectObject(gltf.scene, true));
    rows['pose and ray'] = { condyle: ray, three: threeRay, ratio: Math.round((10 * threeRay) / ray) / 10 };
    return rows;
};

globalThis.result = Promise.resolve('ready');
