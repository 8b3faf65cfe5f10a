// Runs the Khronos glTF validator: node validate.mjs TOOLS [--than ORIGINAL] FILE...
// TOOLS is a folder filled by `npm install --prefix`. The exit code is 1 if a file has an error, or with
// --than, if it has more errors or warnings of a kind than the original.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [tools, ...args] = process.argv.slice(2);
const { validateBytes } = createRequire(resolve(tools, "package.json"))("gltf-validator");
const original = args[0] === "--than" ? args.splice(0, 2)[1] : null;

async function issues(file) {
  const load = (uri) => readFile(resolve(file, "..", decodeURIComponent(uri))).then((data) => new Uint8Array(data));
  const bytes = new Uint8Array(await readFile(file));
  const options = { uri: file, maxIssues: 0, externalResourceFunction: load };
  const { messages } = (await validateBytes(bytes, options)).issues;
  const serious = messages.filter(({ severity }) => severity <= 1);
  return original === null ? serious.filter(({ severity }) => severity === 0) : serious;
}

const known = new Map();
for (const { code } of original === null ? [] : await issues(original)) known.set(code, (known.get(code) ?? 0) + 1);
let found = 0;
for (const file of args) {
  const left = new Map(known);
  for (const { severity, code, pointer, message } of await issues(file)) {
    const more = (left.get(code) ?? 0) - 1;
    left.set(code, more);
    if (more >= 0) continue;
    found += 1;
    console.log(`${file}: ${severity === 0 ? "error" : "warning"} ${pointer}: ${message}`);
  }
}
console.log(`${args.length} files, ${found} errors`);
process.exitCode = found === 0 ? 0 : 1;
