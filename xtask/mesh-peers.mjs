// Compares the sizes of models packed by `gltfpack -cc` and `condyle pack --mesh`, without images:
// node mesh-peers.mjs TOOLS CONDYLE OUT MODEL...
// TOOLS is a folder filled by `npm install --prefix`. Each model is packed with an error of 0.5 mm, and with the
// error that `condyle compare` measures for gltfpack. Prints a table.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, extname, resolve } from "node:path";

const [tools, condyle, out, ...models] = process.argv.slice(2);
const run = (program, ...args) =>
  execFileSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });

/// Bytes of a .glb without its images.
function bytes(file) {
  const data = readFileSync(file);
  const json = JSON.parse(data.subarray(20, 20 + data.readUInt32LE(12)));
  const views = (json.images ?? []).map(({ bufferView }) => json.bufferViews[bufferView]).filter((view) => view);
  return views.reduce((rest, { byteLength }) => rest - byteLength, data.length);
}

/// Largest vertex error over all clips, in millimetres.
function worst(model, file, unit) {
  const lines = run(condyle, "compare", model, file, ...unit, "--max-work", "100", "--json").trim().split("\n");
  return Math.max(...lines.map((line) => JSON.parse(line).worst.millimetres));
}

console.log("| model | `gltfpack -cc` | off by, mm | `--mesh`, 0.5 mm | off by, mm | ratio | `--mesh`, its error | off by, mm | ratio | `--khr`, 0.5 mm | ratio |");
console.log("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
for (const model of models) {
  const stem = basename(model, extname(model));
  // A unit of the foxes is a centimetre.
  const unit = /^fox/i.test(stem) ? ["--unit", "1cm"] : [];
  const theirs = resolve(out, `${stem}-gltfpack.glb`);
  const pack = (name, error, ...more) => {
    const to = resolve(out, `${stem}-${name}.glb`);
    run(condyle, "pack", model, "-o", to, "--mesh", "--error", `${error}mm`, ...unit, ...more, "--json");
    return to;
  };
  try {
    run(resolve(tools, "node_modules/.bin/gltfpack"), "-cc", "-i", model, "-o", theirs);
    const [size, mm] = [bytes(theirs), worst(model, theirs, unit)];
    const row = [stem, size, mm.toPrecision(3)];
    for (const file of [pack("half", 0.5), pack("same", mm)]) {
      row.push(bytes(file), worst(model, file, unit).toPrecision(3), (bytes(file) / size).toFixed(3));
    }
    const khr = bytes(pack("khr", 0.5, "--khr"));
    console.log(`| ${[...row, khr, (khr / size).toFixed(3)].join(" | ")} |`);
  } catch (e) {
    console.log(`| ${stem} | ${(e.stderr || e.message).trim().split("\n")[0]} | | | | | | | | | |`);
  }
}
