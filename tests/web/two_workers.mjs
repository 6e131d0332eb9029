// Runs under Node.js: decodes the mail of a video (`cargo run --release -p nestcast-tests --bin mail`) as the viewer's screen does,
// alone and with a second worker, and prints milliseconds a frame, medians. The work of both workers runs in one thread, one after
// the other: with a processor for each, frames follow one another by the time of the slower worker, and one frame takes the longer of
// residuals and prediction, and the rest. Arguments: the folder with the module and its tables, MAIL, WIDTH, HEIGHT.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [PICTURE, WANTS_RESIDUALS, RESIDUALS] = [6, 17, 18];
// The first frames compile the module.
const WARM_UP_FRAMES = 5;
const [folder, file, width, height] = process.argv.slice(2);
const read = (name) => readFileSync(`${folder}/${name}`);
const module = new WebAssembly.Module(read('nestcast.wasm'));
const tables = Buffer.concat([read('key.bin'), read('residual.bin')]);
const stored = readFileSync(file);
const mails = [];
for (let at = 0; at < stored.length; at += 4 + mails.at(-1).length) mails.push(stored.subarray(at + 4).subarray(0, stored.readUInt32LE(at)));

class Instance {
  constructor() {
    this.x = new WebAssembly.Instance(module, {}).exports;
    this.put(tables);
    this.x.load_tables(1);
  }

  put(bytes) {
    this.memory(this.x.input(bytes.length), bytes.length).set(bytes);
  }

  memory(at, length) {
    return new Uint8Array(this.x.memory.buffer, at, length);
  }

  numbers() {
    return new Float64Array(this.x.memory.buffer, this.x.numbers(), 16).slice();
  }
}

function timed(times, work) {
  const began = performance.now();
  const result = work();
  times.push(performance.now() - began);
  return result;
}

const median = (times) => times.slice(WARM_UP_FRAMES).sort((a, b) => a - b)[(times.length - WARM_UP_FRAMES) >> 1];

function run(isShared) {
  const [screen, other] = [new Instance(), new Instance()];
  other.x.residual_open(Number(width), Number(height));
  const copy = new Uint8Array(10 * width * height);
  const [residuals, predicted, rest] = [[], [], []];
  const hash = createHash('sha256');
  mails.forEach((mail, number) => {
    const now = 100 * number;
    if (isShared && number > 0) {
      timed(residuals, () => {
        other.put(mail);
        other.x.residual_mail();
        if (other.x.residual_next() !== RESIDUALS) throw new Error(`mail ${number} has no residuals`);
        const [, at, length] = other.numbers();
        copy.set(other.memory(at, length));
      });
    }
    const wants = timed(predicted, () => (screen.put(mail), screen.x.screen_mail(now, isShared ? 1 : 0)));
    if ((wants === WANTS_RESIDUALS) !== (isShared && number > 0)) throw new Error(`mail ${number}: ${wants}`);
    timed(rest, () => {
      if (wants === WANTS_RESIDUALS) {
        const [, , length] = other.numbers();
        screen.memory(screen.x.screen_residuals(length), length).set(copy.subarray(0, length));
        if (screen.x.screen_complete(1) !== 1) throw new Error(`mail ${number}: its residuals were refused`);
      }
      // The frame is ready at the first time, and is shown at the second at the latest.
      if (screen.x.screen_time(now + 1) !== PICTURE && number > 0) screen.x.screen_time(now + 99);
    });
    if (number > 0) hash.update(screen.memory(screen.numbers()[8], (width * height * 3) / 2));
  });
  for (const times of [predicted, rest]) times.shift();
  const both = predicted.map((time, at) => time + rest[at]);
  const one = predicted.map((time, at) => Math.max(time, residuals[at] ?? 0) + rest[at]);
  return { screen: median(both), residuals: isShared ? median(residuals) : 0, frame: median(one), digest: hash.digest('hex') };
}

const [alone, shared] = [run(false), run(true)];
if (alone.digest !== shared.digest) throw new Error('two workers show other pictures than one');
const round = (ms) => ms.toFixed(1);
console.log(`${mails.length - 1} frames: one worker ${round(alone.frame)} ms; two workers: residuals ${round(shared.residuals)} ms, \
screen ${round(shared.screen)} ms, from the frame's arrival to its picture ${round(shared.frame)} ms; the same pictures`);
