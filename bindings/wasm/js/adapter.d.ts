import type { Crowd, Hit, MeshPose, PlayerModel, Pose } from './types.js';

/**
 * A character on objects of an engine. `R` is a ray of the engine; a pose of `condyle/player` casts none. A pose that
 * the program made stays its own: `dispose` leaves it.
 */
export interface Character<R, P extends Pose, H = Hit> {
    readonly pose: P;
    /**
     * Hands the matrices, the bounds and the changed weights of morph targets to the engine. Weights that no clip
     * changes can be set in the engine.
     */
    update(): void;
    /** First hit of the posed meshes, in world space. */
    raycast: P extends MeshPose ? (ray: R) => H | undefined : never;
}

/** A model that makes poses of one type. */
export type Posing<P extends Pose> = PlayerModel & { pose(): P };

/** A crowd on objects of an engine: one bone texture for all meshes. `M` is a matrix of the engine. */
export interface DrawnCrowd<M> {
    readonly crowd: Crowd;
    /** Places an instance relative to `object`, or to `entity` in PlayCanvas. */
    setMatrixAt(index: number, matrix: M): void;
    /** Advances all instances, computes their matrices and hands the texture to the engine. */
    update(seconds?: number): void;
}
