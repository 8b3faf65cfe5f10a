// Builds app.js by vite, esbuild and webpack, and the pages of engines by esbuild, each into a folder of `out`,
// which browser.mjs loads.

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import esbuild from 'esbuild';
import { build } from 'vite';
import webpack from 'webpack';

const own = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const pageOf = (name) => `<!doctype html><link rel="icon" href="data:,"><script type="module" src="./${name}.js"></script>`;
const page = pageOf('app');

rmSync(join(own, 'out'), { recursive: true, force: true });
for (const name of ['webgpu', 'babylon', 'playcanvas', 'esbuild', 'webpack', 'vite']) mkdirSync(join(own, 'out', name), { recursive: true });

// esbuild does not find files by `new URL`: they must lie next to the result.
for (const [folder, name] of [['esbuild', 'app'], ['webgpu', 'webgpu'], ['babylon', 'babylon'], ['playcanvas', 'playcanvas']]) {
    await esbuild.build({
        entryPoints: [join(own, `${name}.js`)],
        bundle: true,
        splitting: true,
        minify: true,
        format: 'esm',
        outdir: join(own, 'out', folder),
        logLevel: 'error',
    });
    cpSync(join(own, 'node_modules/condyle/wasm'), join(own, 'out', folder, 'wasm'), { recursive: true });
    writeFileSync(join(own, 'out', folder, 'index.html'), pageOf(name));
}

const stats = await promisify(webpack)({
    mode: 'production',
    entry: join(own, 'app.js'),
    output: { path: join(own, 'out/webpack'), filename: 'app.js', module: true },
    experiments: { outputModule: true },
    performance: { hints: false },
});
if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString());
writeFileSync(join(own, 'out/webpack/index.html'), page);

const source = join(own, 'out/vite-source');
mkdirSync(source);
for (const name of ['app.js', 'bits.js']) cpSync(join(own, name), join(source, name));
writeFileSync(join(source, 'index.html'), page);
await build({ root: source, base: './', logLevel: 'error', build: { outDir: join(own, 'out/vite'), target: 'es2022' } });
