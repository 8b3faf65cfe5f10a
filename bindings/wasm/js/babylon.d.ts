import type { Ray } from '@babylonjs/core/Culling/ray.js';
import type { Matrix } from '@babylonjs/core/Maths/math.vector.js';
import type { AbstractMesh } from '@babylonjs/core/Meshes/abstractMesh.js';
import type { TransformNode } from '@babylonjs/core/Meshes/transformNode.js';
import type { Character, DrawnCrowd, Posing } from './adapter.js';
import type { MeshPose, PlayerModel, Pose } from './types.js';

/**
 * Result of a loader of Babylon.js for the same file, which it must have loaded alone: of
 * `LoadAssetContainerAsync` or `ImportMeshAsync`. Only copies of its meshes are drawn.
 */
export interface Loaded {
    meshes: AbstractMesh[];
}

export interface CondyleCharacter<P extends Pose = MeshPose> extends Character<Ray, P> {}
/** Plays a model with its materials in Babylon.js. One file can have any number of characters. */
export class CondyleCharacter<P extends Pose = MeshPose> {
    /** Without a pose, one is made. */
    constructor(gltf: Loaded, model: Posing<P>, pose?: P);
    /** Parent of all meshes. It is in the scene, in which the meshes were loaded: move it. */
    readonly object: TransformNode;
    dispose(): void;
}

export interface CondyleCrowd extends DrawnCrowd<Matrix> {}
/** Draws a crowd by thin instances. */
export class CondyleCrowd {
    /** @throws {Error} if the device has no textures of `count` rows: at least 4,096, and mostly 16,384. */
    constructor(gltf: Loaded, model: PlayerModel, count: number);
    /** Parent of all meshes. */
    readonly object: TransformNode;
    dispose(): void;
}
