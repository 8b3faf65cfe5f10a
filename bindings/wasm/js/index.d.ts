import type { Condyle, InitOptions, Model } from './types.js';

export * from './types.js';
/** Loads everything but the encoder: opens .glb, .gltf, .vrm, .bvh and .condyle files. */
export function init(options?: InitOptions): Promise<Condyle<Model>>;
