// Writes snake.glb: a tube on a chain of joints, with two clips. `node snake.mjs`.

import { writeGlb } from './glb.mjs';

const JOINTS = 24;
const STEP = 0.07;
const RINGS = 70;
const SIDES = 18;
const LENGTH = (JOINTS - 1) * STEP;
const KEYS = 33;

/** Radius at a distance from the tail. */
function radius(z) {
    const part = z / LENGTH;
    const body = 0.055 * Math.min(1, part * 3.5) ** 0.7;
    const head = 0.022 * Math.exp(-(((part - 0.955) / 0.03) ** 2));
    return (body + head) * Math.sqrt(Math.max(0, Math.min(1, (1 - part) * 40)));
}

const vertices = { position: [], normal: [], color: [], joints: [], weights: [] };
const indices = [];

function vertex(position, normal, color, z) {
    vertices.position.push(...position);
    const length = Math.hypot(...normal) || 1;
    vertices.normal.push(...normal.map((it) => Math.round((127 * it) / length)), 0);
    vertices.color.push(...color, 255);
    // The two joints around the place share the vertex.
    const at = Math.min(Math.max(z / STEP, 0), JOINTS - 1);
    const joint = Math.min(Math.floor(at), JOINTS - 2);
    const second = Math.round(255 * (at - joint));
    vertices.joints.push(joint, joint + 1, 0, 0);
    vertices.weights.push(255 - second, second, 0, 0);
}

function grid(rows, columns, first) {
    for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
            const a = first + row * (columns + 1) + column;
            const b = a + columns + 1;
            indices.push(a, a + 1, b, b, a + 1, b + 1);
        }
    }
}

for (let ring = 0; ring <= RINGS; ring++) {
    const z = (LENGTH * ring) / RINGS;
    const r = radius(z);
    const slope = (radius(Math.min(z + 0.002, LENGTH)) - radius(Math.max(z - 0.002, 0))) / 0.004;
    for (let side = 0; side <= SIDES; side++) {
        const angle = (2 * Math.PI * side) / SIDES;
        const [x, y] = [Math.cos(angle), Math.sin(angle)];
        const isStripe = Math.floor(ring / 5) % 2 === 0;
        const color = y < -0.35 ? [226, 205, 130] : isStripe ? [28, 92, 60] : [70, 150, 78];
        vertex([x * r, y * r, z], [x, y, -slope], color, z);
    }
}
grid(RINGS, SIDES, 0);

for (const side of [-1, 1]) {
    const center = [side * 0.045, 0.045, LENGTH * 0.962];
    const first = vertices.position.length / 3;
    for (let row = 0; row <= 8; row++) {
        for (let column = 0; column <= 10; column++) {
            const [up, around] = [(Math.PI * row) / 8, (2 * Math.PI * column) / 10];
            const normal = [Math.sin(up) * Math.cos(around), Math.cos(up), -Math.sin(up) * Math.sin(around)];
            const isPupil = normal[2] > 0.5 && Math.abs(normal[0] - 0.4 * side) < 0.45;
            const place = center.map((it, axis) => it + 0.017 * normal[axis]);
            vertex(place, normal, isPupil ? [12, 12, 12] : [245, 240, 225], LENGTH);
        }
    }
    const rows = 8;
    for (let row = 0; row < rows; row++) {
        for (let column = 0; column < 10; column++) {
            const a = first + row * 11 + column;
            indices.push(a, a + 11, a + 1, a + 1, a + 11, a + 12);
        }
    }
}

/** Rotation around Y, then around X. */
const turn = (y, x) => {
    const [sy, cy, sx, cx] = [Math.sin(y / 2), Math.cos(y / 2), Math.sin(x / 2), Math.cos(x / 2)];
    return [cy * sx, sy * cx, -sy * sx, cy * cx];
};
/** Direction of a joint: a wave that runs from the head to the tail. */
const heading = (joint, phase) => 0.75 * Math.sin(2 * Math.PI * (phase + joint / 14));

const CLIPS = [
    {
        name: 'slither',
        seconds: 2,
        turn: (joint, phase) => turn(heading(joint, phase) - (joint > 0 ? heading(joint - 1, phase) : 0), 0),
    },
    {
        name: 'rise',
        seconds: 4,
        turn: (joint, phase) => {
            const grown = 0.5 - 0.5 * Math.cos(2 * Math.PI * phase);
            if (joint < 13) return turn(0.46 * grown, 0);
            const up = joint < 17 ? -0.33 : joint > 19 ? 0.33 : 0;
            return turn(0.12 * Math.sin(6 * Math.PI * phase) * grown, up * grown);
        },
    },
];

