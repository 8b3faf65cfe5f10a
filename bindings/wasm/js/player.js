import { PlayerModel, CondyleError, start } from './core.js';

import { build, version } from './wasm/player.js';

export { CondyleError };

export function init({ wasm = new URL('./wasm/player.wasm', import.meta.url) } = {}) {
    return start(build, PlayerModel, version, wasm);
}
