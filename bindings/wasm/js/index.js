import { CondyleError, start } from './core.js';
import { Model } from './whole.js';
import { build, version } from './wasm/index.js';

export { CondyleError };

export function init({ wasm = new URL('./wasm/index.wasm', import.meta.url), draco } = {}) {
    const expanded = async (...file) => (await import('./draco.js')).expanded(...file, await draco);
    return start(build, Model, version, wasm, expanded);
}
