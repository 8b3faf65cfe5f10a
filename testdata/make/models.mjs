// The models. Each exercises a few things; all numbers are made here.

import { Builder } from "./glb.mjs";

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

// Reproducible, in [0, 1) (mulberry32).
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// A rotation about an axis, in degrees, as x y z w.
function turn(axis, degrees) {
  const length = Math.hypot(...axis), half = (degrees * Math.PI) / 360;
  return [...axis.map((v) => (v / length) * Math.sin(half)), Math.cos(half)];
}

// A translation as an inverse bind matrix: the joint is at `at` when bound.
const unbind = (at) => [...IDENTITY.slice(0, 12), -at[0], -at[1], -at[2], 1];

// A tube along y of five rings of four vertices, closed to triangles; normals point outwards and a little up.
function tube(builder, height, { quantized = false } = {}) {
  const positions = [], normals = [], indices = [];
  for (let ring = 0; ring < 5; ring++) {
    for (let side = 0; side < 4; side++) {
      const angle = (side / 4) * 2 * Math.PI + 0.3, lean = 0.1 * ring;
      const radius = 0.3 - 0.03 * ring;
      positions.push([radius * Math.cos(angle), (height * ring) / 4, radius * Math.sin(angle)]);
      const length = Math.hypot(1, lean);
      normals.push([Math.cos(angle) / length, lean / length, Math.sin(angle) / length]);
      if (ring < 4) {
        const a = 4 * ring + side, b = 4 * ring + ((side + 1) % 4);
        indices.push(a, a + 4, b, b, a + 4, b + 4);
      }
    }
  }
  const attributes = { POSITION: builder.accessor(positions, { bounds: true }), NORMAL: builder.accessor(normals) };
  return { positions, normals, primitive: { attributes, indices: builder.accessor(indices, { component: 5123 }) } };
}

// Adds joints and weights to a tube: each row is a list of [joint, weight].
function follow(builder, primitive, rows, { component = 5126, sum = 1 } = {}) {
  const sets = Math.max(...rows.map((row) => Math.ceil(row.length / 4)));
  for (let set = 0; set < sets; set++) {
    const part = (row, column) => [0, 1, 2, 3].map((i) => row[4 * set + i]?.[column] ?? 0);
    primitive.attributes[`JOINTS_${set}`] = builder.accessor(rows.map((row) => part(row, 0)), { component: 5121 });
    const weights = rows.map((row) => part(row, 1).map((w) => w * sum));
    primitive.attributes[`WEIGHTS_${set}`] = builder.accessor(weights, { component, normalized: component !== 5126 });
  }
}

// A tube along x around `at(u)`: `u` goes from 0 to 1 over the rings, and `at` gives the middle, half the height and half the depth.
function limb(rings, sides, at) {
  const positions = [], normals = [], indices = [], vertex = (ring, side) => sides * ring + (side % sides);
  const point = (u, angle) => {
    const { x, y = 0, z = 0, high, deep } = at(u);
    return [x, y + high * Math.cos(angle), z + deep * Math.sin(angle)];
  };
  for (let ring = 0; ring < rings; ring++) {
    for (let side = 0; side < sides; side++) {
      const u = ring / (rings - 1), angle = (side / sides) * 2 * Math.PI, step = 1e-4;
      const along = [0, 1, 2].map((c) => point(Math.min(u + step, 1), angle)[c] - point(Math.max(u - step, 0), angle)[c]);
      const around = [0, 1, 2].map((c) => point(u, angle + step)[c] - point(u, angle - step)[c]);
      const across = [0, 1, 2].map((c) => around[(c + 1) % 3] * along[(c + 2) % 3] - around[(c + 2) % 3] * along[(c + 1) % 3]);
      const length = Math.hypot(...across);
      positions.push(point(u, angle));
      normals.push(across.map((v) => v / length));
      if (ring + 1 < rings) {
        const [a, b, c, d] = [vertex(ring, side), vertex(ring, side + 1), vertex(ring + 1, side), vertex(ring + 1, side + 1)];
        indices.push(a, b, c, c, b, d);
      }
    }
  }
  return { positions, normals, indices };
}

