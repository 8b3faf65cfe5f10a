// Writes a .glb: accessors of given numbers, and whatever JSON the model adds.

const TYPES = { 1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4" };
const ARRAYS = { 5120: Int8Array, 5121: Uint8Array, 5122: Int16Array, 5123: Uint16Array, 5125: Uint32Array, 5126: Float32Array };

export class Builder {
  json = { asset: { version: "2.0", generator: "condyle testdata" }, scene: 0, scenes: [{ nodes: [] }], nodes: [], meshes: [], accessors: [], bufferViews: [] };
  #bytes = [];

  view(array) {
    while (this.#bytes.length % 4) this.#bytes.push(0);
    const byteOffset = this.#bytes.length;
    this.#bytes.push(...new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return this.json.bufferViews.push({ buffer: 0, byteOffset, byteLength: array.byteLength }) - 1;
  }

  // `rows` are lists of numbers, or numbers. With `bounds`, `min` and `max` are stated as glTF demands of positions and times.
  accessor(rows, { component = 5126, normalized = false, bounds = false } = {}) {
    const lists = rows.map((row) => [row].flat());
    const array = ARRAYS[component].from(lists.flat());
    const accessor = { bufferView: this.view(array), componentType: component, count: rows.length, type: TYPES[lists[0].length] };
    if (normalized) accessor.normalized = true;
    if (bounds) this.#bound(accessor, lists.map((row) => row.map(Math.fround)));
    return this.json.accessors.push(accessor) - 1;
  }

  // All rows of the accessor `base`, but for those that `changes` names by index.
  sparse(base, rows, changes, { bounds = false } = {}) {
    const indices = Object.keys(changes).map(Number);
    const values = indices.map((i) => changes[i]);
    const accessor = {
      ...this.json.accessors[base],
      sparse: {
        count: indices.length,
        indices: { bufferView: this.view(Uint8Array.from(indices)), componentType: 5121 },
        values: { bufferView: this.view(Float32Array.from(values.flat())) },
      },
    };
    if (bounds) this.#bound(accessor, rows.map((row, i) => (changes[i] ?? row).map(Math.fround)));
    return this.json.accessors.push(accessor) - 1;
  }

  #bound(accessor, lists) {
    accessor.min = lists[0].map((_, i) => Math.min(...lists.map((row) => row[i])));
    accessor.max = lists[0].map((_, i) => Math.max(...lists.map((row) => row[i])));
  }

  node(node, { root = false } = {}) {
    const index = this.json.nodes.push(node) - 1;
    if (root) this.json.scenes[0].nodes.push(index);
    return index;
  }

  mesh(primitive, more = {}) {
    return this.json.meshes.push({ primitives: [primitive], ...more }) - 1;
  }

  skin(joints, inverseBind) {
    this.json.skins ??= [];
    const skin = { joints };
    if (inverseBind) skin.inverseBindMatrices = this.accessor(inverseBind);
    return this.json.skins.push(skin) - 1;
  }

  // `channels`: [node, path, interpolation, times, values].
  animation(name, channels) {
    const animation = { name, samplers: [], channels: [] };
    for (const [node, path, interpolation, times, values] of channels) {
      const input = this.accessor(times, { bounds: true });
      const output = typeof values === "number" ? values : this.accessor(values);
      const sampler = animation.samplers.push({ input, output, interpolation }) - 1;
      animation.channels.push({ sampler, target: { node, path } });
    }
    this.json.animations ??= [];
    this.json.animations.push(animation);
  }

  glb() {
    while (this.#bytes.length % 4) this.#bytes.push(0);
    this.json.buffers = [{ byteLength: this.#bytes.length }];
    for (const key of ["accessors", "bufferViews"]) if (!this.json[key].length) delete this.json[key];
    let text = Buffer.from(JSON.stringify(this.json));
    text = Buffer.concat([text, Buffer.alloc(-text.length & 3, " ")]);
    const words = (...list) => Buffer.from(Uint32Array.from(list).buffer);
    const total = 12 + 8 + text.length + 8 + this.#bytes.length;
    return Buffer.concat([
      words(0x46546c67, 2, total), words(text.length, 0x4e4f534a), text,
      words(this.#bytes.length, 0x004e4942), Buffer.from(this.#bytes),
    ]);
  }
}
