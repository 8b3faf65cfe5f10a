import type { Entity, Mat4, Ray } from 'playcanvas';
import type { Character, DrawnCrowd, Posing } from './adapter.js';
import type { MeshPose, PlayerModel, Pose } from './types.js';

export interface CondyleCharacter<P extends Pose = MeshPose> extends Character<Ray, P> {}
/** Plays a model with its materials in PlayCanvas, by WebGL 2. One container can have any number of characters. */
export class CondyleCharacter<P extends Pose = MeshPose> {
    /** `container` is the resource of a container asset of the same file. Without a pose, one is made. */
    constructor(container: unknown, model: Posing<P>, pose?: P);
    /** Add it to `app.root`. */
    readonly entity: Entity;
    destroy(): void;
}

export interface CondyleCrowd extends DrawnCrowd<Mat4> {}
/** Draws a crowd by hardware instancing. */
export class CondyleCrowd {
    /** @throws {Error} if the device has no texture that is large enough. */
    constructor(container: unknown, model: PlayerModel, count: number);
    /** Add it to `app.root`. */
    readonly entity: Entity;
    destroy(): void;
}
