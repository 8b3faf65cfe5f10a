// Makes every model of this folder and its answers. With --check, fails if a file differs from what would be written.

import { readFileSync, writeFileSync } from "node:fs";
import { Model, dot } from "./formulas.mjs";
import { Builder } from "./glb.mjs";
import { MODELS } from "./models.mjs";
import { springs } from "./springs.mjs";
import * as three from "./three.mjs";

// Before the first key, at it, between keys, at keys, after the last.
const MOMENTS = [-0.5, 0, 0.4, 1, 1.3, 2, 2.75];
// Over the diagonal of the box. Results are stored as f32; three.js rounds every sampled value to f32 before it goes through
// the hierarchy.
const TOLERANCE = 2e-6;
// Degrees: normals are stored in 16 bits.
const NORMAL_TOLERANCE = 0.02;

const folder = new URL("..", import.meta.url);
const check = process.argv.includes("--check");
let differing = 0;

function write(name, content) {
  const url = new URL(name, folder), bytes = Buffer.from(content);
  if (!check) return writeFileSync(url, bytes);
  let found = Buffer.alloc(0);
  try { found = readFileSync(url); } catch {}
  if (!found.equals(bytes)) { differing += 1; console.error(`${name} differs`); }
}

// Numbers in the order in which they are added; each call returns the offset.
class Data {
  parts = [];
  length = 0;
  #push(array) {
    const bytes = Buffer.from(array.buffer), at = this.length;
    const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
    this.parts.push(padded);
    this.length += padded.length;
    return at;
  }
  floats = (rows) => this.#push(Float32Array.from(rows.flat()));
  normals = (rows) => this.#push(Int16Array.from(rows.flat(), (v) => Math.round(v * 32767)));
}

const farthest = (a, b) => Math.max(0, ...a.flat().map((v, i) => Math.abs(v - b.flat()[i])));
const degrees = (a, b) => Math.max(0, ...a.map((v, i) => (Math.acos(Math.min(1, dot(v, b[i]))) * 180) / Math.PI));

async function answers(name, { exercises, three: compared = true, normals: turned = true, tolerance = TOLERANCE, without, note }, file) {
  const model = new Model(file), data = new Data();
  const { prims } = model, skins = [...new Set(prims.map((prim) => prim.skin))].filter((skin) => skin !== null);
  const joints = skins.flatMap((skin) => model.json.skins[skin].joints);
  const all = (pose) => prims.map((prim) => model.vertices(prim, pose));
  const positions = (list) => list.flatMap((part) => part.positions);
  const normals = (list, rule) => list.flatMap((part) => part.normals[rule] ?? []);
  const rest = positions(all(model.pose(-1, 0)));
  const box = [0, 1, 2].map((i) => Math.max(...rest.map((p) => p[i])) - Math.min(...rest.map((p) => p[i])));
  const diagonal = Math.hypot(...box);
  const rotations = (model.json.animations ?? []).flatMap(({ channels, samplers }) => channels.filter((c) => c.target.path === "rotation").map((c) => samplers[c.sampler]));
  // The error relative to f32 is a few times 1e-8.
  const rounded = rotations.some(({ output, interpolation }) => interpolation !== "CUBICSPLINE" && model.rows(output).some((q) => Math.abs(dot(q, q) - 1) > 1e-6));

  const moments = [[-1, 0], ...model.json.animations.flatMap((_, clip) => MOMENTS.map((t) => [clip, Math.fround(t)]))];
  const posed = moments.map(([clip, t]) => all(model.pose(clip, t)));
  // A rule that never differs from A is left out.
  const rules = ["A", "B", "C"].filter((rule) => rule === "A" || posed.some((list) => degrees(normals(list, "A"), normals(list, rule)) > 0.01));
  const cases = [];
  for (const [id, [clip, t]] of moments.entries()) {
    const list = posed[id], { globals } = model.pose(clip, t);
    const entry = { id, clip, clip_name: clip < 0 ? null : model.json.animations[clip].name, t, joints: data.floats(joints.map((joint) => globals[joint])) };
    entry.pos = { main: data.floats(positions(list)) };
    if (rounded) entry.pos.unit_quat = data.floats(positions(all(model.pose(clip, t, true))));
    entry.nrm = Object.fromEntries(rules.map((rule) => [rule, data.normals(normals(list, rule))]));
    // The clock of three.js starts at zero.
    if (compared && t >= 0) {
      const other = await three.pose(file, prims, clip, t);
      const error = farthest(positions(list), positions(other)) / diagonal;
      if (!(error <= TOLERANCE)) throw new Error(`${name}, clip ${clip}, ${t} s: three.js is ${error} of the diagonal off`);
      entry.three = { pos: data.floats(positions(other)), nrm: {} };
      for (const rule of turned ? ["A", "C"] : []) {
        const theirs = normals(other, rule);
        if (!theirs.length || !rules.includes(rule)) continue;
        const error = degrees(normals(list, rule), theirs);
        if (!(error <= 1e-3)) throw new Error(`${name}, clip ${clip}, ${t} s: normals of three.js are ${error} degrees off`);
        entry.three.nrm[rule] = data.normals(theirs);
      }
    }
    cases.push(entry);
  }
  const manifest = {
    format: 1, model: `${name}.glb`, exercises, bbox_diag: diagonal, tol_pos: TOLERANCE, tol_nrm_deg: NORMAL_TOLERANCE,
    three: { version: `0.${three.REVISION}.0`, tol_pos: tolerance, tol_nrm_deg: NORMAL_TOLERANCE, ...(note && { note }), ...(without && { without }) },
    verts: rest.length, nrm_verts: prims.filter((prim) => prim.normals).reduce((sum, prim) => sum + prim.verts, 0), joints: joints.length,
    prims, skins: skins.map((skin) => ({ skin, joints: model.json.skins[skin].joints })),
    pos_variants: rounded ? ["main", "unit_quat"] : ["main"], nrm_variants: rules, cases,
  };
  // A line per case.
  const text = JSON.stringify(manifest).replaceAll('{"id":', '\n{"id":').replace(/\]\}$/, "\n]}\n");
  write(`${name}.ref.json`, text);
  write(`${name}.ref.bin`, Buffer.concat(data.parts));
  return file.length + text.length + data.length;
}

let total = 0;
for (const [name, recipe] of Object.entries(MODELS)) {
  const builder = new Builder();
  recipe.build(builder);
  const file = builder.glb();
  write(`${name}.glb`, file);
  total += await answers(name, recipe, file);
}
for (const [name, content] of Object.entries(await springs())) {
  write(`springs/${name}`, content);
  total += content.length;
}
console.log(`${Object.keys(MODELS).length + 2} models, ${total} bytes`);
if (differing) process.exit(1);
