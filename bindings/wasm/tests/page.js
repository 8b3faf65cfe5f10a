// Draws a model by three.js alone, as a character, and as a crowd of one. The pictures must be equal.

import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { init } from 'condyle';
import { CondyleCharacter, CondyleCrowd } from 'condyle/three';
import { bitsOf } from './bits.js';
import { SIZE, difference, pixelsOf } from './pictures.js';

const bytesOf = async (path) => (await fetch(path)).arrayBuffer();
const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true });
renderer.setSize(SIZE, SIZE);
document.body.append(renderer.domElement);
const condyle = await init();

globalThis.bits = async (path) => bitsOf(await condyle.open(await bytesOf(path), { name: path }));

async function load(path) {
    const bytes = await bytesOf(path);
    const model = await condyle.open(bytes, { name: path });
    const gltf = await new GLTFLoader().parseAsync(bytes, path.slice(0, path.lastIndexOf('/') + 1));
    return { model, gltf };
}

function picture(object, [x, y, z, radius]) {
    const scene = new THREE.Scene();
    scene.background = new THREE.Color(0x406080);
    scene.add(object, new THREE.HemisphereLight(0xffffff, 0x202020, 3));
    const camera = new THREE.PerspectiveCamera(40, 1, radius / 50, radius * 20);
    camera.position.set(x + radius * 1.5, y + radius, z + radius * 2.5);
    camera.lookAt(x, y, z);
    renderer.render(scene, camera);
    const pixels = pixelsOf(renderer.getContext());
    scene.remove(object);
    return pixels;
}

/** Shares of the pixels that differ: character, crowd, and background from three.js's picture. */
globalThis.pictures = async (path, part) => {
    const own = await load(path);
    const { clips } = own.model;
    const seconds = clips[0].start + clips[0].seconds * part;
    const sphere = own.model.sphere(0);
    const mixer = new THREE.AnimationMixer(own.gltf.scene);
    mixer.clipAction(own.gltf.animations[0]).play();
    mixer.setTime(seconds);
    const wanted = picture(own.gltf.scene, sphere);
    const one = await load(path);
    const character = new CondyleCharacter(one.gltf, one.model);
    character.pose.sample(0, seconds);
    character.update();
    const asCharacter = picture(one.gltf.scene, sphere);
    const ray = new THREE.Raycaster(new THREE.Vector3(sphere[0], sphere[1], sphere[2] + sphere[3] * 2), new THREE.Vector3(0, 0, -1));
    const hit = character.raycast(ray) !== undefined;
    const many = await load(path);
    const crowd = new CondyleCrowd(many.gltf, many.model, 3);
    for (const at of [1, 2]) crowd.setMatrixAt(at, new THREE.Matrix4().makeTranslation(0, 1e6, 0));
    crowd.crowd.instances[1] = seconds;
    crowd.update();
    const asCrowd = picture(crowd.object, sphere);
    const empty = picture(new THREE.Group(), sphere);
    crowd.dispose();
    character.dispose();
    return { character: difference(wanted, asCharacter), crowd: difference(wanted, asCrowd), drawn: difference(wanted, empty), hit };
};

globalThis.result = Promise.resolve('ready');
