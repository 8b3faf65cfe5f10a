// Plays glTF files in three.js next to the original, and measures the distance between their vertices:
// node play.mjs TOOLS ORIGINAL FILE...
// TOOLS is a folder filled by `npm install --prefix`. Prints a line of JSON per file. It has the largest
// distance between corresponding vertices in world space, in units of the file, with its clip and time. It
// also has the largest distance of a vertex from the origin, and the number of compared times and vertices.
// A file with vertices in another order, as from `pack --mesh`, is paired by CONDYLE_PLAY_PAIR: a vertex and its
// counterpart are at most that far apart in the rest pose and at some times of each clip.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [tools, original, ...files] = process.argv.slice(2);
const three = (path) => import(pathToFileURL(resolve(tools, "node_modules/three", path)));
// Browser globals that three.js requires. Images are not loaded.
globalThis.self = globalThis;
globalThis.ProgressEvent ??= class extends Event {};
const { AnimationMixer, LoopOnce, Texture, Vector3 } = await three("build/three.module.js");
const { GLTFLoader } = await three("examples/jsm/loaders/GLTFLoader.js");
const { MeshoptDecoder } = await three("examples/jsm/libs/meshopt_decoder.module.js");

/// Maximum number of vertex evaluations per clip. Above it, fewer times are used, evenly spread.
const MOST = Number(process.env.CONDYLE_PLAY_VERTICES ?? 20e6);

async function inlined(path) {
  const bytes = await readFile(path);
  if (bytes.readUInt32LE(0) === 0x46546c67) return bytes;
  const json = JSON.parse(bytes);
  for (const buffer of json.buffers ?? []) {
    if (!buffer.uri || buffer.uri.startsWith("data:")) continue;
    const data = await readFile(resolve(dirname(path), decodeURIComponent(buffer.uri)));
    buffer.uri = `data:application/octet-stream;base64,${data.toString("base64")}`;
  }
  return Buffer.from(JSON.stringify(json));
}

async function open(path) {
  const bytes = await inlined(path);
  const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder);
  loader.register(() => ({ name: "no pictures", loadTexture: async () => new Texture() }));
  const gltf = await loader.parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), "");
  const meshes = [];
  gltf.scene.traverse((object) => object.isMesh && meshes.push(object));
  return { scene: gltf.scene, clips: gltf.animations, meshes };
}

/// Key times of both clips, and three times between successive keys.
function moments(clips) {
  const keys = new Set(clips.flatMap((clip) => clip.tracks.flatMap((track) => [...track.times])));
  const sorted = [...keys].sort((a, b) => a - b);
  return sorted.flatMap((key, at) => {
    const next = sorted[at + 1];
    return next === undefined ? [key] : [0, 0.25, 0.5, 0.75].map((part) => key + part * (next - key));
  });
}

class Player {
  constructor({ scene, meshes }, clip) {
    Object.assign(this, { scene, meshes, clip, mixer: new AnimationMixer(scene) });
    this.action = this.mixer.clipAction(clip).setLoop(LoopOnce, 1);
    this.action.clampWhenFinished = true;
    this.action.play();
  }
  pose(seconds) {
    Object.assign(this.action, { paused: false, enabled: true });
    this.mixer.setTime(Math.min(seconds, this.clip.duration));
    this.scene.updateMatrixWorld(true);
    for (const mesh of this.meshes) mesh.skeleton?.update();
  }
  stop() {
    this.mixer.stopAllAction();
  }
}

const PAIR = Number(process.env.CONDYLE_PLAY_PAIR ?? 0);
/// Times per clip at which vertices are paired.
const PAIRED = 5;

/// Positions of all vertices of a mesh in world space.
function positions(mesh) {
  const { count } = mesh.geometry.attributes.position;
  const [out, p] = [new Float64Array(3 * count), new Vector3()];
  for (let vertex = 0; vertex < count; vertex++) mesh.getVertexPosition(vertex, p).applyMatrix4(mesh.matrixWorld).toArray(out, 3 * vertex);
  return out;
}

/// Positions of all vertices of each mesh in the rest pose and at some times of each clip.
function samples(model) {
  const all = model.meshes.map(() => []);
  const add = () => model.meshes.forEach((mesh, at) => all[at].push(positions(mesh)));
  model.scene.updateMatrixWorld(true);
  for (const mesh of model.meshes) mesh.skeleton?.update();
  add();
  for (const clip of model.clips) {
    const player = new Player(model, clip);
    for (let part = 0; part < PAIRED; part++) {
      player.pose((clip.duration * part) / (PAIRED - 1));
      add();
    }
    player.stop();
  }
  return all;
}

