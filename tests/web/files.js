// Runs in a real browser: opens files in <nestcast-file> as pages and users do, also files that are none. Posts a line for each step,
// with the events that the element sent in it.

import './player.js';

const link = new URLSearchParams(location.hash.slice(1));
const element = document.createElement('nestcast-file');
const lines = [];
let events = [];
for (const name of ['opened', 'cut', 'failed']) element.addEventListener(name, ({ detail }) => events.push({ name, ...detail }));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (is) => {
  while (!is()) await sleep(20);
};
const load = async (name) => (await fetch(link.get(name))).blob();
const count = (name) => events.filter((event) => event.name === name).length;

// Does a step, waits until `is`, and then for what else may come.
async function step(what, act, is) {
  events = [];
  await act();
  await until(is);
  await sleep(500);
  const said = events.map(({ name, isVideo, isPicture, bytes, why }) => {
    if (name === 'failed') return `failed: ${why}`;
    return name === 'opened' ? `opened a ${isVideo ? 'video' : 'picture'}` : `cut ${bytes} ${isPicture}`;
  });
  lines.push(`${what}: ${said.join(', ')}`);
}

setTimeout(() => fetch('result', { method: 'POST', body: `failed: stuck after ${lines.join('; ')}; ${JSON.stringify(events)}` }), 120_000);

try {
  const [picture, video] = [await load('picture'), await load('video')];
  const isCut = (times) => () => count('cut') >= times;
  const hasFailed = () => count('failed') > 0;
  document.body.append(element);
  await step('a cut before the file', () => {
    element.cut(40);
    element.open(picture);
  }, isCut(2));
  await step('below', () => element.cut(-5), isCut(1));
  await step('above', () => element.cut(1e9), isCut(1));
  await step('between', () => element.cut('40.2'), isCut(1));
  try {
    element.cut(NaN);
  } catch (error) {
    lines.push(`no number: ${error}`);
  }
  await step('a video and a picture', () => {
    element.open(video);
    element.open(picture);
  }, isCut(1));
  events = [];
  await element.open(video);
  await until(() => events.filter(({ frame }) => frame === 0).length > 1);
  lines.push(`a video again and again: ${count('opened')} ${events.every(({ name, isPicture }) => name !== 'cut' || isPicture)}`);
  await step('a picture after it', () => element.open(picture), () => events.some(({ isVideo }) => isVideo === false));
  await step('no file', () => element.open(new Blob(['no picture'])), hasFailed);
  await step('nothing there', () => element.setAttribute('src', 'nothing.nst'), hasFailed);
  await step('a picture by its name', () => element.setAttribute('src', link.get('picture')), isCut(1));
  await fetch('result', { method: 'POST', body: lines.join('\n') });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack} after ${lines.join('; ')}` });
}
