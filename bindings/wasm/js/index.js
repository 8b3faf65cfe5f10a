import { CondyleError, start } from './core.js';
import { Model } from './whole.js';
import { build, version } from './wasm/index.js';

export { CondyleError };

export function init({ wasm = new URL('./wasm/index.wasm', import.meta.url) } = {}) {
    return start(build, Model, version, wasm);
}
