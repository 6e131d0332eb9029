// Runs in a real browser: watches the broadcast that the page's address names, and posts the number, bytes, full length and
// digest of every picture, or how the broadcast ended. With `seconds`, it posts figures after that time: of every picture its
// number, bytes, latency and time to decode, and as JSON the statistics, the milliseconds until the first picture, and what came
// after the first `settling` seconds. With `waits`, it posts why the viewer waits; with `workers`, it counts pictures of that many
// workers alone; with `whole`, it posts once all bytes of a picture are shown. With `late`, the module comes so many milliseconds
// late.

import './player.js';

const digest = async (pixels) => {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', pixels));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
const link = new URLSearchParams(location.hash.slice(1));
const player = document.createElement('nestcast-player');
const shown = [];
let isPosted = false;
if (link.has('late')) {
  const load = fetch;
  window.fetch = async (file, ...options) => {
    if (`${file}`.endsWith('.wasm')) await new Promise((resolve) => setTimeout(resolve, link.get('late')));
    return load(file, ...options);
  };
}

async function post(end) {
  if (isPosted) return;
  isPosted = true;
  const lines = shown.map(async ({ id, bytes, full, pixels, latency, decoding }) =>
    `${id} ${bytes} ${pixels ? `${full} ${await digest(pixels)}` : `${Math.round(latency)} ${Math.round(decoding)}`}`);
  await fetch('result', { method: 'POST', body: [...(await Promise.all(lines)), end].join('\n') });
}

// Milliseconds from the opening of the page, and from the beginning of play, to the first picture.
const first = { opened: null, played: null };
let played;
player.addEventListener('frame', ({ detail }) => {
  first.opened ??= performance.now();
  first.played ??= performance.now() - played;
  // Firefox has no WebGL on some machines.
  if (detail.pixels && detail.renderer !== 'webgl' && navigator.userAgent.includes('Chrome')) post('failed: no WebGL');
  if (!detail.concealed) shown.push(detail);
  const counted = shown.filter(({ workers }) => !link.has('workers') || workers === Number(link.get('workers')));
  if (counted.length === Number(link.get('frames'))) post('enough');
  if (link.has('whole') && detail.bytes === detail.full) post('whole');
});
player.addEventListener('state', ({ detail }) => {
  if (['ended', 'failed'].includes(detail.state)) post(`${detail.state} ${detail.code}`);
  if (link.has('waits') && detail.state === 'waiting') post(`waiting ${detail.code}: ${detail.message}`);
});
// With sound: posts `heard` once enough packets were handed to the device, and one of them was loud.
if (link.has('sound')) {
  const hear = player.hear;
  let isLoud = false;
  player.hear = (heard) => {
    isLoud ||= heard.channels.length === 2 && heard.channels.every((samples) => samples.some((sample) => Math.abs(sample) > 0.2));
    hear.call(player, heard);
  };
  player.addEventListener('statistics', ({ detail }) => isLoud && detail.soundHeard > 25 && post('heard'));
}
// With steps, such as `ArrowLeft,seek:20,live`: does each, and posts what it did and where the pictures are after it.
async function walk(steps) {
  const next = (name, is = () => true) =>
    new Promise((resolve) => player.addEventListener(name, function handle({ detail }) {
      if (!is(detail)) return;
      player.removeEventListener(name, handle);
      resolve(detail);
    }));
  // Before it plays, pictures are those of the connection before.
  const picture = async () => (await next('frame', ({ concealed }) => !concealed && player.state === 'playing')).id;
  const round = (seconds) => (seconds === null ? 'null' : seconds.toFixed(1));
  const lines = [`begin 0.0 null ${await picture()} ${player.state}`];
  for (const step of steps) {
    const [word, number] = step.split(':');
    const stuck = () => {
      shown.length = 0;
      post(`failed at ${step}: ${player.state}, lag ${player.lag}, position ${player.position}; before: ${lines.join(', ')}`);
    };
    const patience = setTimeout(stuck, 60_000);
    const connects = next('state', ({ state }) => state === 'connecting');
    if (word === 'seek') player.seek(Number(number));
    else if (word === 'pause') {
      player.pause();
      setTimeout(() => player.play(), 1e3 * number);
    } else player.dispatchEvent(new KeyboardEvent('keydown', { key: word }));
    await connects;
    // The first may be a picture of before that still waited for its moment.
    await picture();
    const id = await picture();
    clearTimeout(patience);
    lines.push(`${step} ${round(player.lag)} ${round(player.position)} ${id} ${player.state}`);
  }
  const place = player.shadowRoot.querySelector('.live').textContent;
  shown.length = 0;
  await fetch('result', { method: 'POST', body: [...lines, place].join('\n') });
}
if (link.has('steps')) {
  player.setAttribute('rewind', '');
  walk(link.get('steps').split(','));
}
if (link.has('seconds')) {
  let [settled, last] = [];
  player.addEventListener('statistics', ({ detail: { bytes } }) => {
    last = { bytes, at: performance.now() };
    if (last.at - played >= 1e3 * (link.get('settling') ?? 3)) settled ??= last;
  });
  const came = () => (settled ? { bytes: last.bytes - settled.bytes, ms: last.at - settled.at } : { bytes: 0, ms: 0 });
  setTimeout(() => post(`measured ${JSON.stringify({ ...player.statisticsNow, first, came: came() })}`), 1e3 * link.get('seconds'));
} else {
  player.setAttribute('checks', '');
  // Without a graphics card the player would not choose it.
  player.setAttribute('renderer', 'webgl');
}
for (const name of ['src', 'fingerprint', 'token', 'latency']) if (link.has(name)) player.setAttribute(name, link.get(name));
played = performance.now();
document.body.append(player);
if (link.has('sound')) player.muted = false;
