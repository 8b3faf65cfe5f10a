// Tests of the installed package in node: `node --test node.mjs`. CONDYLE_ROOT is the root of the repository.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { CondyleError, init } from 'condyle';
import { init as initEncoder } from 'condyle/encode';
import { init as initPlayer } from 'condyle/player';

import { bitsOf } from './bits.js';
import { cases, compressed } from './draco.mjs';
import { fileOf } from './models.mjs';

const root = process.env.CONDYLE_ROOT;
const bytesOf = (name) => readFileSync(join(root, 'testdata', name));
const open = async (name, options) => (await init()).open(bytesOf(name), { name, ...options });

/** A .gltf of joints without meshes: each is a node, or its name, translation and children. */
function chain(joints, extras = {}) {
    const nodes = joints.map((it) => {
        if (!Array.isArray(it)) return it;
        const [name, translation, children] = it;
        return { name, translation, ...(children ? { children } : {}) };
    });
    const skins = [{ joints: [...nodes.keys()] }];
    const json = { asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }], nodes, skins, ...extras };
    const text = Buffer.from(JSON.stringify(json));
    return Buffer.concat([text, Buffer.alloc(-text.length & 3, ' ')]);
}

test('posed vertices have the bits of the native library', async () => {
    const wanted = JSON.parse(readFileSync(join(root, 'bindings/wasm/tests/bits.json'), 'utf8'));
    const condyle = await init();
    let compared = 0;
    for (const [path, lines] of Object.entries(wanted)) {
        const file = fileOf(path);
        if (!file) continue;
        const model = await condyle.open(readFileSync(file), { name: path });
        assert.deepEqual(bitsOf(model), lines, path);
        model.dispose();
        compared += lines.length;
    }
    assert.ok(compared > 20, `${compared} lines`);
});

test('a model tells what it has', async () => {
    const model = await open('two_joints.glb');
    assert.deepEqual(model.joints.map((it) => it.parent), [-1, 0]);
    assert.equal(model.clips[0].name, 'bend');
    assert.deepEqual([model.clips[0].start, model.clips[0].seconds], [0.25, 1.5]);
    assert.deepEqual([...model.skins[0].joints], [0, 1]);
    assert.equal(model.meshes[0].vertices, 20);
    assert.equal(model.clip('bend'), 0);
    assert.throws(() => model.clip('walk'), { code: 'no-such-clip', names: ['bend'] });
    assert.ok(model.height > 0 && model.sphere()[3] > 0);
});

test('a crowd is the pose of each instance', async () => {
    const model = await open('two_joints.glb');
    const crowd = model.crowd(3, { joints: [1], row: 4 });
    assert.deepEqual([crowd.stride, crowd.offsets, crowd.palettes.length], [3, [0, 2], 12 * 16]);
    crowd.instances.set([0, 0.5, 0, 1, 0, 0, 0.5, 0, 1.5, 0.25, -1, 0, 0, 0, 0]);
    crowd.update();
    const pose = model.pose();
    const palette = (instance) => crowd.palettes.slice(instance * 48, instance * 48 + 32);
    assert.deepEqual(palette(0), pose.sample(0, 0.5).palette(0).slice());
    assert.deepEqual(crowd.palettes.slice(32, 48), pose.model.slice(16, 32));
    assert.deepEqual(palette(1), pose.sample(0, 0.5).blend(0, 1.5, 0.25).palette(0).slice());
    assert.deepEqual(palette(2), pose.rest().palette(0).slice());
    const rows = model.crowd(1, { layout: 'rows' });
    rows.instances[1] = 0.5;
    rows.update();
    assert.equal(rows.palettes.length, 24);
    assert.equal(rows.palettes[3], palette(0)[12]);
    // Past the end a clip goes on from its start.
    crowd.instances[1] = 1.5;
    crowd.advance(0.5);
    assert.ok(Math.abs(crowd.instances[1] - 0.5) < 1e-6);
    crowd.instances[5] = 1;
    for (const call of [() => crowd.update(), () => crowd.advance(0.1)]) {
        assert.throws(call, { code: 'index', message: 'instance 1: there is no clip 1: the model has 1' });
    }
    crowd.instances.set([0, NaN]);
    assert.throws(() => crowd.update(), { code: 'not-finite', message: /^instance 0: / });
    crowd.dispose();
    assert.throws(() => crowd.palettes, { code: 'disposed' });
    assert.throws(() => crowd.update(), { code: 'disposed' });
});

