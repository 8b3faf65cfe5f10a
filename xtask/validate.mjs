// Runs the Khronos glTF validator: node validate.mjs TOOLS FILE...
// TOOLS is the folder that `npm install --prefix` filled. Exit code 1 if any file has an error.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [tools, ...files] = process.argv.slice(2);
const { validateBytes } = createRequire(resolve(tools, "package.json"))("gltf-validator");

let errors = 0;
for (const file of files) {
  const report = await validateBytes(new Uint8Array(await readFile(file)), { uri: file, maxIssues: 100 });
  const { numErrors, numWarnings, messages } = report.issues;
  errors += numErrors;
  console.log(`${file}: ${numErrors} errors, ${numWarnings} warnings`);
  for (const { severity, pointer, message } of messages) {
    if (severity <= 1) console.log(`  ${severity === 0 ? "error" : "warning"} ${pointer}: ${message}`);
  }
}
console.log(`${files.length} files, ${errors} errors`);
process.exitCode = errors === 0 ? 0 : 1;
