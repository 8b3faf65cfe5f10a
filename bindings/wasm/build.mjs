// Makes the npm package from the modules of the three builds: `node build.mjs MODULES OUT VERSION`. MODULES has a
// folder for each build, as condyle-bindgen wrote it. Prints a table of sizes.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const [modules, out, version] = process.argv.slice(2);
const BUILDS = ['player', 'index', 'encode', 'draco'];
const own = dirname(fileURLToPath(import.meta.url));
const root = join(own, '../..');

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'wasm'), { recursive: true });
for (const name of readdirSync(join(own, 'js'))) cpSync(join(own, 'js', name), join(out, name));
cpSync(join(own, 'README.md'), join(out, 'README.md'));
for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) cpSync(join(root, name), join(out, name));
const manifest = JSON.parse(readFileSync(join(own, 'npm/package.json'), 'utf8'));
writeFileSync(join(out, 'package.json'), JSON.stringify({ ...manifest, version }, null, 2) + '\n');

/**
 * Wraps the generated JavaScript in a function. As generated, it has one instance for all who import it, and
 * looks for the module under its own name.
 */
function wrapped(text) {
    // From here on, the file loads the module.
    const [head, loader] = text.split('\nasync function __wbg_load');
    if (!loader) throw new Error('the generated JavaScript has another form');
    const code = head
        .replace(/^ *\/\*[^]*?\*\/\n/gm, '')
        .replace(/^ *\/\/.*\n/gm, '')
        .replace(/^export /gm, '')
        .replace(/\n{2,}/g, '\n');
    const names = [...code.matchAll(/^(?:class|function) ([A-Za-z]+)\b/gm)].map(([, name]) => name);
    const exported = names.filter((name) => /^(Model|Crowd|Pose|Feet|Geometry|Expanded|methods)$/.test(name));
    if (/import\.meta|^import /m.test(code)) throw new Error('the generated JavaScript has another form');
    return (
        `export const version = '${version}';\n` +
        'export function build({ condyleError, condyleFile, condyleGround }) {\n' +
        code.trim() +
        `\nreturn { ${exported.join(', ')}, memory: () => wasm.memory, ` +
        'start: async (module) => __wbg_finalize_init(await WebAssembly.instantiate(module, __wbg_get_imports())) };\n}\n'
    );
}

// What all browsers have had since 2023. Later features would change the encoding.
const features = ['simd', 'bulk-memory', 'bulk-memory-opt', 'nontrapping-float-to-int', 'sign-ext', 'mutable-globals']
    .concat(['reference-types', 'multivalue', 'extended-const'])
    .map((name) => `--enable-${name}`);
const opt = join(own, 'node_modules/binaryen/bin/wasm-opt');
for (const build of BUILDS) {
    const from = join(modules, build);
    const wasm = join(out, 'wasm', `${build}.wasm`);
    const flags = [...features, '-O3', '--strip-debug', '--strip-producers', '--strip-target-features'];
    execFileSync(process.execPath, [opt, join(from, 'condyle_wasm_bg.wasm'), ...flags, '-o', wasm]);
    if (!WebAssembly.validate(readFileSync(wasm))) throw new Error(`${wasm} is not valid`);
    writeFileSync(join(out, 'wasm', `${build}.js`), wrapped(readFileSync(join(from, 'condyle_wasm.js'), 'utf8')));
}

const code = (names) => Buffer.concat(names.map((name) => readFileSync(join(out, name))));
const rows = [
    ...BUILDS.map((build) => [`${build}.wasm`, [`wasm/${build}.wasm`]]),
    ['JavaScript of condyle/player', ['player.js', 'core.js', 'arguments.js', 'error.js', 'wasm/player.js']],
    ['JavaScript of condyle', ['index.js', 'core.js', 'arguments.js', 'error.js', 'whole.js', 'wasm/index.js']],
    ['JavaScript of draco.wasm', ['draco.js', 'wasm/draco.js']],
    ['condyle/three', ['three.js', 'three-objects.js', 'adapter.js']],
    ['condyle/three-webgpu', ['three-webgpu.js', 'three.js', 'three-objects.js', 'adapter.js']],
    ['condyle/babylon', ['babylon.js', 'adapter.js']],
    ['condyle/playcanvas', ['playcanvas.js', 'playcanvas-code.js', 'adapter.js']],
];
console.log('| file | bytes | gzip | brotli |\n|---|--:|--:|--:|');
for (const [name, names] of rows) {
    const bytes = code(names);
    const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
    const sizes = [bytes, gzipSync(bytes, { level: 9 }), brotli].map((it) => it.length.toLocaleString('en'));
    console.log(`| ${name} | ${sizes.join(' | ')} |`);
}