test('frames play in place of their clip', async () => {
    const encoder = await initEncoder();
    const source = await encoder.open(bytesOf('forearm.glb'), { name: 'arm.glb' });
    const container = source.save({ error: 1e-3 });
    for (const model of [await open('forearm.glb'), await (await init()).open(container, { name: 'a.condyle' })]) {
        const [pose, crowd] = [model.pose(), model.crowd(2)];
        const times = [0.25, 0.4, 0.9, 1.3, 1.75];
        const authored = times.map((seconds) => pose.sample(0, seconds).palette(0).slice());
        const bytes = model.clips[0].bytes;
        assert.equal(model.clips[0].frames, undefined);
        const frames = model.toFrames(0, { error: 1e-3, radius: 1 });
        assert.deepEqual(model.clips[0].frames, frames);
        assert.ok(frames.error <= 1e-3 && frames.seamError >= 0 && frames.rate > 0 && frames.bytes > 0, JSON.stringify(frames));
        assert.equal(model.clips[0].bytes, bytes);
        times.forEach((seconds, at) => {
            const found = pose.sample(0, seconds).palette(0);
            assert.ok(found.every((v, i) => Math.abs(v - authored[at][i]) < 5e-3), `${seconds} s`);
        });
        assert.ok(times.some((seconds, at) => pose.sample(0, seconds).palette(0).some((v, i) => v !== authored[at][i])), 'they are others');
        // A crowd blends as a pose does, in one pass.
        crowd.instances.set([0, 0.5, 0, 1.5, 0.25, 0, 0.5, 0, 1.5, 0]);
        crowd.update();
        const layers = [{ clip: 0, seconds: 0.5, weight: 3 }, { clip: 0, seconds: 1.5 }];
        const blended = pose.sampleFrames(layers).palette(0).slice();
        assert.deepEqual(crowd.palettes.slice(0, 32), blended);
        assert.deepEqual(pose.sampleFrames(layers.toReversed()).palette(0).slice(), blended);
        assert.deepEqual(crowd.palettes.slice(32), pose.sample(0, 0.5).palette(0).slice());
        const slow = pose.sample(0, 0.5).blend(0, 1.5, 0.25).palette(0);
        // A blend of poses turns at an even rate, and a blend of frames is a weighted mean.
        assert.ok(slow.every((v, i) => Math.abs(v - blended[i]) < 1e-2));
        // Joint 1 has no weight, so it rests; joint 0 is not changed by the mask.
        const masked = pose.sampleFrames([{ ...layers[0], mask: model.mask(0).fill(0, 1) }, { ...layers[1], weight: 0 }]).local.slice();
        assert.deepEqual(masked.slice(0, 10), pose.sampleFrames([layers[0]]).local.slice(0, 10));
        assert.deepEqual(masked.slice(10), pose.rest().local.slice(10));

        model.dropFrames(0);
        assert.equal(model.clips[0].frames, undefined);
        times.forEach((seconds, at) => assert.deepEqual(pose.sample(0, seconds).palette(0).slice(), authored[at]));
        assert.throws(() => pose.sampleFrames(layers), { code: 'unsupported', message: 'clip "twist" is not unpacked: call model.toFrames() before' });
        model.toFrames(0, { error: 1e-3 });
        for (const [call, code, message] of [
            [() => model.toFrames(0), 'out-of-range', /^set error or millimetres/],
            [() => model.toFrames(0, { millimetres: NaN }), 'out-of-range', /they are undefined and NaN/],
            [() => model.toFrames(0, { error: 1, radius: NaN }), 'not-finite', 'radius is NaN, but must be a finite number'],
            [() => model.toFrames(0, { error: 1, radius: -1 }), 'out-of-range', /radii/],
            [() => model.toFrames(0, { error: 1e-30 }), /^(over-budget|out-of-range|too-many)$/, /./],
            [() => model.toFrames(3, { error: 1 }), 'index', 'there is no clip 3: the model has 1'],
            [() => model.dropFrames('twist'), 'argument', /the index of a clip is "twist"/],
            [() => pose.sampleFrames(), 'argument', 'layers is undefined, but must be an array of 1 to 8 layers'],
            [() => pose.sampleFrames([]), 'argument', /^layers is Array of length 0/],
            [() => pose.sampleFrames(Array(9).fill(layers[0])), 'argument', /^layers is Array of length 9/],
            [() => pose.sampleFrames([5]), 'argument', /5, but must be an object/],
            [() => pose.sampleFrames([{ ...layers[0], clip: 1 }]), 'index', /there is no clip 1/],
            [() => pose.sampleFrames([{ ...layers[0], seconds: NaN }]), 'not-finite', /^seconds is NaN/],
            [() => pose.sampleFrames([{ ...layers[0], weight: Infinity }]), 'not-finite', /^weight is Infinity/],
            [() => pose.sampleFrames([{ ...layers[0], weight: 1e300 }]), 'not-finite', /weights/],
            [() => pose.sampleFrames([{ ...layers[0], weight: -1 }]), 'out-of-range', /weights/],
            [() => pose.sampleFrames([{ ...layers[0], mask: [1] }]), 'argument', /^mask is Array of length 1/],
        ]) {
            assert.throws(call, (error) => {
                assert.ok(error instanceof CondyleError, error.stack);
                const matches = (wanted, it) => (wanted instanceof RegExp ? wanted.test(it) : wanted === it);
                assert.ok(matches(code, error.code) && matches(message, error.message), `${call}: ${error.code}: ${error.message}`);
                return true;
            });
        }
        crowd.instances.set([0, 0.5, 0, NaN, 0.25]);
        assert.throws(() => crowd.update(), { code: 'not-finite' });
        crowd.instances.set([0, 0.5, 0, 1, NaN]);
        assert.throws(() => crowd.update(), { code: 'not-finite' });
        model.dispose();
        assert.throws(() => model.toFrames(0, { error: 1 }), { code: 'disposed' });
        assert.throws(() => model.dropFrames(0), { code: 'disposed' });
        pose.dispose();
        assert.throws(() => pose.sampleFrames(layers), { code: 'disposed' });
    }
    const jumping = await open('two_joints.glb');
    assert.throws(() => jumping.toFrames(0, { error: 1e-3 }), { code: 'over-budget', message: /^the most accurate frames have an error of/ });
    assert.equal(jumping.clips[0].frames, undefined);
    // A clip of another skeleton with as many joints.
    const other = await encoder.open(chain([['a', [0, 0, 0], [1]], ['b', [0, 2, 0]]]), { name: 'b.gltf' });
    other.addClip('bend', source.encode(0, { error: 1e-3 }).data);
    assert.throws(() => other.toFrames(0, { error: 1e-3 }), { code: /^(skeleton|rest-pose)$/ });
    // The encoder compares keys, and not their frames.
    const without = source.encode(0, { error: 1e-3 }).worst;
    source.toFrames(0, { error: 1e-2 });
    assert.deepEqual(source.encode(0, { error: 1e-3 }).worst, without);
    assert.ok(source.clips[0].frames);
});

