// Makes meshopt.json: streams of the reference encoder, and the output of the reference decoder for them.
//     npm install meshoptimizer@1.3.0 && node meshopt.mjs > meshopt.json
import { MeshoptEncoder as Encoder, MeshoptDecoder as Decoder } from "meshoptimizer";
await Encoder.ready;
await Decoder.ready;

let state = 1;
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const base64 = (bytes) => Buffer.from(bytes).toString("base64");
const cases = [];

function add(name, mode, filter, source, count, stride, version = 0) {
  const encoded =
    mode === "ATTRIBUTES"
      ? Encoder.encodeVertexBufferLevel(bytesOf(source), count, stride, 3, version) // level 3 tries every channel mode
      : Encoder.encodeGltfBuffer(bytesOf(source), count, stride, mode);
  const decoded = new Uint8Array(count * stride);
  Decoder.decodeGltfBuffer(decoded, count, stride, encoded, mode, filter);
  cases.push({ name, mode, filter, count, stride, encoded: base64(encoded), decoded: base64(decoded) });
}

const walk = (n, step) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * step) * 3 + (i % 5 ? 0 : random() * 9));
for (const version of [0, 1]) {
  for (const [count, stride] of [[1, 4], [15, 8], [17, 12], [256, 4], [270, 8], [37, 256]]) {
    add(`floats ${count}x${stride} v${version}`, "ATTRIBUTES", "NONE", walk((count * stride) / 4, 0.01), count, stride, version);
  }
  add(`zeros v${version}`, "ATTRIBUTES", "NONE", new Uint8Array(64 * 8), 64, 8, version);
  add(`noise v${version}`, "ATTRIBUTES", "NONE", Uint8Array.from({ length: 50 * 4 }, () => random() * 256), 50, 4, version);
  const ramp = Uint16Array.from({ length: 600 }, (_, i) => i * 37 + (random() < 0.1 ? 900 : 0));
  add(`words v${version}`, "ATTRIBUTES", "NONE", ramp, 300, 4, version);
  const bits = Uint32Array.from({ length: 200 }, (_, i) => (0x3f800000 ^ ((i & 7) << 20)) >>> 0);
  add(`bits v${version}`, "ATTRIBUTES", "NONE", bits, 200, 4, version);
}

const directions = new Float32Array(4 * 60);
for (let i = 0; i < 60; i++) {
  const v = [random() - 0.5, random() - 0.5, random() - 0.5];
  const length = Math.hypot(...v);
  directions.set([...v.map((x) => x / length), i % 2 ? 1 : -1], 4 * i);
}
const rotations = new Float32Array(4 * 60);
for (let i = 0; i < 60; i++) {
  const v = [random() - 0.5, random() - 0.5, random() - 0.5, random() - 0.5];
  const length = Math.hypot(...v);
  rotations.set(v.map((x) => x / length), 4 * i);
}
const colors = Float32Array.from({ length: 4 * 60 }, random);
for (const version of [0, 1]) {
  for (const bits of [5, 8]) {
    add(`octahedral 4, ${bits} v${version}`, "ATTRIBUTES", "OCTAHEDRAL", Encoder.encodeFilterOct(directions, 60, 4, bits), 60, 4, version);
    add(`color 4, ${bits} v${version}`, "ATTRIBUTES", "COLOR", Encoder.encodeFilterColor(colors, 60, 4, bits), 60, 4, version);
  }
  for (const bits of [10, 16]) {
    add(`octahedral 8, ${bits} v${version}`, "ATTRIBUTES", "OCTAHEDRAL", Encoder.encodeFilterOct(directions, 60, 8, bits), 60, 8, version);
    add(`quaternion ${bits} v${version}`, "ATTRIBUTES", "QUATERNION", Encoder.encodeFilterQuat(rotations, 60, 8, bits), 60, 8, version);
    add(`color 8, ${bits} v${version}`, "ATTRIBUTES", "COLOR", Encoder.encodeFilterColor(colors, 60, 8, bits), 60, 8, version);
  }
  for (const mode of ["Separate", "SharedVector", "SharedComponent", "Clamped"]) {
    add(`exponential ${mode} v${version}`, "ATTRIBUTES", "EXPONENTIAL", Encoder.encodeFilterExp(walk(180, 0.1), 60, 12, 14, mode), 60, 12, version);
  }
}

// A grid in rows, the same grid shuffled, and unconnected triangles: together they use every kind of code.
const grid = [];
for (let y = 0; y < 6; y++) {
  for (let x = 0; x < 12; x++) {
    const a = y * 13 + x;
    grid.push(a, a + 1, a + 13, a + 1, a + 14, a + 13);
  }
}
const shuffled = Array.from({ length: 80 }, () => Math.floor(random() * 72) * 6).flatMap((t) => grid.slice(t, t + 3));
const free = Array.from({ length: 90 }, () => Math.floor(random() * 65536));
for (const [name, list] of Object.entries({ grid, shuffled, free, twice: [...grid.slice(0, 60), ...grid.slice(0, 60)] })) {
  for (const Type of [Uint16Array, Uint32Array]) {
    const indices = Type.from(list);
    add(`${name} triangles`, "TRIANGLES", "NONE", indices, indices.length, Type.BYTES_PER_ELEMENT);
    add(`${name} indices`, "INDICES", "NONE", indices, indices.length, Type.BYTES_PER_ELEMENT);
  }
}
process.stdout.write(`[\n${cases.map((c) => JSON.stringify(c)).join(",\n")}\n]\n`);
