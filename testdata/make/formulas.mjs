// The formulas of glTF 2.0 in f64, from the bytes of a .glb to posed vertices. Shares no code with the library, nor with
// what wrote the file. Matrices are columns, 16 numbers.

const READ = { 5120: ["getInt8", 1, 127], 5121: ["getUint8", 1, 255], 5122: ["getInt16", 2, 32767], 5123: ["getUint16", 2, 65535], 5125: ["getUint32", 4, 4294967295], 5126: ["getFloat32", 4, 1] };
const WIDTH = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };
const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

export const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
export const unit = (v) => { const length = Math.sqrt(dot(v, v)); return v.map((c) => c / length); };

function multiply(a, b) {
  return b.map((_, i) => { const c = i & ~3, r = i & 3; return a[r] * b[c] + a[4 + r] * b[c + 1] + a[8 + r] * b[c + 2] + a[12 + r] * b[c + 3]; });
}

const point = (m, p) => [0, 1, 2].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
const direction = (m, v) => [0, 1, 2].map((r) => m[r] * v[0] + m[4 + r] * v[1] + m[8 + r] * v[2]);
const sum = (matrices, weights) => IDENTITY.map((_, i) => matrices.reduce((all, m, k) => all + weights[k] * m[i], 0));

// The inverse transpose of the upper 3x3: the cross products of its columns over its determinant.
function inverseTranspose(m) {
  const [x, y, z] = [m.slice(0, 3), m.slice(4, 7), m.slice(8, 11)];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const [a, b, c] = [cross(y, z), cross(z, x), cross(x, y)], determinant = dot(x, a);
  return [...a, 0, ...b, 0, ...c, 0, 0, 0, 0, determinant].map((v) => v / determinant);
}

// glTF 2.0, 3.5.3: the matrix is T * R * S. The quaternion is not normalised.
function local({ translation: t, rotation: [x, y, z, w], scale: s, matrix }) {
  if (matrix) return matrix;
  return [
    s[0] * (1 - 2 * (y * y + z * z)), s[0] * 2 * (x * y + z * w), s[0] * 2 * (x * z - y * w), 0,
    s[1] * 2 * (x * y - z * w), s[1] * (1 - 2 * (x * x + z * z)), s[1] * 2 * (y * z + x * w), 0,
    s[2] * 2 * (x * z + y * w), s[2] * 2 * (y * z - x * w), s[2] * (1 - 2 * (x * x + y * y)), 0,
    ...t, 1,
  ];
}

// Appendix C.3: the shorter arc.
function slerp(a, b, u) {
  let cosine = dot(a, b);
  const sign = cosine < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(1, cosine * sign));
  if (angle < 1e-9) return a.map((v, i) => (1 - u) * v + u * sign * b[i]);
  const [p, q] = [Math.sin((1 - u) * angle) / Math.sin(angle), (sign * Math.sin(u * angle)) / Math.sin(angle)];
  return a.map((v, i) => p * v + q * b[i]);
}

export class Model {
  constructor(file) {
    const view = new DataView(file.buffer, file.byteOffset, file.length);
    const length = view.getUint32(12, true);
    this.json = JSON.parse(file.subarray(20, 20 + length).toString());
    this.bin = new DataView(file.buffer, file.byteOffset + 28 + length, view.getUint32(20 + length, true));
    const nodes = this.json.nodes;
    this.parents = nodes.map((_, i) => nodes.findIndex((node) => node.children?.includes(i)));
    // Triangles of the scene in the order of the manifest.
    const shown = (node) => this.json.scenes[0].nodes.includes(node) || (this.parents[node] >= 0 && shown(this.parents[node]));
    this.prims = nodes.flatMap((node, index) => node.mesh === undefined || !shown(index) ? [] : this.json.meshes[node.mesh].primitives.map((primitive, prim) => {
      const { POSITION, NORMAL } = primitive.attributes;
      return { node: index, mesh: node.mesh, prim, skin: node.skin ?? null, verts: this.json.accessors[POSITION].count, normals: NORMAL !== undefined };
    }));
  }

  // 3.6.2: all elements of an accessor, each a list of numbers.
  rows(index) {
    const { bufferView, componentType, normalized, count, type, byteOffset = 0, sparse } = this.json.accessors[index];
    const width = WIDTH[type];
    const read = (view, offset, component, size) => {
      const { byteOffset: start = 0, byteStride } = this.json.bufferViews[view];
      const [name, bytes, most] = READ[component], stride = byteStride ?? bytes * size;
      return (row) => Array.from({ length: size }, (_, i) => {
        const value = this.bin[name](start + offset + row * stride + i * bytes, true);
        return normalized && component === componentType ? Math.max(value / most, -1) : value;
      });
    };
    const rows = Array.from({ length: count }, (_, row) => bufferView === undefined ? Array(width).fill(0) : read(bufferView, byteOffset, componentType, width)(row));
    if (sparse) {
      const { indices, values } = sparse;
      const at = read(indices.bufferView, indices.byteOffset ?? 0, indices.componentType, 1);
      const value = read(values.bufferView, values.byteOffset ?? 0, componentType, width);
      for (let i = 0; i < sparse.count; i++) rows[at(i)[0]] = value(i);
    }
    return rows;
  }

