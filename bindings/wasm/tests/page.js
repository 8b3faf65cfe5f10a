// Pictures of three.js's WebGLRenderer, and bits of poses.

import * as THREE from 'three';
import { init } from 'condyle';
import * as adapter from 'condyle/three';
import { bitsOf } from './bits.js';
import { comparison } from './comparison.js';
import { SIZE, pixelsOf } from './pictures.js';

const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true });
renderer.setSize(SIZE, SIZE);
document.body.append(renderer.domElement);
renderer.shadowMap.enabled = true;
const condyle = await init();

globalThis.bits = async (path) => bitsOf(await condyle.open(await (await fetch(path)).arrayBuffer(), { name: path }));
globalThis.pictures = comparison(THREE, adapter, condyle, (scene, camera) => {
    renderer.render(scene, camera);
    return pixelsOf(renderer.getContext());
});

globalThis.result = Promise.resolve('ready');
