// Writes person.glb from the character of `condyle demo`: `node make.mjs character.glb`.
// `condyle encode FOLDER -o person.condyle` writes its clips, if FOLDER has that file alone as person.glb.
// Tangents and texture coordinates are left out, because the character has no textures.

import { readFile } from 'node:fs/promises';

import { writeGlb } from './glb.mjs';

const data = await readFile(process.argv[2]);
const length = data.readUInt32LE(12);
const json = JSON.parse(data.subarray(20, 20 + length).toString());
const bytes = data.subarray(28 + length);

for (const { primitives } of json.meshes) {
    for (const { attributes } of primitives) {
        delete attributes.TANGENT;
        delete attributes.TEXCOORD_0;
    }
}

/** Normals need 8 bits only. */
function normals(source) {
    const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
    const count = source.byteLength / 12;
    const small = Buffer.alloc(4 * count);
    for (let at = 0; at < 3 * count; at++) {
        small.writeInt8(Math.round(127 * view.getFloat32(4 * at, true)), 4 * Math.floor(at / 3) + (at % 3));
    }
    return small;
}

const SIZES = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };
const BYTES = { 5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4 };
const shrunk = new Set(
    json.meshes.flatMap(({ primitives }) => primitives.map(({ attributes }) => attributes.NORMAL)),
);
const views = [];
const accessors = [];
const chunks = [];
const renamed = new Map();

/** Keeps an accessor, with a view of its own. */
function keep(old) {
    if (old === undefined || renamed.has(old)) return renamed.get(old);
    const accessor = { ...json.accessors[old] };
    const view = json.bufferViews[accessor.bufferView];
    const size = SIZES[accessor.type] * BYTES[accessor.componentType];
    const stride = view.byteStride ?? size;
    const begin = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
    let chunk = Buffer.concat(
        Array.from({ length: accessor.count }, (_, at) =>
            bytes.subarray(begin + at * stride, begin + at * stride + size),
        ),
    );
    const own = {};
    if (shrunk.has(old)) {
        chunk = normals(chunk);
        Object.assign(accessor, { componentType: 5120, normalized: true });
        own.byteStride = 4;
    }
    while (chunk.length % 4 !== 0) chunk = Buffer.concat([chunk, Buffer.alloc(1)]);
    if (view.target) own.target = view.target;
    views.push({
        buffer: 0,
        byteOffset: chunks.reduce((sum, it) => sum + it.length, 0),
        byteLength: chunk.length,
        ...own,
    });
    chunks.push(chunk);
    delete accessor.byteOffset;
    accessors.push({ ...accessor, bufferView: views.length - 1 });
    renamed.set(old, accessors.length - 1);
    return accessors.length - 1;
}

const replace = (object) => {
    for (const key of Object.keys(object)) object[key] = keep(object[key]);
};
for (const { primitives } of json.meshes) {
    for (const primitive of primitives) {
        replace(primitive.attributes);
        primitive.indices = keep(primitive.indices);
        for (const target of primitive.targets ?? []) replace(target);
    }
}
for (const skin of json.skins) skin.inverseBindMatrices = keep(skin.inverseBindMatrices);
for (const { samplers } of json.animations) {
    for (const sampler of samplers) {
        sampler.input = keep(sampler.input);
        sampler.output = keep(sampler.output);
    }
}
const body = Buffer.concat(chunks);
Object.assign(json, { accessors, bufferViews: views, buffers: [{ byteLength: body.length }] });
json.extensionsUsed = [...(json.extensionsUsed ?? []), 'KHR_mesh_quantization'];
json.extensionsRequired = [...(json.extensionsRequired ?? []), 'KHR_mesh_quantization'];
await writeGlb('person.glb', json, body);
