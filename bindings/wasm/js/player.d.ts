import type { Condyle, PlayerInitOptions, PlayerModel } from './types.js';

export * from './types.js';
/** Loads the player: opens .condyle files, samples, blends, and fills bone palettes. */
export function init(options?: PlayerInitOptions): Promise<Condyle<PlayerModel>>;
