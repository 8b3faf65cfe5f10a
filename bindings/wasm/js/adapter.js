// Functions that the adapters of the engines share.

/** Applies a matrix in columns to a point, or to a direction with a `w` of 0. */
function applied(m, { x, y, z }, w) {
    return [0, 1, 2].map((row) => m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row] * w);
}

/**
 * First hit of the posed meshes on a ray of the world, in the world. `world` is the matrix of the character, in
 * columns, and `inverse` its inverse. Vectors of all engines have `x`, `y` and `z`.
 */
export function raycast(pose, { origin, direction }, world, inverse, far = Infinity) {
    const hit = pose.raycast(applied(inverse, origin, 1), applied(inverse, direction, 0));
    if (!hit) return undefined;
    const [x, y, z] = hit.position;
    const position = applied(world, { x, y, z }, 1);
    const distance = Math.hypot(position[0] - origin.x, position[1] - origin.y, position[2] - origin.z);
    // Normals turn by the transposed inverse.
    const normal = [0, 4, 8].map((at) => hit.normal.reduce((sum, v, axis) => sum + inverse[at + axis] * v, 0));
    const length = Math.hypot(...normal);
    return distance <= far ? { ...hit, distance, position, normal: normal.map((v) => v / length) } : undefined;
}

/** Calls a function with those weights that changed since the last call: others may have been set by the program. */
export function changes(weightsOf) {
    const last = [];
    return (set) => {
        const weights = weightsOf();
        for (let target = 0; target < (weights?.length ?? 0); target++) {
            if (weights[target] !== last[target]) set((last[target] = weights[target]), target);
        }
    };
}

/** The root that a loader of glTF makes, or the object without a parent. */
export const rootOf = (it) => (it.parent && it.name !== '__root__' ? rootOf(it.parent) : it);

/**
 * Pairs the meshes of a model with those of a loader, which has them in the order of nodes and primitives. A mesh of
 * the model that the loader does not draw has another number of vertices than the next one.
 */
export function paired(model, loaded, verticesOf) {
    const meshes = model.meshes.map((it, index) => ({ ...it, index }));
    const drawn = [];
    for (const it of meshes.sort((a, b) => a.node - b.node || a.primitive - b.primitive)) {
        const mesh = loaded[drawn.length];
        if (mesh && verticesOf(mesh) === it.vertices) drawn.push({ ...it, mesh });
    }
    if (drawn.length === loaded.length && drawn.length > 0) return drawn;
    throw new Error('the loaded meshes are not those of the file of the model');
}

/** Joints that meshes follow. Their matrices lie behind the palettes. */
function jointsOf(meshes) {
    return [...new Set(meshes.map(({ joint }) => joint).filter((joint) => joint >= 0))];
}

/** A function that finds the first matrix of a mesh. */
function finder(offsets, model, joints) {
    return ({ skin, joint }) => offsets[skin >= 0 ? skin : model.skins.length + joints.indexOf(joint)];
}

/**
 * Matrices of one pose for the texture of an engine, laid out like those of a crowd of one. `update` computes them.
 */
export function matricesOf(model, meshes, pose) {
    const joints = jointsOf(meshes);
    const offsets = [0];
    for (const { joints } of model.skins) offsets.push(offsets.at(-1) + joints.length);
    for (const _ of joints) offsets.push(offsets.at(-1) + 1);
    const matrices = Math.max(1, offsets.pop());
    const palettes = new Float32Array(16 * matrices);
    const update = () => {
        model.skins.forEach((_, skin) => palettes.set(pose.palette(skin), 16 * offsets[skin]));
        const all = joints.length > 0 && pose.model;
        joints.forEach((joint, at) => {
            palettes.set(all.subarray(16 * joint, 16 * joint + 16), 16 * offsets[model.skins.length + at]);
        });
        return palettes;
    };
    return { update, width: 4 * matrices, height: 1, stride: matrices, offsetOf: finder(offsets, model, joints) };
}

/**
 * A crowd with the palettes of all skins, and the matrices of the joints that meshes follow. A row of the texture
 * holds at least one whole instance. `update` computes the matrices.
 */
export function crowdOf(model, meshes, count, { inRow = 512, limit = Infinity } = {}) {
    const joints = jointsOf(meshes);
    const matrices = Math.max(1, joints.length + model.skins.reduce((sum, skin) => sum + skin.joints.length, 0));
    const row = matrices * Math.max(1, Math.floor(inRow / matrices));
    const [width, height] = [4 * row, Math.ceil((count * matrices) / row)];
    if (width > limit || height > limit) {
        const text = `a crowd of ${count} needs a texture of ${width} x ${height}; this device has at most ${limit}`;
        throw new Error(`${text}: make several crowds`);
    }
    const crowd = model.crowd(count, { joints, row, stride: matrices });
    const update = (seconds = 0) => {
        if (seconds !== 0) crowd.advance(seconds);
        crowd.update();
        return crowd.palettes;
    };
    return { crowd, update, width, height, stride: matrices, offsetOf: finder(crowd.offsets, model, joints) };
}