const chunks = [];
const views = [];
const accessors = [];

function accessor(array, type, componentType, rest = {}, view = {}) {
    const data = Buffer.from(array.buffer);
    const padding = Buffer.alloc((4 - (data.length % 4)) % 4);
    const byteOffset = chunks.reduce((sum, it) => sum + it.length, 0);
    views.push({ buffer: 0, byteOffset, byteLength: data.length, ...view });
    chunks.push(data, padding);
    const size = { SCALAR: 1, VEC3: 3, VEC4: 4, MAT4: 16 }[type];
    const count = view.byteStride === 4 && type === 'VEC3' ? array.length / 4 : array.length / size;
    accessors.push({ bufferView: views.length - 1, componentType, count, type, ...rest });
    return accessors.length - 1;
}

const range = (at) => vertices.position.filter((_, index) => index % 3 === at);
const edges = (call) => [0, 1, 2].map((at) => Math.fround(call(...range(at))));
const attributes = {
    POSITION: accessor(Float32Array.from(vertices.position), 'VEC3', 5126, {
        min: edges(Math.min),
        max: edges(Math.max),
    }),
    NORMAL: accessor(Int8Array.from(vertices.normal), 'VEC3', 5120, { normalized: true }, { byteStride: 4 }),
    COLOR_0: accessor(Uint8Array.from(vertices.color), 'VEC4', 5121, { normalized: true }),
    JOINTS_0: accessor(Uint8Array.from(vertices.joints), 'VEC4', 5121),
    WEIGHTS_0: accessor(Uint8Array.from(vertices.weights), 'VEC4', 5121, { normalized: true }),
};
const triangles = accessor(Uint16Array.from(indices), 'SCALAR', 5123);
const inverse = Array.from({ length: JOINTS }, (_, joint) => [
    1,
    0,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    -joint * STEP,
    1,
]);
const inverseBindMatrices = accessor(Float32Array.from(inverse.flat()), 'MAT4', 5126);
const animations = CLIPS.map(({ name, seconds, turn }) => {
    const times = Float32Array.from({ length: KEYS }, (_, key) => (seconds * key) / (KEYS - 1));
    const input = accessor(times, 'SCALAR', 5126, { min: [0], max: [seconds] });
    const samplers = Array.from({ length: JOINTS }, (_, joint) => {
        const keys = Array.from({ length: KEYS }, (_, key) => turn(joint, key / (KEYS - 1)));
        return {
            input,
            output: accessor(Float32Array.from(keys.flat()), 'VEC4', 5126),
            interpolation: 'LINEAR',
        };
    });
    const channels = samplers.map((_, sampler) => ({ sampler, target: { node: sampler, path: 'rotation' } }));
    return { name, samplers, channels };
});
const nodes = Array.from({ length: JOINTS }, (_, joint) => ({
    name: joint === 0 ? 'tail' : joint === JOINTS - 1 ? 'head' : `spine_${joint}`,
    translation: joint === 0 ? [0, 0.056, 0] : [0, 0, STEP],
    ...(joint < JOINTS - 1 ? { children: [joint + 1] } : {}),
}));
nodes.push({ name: 'snake', mesh: 0, skin: 0 });
// Lies across the view, with its middle at the origin.
const ANGLE = 1.2;
nodes.push({
    name: 'ground',
    rotation: turn(ANGLE, 0),
    translation: [(-Math.sin(ANGLE) * LENGTH) / 2, 0, (-Math.cos(ANGLE) * LENGTH) / 2],
    children: [0],
});
const body = Buffer.concat(chunks);
const json = {
    asset: { version: '2.0', generator: 'web/characters/snake.mjs' },
    extensionsUsed: ['KHR_mesh_quantization'],
    extensionsRequired: ['KHR_mesh_quantization'],
    scene: 0,
    scenes: [{ nodes: [JOINTS, JOINTS + 1] }],
    nodes,
    meshes: [{ name: 'snake', primitives: [{ attributes, indices: triangles, material: 0 }] }],
    materials: [{ name: 'scales', pbrMetallicRoughness: { metallicFactor: 0, roughnessFactor: 0.55 } }],
    skins: [{ inverseBindMatrices, joints: nodes.slice(0, JOINTS).map((_, joint) => joint) }],
    animations,
    buffers: [{ byteLength: body.length }],
    bufferViews: views,
    accessors,
};
await writeGlb('snake.glb', json, body);
