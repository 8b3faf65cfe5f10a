// Every control of the page, in Chromium with software graphics.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { launch, NARROW, Tab, WIDE } from './browser.mjs';
import { DATA, PACKAGE, serve } from './server.mjs';

let browser;
let server;

before(async () => {
    browser = await launch();
    server = await serve();
});
after(async () => {
    await browser?.close();
    server?.close();
});

const data = (name) => readFile(join(DATA, name));

/** Runs a test in a tab of its own, in which nothing may go wrong. */
function drive(name, options, call) {
    test(name, async () => {
        const tab = await Tab.open(browser, server, options);
        try {
            await call(tab);
            assert.deepEqual(tab.faults, []);
        } catch (error) {
            await tab.picture(`failed ${name}`.replace(/\W+/g, '-'));
            error.message += `\n${tab.faults.join('\n')}`;
            throw error;
        } finally {
            await tab.close();
        }
    });
}

const FACTS = /^32 joints, 4,933 vertices, 3 clips$/;

for (const [name, size] of [
    ['wide', WIDE],
    ['narrow', NARROW],
]) {
    drive(`the first picture, ${name}`, { size, untouched: true }, async (tab) => {
        assert.match(await tab.text('facts'), FACTS);
        const { width, inner } = await tab.page.evaluate(() => ({
            width: document.documentElement.scrollWidth,
            inner: innerWidth,
        }));
        assert.ok(width <= inner, `${width} pixels wide on ${inner}`);
        console.log(`first picture after ${tab.first.toFixed(0)} ms`);
        assert.ok(!tab.requests.some((it) => /page-|index\.wasm|encode/.test(it)), tab.requests.join('\n'));
        const before = await tab.stage();
        await tab.touch();
        assert.match(await tab.text('facts'), FACTS);
        assert.ok(tab.requests.some((it) => /index\.wasm/.test(it)));
        assert.ok(!tab.requests.some((it) => /encode/.test(it)), tab.requests.join('\n'));
        assert.ok((await tab.stage()).length > 0.9 * before.length);
    });
}

drive('the first touch has its effect', { untouched: true }, async (tab) => {
    await tab.page.click('#clips li:nth-child(2) button');
    await tab.page.waitForFunction(
        () => document.querySelector('#clips [aria-pressed="true"]')?.textContent === 'run0.70 s',
    );
});

drive('a drop as the first touch', { untouched: true }, async (tab) => {
    await tab.drop({ 'forearm.glb': await data('forearm.glb') });
    await tab.page.waitForFunction(() => /^2 joints/.test(document.getElementById('facts').textContent));
});

drive('a vertex too far away to draw is refused in words', {}, async (tab) => {
    for (const name of ['rigid.glb', 'morph.glb']) {
        const file = await data(name);
        const { accessors, bufferViews, meshes } = JSON.parse(file.subarray(20, 20 + file.readUInt32LE(12)));
        const [{ attributes, targets }] = meshes[0].primitives;
        const { bufferView, byteOffset = 0 } = accessors[targets ? targets[0].POSITION : attributes.POSITION];
        const start = 28 + file.readUInt32LE(12) + (bufferViews[bufferView].byteOffset ?? 0) + byteOffset;
        file.writeFloatLE(1e28, start);
        await tab.drop({ [name]: file });
        assert.equal(await tab.isHidden('fault'), false, name);
        assert.match(await tab.text('fault-text'), /e\+2\d units away.*damaged/);
    }
});

