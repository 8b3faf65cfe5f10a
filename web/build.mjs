// Writes the page into a folder: `node build.mjs FOLDER`, by default ../target/web.

import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, '../target/web'));
const library = resolve(process.env.CONDYLE_PACKAGE ?? join(here, '../target/npm/condyle'));

await rm(out, { recursive: true, force: true });
await mkdir(join(out, 'characters'), { recursive: true });

const common = {
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'linked',
    nodePaths: [join(here, 'node_modules')],
    alias: {
        condyle: join(library, 'index.js'),
        'condyle/player': join(library, 'player.js'),
        'condyle/encode': join(library, 'encode.js'),
        'condyle/three': join(library, 'three.js'),
    },
    logLevel: 'warning',
};
await build({ ...common, entryPoints: [join(here, 'src/main.js')], outdir: out, splitting: true });
await build({ ...common, entryPoints: [join(here, 'src/encoder.js')], outdir: out });

for (const name of ['index.html', 'style.css', 'icon.svg']) await cp(join(here, name), join(out, name));
await cp(join(here, 'node_modules/three/LICENSE'), join(out, 'THREE-LICENSE.txt'));
// The files of WebAssembly are found next to the script.
for (const name of ['player', 'index', 'encode', 'draco']) {
    await cp(join(library, `wasm/${name}.wasm`), join(out, `wasm/${name}.wasm`));
}
for (const [name, from] of [
    ['person', 'characters/person.glb'],
    ['forearm', '../testdata/forearm.glb'],
    ['snake', 'characters/snake.glb'],
]) {
    await cp(join(here, from), join(out, `characters/${name}.glb`));
}
await cp(join(here, 'characters/person.condyle'), join(out, 'characters/person.condyle'));

async function files(folder) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = entries
        .filter((it) => it.isFile())
        .map((it) => relative(folder, join(it.parentPath, it.name)));
    return names.map((it) => it.replaceAll('\\', '/')).sort();
}

// The service worker knows all files, and a number that changes with them.
const names = await files(out);
const hash = createHash('sha256');
for (const name of names) hash.update(name).update(await readFile(join(out, name)));
const script = await readFile(join(here, 'src/offline.js'), 'utf8');
const known = names.filter((name) => !name.endsWith('.txt'));
const later = known.filter((name) => /encode|draco/.test(name));
const now = ['./', ...known.filter((name) => !later.includes(name))];
await writeFile(
    join(out, 'offline.js'),
    `const VERSION = '${hash.digest('hex').slice(0, 16)}';
const FILES = ${JSON.stringify(now)};
const LATER = ${JSON.stringify(later)};
${script}`,
);

// Files of the first load: the page with its first picture, until somebody touches it.
const first = new Set(['index.html', 'style.css', 'icon.svg', 'main.js', 'wasm/player.wasm']);
for (const ending of ['glb', 'condyle']) first.add(`characters/person.${ending}`);
for (const name of first) {
    if (!name.endsWith('.js')) continue;
    const script = await readFile(join(out, name), 'utf8');
    for (const [, next] of script.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g)) first.add(next);
}
const sum = { gzip: 0, brotli: 0 };
console.log('| file | bytes | gzip | brotli | first load |\n|---|--:|--:|--:|---|');
for (const name of known) {
    const data = await readFile(join(out, name));
    const gzip = gzipSync(data, { level: 9 }).length;
    const brotli = brotliCompressSync(data, {
        params: { [constants.BROTLI_PARAM_SIZE_HINT]: data.length },
    }).length;
    if (first.has(name)) {
        sum.gzip += gzip;
        sum.brotli += brotli;
    }
    console.log(`| ${name} | ${data.length} | ${gzip} | ${brotli} | ${first.has(name) ? 'yes' : ''} |`);
}
console.log(`| first load with the person | | ${sum.gzip} | ${sum.brotli} | |`);
