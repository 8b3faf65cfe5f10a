import type { Matrix4, Mesh, Object3D } from 'three';
import type { DrawnCrowd } from './adapter.js';
import type { PlayerModel } from './types.js';

export { CondyleCharacter } from './three.js';

export interface CondyleCrowd extends DrawnCrowd<Matrix4> {}
/**
 * Draws a crowd by WebGPURenderer, on WebGPU or WebGL 2. Each mesh has a node material with the properties of the
 * file's material, and a `positionNode` that reads the palettes.
 */
export class CondyleCrowd {
    constructor(gltf: { scene: Object3D; parser: unknown }, model: PlayerModel, count: number);
    /** Add it to the scene. */
    readonly object: Object3D;
    /** One for each mesh. */
    readonly meshes: readonly Mesh[];
    dispose(): void;
}