const smooth = (v) => { const t = Math.min(Math.max(v, 0), 1); return t * t * (3 - 2 * t); };

// A smooth curve through the rows of a table, whose first column is the argument: Catmull-Rom, with slopes over uneven steps.
function profile(table, x) {
  const last = table.length - 2, at = Math.min(Math.max(table.findIndex((row) => row[0] > x) - 1, 0), last);
  const slope = (i, c) => {
    const [from, to] = [table[Math.max(i - 1, 0)], table[Math.min(i + 1, last + 1)]];
    return (to[c] - from[c]) / (to[0] - from[0]);
  };
  const [p, q] = [table[at], table[at + 1]], step = q[0] - p[0], t = (x - p[0]) / step;
  return p.map((v, c) => v * (2 * t ** 3 - 3 * t ** 2 + 1) + q[c] * (3 * t ** 2 - 2 * t ** 3) + step * (slope(at, c) * (t ** 3 - 2 * t ** 2 + t) + slope(at + 1, c) * (t ** 3 - t ** 2)));
}

// From joint to joint along the tube.
const along = (count) => Array.from({ length: 20 }, (_, v) => {
  const at = (Math.floor(v / 4) / 4) * (count - 1), joint = Math.min(Math.floor(at), count - 2);
  return [[joint, 1 - (at - joint)], [joint + 1, at - joint]].filter(([, w]) => w > 0);
});

// A chain of joints one unit apart, and the mesh on it. Returns the node numbers of the joints.
function chain(builder, count, { parent, rest = () => ({}) } = {}) {
  const joints = Array.from({ length: count }, (_, i) => builder.node({ name: `joint${i}`, translation: [0, i ? 1 : 0, 0], ...rest(i) }, { root: i === 0 && parent === undefined }));
  joints.forEach((joint, i) => { if (i + 1 < count) builder.json.nodes[joint].children = [joints[i + 1]]; });
  if (parent !== undefined) builder.json.nodes[parent].children = [...(builder.json.nodes[parent].children ?? []), joints[0]];
  return joints;
}

const upright = (count) => Array.from({ length: count }, (_, i) => unbind([0, i, 0]));

