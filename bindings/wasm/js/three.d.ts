import type { InstancedMesh, Matrix4, Object3D, Raycaster } from 'three';
import type { Character, DrawnCrowd } from './adapter.js';
import type { Hit, MeshPose, PlayerModel } from './types.js';

export interface CondyleCharacter extends Character<Raycaster, Hit & { object: Object3D }> {}
/** Plays a model on the objects that GLTFLoader made of the same file, in place of AnimationMixer. */
export class CondyleCharacter {
    /**
     * `gltf` is the result of GLTFLoader, which must not be a clone: parse the file again for a second
     * character, or use a crowd. Without a pose, one is made.
     */
    constructor(gltf: { scene: Object3D; parser: unknown }, model: PlayerModel, pose?: MeshPose);
    dispose(): void;
}

export interface CondyleCrowd extends DrawnCrowd<Matrix4> {}
/** Draws a crowd: one InstancedMesh for each mesh of the model. */
export class CondyleCrowd {
    constructor(gltf: { scene: Object3D; parser: unknown }, model: PlayerModel, count: number);
    /** Add it to the scene. */
    readonly object: Object3D;
    /** One for each mesh. */
    readonly meshes: readonly InstancedMesh[];
    dispose(): void;
}