/// Returns for each mesh the counterpart of every vertex of `a` that a triangle uses: the vertex of `b` with the
/// smallest distance over all samples, among those that are near in the rest pose.
function counterparts(a, b) {
  const [from, to] = [samples(a), samples(b)];
  return a.meshes.map((mesh, m) => {
    const cells = new Map();
    const cell = (list, vertex, by) => [0, 1, 2].map((axis) => Math.floor(list[3 * vertex + axis] / PAIR) + by[axis]).join();
    const count = to[m][0].length / 3;
    for (let vertex = 0; vertex < count; vertex++) {
      const key = cell(to[m][0], vertex, [0, 0, 0]);
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(vertex);
    }
    const near = [-1, 0, 1];
    const around = near.flatMap((x) => near.flatMap((y) => near.map((z) => [x, y, z])));
    const distance = (vertex, other, at) =>
      Math.hypot(...[0, 1, 2].map((axis) => from[m][at][3 * vertex + axis] - to[m][at][3 * other + axis]));
    const twins = new Map();
    const used = mesh.geometry.index?.array ?? Array.from({ length: from[m][0].length / 3 }, (_, at) => at);
    for (const vertex of new Set(used)) {
      let best = { twin: undefined, off: Infinity };
      for (const twin of around.flatMap((by) => cells.get(cell(from[m][0], vertex, by)) ?? [])) {
        let off = 0;
        for (let at = 0; at < from[m].length && off < best.off; at++) off = Math.max(off, distance(vertex, twin, at));
        if (off < best.off) best = { twin, off };
      }
      if (best.twin === undefined) throw new Error(`${mesh.name}: vertex ${vertex} has no counterpart`);
      twins.set(vertex, best.twin);
    }
    return twins;
  });
}

function worst(a, b) {
  const found = { worst: 0, clip: null, seconds: 0, size: 0, moments: 0, vertices: 0 };
  const count = a.meshes.reduce((sum, mesh) => sum + mesh.geometry.attributes.position.count, 0);
  const [p, q] = [new Vector3(), new Vector3()];
  if (a.clips.length !== b.clips.length || a.meshes.length !== b.meshes.length) throw new Error("different clips or meshes");
  const twins = PAIR > 0 ? counterparts(a, b) : null;
  a.clips.forEach((clip, at) => {
    const all = moments([clip, b.clips[at]]);
    const step = Math.max(1, (all.length * count) / MOST);
    const players = [new Player(a, clip), new Player(b, b.clips[at])];
    for (let next = 0; next < all.length; next += step) {
      const seconds = all[Math.floor(next)];
      for (const player of players) player.pose(seconds);
      found.moments += 1;
      a.meshes.forEach((mesh, m) => {
        const other = b.meshes[m];
        const { count } = mesh.geometry.attributes.position;
        if (!twins && other.geometry.attributes.position.count !== count) throw new Error(`${mesh.name} has a different number of vertices`);
        found.vertices += count;
        for (let vertex = 0; vertex < count; vertex++) {
          const twin = twins ? twins[m].get(vertex) : vertex;
          if (twin === undefined) continue;
          mesh.getVertexPosition(vertex, p).applyMatrix4(mesh.matrixWorld);
          other.getVertexPosition(twin, q).applyMatrix4(other.matrixWorld);
          const distance = p.distanceTo(q);
          found.size = Math.max(found.size, p.length());
          // NaN is worse than any number.
          if (!(distance <= found.worst)) Object.assign(found, { worst: distance, clip: clip.name, seconds });
        }
      });
    }
    for (const player of players) player.stop();
  });
  return found;
}

/// glTF requires unit rotations; three.js does not normalise them. Normalising keeps reader-specific results
/// out of the comparison.
function normalize(clips) {
  for (const { times, values, ValueTypeName } of clips.flatMap((clip) => clip.tracks)) {
    if (ValueTypeName !== "quaternion" || values.length !== 4 * times.length) continue;
    for (let key = 0; key < values.length; key += 4) {
      const length = Math.hypot(...values.subarray(key, key + 4));
      for (let c = key; c < key + 4; c++) values[c] /= length;
    }
  }
}

const reference = await open(original);
normalize(reference.clips);
for (const file of files) {
  console.log(JSON.stringify({ file, ...worst(reference, await open(file)) }));
}
