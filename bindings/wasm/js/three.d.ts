import type { InstancedMesh, Matrix4, Object3D, Raycaster, SkinnedMesh } from 'three';
import type { Crowd, Hit, MeshPose, PlayerModel } from './types.js';

/** Plays a model on the objects that GLTFLoader made of the same file, in place of AnimationMixer. */
export class CondyleCharacter {
    /**
     * `gltf` is the result of GLTFLoader, which must not be a clone: parse the file again for a second
     * character, or use a crowd. Without a pose, one is made.
     */
    constructor(gltf: { scene: Object3D; parser: unknown }, model: PlayerModel, pose?: MeshPose);
    readonly pose: MeshPose;
    /** Writes the palettes of all skins, the attached meshes and the bounding spheres from the pose. */
    update(): void;
    /** First hit of the posed meshes, in world space. */
    raycast(raycaster: Raycaster): (Hit & { object: Object3D }) | undefined;
    dispose(): void;
}

/** Draws a crowd: one bone texture, one InstancedMesh for each mesh of the model. */
export class CondyleCrowd {
    constructor(gltf: { scene: Object3D; parser: unknown }, model: PlayerModel, count: number);
    readonly crowd: Crowd;
    /** Add it to the scene. */
    readonly object: Object3D;
    /** One for each mesh. */
    readonly meshes: readonly InstancedMesh[];
    /** Places an instance in the world. */
    setMatrixAt(index: number, matrix: Matrix4): void;
    /** Advances all instances, computes their palettes and hands the texture to three.js. */
    update(seconds?: number): void;
    dispose(): void;
}
