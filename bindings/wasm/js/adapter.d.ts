import type { Crowd, Hit, MeshPose } from './types.js';

/** A character on objects of an engine. `R` is a ray of the engine. */
export interface Character<R, H = Hit> {
    readonly pose: MeshPose;
    /** Hands the matrices, the weights of morph targets and the bounds of the pose to the engine. */
    update(): void;
    /** First hit of the posed meshes, in world space. */
    raycast(ray: R): H | undefined;
}

/** A crowd on objects of an engine: one bone texture for all meshes. `M` is a matrix of the engine. */
export interface DrawnCrowd<M> {
    readonly crowd: Crowd;
    /** Places an instance in the world; in PlayCanvas, relative to `entity`. */
    setMatrixAt(index: number, matrix: M): void;
    /** Advances all instances, computes their matrices and hands the texture to the engine. */
    update(seconds?: number): void;
}
