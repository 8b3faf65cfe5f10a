// Pictures of three.js's WebGPURenderer: on WebGPU if the browser has it, on WebGL 2 with `?webgl`.

import * as THREE from 'three/webgpu';
import { init } from 'condyle';
import * as adapter from 'condyle/three-webgpu';
import { comparison } from './comparison.js';
import { SIZE } from './pictures.js';

const renderer = new THREE.WebGPURenderer({ forceWebGL: location.search === '?webgl' });
await renderer.init();
const target = new THREE.RenderTarget(SIZE, SIZE);
renderer.setRenderTarget(target);
renderer.shadowMap.enabled = true;
const condyle = await init();

globalThis.backend = renderer.backend.isWebGPUBackend ? 'WebGPU' : 'WebGL 2';
globalThis.pictures = comparison(THREE, adapter, condyle, async (scene, camera) => {
    await renderer.renderAsync(scene, camera);
    return renderer.readRenderTargetPixelsAsync(target, 0, 0, SIZE, SIZE);
});

globalThis.result = Promise.resolve('ready');