test('a view is never stale', async () => {
    const condyle = await init();
    const model = await condyle.open(bytesOf('two_joints.glb'), { name: 'a.glb' });
    const crowd = model.crowd(2);
    crowd.update();
    const before = crowd.palettes;
    const numbers = before.slice();
    assert.equal(crowd.palettes, before);
    const large = model.crowd(200_000);
    assert.equal(before.length, 0);
    assert.deepEqual(crowd.palettes, numbers);
    large.dispose();
});

test('the vertices of a pose end with it, and keep it alive', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const model = await open('two_joints.glb');
    const pose = model.pose();
    const posed = pose.sample(0, 1).skin(0);
    const { positions } = posed;
    const numbers = positions.slice();
    assert.ok(posed.normals.length >= 0);
    pose.dispose();
    assert.throws(() => posed.positions, { code: 'disposed' });
    assert.throws(() => posed.normals, { code: 'disposed' });
    const alone = (() => model.pose().sample(0, 1).skin(0))();
    for (let turn = 0; turn < 10; turn++) {
        collect();
        await new Promise((done) => setTimeout(done, 2));
        model.pose().sample(0, 0.3).skin(0);
    }
    assert.deepEqual(alone.positions, numbers);
});

test('a frame leaves no garbage', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    const model = await open('two_joints.glb');
    const crowd = model.crowd(8);
    const pose = model.pose();
    const other = await open('forearm.glb');
    other.toFrames(0, { error: 1e-3 });
    const unpacked = other.pose();
    const layers = [{ clip: 0, seconds: 0.5 }, { clip: 0, seconds: 1, mask: other.mask(1) }];
    const frame = () => {
        crowd.advance(0.01);
        crowd.update();
        pose.sample(0, 0.5).blend(0, 1, 0.5).toModel().palette(0);
        pose.skin(0);
        unpacked.sampleFrames(layers).palette(0);
        return crowd.palettes;
    };
    const used = (frames) => {
        collect();
        const before = process.memoryUsage().heapUsed;
        for (let at = 0; at < frames; at++) frame();
        return (process.memoryUsage().heapUsed - before) / frames;
    };
    used(20_000);
    const bytes = Math.min(...[1, 2, 3].map(() => used(20_000)));
    assert.ok(bytes < 64, `${bytes} bytes each frame`);
});

test('files beside a .gltf', async () => {
    const condyle = await init();
    const json = (uri) => ({
        asset: { version: '2.0' },
        scene: 0,
        scenes: [{ nodes: [0] }],
        nodes: [{ name: 'a' }],
        images: [{ uri }],
        buffers: [{ uri: 'sub/a%20b.bin', byteLength: 4 }],
    });
    const text = (it) => new TextEncoder().encode(JSON.stringify(it));
    const files = { 'in/x.gltf': text(json('p.png')), 'in/sub/a b.bin': new Uint8Array(4), 'in/p.png': new ArrayBuffer(3) };
    assert.deepEqual((await condyle.open(files)).problems, []);
    // A dropped file has no folder.
    const dropped = { 'x.gltf': files['in/x.gltf'], 'a b.bin': files['in/sub/a b.bin'] };
    assert.match((await condyle.open(dropped)).problems[0].place, /images/);
    delete dropped['a b.bin'];
    await assert.rejects(condyle.open(dropped), (error) => {
        assert.ok(error instanceof CondyleError && error.code === 'file');
        assert.equal(error.path, '/buffers/0/uri');
        assert.match(error.problems[0].action, /together with the file/);
        return true;
    });
    await assert.rejects(condyle.open({ 'a.glb': files['in/p.png'], 'b.glb': files['in/p.png'] }), { code: 'several-models' });
});

test('a path of a file finds files only', async () => {
    const condyle = await init();
    const text = (it) => new TextEncoder().encode(JSON.stringify(it));
    const json = { asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ name: 'a' }], buffers: [{ byteLength: 4 }] };
    const draco = { extensionsUsed: ['KHR_draco_mesh_compression'], extensionsRequired: ['KHR_draco_mesh_compression'] };
    const before = () => condyle.memory.buffer.byteLength;
    // Grown by what an open leaves.
    const padding = 'x'.repeat(1 << 18);
    let size;
    for (let turn = 0; turn < 60; turn++) {
        for (const uri of ['constructor', '__proto__', 'toString', 'sub/__proto__']) {
            const file = text({ ...json, ...(turn === 0 ? draco : {}), buffers: [{ byteLength: 4, uri }], extras: padding });
            for (const files of [file, { 'in/x.gltf': file }, Object.assign(Object.create(null), { 'x.gltf': file })]) {
                await assert.rejects(condyle.open(files), { code: 'file', path: '/buffers/0/uri' });
            }
        }
        const buffer = new Uint8Array(4);
        if (turn > 0) structuredClone(buffer.buffer, { transfer: [buffer.buffer] });
        const files = { 'x.gltf': text({ ...json, buffers: [{ byteLength: 4, uri: 'a.bin' }], extras: padding }), 'a.bin': turn > 0 ? buffer : 5 };
        await assert.rejects(condyle.open(files), { code: 'argument', message: /^a.bin is (5|detached)/ });
        // An image is not needed, but a value of a wrong type is an error.
        const image = text({ ...json, buffers: [], images: [{ uri: 'a.bin' }], extras: padding });
        await assert.rejects(condyle.open({ ...files, 'x.gltf': image }), { code: 'argument' });
        if (turn === 3) size = before();
    }
    assert.ok(before() <= size, `memory grew from ${size} to ${before()}`);
    await assert.rejects(condyle.open({ 'a.glb': new Uint8Array(4) }, { name: 'constructor' }), { code: 'no-such-model' });
});

