// Runs a program built for WASI, which sees the files of the current folder: node wasi.mjs PROGRAM.wasm ARGUMENTS...
import { readFile } from "node:fs/promises";
import process from "node:process";
import { WASI } from "node:wasi";

const [program, ...words] = process.argv.slice(2);
const folder = process.cwd();
const wasi = new WASI({ version: "preview1", args: [program, ...words], preopens: { [folder]: folder } });
const { instance } = await WebAssembly.instantiate(await readFile(program), wasi.getImportObject());
process.exit(wasi.start(instance));
