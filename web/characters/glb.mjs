// Writes a .glb of a document and its only buffer, for the scripts in this folder.

import { writeFile } from 'node:fs/promises';

export async function writeGlb(name, json, body) {
    let text = Buffer.from(JSON.stringify(json));
    text = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, ' ')]);
    const head = Buffer.alloc(20);
    head.write('glTF', 0, 'latin1');
    head.writeUInt32LE(2, 4);
    head.writeUInt32LE(28 + text.length + body.length, 8);
    head.writeUInt32LE(text.length, 12);
    head.write('JSON', 16, 'latin1');
    const middle = Buffer.alloc(8);
    middle.writeUInt32LE(body.length, 0);
    middle.write('BIN\0', 4, 'latin1');
    await writeFile(new URL(name, import.meta.url), Buffer.concat([head, text, middle, body]));
}
