import { CondyleError, start } from './core.js';
import { EncodeModel } from './encoding.js';
import { build, version } from './wasm/encode.js';

export { CondyleError };

export function init({ wasm = new URL('./wasm/encode.wasm', import.meta.url), draco } = {}) {
    const expanded = async (...file) => (await import('./draco.js')).expanded(...file, await draco);
    return start(build, EncodeModel, version, wasm, expanded);
}
