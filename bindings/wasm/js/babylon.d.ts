import type { Ray } from '@babylonjs/core/Culling/ray.js';
import type { Matrix } from '@babylonjs/core/Maths/math.vector.js';
import type { AbstractMesh } from '@babylonjs/core/Meshes/abstractMesh.js';
import type { TransformNode } from '@babylonjs/core/Meshes/transformNode.js';
import type { Crowd, Hit, MeshPose, PlayerModel } from './types.js';

/**
 * Result of a loader of Babylon.js for the same file, which it must have loaded alone: of
 * `LoadAssetContainerAsync` or `ImportMeshAsync`. Only copies of its meshes are drawn.
 */
export interface Loaded {
    meshes: AbstractMesh[];
}

/** Plays a model with its materials in Babylon.js. One file can have any number of characters. */
export class CondyleCharacter {
    /** Without a pose, one is made. */
    constructor(gltf: Loaded, model: PlayerModel, pose?: MeshPose);
    readonly pose: MeshPose;
    /** Parent of all meshes. It is in the scene, in which the meshes were loaded: move it. */
    readonly object: TransformNode;
    /** Hands the matrices, the weights of morph targets and the bounds of the pose to Babylon.js. */
    update(): void;
    /** First hit of the posed meshes, in world space. */
    raycast(ray: Ray): Hit | undefined;
    dispose(): void;
}

/** Draws a crowd by thin instances: one bone texture for all meshes. */
export class CondyleCrowd {
    /** @throws {Error} if the device has no textures of `count` rows: at least 4,096, and mostly 16,384. */
    constructor(gltf: Loaded, model: PlayerModel, count: number);
    readonly crowd: Crowd;
    /** Parent of all meshes. */
    readonly object: TransformNode;
    /** Places an instance in the world. */
    setMatrixAt(index: number, matrix: Matrix): void;
    /** Advances all instances, computes their matrices and hands the texture to Babylon.js. */
    update(seconds?: number): void;
    dispose(): void;
}
