// Damaged files on the page: `node test/hostile.mjs 1000 [SEED]`. Each must be shown or refused in words.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { launch, Tab } from './browser.mjs';
import { DATA, serve } from './server.mjs';

const count = Number(process.argv[2] ?? 100);
let state = Number(process.argv[3] ?? 1);

/** A number from 0 to below `end`. */
function random(end) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
}

const names = ['morph.glb', 'rigid.glb', 'two_joints.glb', 'springs/vrm1.gltf'];
const files = await Promise.all(names.map((name) => readFile(join(DATA, name))));
files.push(await readFile(new URL('../characters/person.condyle', import.meta.url)));
names.push('person.condyle');

const browser = await launch();
const server = await serve();
const tab = await Tab.open(browser, server);
const tally = { shown: 0, refused: 0 };
const bad = [];
for (let turn = 0; turn < count; turn++) {
    const at = turn % files.length;
    let file = Buffer.from(files[at]);
    for (let change = 0; change <= random(6); change++) file[random(file.length)] = random(256);
    if (random(6) === 0) file = file.subarray(0, random(file.length));
    await tab.drop({ [`damaged.${names[at].split('.').pop()}`]: file });
    const isShown = await tab.isHidden('fault');
    tally[isShown ? 'shown' : 'refused']++;
    const text = isShown ? '' : (await tab.text('fault-text')) + (await tab.text('fault-list'));
    if (!isShown && (text.length < 20 || /bug of Condyle/.test(text))) bad.push(`${turn}: ${text}`);
}
console.log(tally, bad, tab.faults);
await browser.close();
server.close();
process.exitCode = bad.length > 0 || tab.faults.length > 0 ? 1 : 0;