export const MODELS = {
  rigid: {
    exercises: "meshes on animated nodes without a skin, under an animated parent, and a mirrored one that does not move",
    build(b) {
      const { primitive } = tube(b, 2), mesh = b.mesh(primitive);
      const arm = b.node({ name: "arm", translation: [0.5, 2, 0], mesh });
      const body = b.node({ name: "body", mesh, children: [arm] }, { root: true });
      b.node({ name: "still", mesh, translation: [-3, 0, 1], rotation: turn([1, 2, 3], 70), scale: [1, 2, -0.5] }, { root: true });
      b.animation("wave", [
        [body, "translation", "LINEAR", [0, 0.5, 2], [[0, 0, 0], [1, 0.5, -1], [2, 0, 1]]],
        [body, "scale", "LINEAR", [0, 2], [[1, 1, 1], [2, 0.5, 1.5]]],
        [arm, "rotation", "LINEAR", [0, 1, 2], [turn([0, 0, 1], 0), turn([1, 0, 1], 100), turn([0, 1, 0], 250)]],
      ]);
    },
  },
  two_joints: {
    exercises: "one skin with two joints; rotations the long way round (the shorter arc is taken), a step, times before the first and after the last key",
    build(b) {
      const { primitive } = tube(b, 1), joints = chain(b, 2);
      follow(b, primitive, along(2));
      b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin(joints, upright(2)), translation: [9, 9, 9] }, { root: true });
      b.animation("bend", [
        [joints[1], "rotation", "LINEAR", [0.25, 0.75, 1.5], [turn([0, 0, 1], 10), turn([0, 0, 1], 80), turn([1, 0, 1], 60).map((v) => -v)]],
        [joints[0], "translation", "STEP", [0.5, 1, 1.75], [[0, 0, 0], [0.5, 0, 0], [0.5, 0.25, 0]]],
      ]);
    },
  },
  eight_influences: {
    exercises: "JOINTS_1 and WEIGHTS_1: up to seven joints per vertex",
    three: false,
    without: "three.js reads the first four influences of a vertex and no more",
    build(b) {
      const next = random(8), { primitive } = tube(b, 6), joints = chain(b, 7);
      follow(b, primitive, Array.from({ length: 20 }, (_, v) => {
        const parts = Array.from({ length: 1 + (v % 7) }, (_, i) => [(v + 2 * i) % 7, Math.fround(0.1 + next())]);
        const sum = parts.reduce((all, [, w]) => all + w, 0);
        return parts.map(([joint, w]) => [joint, w / sum]);
      }));
      b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin(joints, upright(7)) }, { root: true });
      b.animation("sway", joints.map((joint, i) => [joint, "rotation", "LINEAR", [0, 1 + i / 8, 2], [0, 1, 2].map(() => turn([next() - 0.5, next() - 0.5, next() + 0.1], 90 * next()))]));
    },
  },
  cubic_step_linear: {
    exercises: "cubic splines, steps and straight lines of translation, rotation and scale, in two clips",
    build(b) {
      const next = random(3), { primitive } = tube(b, 2), joints = chain(b, 3);
      follow(b, primitive, along(3));
      b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin(joints, upright(3)) }, { root: true });
      const spread = (n, size) => Array.from({ length: n }, () => size * (next() - 0.5));
      const spline = (n, size, value) => [0, 1, 2].flatMap((key) => [spread(n, size), value(key), spread(n, size)]);
      const angle = (key) => turn([1, key, 0.5], 40 * key + 5);
      const moved = (key) => [0.2 * key, 1 + 0.1 * key, 0], scaled = (key) => [1 + 0.2 * key, 1, 1 - 0.2 * key];
      b.animation("cubic", [
        [joints[0], "translation", "CUBICSPLINE", [0, 0.5, 2], spline(3, 2, moved)],
        [joints[1], "rotation", "CUBICSPLINE", [0, 1, 2], spline(4, 1.5, angle)],
        [joints[2], "scale", "CUBICSPLINE", [0.25, 1, 1.5], spline(3, 1, scaled)],
      ]);
      b.animation("mixed", [
        [joints[0], "rotation", "STEP", [0, 1, 2], [0, 1, 2].map(angle)],
        [joints[1], "translation", "LINEAR", [0, 1, 2], [0, 1, 2].map(moved)],
        [joints[2], "scale", "STEP", [0, 1, 2], [0, 1, 2].map(scaled)],
        [joints[1], "scale", "LINEAR", [0, 2], [[1, 1, 1], [1.5, 0.5, 1]]],
      ]);
    },
  },
  uneven_scale: {
    exercises: "uneven scale at rest and animated, above rotated joints (shear): the rules for normals differ",
    build(b) {
      const { primitive } = tube(b, 2);
      const joints = chain(b, 3, { rest: (i) => ({ scale: [[2, 1, 0.5], [1, 1, 1], [0.7, 1.3, 1]][i], rotation: turn([1, 1, 0], 20 * i) }) });
      follow(b, primitive, along(3));
      b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin(joints, upright(3)) }, { root: true });
      b.animation("squash", [
        [joints[0], "scale", "LINEAR", [0, 1, 2], [[2, 1, 0.5], [0.5, 2, 1], [1, 1, 3]]],
        [joints[1], "rotation", "LINEAR", [0, 2], [turn([0, 0, 1], 30), turn([1, 0, 1], 120)]],
      ]);
    },
  },
  morph: {
    exercises: "two morph targets with positions and normals, one of them sparse, animated weights, the mesh's and a node's own defaults",
    normals: false,
    without: "three.js morphs normals on the GPU only",
    build(b) {
      const next = random(5), { positions, primitive } = tube(b, 1), joints = chain(b, 2);
      const shift = (size) => positions.map(() => [0, 1, 2].map(() => size * (next() - 0.5)));
      const zeros = positions.map(() => [0, 0, 0]), nothing = b.accessor(zeros);
      const change = { 3: [0.5, 0, 0.25], 7: [0, 0.5, 0], 18: [-0.25, 0.5, 1] };
      primitive.targets = [
        { POSITION: b.accessor(shift(0.6), { bounds: true }), NORMAL: b.accessor(shift(0.8)) },
        { POSITION: b.sparse(nothing, zeros, change, { bounds: true }), NORMAL: b.accessor(shift(0.4)) },
      ];
      follow(b, primitive, along(2));
      const mesh = b.mesh(primitive, { weights: [0.5, 0] }), skin = b.skin(joints, upright(2));
      const [left, right] = [b.node({ name: "left", mesh, skin }, { root: true }), b.node({ name: "right", mesh, skin, weights: [0.25, 1] }, { root: true })];
      const pairs = (...rows) => rows.flat();
      b.animation("linear", [
        [left, "weights", "LINEAR", [0, 1, 2], pairs([0, 1], [1, -0.5], [0.5, 2])],
        [joints[1], "rotation", "LINEAR", [0, 2], [turn([1, 0, 0], 0), turn([1, 0, 0], 90)]],
      ]);
      b.animation("cubic", [
        [left, "weights", "CUBICSPLINE", [0, 2], pairs([0, 0], [0.2, 0.8], [1, -1], [0.5, 0.5], [1, 0], [0, 0])],
        [right, "weights", "STEP", [0, 1], pairs([1, 0], [0, 1])],
      ]);
    },
  },
  sparse_normalized: {
    exercises: "sparse positions, weights in normalised u8 and u16, rotations in normalised i16 and i8",
    tolerance: 1e-4,
    note: "three.js takes quaternions that rounding left a little off unit length as they are",
    build(b) {
      const { positions, primitive } = tube(b, 2), joints = chain(b, 3);
      const changes = { 0: [0.1, -0.2, 0.3], 9: [0.4, 1.1, 0], 19: [0, 2.5, -0.1] };
      primitive.attributes.POSITION = b.sparse(primitive.attributes.POSITION, positions, changes, { bounds: true });
      follow(b, primitive, along(3), { component: 5121, sum: 255 });
      // Weights of a vertex must still sum to one: 128 and 127 where 127.5 was meant.
      const exact = along(3).map((row) => (row.length === 1 ? [255, 0, 0, 0] : [128, 127, 0, 0]));
      primitive.attributes.WEIGHTS_0 = b.accessor(exact, { component: 5121, normalized: true });
      const { primitive: second } = tube(b, 1.5);
      follow(b, second, along(3));
      second.attributes.WEIGHTS_0 = b.accessor(exact.map((row) => row.map((w) => w * 257)), { component: 5123, normalized: true });
      const mesh = b.mesh(primitive), skin = b.skin(joints, upright(3));
      b.node({ name: "sparse", mesh, skin }, { root: true });
      b.node({ name: "fine", mesh: b.mesh(second), skin }, { root: true });
      const whole = (limit) => (q) => q.map((v) => Math.round(v * limit));
      // Eight bits hold half turns without rounding, and little else.
      const halves = [turn([0, 0, 1], 0), turn([1, 0, 0], 180), turn([0, 0, 1], 180)];
      const keys = [turn([0, 0, 1], 0), turn([1, 0, 1], 80), turn([0, 1, 1], 130)];
      b.animation("rounded", [
        [joints[1], "rotation", "LINEAR", [0, 1, 2], b.accessor(keys.map(whole(32767)), { component: 5122, normalized: true })],
        [joints[2], "rotation", "LINEAR", [0, 0.5, 2], b.accessor(halves.map(whole(127)), { component: 5120, normalized: true })],
      ]);
    },
  },
  shared_joints: {
    exercises: "two skins that share joints, in other orders and with other inverse bind matrices",
    build(b) {
      const { primitive } = tube(b, 2), joints = chain(b, 4);
      follow(b, primitive, along(3));
      const mesh = b.mesh(primitive);
      b.node({ name: "first", mesh, skin: b.skin(joints.slice(0, 3), upright(3)) }, { root: true });
      const moved = [[0.5, 0, 1], [0, 2, 0], [1, 1, 1]].map(unbind);
      b.node({ name: "second", mesh, skin: b.skin([joints[3], joints[0], joints[2]], moved) }, { root: true });
      b.animation("twist", joints.map((joint, i) => [joint, "rotation", "LINEAR", [0, 2], [turn([0, 1, 0], 10 * i), turn([i, 1, 1], 60 + 20 * i)]]));
    },
  },
  no_inverse_bind: {
    exercises: "no inverse bind matrices; joints below a node with a matrix; children stored before parents",
    build(b) {
      const { primitive } = tube(b, 1);
      const tip = b.node({ name: "tip", translation: [0, 0.5, 0] }), base = b.node({ name: "base", children: [tip] });
      b.node({ name: "placed", children: [base], matrix: [0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1] }, { root: true });
      follow(b, primitive, along(2));
      b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin([tip, base]) }, { root: true });
      b.animation("nod", [[tip, "rotation", "LINEAR", [0, 1, 2], [turn([0, 0, 1], 0), turn([0, 0, 1], 45), turn([1, 0, 0], 90)]]]);
    },
  },
  ancestors: {
    exercises: "animated, scaled nodes above the joints that no skin names, and an animated node with the mesh, which must not count",
    build(b) {
      const { primitive } = tube(b, 2), armature = b.node({ name: "armature", scale: [0.01, 0.01, 0.01] });
      const world = b.node({ name: "world", children: [armature], rotation: turn([1, 0, 0], -90) }, { root: true });
      const joints = chain(b, 3, { parent: armature, rest: (i) => ({ translation: [0, i ? 100 : 0, 0], scale: [1, 1, 1] }) });
      follow(b, primitive, along(3));
      const inverse = Array.from({ length: 3 }, (_, i) => [100, 0, 0, 0, 0, 100, 0, 0, 0, 0, 100, 0, 0, -100 * i, 0, 1]);
      const mesh = b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin(joints, inverse), translation: [5, 0, 0] }, { root: true });
      b.animation("walk", [
        [world, "translation", "LINEAR", [0, 2], [[0, 0, 0], [0, 0, 4]]],
        [world, "rotation", "LINEAR", [0, 1, 2], [turn([1, 0, 0], -90), turn([1, 1, 0], -60), turn([0, 1, 0], 30)]],
        [armature, "scale", "LINEAR", [0, 2], [[0.01, 0.01, 0.01], [0.02, 0.02, 0.02]]],
        [joints[1], "rotation", "LINEAR", [0, 2], [turn([0, 0, 1], 0), turn([0, 0, 1], 70)]],
        [mesh, "translation", "LINEAR", [0, 2], [[5, 0, 0], [-5, 1, 2]]],
      ]);
    },
  },
  mirrored: {
    exercises: "negative scale of one axis on joints, at rest and animated",
    build(b) {
      const { primitive } = tube(b, 1), joints = chain(b, 2, { rest: (i) => (i ? { scale: [-1, 1, 1] } : { rotation: turn([0, 1, 0], 30) }) });
      follow(b, primitive, along(2).map((row) => [row[row.length - 1][1] > 0.4 ? [1, 1] : [0, 1]]));
      b.node({ name: "mesh", mesh: b.mesh(primitive), skin: b.skin(joints, upright(2)) }, { root: true });
      b.animation("flip", [
        [joints[1], "rotation", "LINEAR", [0, 2], [turn([0, 0, 1], 0), turn([1, 2, 0], 100)]],
        [joints[0], "scale", "LINEAR", [0, 2], [[1, 1, 1], [1, -2, 1]]],
      ]);
    },
  },
  forearm: {
    exercises: "a hand that twists by 170° against its forearm, with stripes that show it: what linear blending and dual quaternions differ in",
    build(b) {
      // Metres: position along the arm, half the height, half the depth.
      const shape = [[-0.06, 0.050, 0.046], [0.05, 0.047, 0.043], [0.15, 0.040, 0.035], [0.24, 0.0285, 0.021], [0.29, 0.040, 0.0175], [0.33, 0.0425, 0.015], [0.36, 0.039, 0.012]];
      const rounded = (u, from, to) => Math.sqrt(Math.max(1 - Math.max((from - u) / from, (u - to) / (1 - to), 0) ** 2, 1e-5));
      // Closer rings at both ends, which are round.
      const eased = (u) => 0.2 * u + 0.8 * smooth(u);
      const arm = limb(38, 24, (v) => {
        const u = eased(v), [x, high, deep] = profile(shape, -0.06 + 0.42 * u), end = rounded(u, 0.05, 0.95);
        return { x, high: high * end, deep: deep * end };
      });
      const thumb = limb(9, 10, (v) => {
        const u = eased(v), radius = 0.0135 * rounded(u, 0.05, 0.7) * (1 - 0.3 * u);
        return { x: 0.265 + 0.09 * u, y: 0.022 + 0.052 * Math.sqrt(u), z: 0.003 + 0.006 * u, high: radius, deep: radius };
      });
      // From the little finger to the index finger: height at the knuckle, spread, length, radius.
      const fingers = [[-0.0305, -0.012, 0.075, 0.0098], [-0.0105, -0.004, 0.098, 0.0108], [0.0105, 0.003, 0.103, 0.0110], [0.0305, 0.010, 0.092, 0.0106]].map(([y, spread, length, thick]) =>
        limb(9, 8, (v) => {
          const u = eased(v), radius = thick * rounded(u, 0.05, 0.82) * (1 - 0.2 * u);
          return { x: 0.335 + length * u, y: y + spread * u, z: 0.004 * u * u, high: radius, deep: radius };
        }));
      const digits = [thumb, ...fingers];
      const skin = [0.72, 0.42, 0.29], stripe = [0.02, 0.10, 0.30], sleeve = [0.10, 0.30, 0.16];
      const color = ([x], v) => (x < 0 ? sleeve : (v % 24) % 4 === 0 && x < 0.3 ? stripe : skin);
      const colors = [...arm.positions.map(color), ...digits.flatMap((digit) => digit.positions.map(() => skin))];
      const hand = ([x]) => smooth((x - 0.05) / 0.21);
      const rows = [...arm.positions.map((p) => [[0, 1 - hand(p)], [1, hand(p)]].filter(([, w]) => w > 0)), ...digits.flatMap((digit) => digit.positions.map(() => [[1, 1]]))];
      const parts = [arm, ...digits], first = parts.map((_, at) => parts.slice(0, at).reduce((sum, { positions }) => sum + positions.length, 0));
      const indices = parts.flatMap((part, at) => part.indices.map((i) => i + first[at]));
      const primitive = {
        attributes: {
          POSITION: b.accessor(parts.flatMap((part) => part.positions), { bounds: true }),
          NORMAL: b.accessor(parts.flatMap((part) => part.normals)), COLOR_0: b.accessor(colors),
        },
        indices: b.accessor(indices, { component: 5123 }),
      };
      follow(b, primitive, rows);
      const wrist = b.node({ name: "hand", translation: [0.25, 0, 0] }), elbow = b.node({ name: "forearm", translation: [0, 1.1, 0], children: [wrist] }, { root: true });
      const bound = [unbind([0, 0, 0]), unbind([0.25, 0, 0])];
      b.node({ name: "arm", mesh: b.mesh(primitive), skin: b.skin([elbow, wrist], bound) }, { root: true });
      b.animation("twist", [[wrist, "rotation", "LINEAR", [0, 1, 2], [turn([1, 0, 0], 0), turn([1, 0, 0], 85), turn([1, 0, 0], 170)]]]);
    },
  },
};