test('a model that cannot be warmed up is opened all the same', async () => {
    const bytes = bytesOf('two_joints.glb');
    const end = 20 + bytes.readUInt32LE(12);
    const json = JSON.parse(bytes.toString('utf8', 20, end));
    json.nodes[0].scale = [3e38, 3e38, 3e38];
    const text = Buffer.from(JSON.stringify(json));
    const body = Buffer.concat([text, Buffer.alloc(-text.length & 3, 32)]);
    const out = Buffer.concat([bytes.subarray(0, 20), body, bytes.subarray(end)]);
    out.writeUInt32LE(out.length, 8);
    out.writeUInt32LE(body.length, 12);
    const condyle = await init();
    const model = await condyle.open(out, { name: 'a.glb' });
    assert.throws(() => model.pose().sample(0, 1).bounds(), { code: 'not-finite' });
});

test('a broken file is an error, and the instance goes on', async () => {
    const encoder = await initEncoder();
    const source = await encoder.open(bytesOf('two_joints.glb'), { name: 'a.glb' });
    const container = source.save({ error: 1e-3 });
    const player = await initPlayer();
    const condyle = await init();
    const jobs = [
        [condyle, bytesOf('two_joints.glb'), 'a.glb'],
        [condyle, bytesOf('morph.glb'), 'a.glb'],
        [condyle, container, 'a.condyle'],
        [player, container, 'a.condyle'],
    ];
    let refused = 0;
    for (const [instance, bytes, name] of jobs) {
        const attempt = async (damaged) => {
            try {
                const model = await instance.open(damaged, { name, warm: false });
                const pose = model.pose();
                if (model.clips.length > 0) pose.sample(0, 0.5);
                pose.toModel();
                model.meshes.forEach((_, mesh) => pose.skin?.(mesh));
                pose.dispose();
                model.dispose();
            } catch (error) {
                assert.ok(error instanceof CondyleError, `${name}: ${error.stack}`);
                assert.ok(error.code && error.message);
                refused++;
            }
        };
        for (let length = 0; length < bytes.length; length += 7) await attempt(bytes.slice(0, length));
        for (let at = 0; at < bytes.length; at += 3) {
            const damaged = Uint8Array.from(bytes);
            damaged[at] ^= 1 << at % 8;
            await attempt(damaged);
        }
        assert.ok(await instance.open(bytes, { name }));
    }
    assert.ok(refused > 1000, `${refused} refused`);
});

test('the player plays what the encoder writes', async () => {
    const encoder = await initEncoder();
    const source = await encoder.open(bytesOf('two_joints.glb'), { name: 'arm.glb' });
    const encoded = source.encode(0, { error: 1e-3 });
    assert.ok(encoded.ratio > 0 && encoded.maxError <= 1e-3 && encoded.data.length === encoded.bytes);
    assert.equal(encoded.clip, 1);
    const [a, b] = [source.pose().sample(0, encoded.worst.seconds), source.pose().sample(1, encoded.worst.seconds)];
    const errors = a.errors(b);
    assert.ok(errors.max <= 1e-3 && errors.mesh === encoded.worst.mesh && errors.vertex === encoded.worst.vertex);
    assert.equal(errors.values(0)[errors.vertex], Math.fround(errors.max));
    assert.equal(source.encode(0, { millimetres: 2, replace: 1 }).clip, 1);
    assert.throws(() => source.encode(1, { error: 1 }), { code: 'unsupported' });
    assert.throws(() => source.encode(0, {}), { code: 'out-of-range' });
    const file = source.save({ error: 1e-3 });
    const player = await (await initPlayer()).open(file, { name: 'arm.condyle' });
    assert.deepEqual(source.clips.map((it) => it.name), ['bend', 'bend, compressed']);
    assert.deepEqual(player.clips.map((it) => [it.name, it.compressed]), [['bend', true]]);
    assert.equal(player.addClip('again', encoded.data), 1);
    const whole = await (await init()).open(file, { name: 'arm.condyle' });
    const [p, w] = [player, whole].map((it) => it.pose().sample(0, 0.7).palette(0).slice());
    assert.deepEqual(p, w);
    assert.equal(player.meshes[0].vertices, 20);
    for (const meshes of [false, true]) {
        const glb = source.pack({ error: 1e-3, meshes });
        assert.deepEqual((await encoder.open(glb, { name: 'b.glb' })).clips.map((it) => it.name), ['bend']);
    }
    await assert.rejects((await initPlayer()).open(bytesOf('two_joints.glb')), { code: 'unsupported' });
});

test('rays, bounds and solvers', async () => {
    const model = await open('two_joints.glb');
    const pose = model.pose().rest();
    const { center, radius, min, max } = pose.bounds();
    assert.ok(radius > 0 && min[1] < max[1]);
    const from = [center[0] + 10 * radius, center[1], center[2]];
    const hit = pose.raycast(from, [-1, 0, 0]);
    assert.ok(hit && hit.mesh === 0 && Math.abs(hit.weights.reduce((a, b) => a + b) - 1) < 1e-5);
    assert.ok(pose.raycastHitboxes(from, [-1, 0, 0]));
    assert.equal(pose.raycast(from, [1, 0, 0]), undefined);
    assert.throws(() => pose.raycast([NaN, 0, 0], [1, 0, 0]), { code: 'not-finite' });
    const tip = [0.3, 0.9, 0];
    const reached = pose.reach([{ joint: 1, position: tip.map((v) => v * 0.9) }]);
    assert.ok(reached.distance >= 0 && reached.iterations >= 0);
    assert.ok(pose.aim(1, [0, 1, 0], [1, 2, 0]).angle < 1e-3);
    for (const method of pose.methods) pose.sample(0, 0.25).interpolate(0, 1.5, 0.5, method);
    assert.throws(() => pose.interpolate(0, 0, 0.5, 'best'), { code: 'unknown-name' });
    const linear = pose.sample(0, 1).skin(0).positions.slice();
    pose.skinning = 'dual';
    assert.notDeepEqual(pose.skin(0).positions, linear);
    const half = model.mask(1);
    assert.deepEqual([...half], [0, 1]);
    pose.sample(0, 0.25).add(0, 1.5, 0.5, half).set(0, { translation: [1, 2, 3] });
    assert.deepEqual([...pose.local.subarray(4, 7)], [1, 2, 3]);
    assert.throws(() => pose.set(0, { rotation: [0, 0, 0, 5] }), { code: 'not-unit' });
    assert.throws(() => pose.errors(model.pose().rest().copy(pose) && pose), { code: 'same-pose' });
    const geometry = model.geometry(0);
    assert.deepEqual([geometry.positions.length, geometry.skinWeights.length], [60, 80]);
});

