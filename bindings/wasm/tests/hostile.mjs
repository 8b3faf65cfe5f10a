// Opens and plays damaged files: `node hostile.mjs [COUNT] [SEED] [FOLDER]`. Each must be usable or an error in words.
// Files of FOLDER, for example the seeds of the fuzz targets, are damaged too.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { CondyleError } from 'condyle';
import { init } from 'condyle/encode';
import { init as initPlayer } from 'condyle/player';

import { cases, compressed } from './draco.mjs';

const count = Number(process.argv[2] ?? 200);
let state = Number(process.argv[3] ?? 1);
const folder = process.argv[4];
const data = join(process.env.CONDYLE_ROOT, 'testdata');

/** A number from 0 to below `end`. */
function random(end) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
}

const pick = (list) => list[random(list.length)];

/** One, or up to `most`. */
const few = (most) => 1 + random(random(2) === 0 ? 1 : most);

const encoder = await init();
const player = await initPlayer();
const sources = [];
for (const name of ['morph.glb', 'rigid.glb', 'two_joints.glb', 'shared_joints.glb', 'springs/vrm1.gltf', 'springs/vrm0.gltf']) {
    try {
        sources.push({ name, bytes: readFileSync(join(data, name)) });
    } catch {
        continue;
    }
}
assert.ok(sources.length > 4);
const model = await encoder.open(sources[2].bytes, { name: 'a.glb' });
sources.push({ name: 'arm.condyle', bytes: Buffer.from(model.save({ error: 1e-3 })) });
for (const it of cases) sources.push({ name: 'draco.glb', bytes: compressed(it) });
const own = sources.length;
for (const name of folder ? readdirSync(folder) : []) {
    const isNamed = /\.(glb|gltf|bvh|condyle)$/.test(name);
    sources.push({ name: isNamed ? name : `${name}.glb`, bytes: readFileSync(join(folder, name)) });
}

const values = [null, true, -1, 0, 1, 0.5, 1e300, 65536, 4294967295, 2 ** 53, '', 'x', [], {}, [null], [1, 2, 3, 4]]
    .concat(['constructor', '__proto__', 'toString']);

/** Replaces some values of a document. */
function rewritten(json) {
    for (let change = few(3); change > 0; change--) {
        let [at, key] = [json, undefined];
        while (at[key] === undefined || (typeof at[key] === 'object' && at[key] !== null && random(5) > 0)) {
            if (key !== undefined) at = at[key];
            const keys = Object.keys(at);
            if (keys.length === 0) break;
            key = pick(keys);
        }
        if (key === undefined) continue;
        if (random(4) === 0) delete at[key];
        else at[key] = pick(values);
    }
    return json;
}

/** Damages a file in its bytes or its JSON. */
function damaged(bytes) {
    const isBinary = bytes.toString('latin1', 0, 4) === 'glTF' && bytes.length > 20;
    const end = isBinary ? 20 + bytes.readUInt32LE(12) : bytes.length;
    if (random(2) === 0 && (isBinary || bytes[0] === 0x7b)) {
        try {
            const json = rewritten(JSON.parse(bytes.toString('utf8', isBinary ? 20 : 0, end)));
            const text = Buffer.from(JSON.stringify(json));
            if (!isBinary) return text;
            const body = Buffer.concat([text, Buffer.alloc(-text.length & 3, 32)]);
            const out = Buffer.concat([bytes.subarray(0, 20), body, bytes.subarray(end)]);
            out.writeUInt32LE(out.length, 8);
            out.writeUInt32LE(body.length, 12);
            return out;
        } catch {
            // A file of the folder that is no document.
        }
    }
    const out = Buffer.from(bytes);
    for (let change = few(6); change > 0 && out.length > 0; change--) out[random(out.length)] = random(256);
    return random(5) === 0 ? out.subarray(0, random(out.length)) : out;
}

/** Uses everything of a model. */
function used(model) {
    const pose = model.pose();
    const crowd = model.crowd(3);
    crowd.update();
    for (const clip of model.clips.keys()) {
        pose.sample(clip, model.clips[clip].start + 0.3).blend(clip, 0, 0.5);
        for (const skin of model.skins.keys()) pose.palette(skin);
        for (const mesh of pose.skin ? model.meshes.keys() : []) pose.skin(mesh);
        if (model.toFrames && random(8) === 0) {
            try {
                model.toFrames(clip, { error: 0.01 });
                pose.sampleFrames([{ clip, seconds: 0.3 }]);
            } catch (error) {
                // A clip that jumps.
                if (error.code !== 'over-budget') throw error;
            }
        }
    }
    if (model.sphere) {
        const [x, y, z, radius] = model.sphere();
        pose.raycast([x, y, z + 2 * radius], [0, 0, -1]);
        pose.raycastHitboxes([x, y, z + 2 * radius], [0, 0, -1]);
        for (const mesh of model.meshes.keys()) model.geometry(mesh);
        pose.swing(0.1);
        if (model.joints.length > 0) pose.reach([{ joint: model.joints.length - 1, position: [0, 1, 0] }], { iterations: 5 });
    }
    if (model.encode && model.clips.length > 0 && random(4) === 0) model.encode(0, { error: 0.01 });
    for (const it of [pose, crowd]) it.dispose();
}

const tally = { used: 0, refused: 0, 'refused later': 0 };
for (let turn = 0; turn < count; turn++) {
    const { name, bytes } = sources[random(2) === 0 ? random(own) : random(sources.length)];
    const file = damaged(bytes);
    const place = `turn ${turn}, ${name}`;
    let step = 'refused';
    for (const instance of name.endsWith('.condyle') ? [encoder, player] : [encoder]) {
        try {
            const model = await instance.open(file, { name, warm: random(2) === 0 });
            step = 'refused later';
            try {
                used(model);
            } finally {
                model.dispose();
            }
            tally.used++;
        } catch (error) {
            assert.ok(error instanceof CondyleError, `${place}: ${error.stack}`);
            assert.ok(error.code.length > 2 && error.message.length > 15, `${place}: ${error.message}`);
            tally[step]++;
        }
    }
}
console.log(`${count} damaged files:`, tally);

// A path of a file finds files only, and nothing of a refused file stays in memory.
let size = 0;
for (let turn = 0; turn < 40; turn++) {
    for (const uri of ['constructor', '__proto__', 'a/toString', 'wrong.bin']) {
        const json = { asset: { version: '2.0' }, buffers: [{ byteLength: 4, uri }], extras: 'x'.repeat(1 << 18) };
        const files = { 'a.gltf': Buffer.from(JSON.stringify(json)), 'wrong.bin': 5 };
        const code = uri === 'wrong.bin' ? 'argument' : 'file';
        await assert.rejects(encoder.open(files, { name: 'a.gltf' }), { name: 'CondyleError', code });
    }
    if (turn === 4) size = encoder.memory.buffer.byteLength;
}
const grown = encoder.memory.buffer.byteLength - size;
assert.equal(grown, 0, `memory grew by ${grown} bytes`);
// The instances still work.
for (const { name, bytes } of sources.slice(0, 6)) used(await encoder.open(bytes, { name }));