drive('time: play, step, scrub, loop and speed', { motion: true }, async (tab) => {
    const time = () => tab.page.$eval('#scrub', (it) => Number(it.value));
    const first = await time();
    await tab.page.waitForFunction(
        (first) => Number(document.getElementById('scrub').value) !== first,
        {},
        first,
    );
    await tab.click('play');
    const still = await time();
    await tab.drawn();
    assert.equal(await time(), still);
    await tab.set('scrub', '0.5');
    assert.equal(await tab.text('clock'), '0.500 of 1.000 s');
    await tab.click('next');
    assert.equal(await tab.text('clock'), '0.533 of 1.000 s');
    await tab.click('back');
    await tab.click('from');
    await tab.set('scrub', '0.7');
    await tab.click('to');
    assert.equal(await tab.isHidden('whole'), false);
    await tab.set('speed', '4');
    await tab.click('play');
    for (let turn = 0; turn < 5; turn++) {
        await tab.drawn();
        const now = await time();
        assert.ok(now >= 0.499 && now <= 0.701, `${now} is outside of the loop`);
    }
    await tab.click('whole');
    assert.equal(await tab.isHidden('whole'), true);
});

drive('clips, blend and interpolation', {}, async (tab) => {
    const buttons = await tab.page.$$eval('#clips button', (all) => all.map((it) => it.textContent));
    assert.deepEqual(buttons, ['walk1.00 s', 'run0.70 s', 'idle4.00 s']);
    const walk = await tab.stage();
    await tab.page.$eval('#clips li:nth-child(2) button', (it) => it.click());
    await tab.drawn();
    const run = await tab.stage();
    assert.notDeepEqual(walk, run);
    await tab.set('blend', '0');
    await tab.set('weight', '0.5');
    const both = await tab.stage();
    assert.notDeepEqual(run, both);
    assert.equal(await tab.text('weight-text'), '50 %');
    const methods = await tab.page.$$eval('#method option', (all) => all.map((it) => it.value));
    assert.ok(methods.length > 5, methods.join(' '));
    for (const method of methods) await tab.set('method', method);
});

drive('look', {}, async (tab) => {
    let before = await tab.stage();
    await tab.set('bones', true);
    assert.notDeepEqual(await tab.stage(), before);
    await tab.set('bones', false);
    assert.deepEqual(await tab.stage(), before, 'no marks remain');
    const change = async (name, id, to) => {
        await tab.set(id, to);
        const now = await tab.stage();
        assert.notDeepEqual(now, before, name);
        before = now;
    };
    await change('skeleton', 'bones', true);
    await change('names', 'names', true);
    await change('wireframe', 'wire', true);
    await change('floor', 'floor', false);
    await change('background', 'background', '#000000');
    await tab.set('skinning', 'dual');
    await tab.set('skinning', 'linear');
    await tab.click('fit');
});

drive('dual quaternions keep the volume of a twisted forearm', {}, async (tab) => {
    await tab.set('built-in', 'forearm');
    await tab.ready();
    await tab.set('scrub', '1');
    const linear = await tab.stage();
    await tab.set('skinning', 'dual');
    assert.notDeepEqual(await tab.stage(), linear);
});

drive('compression', {}, async (tab) => {
    await tab.set('budget', '50');
    await tab.page.waitForFunction(() => !document.getElementById('heat').disabled, { timeout: 60_000 });
    assert.match(await tab.text('ratio'), /^\d+\.\d to 1: /);
    assert.match(await tab.text('encode-note'), /^Compressed within 1 mm in /);
    const plain = await tab.stage();
    await tab.set('heat', true);
    await tab.set('scrub', '0.37');
    assert.equal(await tab.isHidden('legend'), false);
    assert.match(await tab.text('legend-worst'), /^Worst vertex: .* mm$/);
    const [worst] = /[\d.]+/.exec(await tab.text('worst-now'));
    assert.ok(Number(worst) > 0 && Number(worst) <= 1, worst);
    assert.notDeepEqual(await tab.stage(), plain);
    await tab.set('split', true);
    assert.equal(await tab.isHidden('left-name'), false);
    await tab.click('go-worst');
    const [largest] = /[\d.]+/.exec(await tab.text('worst-all'));
    assert.ok(Number(largest) > 0 && Number(largest) <= 1, largest);
    const before = await tab.text('ratio');
    await tab.set('budget', '75');
    await tab.page.waitForFunction(
        (before) => document.getElementById('ratio').textContent !== before,
        {},
        before,
    );
    // A clip of 3.49 m has twice the error in millimetres, so it is compressed again.
    await tab.set('height', '3.49');
    await tab.set('heat', false);
    await tab.set('split', false);
});

