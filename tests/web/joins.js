// Runs in a real browser: one element joins a broadcast again and again, each time until it shows a picture, and then leaves. Posts how
// often it played, and the growth of the memory of its WebAssembly modules after the first tenth.

import './player.js';

const link = new URLSearchParams(location.hash.slice(1));
const joins = Number(link.get('joins'));
const player = document.createElement('nestcast-player');
for (const name of ['src', 'fingerprint']) player.setAttribute(name, link.get(name));

const next = (name, is) => new Promise((resolve) => player.addEventListener(name, function handle({ detail }) {
  if (!is(detail)) return;
  player.removeEventListener(name, handle);
  resolve(detail);
}));

try {
  player.pause();
  document.body.append(player);
  let [count, before] = [0];
  const memory = () => player.statisticsNow.networkMemory + player.statisticsNow.screenMemory;
  while (count < joins) {
    const playing = next('state', ({ state }) => state === 'playing');
    await player.play();
    await playing;
    count++;
    if (count === joins / 10 || count === joins) await next('statistics', () => player.statisticsNow.networkMemory && player.statisticsNow.screenMemory);
    if (count === joins / 10) before = memory();
    if (count < joins) player.pause();
  }
  await fetch('result', { method: 'POST', body: `${count} joins\n${memory() - before}` });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack}` });
}
