import { options } from './arguments.js';
import { CondyleError, start } from './core.js';
import { EncodeModel } from './encoding.js';
import { decoder } from './whole.js';
import { build, version } from './wasm/encode.js';

export { CondyleError };

export async function init(given) {
    const { wasm = new URL('./wasm/encode.wasm', import.meta.url), draco } = options(given, ['wasm', 'draco']);
    return start(build, EncodeModel, version, wasm, decoder(draco));
}