drive('a hand that is dragged', {}, async (tab) => {
    await tab.set('grab', true);
    const before = await tab.stage();
    const options = await tab.page.$$eval('#grab-joint option', (all) =>
        all.map((it) => [it.value, it.textContent]),
    );
    const hand = options.find(([, name]) => name === 'left_hand');
    await tab.set('grab-joint', hand[0]);
    assert.equal(await tab.page.evaluate(() => document.activeElement.id), 'stage');
    for (let turn = 0; turn < 8; turn++) await tab.page.keyboard.press('ArrowUp');
    await tab.drawn();
    assert.notDeepEqual(await tab.stage(), before);
    await tab.page.keyboard.press('Escape');
    await tab.drawn();
    assert.equal(await tab.page.$eval('#let-go', (it) => it.disabled), true);
    // The middle of the view is on the body.
    const box = await (await tab.page.$('#stage')).boundingBox();
    await tab.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await tab.page.mouse.down();
    await tab.page.mouse.move(box.x + box.width / 2 + 60, box.y + box.height / 2, { steps: 4 });
    await tab.drawn();
    assert.equal(await tab.page.$eval('#let-go', (it) => it.disabled), false);
    await tab.page.mouse.up();
    await tab.click('let-go');
});

drive('a mesh that no joint moves cannot be dragged', {}, async (tab) => {
    const positions = Float32Array.from([-1, -1, 0, 1, -1, 0, 0, 2, 0]);
    const uri = `data:application/octet-stream;base64,${Buffer.from(positions.buffer).toString('base64')}`;
    const json = {
        asset: { version: '2.0' },
        scene: 0,
        scenes: [{ nodes: [0, 1] }],
        nodes: [{ mesh: 0 }, { name: 'joint' }],
        skins: [{ joints: [1] }],
        meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
        accessors: [
            { bufferView: 0, componentType: 5126, type: 'VEC3', count: 3, min: [-1, -1, 0], max: [1, 2, 0] },
        ],
        bufferViews: [{ buffer: 0, byteLength: 36 }],
        buffers: [{ byteLength: 36, uri }],
    };
    await tab.drop({ 'a.gltf': Buffer.from(JSON.stringify(json)) });
    await tab.set('grab', true);
    const box = await (await tab.page.$('#stage')).boundingBox();
    await tab.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await tab.page.mouse.down();
    await tab.page.mouse.up();
    await tab.drawn();
    assert.equal(await tab.page.$eval('#let-go', (it) => it.disabled), true);
    assert.equal(await tab.isHidden('fault'), true);
});

drive('feet on a slope', {}, async (tab) => {
    await tab.set('feet', true);
    const flat = await tab.stage();
    await tab.set('slope', '15');
    assert.equal(await tab.text('slope-text'), '15°');
    assert.notDeepEqual(await tab.stage(), flat);
});

drive('a crowd, and the mixer of three.js', { motion: true }, async (tab) => {
    await tab.set('crowd', '10');
    await tab.page.waitForFunction(() => /frame/.test(document.getElementById('crowd-time').textContent), {
        timeout: 60_000,
    });
    assert.match(await tab.text('crowd-time'), / ms a frame for 10 characters$/);
    await tab.click('mixer');
    await tab.page.waitForFunction(() => /faster/.test(document.getElementById('mixer-time').textContent));
    await tab.set('crowd', '0');
    assert.equal(await tab.text('crowd-time'), '');
});

