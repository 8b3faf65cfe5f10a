import type { Condyle, InitOptions, PlayerModel } from './types.js';

export * from './types.js';
/** Loads the player: opens .condyle files, samples, blends, and fills bone palettes. */
export function init(options?: InitOptions): Promise<Condyle<PlayerModel>>;
