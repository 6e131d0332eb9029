// Runs under Node.js: decodes files with the viewer's module alone, and prints the digest of each picture as red, green, blue, 255.
// Arguments: the folder with the module and its tables, then files: NAME, or NAME:CUT,CUT,...

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [FAILED, PICTURE, WANTS_PHOTO, WANTS_VIDEO] = [1, 6, 7, 8];
const [folder, ...files] = process.argv.slice(2);
const read = (name) => readFileSync(`${folder}/${name}`);
const { instance } = await WebAssembly.instantiate(read('nestcast.wasm'), {});
const x = instance.exports;

function put(bytes) {
  const at = x.input(bytes.length);
  new Uint8Array(x.memory.buffer, at, bytes.length).set(bytes);
}

function checked(result) {
  if (result === FAILED) {
    throw new Error(new TextDecoder().decode(new Uint8Array(x.memory.buffer, x.output(), x.output_length())));
  }
  return result;
}

function digest() {
  const [width, height] = new Float64Array(x.memory.buffer, x.numbers(), 16).slice(9, 11);
  const at = x.rgba();
  return createHash('sha256').update(new Uint8Array(x.memory.buffer, at, 4 * width * height)).digest('hex');
}

for (const file of files) {
  const [name, cuts] = file.split(':');
  put(read(name));
  let result = checked(x.file_open());
  while (result === WANTS_PHOTO || result === WANTS_VIDEO) {
    put(result === WANTS_PHOTO ? read('photo.bin') : Buffer.concat([read('key.bin'), read('residual.bin')]));
    checked(x.load_tables(result === WANTS_VIDEO ? 1 : 0));
    result = checked(x.file_resume());
  }
  for (const cut of cuts?.split(',').map(Number) ?? []) {
    const shown = checked(x.file_cut(cut)) === PICTURE;
    console.log(`${name} node cut ${cut} ${shown ? digest() : 'none'}`);
  }
  if (cuts) continue;
  checked(x.file_play(0));
  const times = [];
  for (let frame = 0; ; frame++) {
    const began = performance.now();
    if (checked(x.file_frame()) !== PICTURE) break;
    times.push(performance.now() - began);
    console.log(`${name} node frame ${frame} ${digest()}`);
  }
  times.sort((a, b) => a - b);
  const [least, middle] = [times[0], times[times.length >> 1]].map((ms) => ms.toFixed(1));
  console.error(`${name}: ${times.length} frames, decoded in ${middle} ms (median), ${least} ms (least)`);
}
