// Compares the animation sizes of models packed by gltfpack, glTF-Transform and `condyle pack` at the same
// error. For each model and program it measures the largest error of the program's file, and the size of
// `condyle pack` at that error:
// node pack-peers.mjs TOOLS CONDYLE OUT MODEL...
// TOOLS is a folder filled by `npm install --prefix`. Vertices keep their precision, so all differences come
// from motion. Prints a table.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, extname, resolve } from "node:path";

const [tools, condyle, out, ...models] = process.argv.slice(2);
const run = (program, ...args) =>
  execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
const npm = (name, ...args) => run(resolve(tools, "node_modules/.bin", name), ...args);

/// Bytes of the animations of a .glb: the stored size of the views that only animations use, and that size
/// plus the JSON that describes them.
function animationBytes(file) {
  const bytes = readFileSync(file);
  const json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)));
  const accessors = new Set();
  for (const { samplers } of json.animations ?? []) for (const { input, output } of samplers) accessors.add(input).add(output);
  // An accessor of zeros has no view; a sparse one has two more.
  const viewsOf = ({ bufferView, sparse }) =>
    [bufferView, sparse?.indices.bufferView, sparse?.values.bufferView].filter((view) => view !== undefined);
  const views = new Set([...accessors].flatMap((at) => viewsOf(json.accessors[at])));
  json.accessors?.forEach((accessor, at) => accessors.has(at) || viewsOf(accessor).forEach((view) => views.delete(view)));
  const stored = (view) => view.extensions?.EXT_meshopt_compression ?? view.extensions?.KHR_meshopt_compression ?? view;
  const described = [json.animations ?? [], [...accessors].map((at) => json.accessors[at]), [...views].map((at) => json.bufferViews[at])];
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const data = sum([...views].map((at) => stored(json.bufferViews[at]).byteLength));
  return [data, data + sum(described.map((it) => JSON.stringify(it).length))];
}

/// A larger error, in millimetres, means that the program broke the model.
const BROKEN = 1e6;

/// Largest vertex error over all clips, in millimetres.
function worst(model, file) {
  const rows = run(condyle, "compare", model, file, "--max-work", "100", "--json").trim().split("\n").map((line) => JSON.parse(line));
  const found = rows.map((row) => row.worst?.millimetres);
  if (found.length === 0 || found.some((mm) => !(mm >= 0))) throw new Error(`${file}: not all clips can be compared`);
  const most = Math.max(...found);
  if (most > BROKEN) throw new Error(`broken: ${most.toPrecision(3)} mm off`);
  return most;
}

const gltfpack = (options) => ({
  form: options.includes("-cc") ? ["--meshopt"] : [],
  make: (from, to) => npm("gltfpack", "-noq", "-kn", ...options, "-i", from, "-o", to),
});
const fine = ["-af", "60", "-ar", "16", "-at", "20", "-as", "20"];
const peers = {
  gltfpack: gltfpack([]),
  "gltfpack -cc": gltfpack(["-cc"]),
  "gltfpack, fine": gltfpack(fine),
  "gltfpack -cc, fine": gltfpack(["-cc", ...fine]),
  "glTF-Transform": {
    form: ["--meshopt"],
    make: (from, to) => {
      npm("gltf-transform", "resample", from, to);
      npm("gltf-transform", "quantize", to, to, "--quantize-position", "16", "--quantize-weight", "16");
      npm("gltf-transform", "meshopt", to, to, "--quantize-position", "16", "--quantize-weight", "16");
    },
  },
};

const row = (name, program, mm, theirs, ours) => {
  const ratio = (at) => (ours[at] / theirs[at]).toFixed(3);
  console.log(`| ${name} | ${program} | ${mm} | ${theirs[0]} | ${ours[0]} | ${ratio(0)} | ${ratio(1)} |`);
};
console.log("| model | program | max error, mm | bytes | `condyle pack` | ratio | with JSON |\n|---|---|--:|--:|--:|--:|--:|");
const sums = {};
for (const model of models) {
  const stem = basename(model, extname(model));
  for (const [name, { form, make }] of Object.entries(peers)) {
    const theirs = resolve(out, `${stem}-${name.replaceAll(/[ ,]/g, "")}.glb`);
    const ours = theirs.replace(/glb$/, "condyle.glb");
    try {
      make(model, theirs);
      const mm = worst(model, theirs);
      run(condyle, "pack", model, "-o", ours, "--error", `${mm}mm`, ...form, "--json");
      const sizes = [animationBytes(theirs), animationBytes(ours)];
      (sums[name] ??= []).push(sizes);
      row(stem, name, mm.toPrecision(3), ...sizes);
    } catch (e) {
      // Models that a program refuses are not part of the sums.
      const said = (e.stderr || e.message).trim().split("\n")[0];
      console.log(`| ${stem} | ${name} | ${said.replace(/^Command failed: .*/, "refused")} | | | | |`);
    }
  }
}
for (const [name, sizes] of Object.entries(sums)) {
  const total = (side) => [0, 1].map((at) => sizes.reduce((sum, size) => sum + size[side][at], 0));
  row(`all ${sizes.length}`, name, "", total(0), total(1));
}