test('two-bone, springs and feet', async () => {
    const condyle = await init();
    const legs = [
        ['pelvis', [0, 1, 0], [1, 4]],
        ['hip.L', [0.1, 0, 0], [2]], ['knee.L', [0, -0.5, 0.02], [3]], ['foot.L', [0, -0.5, -0.02]],
        ['hip.R', [-0.1, 0, 0], [5]], ['knee.R', [0, -0.5, 0.02], [6]], ['foot.R', [0, -0.5, -0.02]],
    ];
    const model = await condyle.open(chain(legs), { name: 'legs.gltf' });
    const pose = model.pose();
    const at = (name) => [...pose.model.slice(16 * model.joint(name) + 12, 16 * model.joint(name) + 15)];
    const joints = ['hip.L', 'knee.L', 'foot.L'].map((name) => model.joint(name));

    const target = [0.1, 0.3, 0.2];
    assert.ok(pose.twoBone(joints, target, { pole: [0, 0, 1] }).met);
    assert.ok(at('foot.L').every((v, axis) => Math.abs(v - target[axis]) < 1e-4), at('foot.L'));
    assert.ok(at('knee.L')[2] > 0.1, 'the knee points at the pole');
    assert.ok(!pose.rest().twoBone(joints, [0, -5, 0]).met);
    assert.throws(() => pose.twoBone(joints.slice(1), target), { code: 'argument', message: /three joints/ });

    const feet = model.feet(model.joint('pelvis'), ['L', 'R'].map((side) => ({
        hip: model.joint(`hip.${side}`), knee: model.joint(`knee.${side}`), foot: model.joint(`foot.${side}`),
    })));
    // A slope of 0.2: the left foot stands higher than the right one.
    const ground = (x) => ({ height: 0.2 * x, normal: [-0.2, 1, 0].map((v) => v / Math.hypot(0.2, 1)) });
    for (let frame = 0; frame < 60; frame++) pose.rest().place(feet, ground, { seconds: 1 / 30 });
    assert.ok(Math.abs(at('foot.L')[1] - at('foot.R')[1] - 0.04) < 0.01, `${at('foot.L')} ${at('foot.R')}`);
    feet.reset();
    pose.rest().place(feet, { point: [0, 0, 0], normal: [0, 1, 0] }, { seconds: 1 / 30 });
    assert.ok(Math.abs(at('foot.L')[1]) < 0.02);
    feet.reset();
    const thrown = new Error('of the caller');
    const broken = () => {
        throw thrown;
    };
    assert.throws(() => pose.rest().place(feet, broken, { seconds: 1 / 30 }), (error) => error === thrown);
    assert.throws(() => pose.place(feet, ground, {}), { code: 'argument', message: /seconds is undefined/ });
    const step = { seconds: 1 / 30 };
    const nothing = () => {
        throw undefined;
    };
    let found = 'no error';
    feet.reset();
    try {
        pose.place(feet, nothing, step);
    } catch (error) {
        found = error;
    }
    assert.equal(found, undefined);
    for (const [below, message] of [
        [() => ({ height: 0, normal: { x: 0, y: 1, z: 0 } }), /normal of the ground is an object of type Object/],
        [() => ({ height: NaN, normal: [0, 1, 0] }), /height of the ground is NaN/],
        [() => 1, /height of the ground is undefined/],
    ]) {
        feet.reset();
        assert.throws(() => pose.rest().place(feet, below, step), { name: 'CondyleError', message });
    }
    // The ground makes the memory grow, as the first ray at another model does.
    feet.reset();
    const before = condyle.memory.buffer.byteLength;
    const made = [];
    const growing = () => {
        while (condyle.memory.buffer.byteLength === before) made.push(model.crowd(5000));
        return { height: 0.1, normal: [0, 1, 0] };
    };
    pose.rest().place(feet, growing, step);
    assert.ok(made.length > 0 && at('foot.L')[1] > 0.05, `${at('foot.L')}`);
    made.forEach((it) => it.dispose());
    const old = model.pose();
    old.dispose();
    assert.throws(() => old.place(feet, ground, step), { code: 'disposed' });
    assert.throws(() => pose.copy(old), { code: 'disposed' });

    const far = { world: [0.01, 0, 0, 0, 0, 0.01, 0, 0, 0, 0, 0.01, 0, 5, 3, 7, 1], seconds: 1 / 30 };
    // The world is in hundreds of units, and the ground there is 20 units above the origin of the model.
    const seen = [];
    const high = (x, y, z) => {
        seen.push([x, y, z]);
        return { height: 3.2, normal: [0, 1, 0] };
    };
    feet.reset();
    assert.ok(pose.rest().place(feet, high, far).hasContacts);
    assert.ok(Math.abs(at('foot.L')[1] - 20) < 1e-4, at('foot.L'));
    assert.ok(seen.length > 0 && seen.every(([x, , z]) => Math.abs(x - 5) < 0.1 && Math.abs(z - 7) < 0.1), seen[0]);
    for (const [world, code] of [[[1], 'argument'], [Array(16).fill(0), 'out-of-range'], [Array(16).fill(NaN), 'not-finite']]) {
        assert.throws(() => pose.place(feet, high, { ...far, world }), { code });
    }
    const sheared = far.world.with(0, 0.02);
    assert.throws(() => pose.place(feet, high, { ...far, world: sheared }), { code: 'out-of-range', message: /world/ });

    const tail = [['hips', [0, 1, 0], [1]], ['tail', [0, 0, -0.3], [2]], ['tip', [0, 0, -0.3]]];
    const springs = {
        extensionsUsed: ['VRMC_springBone'],
        extensions: { VRMC_springBone: {
            specVersion: '1.0',
            springs: [{ joints: [
                { node: 1, stiffness: 0.2, dragForce: 0.1, gravityPower: 1, gravityDir: [0, -1, 0] }, { node: 2 },
            ] }],
        } },
    };
    const animal = await condyle.open(chain(tail, springs), { name: 'tail.gltf' });
    assert.ok(animal.hasSprings && !model.hasSprings);
    const swung = animal.pose();
    const height = () => swung.model[16 * animal.joint('tip') + 13];
    assert.equal(height(), 1);
    for (let frame = 0; frame < 60; frame++) swung.rest().swing(1 / 60);
    assert.ok(height() < 0.95, `the tail hangs: ${height()}`);
    swung.resetSprings();
    swung.rest().swing(0);
    assert.ok(height() > 0.99);
    // A character that moves to the right leaves its tail behind.
    const world = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
    for (let frame = 0; frame < 10; frame++) {
        world[12] += 0.05;
        swung.rest().swing(1 / 60, { world });
    }
    const side = swung.model[16 * animal.joint('tip') + 12];
    assert.ok(side < -0.05, `the tail flies behind: ${side}`);
    assert.throws(() => swung.swing(0.1, { world: [1, 2] }), { code: 'argument' });
    assert.throws(() => swung.swing(NaN), { code: 'not-finite', message: 'seconds is NaN, but must be a finite number' });
});

