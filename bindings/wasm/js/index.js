import { options } from './arguments.js';
import { CondyleError, start } from './core.js';
import { Model, decoder } from './whole.js';
import { build, version } from './wasm/index.js';

export { CondyleError };

export async function init(given) {
    const { wasm = new URL('./wasm/index.wasm', import.meta.url), draco } = options(given, ['wasm', 'draco']);
    return start(build, Model, version, wasm, decoder(draco));
}
