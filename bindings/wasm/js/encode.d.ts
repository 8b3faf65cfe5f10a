import type { Condyle, EncodeModel, InitOptions } from './types.js';

export * from './types.js';
/** Loads everything with the encoder. Use it in a worker that is ended afterwards. */
export function init(options?: InitOptions): Promise<Condyle<EncodeModel>>;