test('feet follow the contacts of the clip', async () => {
    const condyle = await initEncoder();
    const legs = [
        ['pelvis', [0, 1, 0], [1, 4]],
        ['hip.L', [0.1, 0, 0], [2]], ['knee.L', [0, -0.5, 0.02], [3]], ['foot.L', [0, -0.5, -0.02]],
        ['hip.R', [-0.1, 0, 0], [5]], ['knee.R', [0, -0.5, 0.02], [6]], ['foot.R', [0, -0.5, -0.02]],
    ];
    // The pelvis stands, rises at 8 m/s, and does one after the other. The clips start after 10 seconds.
    const clips = { stand: [[10, 1], [10.5, 1]], rise: [[10, 1], [10.5, 5]], both: [[10, 1], [10.5, 1], [11, 5]] };
    const floats = Object.values(clips).flatMap((keys) => [...keys.map(([time]) => time), ...keys.flatMap(([, y]) => [0, y, 0])]);
    const data = Buffer.from(Float32Array.from(floats).buffer);
    let byteOffset = 0;
    const accessors = Object.values(clips).flatMap((keys) => {
        const count = keys.length;
        const [input, output] = [byteOffset, byteOffset + 4 * count];
        byteOffset += 16 * count;
        return [
            { bufferView: 0, byteOffset: input, componentType: 5126, type: 'SCALAR', count, min: [10], max: [keys.at(-1)[0]] },
            { bufferView: 0, byteOffset: output, componentType: 5126, type: 'VEC3', count },
        ];
    });
    const animations = Object.keys(clips).map((name, clip) => ({
        name, samplers: [{ input: 2 * clip, output: 2 * clip + 1 }], channels: [{ sampler: 0, target: { node: 0, path: 'translation' } }],
    }));
    const extras = {
        buffers: [{ byteLength: data.length, uri: `data:application/octet-stream;base64,${data.toString('base64')}` }],
        bufferViews: [{ buffer: 0, byteLength: data.length }], accessors, animations,
    };
    const model = await condyle.open(chain(legs, extras), { name: 'legs.gltf' });
    const [stand, rise, both] = Object.keys(clips).map((name) => model.clip(name));
    assert.equal(model.clips[both].start, 10);
    const feet = model.feet(0, [{ hip: 1, knee: 2, foot: 3 }, { hip: 4, knee: 5, foot: 6 }]);
    const pose = model.pose();
    const world = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
    const place = (clip, time, options) =>
        pose.sample(clip, time).place(feet, { point: [0, 0, 0], normal: [0, 1, 0] }, { seconds: 1 / 60, clip, time, world, ...options });
    const foot = () => [...pose.model.slice(16 * 3 + 12, 16 * 3 + 15)];

    assert.ok(place(stand, 10.2).hasContacts);
    assert.ok(Math.abs(foot()[1]) < 1e-3);
    // No foot touches the ground: they rise with the clip.
    feet.reset();
    for (const loop of [true, false]) assert.equal(place(rise, 10.4, { loop }).hasContacts, false);
    for (let time = 10; time < 10.45; time += 1 / 60) place(rise, time);
    assert.ok(foot()[1] > 2, `${foot()}`);
    // A planted foot stays in the world, and a foot in the air goes with the character.
    for (const [time, moved] of [[10.2, -0.02], [10.9, 0]]) {
        feet.reset();
        world[12] = 0;
        place(both, time, { loop: false });
        world[12] = 0.02;
        assert.ok(place(both, time, { loop: false }).hasContacts);
        assert.ok(Math.abs(foot()[0] - 0.1 - moved) < 1e-3, `${time}: ${foot()}`);
    }
    // Another clip in the same place is analysed again.
    const compressed = (clip) => model.encode(clip, { error: 1e-3 }).data;
    const [a, b] = [compressed(stand), compressed(rise)];
    const added = model.addClip('a', a);
    assert.equal(place(added, 10.2).hasContacts, true);
    model.addClip('a', b, { replace: added });
    assert.equal(place(added, 10.2).hasContacts, false);
    model.encode(stand, { error: 1e-3, replace: added });
    assert.equal(place(added, 10.2).hasContacts, true);

    // A walk in place moves the character, and its feet stay where they stand.
    const person = await condyle.open(readFileSync(join(root, 'web/characters/person.glb')), { name: 'person.glb' });
    const leg = (side) => {
        const [hip, knee, foot] = ['upper_leg', 'lower_leg', 'foot'].map((name) => person.joint(`${side}_${name}`));
        return { hip, knee, foot };
    };
    const [walker, walking] = [person.pose(), person.feet(person.joint('hips'), [leg('left'), leg('right')])];
    const clip = person.clips.findIndex(({ name }) => /walk/.test(name));
    world[12] = 0;
    for (let frame = 0; frame < 120; frame++) {
        const time = (frame / 60) % person.clips[clip].seconds;
        const given = { seconds: 1 / 60, clip, time, world };
        const { distance, velocity } = walker.sample(clip, time).place(walking, { point: [0, 0, 0], normal: [0, 1, 0] }, given);
        assert.ok(distance < 1e-3 && velocity[2] > 0.5, `${distance} ${velocity}`);
        world[14] += velocity[2] / 60;
    }
});