  // Appendix C: the value of a sampler, a list of numbers.
  sample({ input, output, interpolation = "LINEAR" }, path, seconds) {
    const times = this.rows(input).flat(), flat = this.rows(output).flat();
    const parts = interpolation === "CUBICSPLINE" ? 3 : 1, width = flat.length / times.length / parts;
    const value = (key, part = parts === 3 ? 1 : 0) => flat.slice((key * parts + part) * width, (key * parts + part + 1) * width);
    const last = times.length - 1;
    if (seconds <= times[0]) return value(0);
    if (seconds >= times[last]) return value(last);
    const key = times.findLastIndex((time) => time <= seconds);
    const step = times[key + 1] - times[key], u = (seconds - times[key]) / step;
    if (interpolation === "STEP") return value(key);
    const [a, b] = [value(key), value(key + 1)];
    if (interpolation === "LINEAR") return path === "rotation" ? slerp(a, b, u) : a.map((v, i) => (1 - u) * v + u * b[i]);
    const [leaving, arriving] = [value(key, 2), value(key + 1, 0)];
    const sum = a.map((v, i) => (2 * u ** 3 - 3 * u ** 2 + 1) * v + step * (u ** 3 - 2 * u ** 2 + u) * leaving[i] + (-2 * u ** 3 + 3 * u ** 2) * b[i] + step * (u ** 3 - u ** 2) * arriving[i]);
    return path === "rotation" ? unit(sum) : sum;
  }

  // The matrices and morph weights of all nodes. `clip` -1 is the file at rest; `unitQuaternions` normalises after interpolation.
  pose(clip, seconds, unitQuaternions = false) {
    const nodes = this.json.nodes.map((node) => ({ translation: [0, 0, 0], rotation: [0, 0, 0, 1], scale: [1, 1, 1], ...node, weights: node.weights ?? this.json.meshes[node.mesh]?.weights }));
    const { channels = [], samplers } = this.json.animations[clip] ?? {};
    for (const { sampler, target: { node, path } } of channels) nodes[node][path] = this.sample(samplers[sampler], path, seconds);
    if (unitQuaternions) for (const node of nodes) node.rotation = unit(node.rotation);
    const global = (index) => (index < 0 ? IDENTITY : multiply(global(this.parents[index]), local(nodes[index])));
    return { globals: nodes.map((_, i) => global(i)), weights: nodes.map((node) => node.weights ?? []) };
  }

  // World-space positions of one of `prims`, and its normals by each rule.
  vertices(prim, { globals, weights }) {
    const primitive = this.json.meshes[prim.mesh].primitives[prim.prim];
    const morphed = (name) => this.rows(primitive.attributes[name]).map((row, v, rows) => row.map((value, i) => {
      let all = value;
      this.#targets(primitive, name).forEach((target, k) => { if (target) all += (weights[prim.node][k] ?? 0) * target[v][i]; });
      return all;
    }));
    const influences = this.#influences(prim, primitive);
    const palette = this.#palette(prim, globals), turned = palette.map(inverseTranspose);
    const blend = (matrices, row) => sum(row.map(([joint]) => matrices[joint]), row.map(([, weight]) => weight));
    const positions = morphed("POSITION").map((p, v) => point(blend(palette, influences[v]), p));
    const normals = {};
    if (prim.normals) {
      const rules = {
        A: (row) => blend(palette, row),
        B: (row) => inverseTranspose(blend(palette, row)),
        C: (row) => blend(turned, row),
      };
      const rows = morphed("NORMAL");
      for (const [rule, matrix] of Object.entries(rules)) normals[rule] = rows.map((n, v) => unit(direction(matrix(influences[v]), n)));
    }
    return { positions, normals };
  }

  #targets(primitive, name) {
    return (primitive.targets ?? []).map((target) => (target[name] === undefined ? null : this.rows(target[name])));
  }

  // 3.7.3: what moves a primitive. Without a skin it is its node alone.
  #palette({ node, skin }, globals) {
    if (skin === null) return [globals[node]];
    const { joints, inverseBindMatrices } = this.json.skins[skin];
    const inverse = inverseBindMatrices === undefined ? joints.map(() => IDENTITY) : this.rows(inverseBindMatrices);
    return joints.map((joint, i) => multiply(globals[joint], inverse[i]));
  }

  // Pairs of joint and weight, for each vertex.
  #influences({ skin, verts }, { attributes }) {
    const rows = Array.from({ length: verts }, () => (skin === null ? [[0, 1]] : []));
    for (let set = 0; skin !== null && attributes[`JOINTS_${set}`] !== undefined; set++) {
      const [joints, weights] = [this.rows(attributes[`JOINTS_${set}`]), this.rows(attributes[`WEIGHTS_${set}`])];
      rows.forEach((row, v) => joints[v].forEach((joint, i) => { if (weights[v][i] > 0) row.push([joint, weights[v][i]]); }));
    }
    return rows;
  }
}
