// The program of each bundler: poses a model, and leaves its bits.

import { init } from 'condyle';
import { bitsOf } from './bits.js';

async function run() {
    const name = 'two_joints.glb';
    const condyle = await init();
    const model = await condyle.open(await (await fetch(`/testdata/${name}`)).arrayBuffer(), { name });
    // A bundler must find the module for Draco too.
    const draco = await (await fetch('/draco.glb')).arrayBuffer();
    const { positions } = (await condyle.open(draco, { name: 'draco.glb' })).geometry(0);
    return { bits: bitsOf(model), vertices: positions.length / 3 };
}

globalThis.result = run();
