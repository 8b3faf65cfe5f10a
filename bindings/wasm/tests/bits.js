// Hashes of the posed vertices of a model, as `tools/condyle-io/tests/web.rs` computes them.

/** One line for each mesh at each of five moments of the first clip. */
export function bitsOf(model) {
    const pose = model.pose();
    const lines = [];
    for (let moment = 0; moment < 5; moment++) {
        if (model.clips.length > 0) {
            const { start, end } = model.clips[0];
            pose.sample(0, start + ((end - start) * moment) / 4);
        }
        for (const mesh of model.meshes.keys()) {
            const { positions } = pose.skin(mesh);
            lines.push(hash(new Uint32Array(positions.slice().buffer)));
        }
    }
    pose.dispose();
    return lines;
}

/** FNV-1a of 32-bit words. */
function hash(words) {
    let sum = 0x811c9dc5;
    for (const word of words) sum = Math.imul(sum ^ word, 0x01000193);
    return sum >>> 0;
}
