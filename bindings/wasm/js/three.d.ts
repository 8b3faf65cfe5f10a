import type { InstancedMesh, Matrix4, Object3D, Raycaster } from 'three';
import type { Character, DrawnCrowd, Posing } from './adapter.js';
import type { Hit, MeshPose, PlayerModel, Pose } from './types.js';

export interface CondyleCharacter<P extends Pose = MeshPose> extends Character<Raycaster, P, Hit & { object: Object3D }> {}
/**
 * Plays a model on the objects that GLTFLoader made of the same file, in place of AnimationMixer. The nodes of joints
 * follow the pose: what is added to a hand moves with it.
 */
export class CondyleCharacter<P extends Pose = MeshPose> {
    /**
     * `gltf` is the result of GLTFLoader, which must not be a clone: parse the file again for a second
     * character, or use a crowd. Without a pose, one is made.
     */
    constructor(gltf: { scene: Object3D; parser: unknown }, model: Posing<P>, pose?: P);
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
