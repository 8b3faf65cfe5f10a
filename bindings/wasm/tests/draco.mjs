// A .glb with a mesh compressed by Draco, from the streams of the reference encoder in tools/condyle-gltf/tests.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const EXTENSION = 'KHR_draco_mesh_compression';

export const cases = JSON.parse(
    readFileSync(join(process.env.CONDYLE_ROOT, 'tools/condyle-gltf/tests/data/draco.json'), 'utf8'),
);

/** The bytes of a .glb file. */
export function glb(json, binary) {
    const text = Buffer.from(JSON.stringify(json));
    const chunks = [[0x4e4f534a, text, 32], [0x4e4942, binary, 0]].map(([kind, bytes, fill]) => {
        const body = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3, fill)]);
        const head = Buffer.alloc(8);
        head.writeUInt32LE(body.length, 0);
        head.writeUInt32LE(kind, 4);
        return Buffer.concat([head, body]);
    });
    const head = Buffer.from('glTF\x02\0\0\0\0\0\0\0', 'latin1');
    head.writeUInt32LE(12 + chunks[0].length + chunks[1].length, 8);
    return Buffer.concat([head, ...chunks]);
}

/** A document with the mesh of a case. `change` may damage its stream. */
export function compressed({ encoded, corners, points, attributes }, change = (stream) => stream) {
    const stream = change(Buffer.from(encoded, 'base64'));
    const ids = Object.fromEntries(attributes.map(({ name, id }) => [name, id]));
    const skinned = attributes.length > 1;
    const json = {
        asset: { version: '2.0' },
        extensionsUsed: [EXTENSION],
        extensionsRequired: [EXTENSION],
        scene: 0,
        scenes: [{ nodes: [0, 1] }],
        nodes: [{ mesh: 0, ...(skinned ? { skin: 0 } : {}) }, { children: [2] }, { children: [3] }, {}],
        ...(skinned ? { skins: [{ joints: [1, 2, 3] }] } : {}),
        buffers: [{ byteLength: stream.length }],
        bufferViews: [{ buffer: 0, byteLength: stream.length }],
        accessors: [
            { componentType: 5125, type: 'SCALAR', count: corners },
            ...attributes.map(({ name, componentType, type }) => ({
                ...{ componentType, type, count: points },
                ...(name === 'POSITION' ? { min: [0, 0, -0.25], max: [1, 1, 0.25] } : {}),
            })),
        ],
        meshes: [{ primitives: [{
            attributes: Object.fromEntries(attributes.map(({ name }, at) => [name, at + 1])),
            indices: 0,
            extensions: { [EXTENSION]: { bufferView: 0, attributes: ids } },
        }] }],
    };
    return glb(json, stream);
}
