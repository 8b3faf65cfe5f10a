import type { Entity, Mat4, Ray } from 'playcanvas';
import type { Crowd, Hit, MeshPose, PlayerModel } from './types.js';

/** Plays a model with its materials in PlayCanvas, by WebGL 2. One container can have any number of characters. */
export class CondyleCharacter {
    /** `container` is the resource of a container asset of the same file. Without a pose, one is made. */
    constructor(container: unknown, model: PlayerModel, pose?: MeshPose);
    readonly pose: MeshPose;
    /** Add it to `app.root`. */
    readonly entity: Entity;
    /** Hands the matrices, the weights of morph targets and the bounds of the pose to PlayCanvas. */
    update(): void;
    /** First hit of the posed meshes, in world space. */
    raycast(ray: Ray): Hit | undefined;
    destroy(): void;
}

/** Draws a crowd by hardware instancing: one bone texture for all meshes. */
export class CondyleCrowd {
    /** @throws {Error} if the device has no texture that is large enough. */
    constructor(container: unknown, model: PlayerModel, count: number);
    readonly crowd: Crowd;
    /** Add it to `app.root`. */
    readonly entity: Entity;
    /** Places an instance, relative to `entity`. */
    setMatrixAt(index: number, matrix: Mat4): void;
    /** Advances all instances, computes their matrices and hands the texture to PlayCanvas. */
    update(seconds?: number): void;
    destroy(): void;
}
