// The program of each bundler: poses a model, and leaves its bits.

import { init } from 'condyle';
import { bitsOf } from './bits.js';

async function run() {
    const name = 'two_joints.glb';
    const condyle = await init();
    const model = await condyle.open(await (await fetch(`/testdata/${name}`)).arrayBuffer(), { name });
    return bitsOf(model);
}

globalThis.result = run();