drive('files by drop', {}, async (tab) => {
    await tab.drop({ 'rigid.glb': await data('rigid.glb') });
    assert.match(await tab.text('facts'), /^2 joints, 60 vertices, 1 clip$/);
    const vrm = await data('springs/vrm1.gltf');
    await tab.drop({ 'vrm1.gltf': vrm });
    assert.match(await tab.text('facts'), /^22 joints, 0 vertices, 0 clips$/);
    assert.equal(await tab.isHidden('springs-row'), false);
    // Two models: the second one adds its clips.
    const person = await readFile(new URL('../characters/person.glb', import.meta.url));
    await tab.drop({ 'a.glb': person, 'b.glb': person });
    assert.match(await tab.text('facts'), /6 clips$/);
    await tab.page.$eval('#clips li:nth-child(5) button', (it) => it.click());
    await tab.drawn();
});

drive('files by choice, a picture, a saved container', {}, async (tab) => {
    const saved = [];
    const session = await tab.page.createCDPSession();
    await session.send('Browser.setDownloadBehavior', { behavior: 'deny', eventsEnabled: true });
    session.on('Browser.downloadWillBegin', ({ suggestedFilename }) => saved.push(suggestedFilename));
    const choose = await tab.page.$('#choose');
    await choose.uploadFile(join(DATA, 'forearm.glb'));
    await tab.page.waitForFunction(() => /^2 joints/.test(document.getElementById('facts').textContent));
    await tab.ready();
    await tab.click('picture');
    await tab.page.waitForFunction(() => /^Saved/.test(document.getElementById('share-note').textContent));
    await tab.set('budget', '60');
    await tab.page.waitForFunction(() => !document.getElementById('save').disabled, { timeout: 60_000 });
    await tab.click('save');
    await tab.page.waitForFunction(() => /^Saved/.test(document.getElementById('encode-note').textContent));
    assert.match(
        await tab.text('encode-note'),
        /^Saved all clips within 2.5 mm: [\d.]+ kB with the meshes\.( That is more than forearm.glb \(89.0 kB\), .*)?$/,
    );
    await tab.page.waitForNetworkIdle({ idleTime: 100 }).catch(() => {});
    assert.deepEqual(saved.sort(), ['forearm.condyle', 'forearm.png']);
});

drive('a small file that grows, and a height that is odd', {}, async (tab) => {
    await tab.drop({ 'two_joints.glb': await data('two_joints.glb') });
    const hint = () => tab.text('encode-note');
    await tab.set('height', '50');
    assert.match(await hint(), /The file is 50 m high; set the real height below/);
    await tab.set('height', '1.8');
    assert.doesNotMatch(await hint(), /high/);
    await tab.set('budget', '60');
    await tab.page.waitForFunction(() => !document.getElementById('save').disabled, { timeout: 60_000 });
    await tab.click('save');
    await tab.page.waitForFunction(() => /^Saved/.test(document.getElementById('encode-note').textContent));
    assert.match(await hint(), /That is more than two_joints.glb \(3.3 kB\), because meshes are stored uncompressed/);
});

drive('a .condyle file has the materials of its document', {}, async (tab) => {
    const { init } = await import(new URL('encode.js', PACKAGE));
    const file = await data('forearm.glb');
    const model = await (await init()).open(file, { name: 'forearm.glb' });
    const shown = async (files) => {
        await tab.drop(files);
        await tab.set('scrub', '0.4');
        return tab.stage();
    };
    const before = await shown({ 'forearm.glb': file });
    const after = await shown({ 'forearm.condyle': Buffer.from(model.save({ error: 1e-4 })) });
    const share = await tab.share(before, after);
    assert.ok(share < 0.002, `${share} of the pixels differ`);
    await tab.set('crowd', '3');
    assert.equal(await tab.page.$eval('#mixer', (it) => it.disabled), true);
});

drive('a mesh compressed by Draco', {}, async (tab) => {
    process.env.CONDYLE_ROOT ??= fileURLToPath(new URL('../..', import.meta.url));
    const { cases, compressed } = await import('../../bindings/wasm/tests/draco.mjs');
    await tab.drop({ 'sheet.glb': compressed(cases[0]) });
    assert.match(await tab.text('facts'), /^3 joints, 70 vertices/);
});

