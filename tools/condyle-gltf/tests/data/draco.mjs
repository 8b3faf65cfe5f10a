// Makes draco.json: meshes of the reference encoder, and the output of the reference decoder for them.
//     npm install draco3dgltf@1.5.7 && node draco.mjs > draco.json
import draco3d from "draco3dgltf";
const enc = await draco3d.createEncoderModule();
const dec = await draco3d.createDecoderModule();
const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

// A bent sheet of 9 x 7 vertices with a seam along its middle, where texture coordinates differ at equal positions.
const [columns, rows] = [9, 7];
const vertices = [];
const faces = [];
for (const half of [0, 1]) {
  const first = vertices.length;
  for (let y = 0; y < rows; y++) {
    for (let x = half * 4; x <= 4 + half * 4; x++) vertices.push({ x, y, half });
  }
  for (let y = 0; y + 1 < rows; y++) {
    for (let x = 0; x < 4; x++) {
      const at = first + y * 5 + x;
      faces.push(at, at + 1, at + 5, at + 5, at + 1, at + 6);
    }
  }
}
const of = (make) => vertices.flatMap(make);
const position = Float32Array.from(of(({ x, y }) => [x / 8, y / 6, Math.sin(x) / 4]));
const normal = Float32Array.from(of(({ x }) => { const n = [-Math.cos(x) * 2, 0, 1]; return n.map((v) => v / Math.hypot(...n)); }));
const coordinate = Float32Array.from(of(({ x, y, half }) => [x / 8 + half * 0.25, y / 6]));
const joints = of(({ y }) => [Math.floor(y / 3), Math.min(Math.floor(y / 3) + 1, 2), 0, 0]);
const weights = Float32Array.from(of(({ y }) => [1 - (y % 3) / 3, (y % 3) / 3, 0, 0]));

function make(name, method, speed, list) {
  const mesh = new enc.Mesh();
  const builder = new enc.MeshBuilder();
  builder.AddFacesToMesh(mesh, faces.length / 3, Uint32Array.from(faces));
  const ids = {};
  for (const [attribute, kind, size, values] of list) {
    const add = values instanceof Float32Array ? "AddFloatAttribute" : values instanceof Uint8Array ? "AddUInt8Attribute" : "AddUInt16Attribute";
    ids[attribute] = builder[add](mesh, enc[kind], vertices.length, size, values);
  }
  const encoder = new enc.Encoder();
  encoder.SetEncodingMethod(enc[`MESH_${method}_ENCODING`]);
  encoder.SetSpeedOptions(speed, speed);
  for (const [kind, bits] of [["POSITION", 11], ["NORMAL", 8], ["TEX_COORD", 10], ["GENERIC", 12]]) {
    encoder.SetAttributeQuantization(enc[kind], bits);
  }
  const out = new enc.DracoInt8Array();
  const size = encoder.EncodeMeshToDracoBuffer(mesh, out);
  const encoded = Int8Array.from({ length: size }, (_, i) => out.GetValue(i));

  const decoder = new dec.Decoder();
  const back = new dec.Mesh();
  decoder.DecodeArrayToMesh(encoded, size, back);
  const [points, triangles] = [back.num_points(), back.num_faces()];
  const read = (count, kind, bytes, call) => {
    const at = dec._malloc(count * bytes);
    call(count * bytes, at);
    const copy = new kind(dec.HEAPU8.buffer, at, count).slice();
    dec._free(at);
    return base64(copy);
  };
  const answers = list.map(([attribute, , width, values]) => {
    const [code, type, bytes] = values instanceof Float32Array ? [5126, "DT_FLOAT32", 4] : values instanceof Uint8Array ? [5121, "DT_UINT8", 1] : [5123, "DT_UINT16", 2];
    const source = decoder.GetAttributeByUniqueId(back, ids[attribute]);
    const decoded = read(points * width, values.constructor, bytes, (n, at) => decoder.GetAttributeDataArrayForAllPoints(back, source, dec[type], n, at));
    return { name: attribute, id: ids[attribute], componentType: code, type: `VEC${width}`, decoded };
  });
  const indices = read(triangles * 3, Uint32Array, 4, (n, at) => decoder.GetTrianglesUInt32Array(back, n, at));
  return { name, points, corners: triangles * 3, encoded: base64(encoded), indices, attributes: answers };
}

const shape = [["POSITION", "POSITION", 3, position], ["NORMAL", "NORMAL", 3, normal], ["TEXCOORD_0", "TEX_COORD", 2, coordinate]];
const skin = (kind) => [["JOINTS_0", "GENERIC", 4, kind.from(joints)], ["WEIGHTS_0", "GENERIC", 4, weights]];
const cases = [
  make("valence", "EDGEBREAKER", 0, [...shape, ...skin(Uint8Array)]),
  make("standard", "EDGEBREAKER", 5, [...shape, ...skin(Uint16Array)]),
  make("fast", "EDGEBREAKER", 9, [...skin(Uint8Array), ...shape]),
  make("sequential", "SEQUENTIAL", 10, [...shape, ...skin(Uint8Array)]),
  make("positions only", "EDGEBREAKER", 3, shape.slice(0, 1)),
];
console.log("[\n" + cases.map((c) => JSON.stringify(c)).join(",\n") + "\n]");
