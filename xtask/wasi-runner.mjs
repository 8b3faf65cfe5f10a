// Runs a wasm32-wasip1 program: node wasi-runner.mjs PROGRAM [ARGUMENT...]
// The program sees only the parent folder of the checkout, under the same path as outside.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { WASI } from "node:wasi";

// With V8's fast API calls, node 20 sometimes crashes with a segmentation fault inside WASI.
setFlagsFromString("--no-turbo-fast-api-calls");

const [program, ...rest] = process.argv.slice(2);
const beside = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const wasi = new WASI({
  version: "preview1",
  args: [program, ...rest],
  env: process.env,
  preopens: { [beside]: beside },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