drive('of two files, the one that was dropped last is shown', {}, async (tab) => {
    process.env.CONDYLE_ROOT ??= fileURLToPath(new URL('../..', import.meta.url));
    const { cases, compressed } = await import('../../bindings/wasm/tests/draco.mjs');
    // The first one takes longer, because it needs another module.
    const slow = tab.drop({ 'sheet.glb': compressed(cases[0]) });
    await Promise.all([slow, tab.drop({ 'rigid.glb': await data('rigid.glb') })]);
    await tab.page.waitForNetworkIdle({ idleTime: 500 });
    await tab.drawn();
    assert.match(await tab.text('facts'), /^2 joints, 60 vertices/);
});

drive('spring bones, and a message that is closed', {}, async (tab) => {
    await tab.drop({ 'vrm1.gltf': await data('springs/vrm1.gltf') });
    const before = await tab.stage();
    await tab.set('springs', false);
    await tab.set('springs', true);
    assert.ok(before.length > 0);
    await tab.drop({ 'none.txt': Buffer.from('text') });
    assert.equal(await tab.page.evaluate(() => document.activeElement.id), 'fault-close');
    await tab.click('fault-close');
    assert.equal(await tab.isHidden('fault'), true);
});

drive('broken files', {}, async (tab) => {
    const person = await readFile(new URL('../characters/person.glb', import.meta.url));
    const files = [
        ['cut.glb', person.subarray(0, 5000)],
        ['text.glb', Buffer.from('this is no model')],
        ['empty.glb', Buffer.alloc(0)],
        ['picture.png', Buffer.from('no')],
    ];
    for (const [name, bytes] of files) {
        await tab.drop({ [name]: bytes });
        assert.equal(await tab.isHidden('fault'), false, name);
        assert.match(await tab.text('fault-title'), /cannot be shown$/);
        assert.ok((await tab.text('fault-text')).length > 10);
        await tab.page.keyboard.press('Escape');
        assert.equal(await tab.isHidden('fault'), true);
    }
    // The character before is still there.
    assert.match(await tab.text('facts'), /^32 joints/);
    await tab.drop({ 'rigid.glb': await data('rigid.glb'), 'forearm.glb': await data('forearm.glb') });
    assert.match(await tab.text('fault-text'), /joints have a name of this character/);
});

/** A .glb file with a change of its JSON. */
function changed(file, change) {
    const length = file.readUInt32LE(12);
    const json = JSON.parse(file.subarray(20, 20 + length).toString());
    change(json);
    const text = Buffer.from(JSON.stringify(json));
    const padded = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, ' ')]);
    const head = Buffer.from(file.subarray(0, 20));
    head.writeUInt32LE(file.length - length + padded.length, 8);
    head.writeUInt32LE(padded.length, 12);
    return Buffer.concat([head, padded, file.subarray(20 + length)]);
}

drive('problems with their places', {}, async (tab) => {
    const file = changed(await data('two_joints.glb'), (json) => {
        json.nodes[1].rotation = [0, 0, 0, 2];
    });
    await tab.drop({ 'odd.glb': file });
    assert.equal(await tab.text('problem-count'), '1');
    assert.match(await tab.text('problems'), /\/nodes\/1/);
    const before = await tab.stage();
    await tab.page.$eval('#problems button', (it) => it.click());
    await tab.drawn();
    assert.notDeepEqual(await tab.stage(), before);
});

// The pictures were looked at. One version of Chromium with software graphics makes the same bytes each time;
// another one may smooth edges differently.
const TOLERANCE = 0.01;

