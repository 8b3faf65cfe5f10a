import type { Entity, Mat4, Ray } from 'playcanvas';
import type { Character, DrawnCrowd } from './adapter.js';
import type { MeshPose, PlayerModel } from './types.js';

export interface CondyleCharacter extends Character<Ray> {}
/** Plays a model with its materials in PlayCanvas, by WebGL 2. One container can have any number of characters. */
export class CondyleCharacter {
    /** `container` is the resource of a container asset of the same file. Without a pose, one is made. */
    constructor(container: unknown, model: PlayerModel, pose?: MeshPose);
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
