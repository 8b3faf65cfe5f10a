// Tests of the installed package in Chromium: without a bundler, and the results of bundlers.mjs. CHROMIUM is the
// program, CONDYLE_ROOT the root of the repository. With `--bench MODEL.glb CLIP`, only prints times, see bench.js.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

import puppeteer from 'puppeteer-core';

import { cases, compressed } from './draco.mjs';
import { fileOf } from './models.mjs';

const own = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const root = process.env.CONDYLE_ROOT;
const wanted = JSON.parse(readFileSync(join(root, 'bindings/wasm/tests/bits.json'), 'utf8'));
const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const map = {
    imports: {
        condyle: '/node_modules/condyle/index.js',
        'condyle/encode': '/node_modules/condyle/encode.js',
        'condyle/three': '/node_modules/condyle/three.js',
        three: '/node_modules/three/build/three.module.js',
        'three/addons/': '/node_modules/three/examples/jsm/',
    },
};
const [bench, model, clip] = process.argv[2] === '--bench' ? process.argv.slice(2) : [];
const plain =
    `<!doctype html><link rel="icon" href="data:,"><script nonce="map" type="importmap">${JSON.stringify(map)}</script>` +
    `<script type="module" src="/${bench ? 'bench' : 'page'}.js"></script>`;

const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    if (bench && path === '/model.glb') return response.end(readFileSync(model));
    if (path === '/draco.glb') return response.end(compressed(cases[0]));
    const isModel = path.startsWith('/testdata/') || path.startsWith('/models/');
    const file = isModel ? fileOf(path.slice(1)) : join(own, path);
    if (path === '/plain.html') {
        // No `eval`, and nothing from elsewhere.
        const policy = "default-src 'self' blob: data:; script-src 'self' 'wasm-unsafe-eval' 'nonce-map'";
        // Isolated pages have finer clocks.
        const isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
        response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy, ...isolated }).end(plain);
    } else if (file && existsSync(file)) {
        response.writeHead(200, { 'content-type': types[extname(path)] ?? 'application/octet-stream' });
        response.end(readFileSync(file));
    } else {
        response.writeHead(404).end();
    }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${server.address().port}`;
// Renderers on the CPU for WebGL and WebGPU.
const flags = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']
    .concat(['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-features=Vulkan']);
const browser = await puppeteer.launch({ executablePath: await programOf(process.env.CHROMIUM), headless: true, args: flags });

async function programOf(name) {
    if (existsSync(name)) return name;
    return process.env.PATH.split(':')
        .map((folder) => join(folder, name))
        .find((it) => existsSync(it));
}

async function opened(path) {
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (it) => it.type() === 'error' && errors.push(it.text()));
    page.on('requestfailed', (it) => errors.push(it.url()));
    await page.goto(address + path, { waitUntil: 'load' });
    await page.waitForFunction('globalThis.result !== undefined', { timeout: 60_000 });
    return { page, errors };
}

/** Compares pictures of an engine with those of characters and crowds in it. */
async function compare(page, name, paths, options = {}, limit = 0.002) {
    for (const path of paths.filter(fileOf)) {
        const from = JSON.stringify(`/${path}`);
        const found = await page.evaluate(`pictures(${from}, 0.3, ${JSON.stringify(options)})`);
        console.log(name, path, found);
        // The software renderer draws the same triangles; rounding moves single pixels of their borders.
        assert.ok(found.drawn > 0.01 && found.character < limit && found.crowd < limit, `${name} ${path}`);
        if (name.startsWith('three') || name.startsWith('WebGPU')) assert.ok(found.carried > 0.001, `${name}: the ball is drawn`);
        if (path.endsWith('Fox.glb')) assert.ok(found.hit, `${name}: the ray hits`);
    }
}

if (bench) {
    const { page } = await opened('/plain.html');
    page.setDefaultTimeout(0);
    console.table(await page.evaluate(`bench('/model.glb', ${JSON.stringify(clip ?? '')})`));
    await browser.close();
    process.exit();
}

try {
    for (const name of ['esbuild', 'webpack', 'vite']) {
        const { page, errors } = await opened(`/out/${name}/index.html`);
        const found = { bits: wanted['testdata/two_joints.glb'], vertices: cases[0].points };
        assert.deepEqual(await page.evaluate('result'), found, name);
        assert.deepEqual(errors, [], name);
        console.log(`${name}: ok`);
    }
    const { page, errors } = await opened('/plain.html');
    for (const [path, lines] of Object.entries(wanted)) {
        if (!fileOf(path)) continue;
        assert.deepEqual(await page.evaluate(`bits(${JSON.stringify(`/${path}`)})`), lines, path);
        console.log(`${path}: ${lines.length} hashes`);
    }
    const three = async (page, name) => {
        await compare(page, name, ['testdata/two_joints.glb', 'models/Fox.glb']);
        // Skinned normals of three.js ignore that scales are uneven.
        await compare(page, name, ['testdata/rigid.glb'], {}, 0.007);
    };
    await three(page, 'three.js');
    assert.deepEqual(errors, []);
    // Without WebGPU, both are on WebGL 2.
    for (const query of ['', '?webgl']) {
        const { page, errors } = await opened(`/out/webgpu/index.html${query}`);
        const name = `WebGPURenderer on ${await page.evaluate('backend')}`;
        await three(page, name);
        assert.deepEqual(errors, [], name);
    }
    for (const name of ['babylon', 'playcanvas']) {
        const { page, errors } = await opened(`/out/${name}/index.html`);
        await compare(page, name, ['testdata/two_joints.glb', 'testdata/forearm.glb', 'models/Fox.glb']);
        // Engines shade non-uniformly scaled objects by other formulas than skinned ones.
        await compare(page, name, ['testdata/rigid.glb'], { flat: true });
        if (name === 'babylon') await compare(page, name, ['testdata/two_joints.glb'], { rightHanded: true });
        assert.deepEqual(errors, [], name);
    }
} finally {
    await browser.close();
    server.close();
}