test('events and root motion between two times', async () => {
    const bytes = bytesOf('format/wave.condyle');
    for (const condyle of [await init(), await initPlayer()]) {
        const model = await condyle.open(bytes, { name: 'wave.condyle' });
        const events = [{ name: 'begins', seconds: 0 }, { name: 'grüßt', seconds: 0.5 }];
        assert.deepEqual(model.clips[0].events, events);
        const names = (...arguments_) => model.eventsPassed(0, ...arguments_).map((it) => it.name);
        assert.deepEqual(names(0, 0.5), ['grüßt']);
        assert.deepEqual(names(0, 0.5, { inclusive: true }), ['begins', 'grüßt']);
        assert.deepEqual(names(0.5, 1), []);
        assert.deepEqual(names(1, 0), ['grüßt']);
        const { seconds } = model.clips[0];
        const [first, second] = model.eventsPassed(0, 1, seconds + 1, { loop: true });
        assert.deepEqual(first, { name: 'begins', seconds: 0, index: 0, loops: 1, clock: seconds });
        assert.deepEqual([second.name, second.loops], ['grüßt', 1]);
        assert.deepEqual(names(1, seconds + 1), []);
        // Small steps, forward and backward, pass each event once.
        const times = Array.from({ length: 400 }, (_, at) => 6 * Math.sin(at / 20));
        let sum = 0;
        for (let at = 1; at < times.length; at++) {
            const found = model.eventsPassed(0, times[at - 1], times[at], { loop: true });
            sum += found.length * Math.sign(times[at] - times[at - 1]);
            const all = model.eventsPassed(0, 0, times[at], { loop: true });
            assert.equal(sum, all.length * Math.sign(times[at]));
            assert.ok(found.every(({ clock }) => clock >= Math.min(times[at - 1], times[at]) && clock <= Math.max(times[at - 1], times[at])));
        }
        assert.throws(() => model.eventsPassed(0, 0, 1e9, { loop: true }), { code: 'too-many' });
        assert.throws(() => model.eventsPassed(0, 0, NaN), { code: 'not-finite' });
        assert.throws(() => model.eventsPassed(1, 0, 1), { code: 'index' });
        assert.ok(model.clips[0].hasMotion);
        if (model.motion) assert.ok(Math.hypot(...model.motion(0, 0, 1).translation) > 0);
        model.dispose();
        assert.throws(() => names(0, 1), { code: 'disposed' });
    }
    const still = await open('two_joints.glb');
    assert.deepEqual(still.eventsPassed(0, 0, 100), []);
    assert.equal(still.clips[0].hasMotion, false);
    assert.deepEqual(still.motion(0, 0, 1), { rotation: [0, 0, 0, 1], translation: [0, 0, 0] });
});