drive('pictures', { size: NARROW }, async (tab) => {
    const compare = async (name) => {
        const difference = await tab.difference(name);
        assert.ok(
            difference <= TOLERANCE,
            `${name}: ${(100 * difference).toFixed(2)} % of the pixels differ`,
        );
    };
    await tab.set('scrub', '0.3');
    await compare('person');
    await tab.set('budget', '75');
    await tab.page.waitForFunction(() => !document.getElementById('heat').disabled, { timeout: 60_000 });
    await tab.set('heat', true);
    await tab.set('split', true);
    await compare('error');
    await tab.set('split', false);
    await tab.set('heat', false);
    await tab.set('crowd', '10');
    await compare('crowd');
    await tab.drop({ 'forearm.glb': await data('forearm.glb') });
    await tab.set('scrub', '2');
    await tab.set('skinning', 'dual');
    await compare('dual');
});

drive('keys', {}, async (tab) => {
    await tab.page.focus('#stage');
    const first = await tab.stage();
    await tab.page.keyboard.press('ArrowLeft');
    await tab.drawn();
    assert.notDeepEqual(await tab.stage(), first);
    await tab.page.keyboard.press('.');
    await tab.drawn();
    assert.equal(await tab.text('clock'), '0.033 of 1.000 s');
    await tab.page.keyboard.press('b');
    assert.equal(await tab.page.$eval('#bones', (it) => it.checked), true);
    await tab.page.keyboard.press('+');
    await tab.page.keyboard.press('f');
    await tab.page.keyboard.press('Space');
    await tab.drawn();
    assert.equal(await tab.page.$eval('#play', (it) => it.getAttribute('aria-label')), 'Pause');
});

drive('every control has a name', {}, async (tab) => {
    const unnamed = await tab.page.$$eval('button, input, select, canvas[role]', (all) =>
        all
            .filter((it) => !it.getAttribute('aria-label') && !it.labels?.length && !it.textContent.trim())
            .map((it) => it.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(unnamed, []);
});

drive('a link restores the view', {}, async (tab) => {
    await tab.page.$eval('#clips li:nth-child(2) button', (it) => it.click());
    await tab.set('scrub', '0.3');
    await tab.set('bones', true);
    await tab.page.focus('#stage');
    await tab.page.keyboard.press('ArrowLeft');
    await tab.click('link');
    const { hash } = new URL(tab.page.url());
    assert.match(hash, /clip=run&time=0\.3000&.*camera=.*bones=1/);
    const again = await Tab.open(browser, server, { query: hash });
    await again.click('link');
    assert.equal(new URL(again.page.url()).hash, hash);
    assert.deepEqual(again.faults, []);
    await again.close();
});

test('condyle view: files by address, and again after a change', async () => {
    server.models.set('model/0/a model.glb', await data('rigid.glb'));
    const tab = await Tab.open(browser, server, { query: '?open=model/0/a%20model.glb&watch' });
    assert.match(await tab.text('facts'), /^2 joints/);
    await tab.set('scrub', '1');
    // The page asks once a second.
    await new Promise((done) => setTimeout(done, 1500));
    server.models.set('model/0/a model.glb', await data('forearm.glb'));
    await tab.page.waitForFunction(() => /1,290 vertices/.test(document.getElementById('facts').textContent));
    await tab.ready();
    assert.equal(await tab.text('clock'), '1.000 of 2.000 s');
    assert.deepEqual(tab.faults, []);
    await tab.close();
    const other = await Tab.open(browser, server, { query: '?open=https://example.com/fox.glb' });
    assert.match(await other.text('fault-text'), /not on this server/);
    assert.deepEqual(other.faults, []);
    await other.close();
});

test('without a network, after one visit', async () => {
    const own = await serve();
    const context = await browser.createBrowserContext();
    const tab = await Tab.open(context, own);
    // The service worker keeps the files after the first touch.
    await tab.page.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await tab.page.waitForFunction(async () => {
        const [name] = await caches.keys();
        const cache = name && (await caches.open(name));
        return cache && (await cache.match('wasm/index.wasm')) !== undefined;
    });
    own.close();
    await tab.page.reload();
    await tab.ready();
    await tab.touch();
    assert.match(await tab.text('facts'), FACTS);
    await tab.set('built-in', 'snake');
    await tab.ready();
    assert.match(await tab.text('facts'), /^25 joints/);
    await context.close();
});
