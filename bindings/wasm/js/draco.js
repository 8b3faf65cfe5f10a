// Documents with meshes compressed by Draco. Loaded when a file has them, with a module of its own.

import { compile, imports, reading } from './core.js';
import { problemsOf } from './error.js';
import { build } from './wasm/draco.js';

/** Compiles the module. */
export function load(source = new URL('./wasm/draco.wasm', import.meta.url)) {
    return compile(source);
}

/** Bytes of a .glb without Draco, and the problems of the document that were repaired. */
export async function expanded(module, name, data, beside) {
    // An instance for each file, because the memory of a module never shrinks.
    const raw = build(imports);
    await raw.start(module);
    const document = reading(beside, () => new raw.Expanded(name, data, beside));
    try {
        const json = JSON.parse(document.json());
        const views = (json.bufferViews ?? []).map((_, at) => document.view(at) ?? new Uint8Array());
        return { data: glb(json, views), problems: problemsOf(JSON.parse(document.problems())) };
    } finally {
        document.free();
    }
}

function padded(length) {
    return (length + 3) & ~3;
}

/** Writes a document with the given bytes of its buffer views, which are decoded. */
function glb(json, views) {
    let length = 0;
    json.bufferViews = views.map((bytes, at) => {
        const { extensions, ...view } = json.bufferViews[at];
        const moved = { ...view, buffer: 0, byteOffset: length, byteLength: bytes.length };
        length += padded(bytes.length);
        return moved;
    });
    json.buffers = [{ byteLength: length }];
    const text = new TextEncoder().encode(JSON.stringify(json));
    const start = 20 + padded(text.length);
    const out = new Uint8Array(start + 8 + length);
    out.fill(32, 20, start);
    out.set(text, 20);
    const header = new DataView(out.buffer);
    const words = { 0: 0x46546c67, 4: 2, 8: out.length, 12: start - 20, 16: 0x4e4f534a, [start]: length, [start + 4]: 0x4e4942 };
    for (const [at, word] of Object.entries(words)) header.setUint32(Number(at), word, true);
    views.forEach((bytes, at) => out.set(bytes, start + 8 + json.bufferViews[at].byteOffset));
    return out;
}