test('wrong arguments are named, with what was found and needed', async () => {
    const condyle = await initEncoder();
    const bytes = bytesOf('two_joints.glb');
    const model = await condyle.open(bytes, { name: 'a.glb' });
    const pose = model.pose();
    const detached = new Uint8Array(bytes);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    const elsewhere = (await (await init()).open(bytes, { name: 'a.glb' })).pose();
    const list = [
        [() => condyle.open(undefined), 'the file is undefined, but must be bytes, or an object of bytes by name'],
        [() => condyle.open(detached), /^the file is detached/],
        [() => condyle.open({ 'a.glb': 5 }), 'a.glb is 5, but must be an ArrayBuffer or a typed array'],
        [() => condyle.open(bytes, { name: 5 }), 'name is 5, but must be a text'],
        [() => condyle.open(bytes, { model: 5 }), 'model is 5, but must be a text'],
        [() => condyle.open(bytes, { unit: 'cm' }), 'unit is "cm", but must be a finite number'],
        [() => condyle.open(bytes, null), /null, but must be an object/],
        [() => model.clip(undefined), 'name is undefined, but must be a text'],
        [() => model.addClip(5, bytes), 'name is 5, but must be a text'],
        [() => model.addClip('a', undefined), /^data is undefined/],
        [() => model.addClip('a', detached), /^data is detached/],
        [() => model.mask([1.5]), /^the index of a joint is 1.5, .* below 2; model.joint\(\) finds it by its name$/],
        [() => model.crowd(undefined), /^count is undefined, but must be a whole number/],
        [() => model.crowd(1, { layout: 'row' }), 'layout is "row", but must be "columns" or "rows"'],
        [() => model.crowd(1, { joints: ['hand'] }), /^element 0 of joints is "hand"/],
        [() => model.crowd(1).advance(), 'seconds is undefined, but must be a finite number'],
        [() => pose.sample('bend', 0), /^the index of a clip is "bend", but .* model.clip\(\) finds it by its name$/],
        [() => pose.blend(0, 0, 0.5, [1]), 'mask is Array of length 1, but must be an array of 2 finite numbers'],
        [() => pose.copy(elsewhere), /^the other pose is an object of type MeshPose, but must be a pose of the same model$/],
        [() => pose.raycast([0, 0], [1, 0, 0]), 'origin is Array of length 2, but must be an array of 3 finite numbers'],
        [() => (pose.skinning = 'quat'), 'skinning is "quat", but must be "linear" or "dual"'],
        [() => pose.reach(), 'goals is undefined, but must be an array'],
        [() => pose.place(), /^feet is undefined/],
        [() => model.feet(0, []), /^legs is Array of length 0/],
        [() => pose.reach([{ joint: 1, postion: [0, 1, 0] }]), 'there is no option postion here; there are joint, position, orientation, offset, weight'],
        [() => pose.swing(0.1, { wind: [1, 0, 0] }), 'there is no option wind here; there are force, weight, world'],
        [() => condyle.open(bytes, { zup: true }), /^there is no option zup here/],
        [() => model.save({ error: 1e-3, replace: 0 }), 'there is no option replace here; there are error, millimetres, best'],
        [() => model.pack({ error: 1e-3, best: true }), 'there is no option best here; there are error, millimetres, meshes'],
        [() => initPlayer({ draco: 'a.wasm' }), 'there is no option draco here; there are wasm'],
        [() => model.setUnit('m'), 'metres is "m", but must be a finite number'],
    ];
    for (const [call, message] of list) {
        await assert.rejects(async () => call(), { name: 'CondyleError', code: 'argument', message }, `${call}`);
    }
    for (const [call, message] of [
        [() => pose.sample(0, NaN), 'seconds is NaN, but must be a finite number'],
        [() => pose.set(0, { scale: [1, NaN, 1] }), 'a number of scale is NaN, but must be finite'],
    ]) {
        assert.throws(call, { code: 'not-finite', message });
    }
    for (const [call, message] of [
        [() => pose.sample(7, 0), 'there is no clip 7: the model has 1'],
        [() => pose.skin(7), 'there is no mesh 7: the model has 1'],
        [() => pose.palette(7), 'there is no skin 7: the model has 1'],
    ]) {
        assert.throws(call, { code: 'index', message });
    }
    assert.throws(() => model.encode(0, { error: '1' }), { code: 'out-of-range', message: /set error or millimetres/ });
    await assert.rejects(condyle.open(bytes.subarray(0, 2000), { name: 'a.glb' }), /the file is cut off: 2000 of 3320 bytes/);
    const container = model.save({ error: 1e-3 });
    for (const instance of [condyle, await initPlayer()]) {
        const cut = instance.open(container.subarray(0, 2000), { name: 'a.condyle' });
        await assert.rejects(cut, (error) => error.message.includes(`is cut off: 2000 of ${container.length} bytes`));
    }
});

test('meshes compressed by Draco', async () => {
    const floats = (text) => new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer);
    for (const condyle of [await init(), await initEncoder()]) {
        for (const it of cases) {
            const model = await condyle.open(compressed(it), { name: 'a.glb' });
            const wanted = it.attributes.find(({ name }) => name === 'POSITION').decoded;
            const { positions, indices } = model.geometry(0);
            assert.deepEqual(positions, floats(wanted), it.name);
            const corners = new Uint8Array(Buffer.from(it.indices, 'base64')).buffer;
            assert.deepEqual(indices, new Uint32Array(corners), it.name);
            assert.deepEqual(model.problems, []);
            assert.ok(model.pose().skin(0).positions.length > 0);
        }
    }
    const condyle = await init();
    const broken = compressed(cases[0], (stream) => stream.subarray(0, 100));
    await assert.rejects(condyle.open(broken, { name: 'a.glb' }), (error) => {
        assert.ok(error instanceof CondyleError && error.code === 'file');
        assert.match(error.message, /a.glb cannot be used\n.*cannot be decoded/);
        assert.match(error.path, /KHR_draco_mesh_compression$/);
        return true;
    });
    // The module is loaded for such files only, and from any place.
    const other = await init({ draco: new URL('nowhere.wasm', import.meta.url) });
    assert.ok(await other.open(bytesOf('two_joints.glb'), { name: 'a.glb' }));
    await assert.rejects(other.open(compressed(cases[0])), { code: 'ENOENT' });
    const wasm = readFileSync(new URL('node_modules/condyle/wasm/draco.wasm', import.meta.url));
    // The module is compiled once: the body of a response can be read once.
    const response = new Response(wasm, { headers: { 'content-type': 'application/wasm' } });
    const once = await init({ draco: Promise.resolve(response) });
    for (let turn = 0; turn < 3; turn++) assert.ok(await once.open(compressed(cases[0])));
    assert.ok(await (await init({ draco: WebAssembly.compile(wasm) })).open(compressed(cases[0])));
    await assert.rejects((await initPlayer()).open(compressed(cases[0])), { code: 'unsupported' });
});
