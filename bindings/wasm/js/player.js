import { options } from './arguments.js';
import { PlayerModel, CondyleError, start } from './core.js';
import { build, version } from './wasm/player.js';

export { CondyleError };

export async function init(given) {
    const { wasm = new URL('./wasm/player.wasm', import.meta.url) } = options(given, ['wasm']);
    return start(build, PlayerModel, version, wasm);
}
