// Runs in a real browser: watches the broadcast that the page's address names, and posts the digest of every picture, or how the
// broadcast ended.

import './player.js';

const digest = async (pixels) => {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', pixels));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
const link = new URLSearchParams(location.hash.slice(1));
const player = document.createElement('nestcast-player');
const shown = [];
let isPosted = false;

async function post(end) {
  if (isPosted) return;
  isPosted = true;
  const lines = shown.map(async ({ id, bytes, pixels }) => `${id} ${bytes} ${await digest(pixels)}`);
  await fetch('result', { method: 'POST', body: [...(await Promise.all(lines)), end].join('\n') });
}

player.addEventListener('frame', ({ detail }) => {
  if (!detail.concealed) shown.push(detail);
  if (shown.length === Number(link.get('frames'))) post('enough');
});
player.addEventListener('state', ({ detail }) => ['ended', 'failed'].includes(detail.state) && post(`${detail.state} ${detail.code}`));
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
player.setAttribute('checks', '');
for (const name of ['src', 'fingerprint', 'token']) if (link.has(name)) player.setAttribute(name, link.get(name));
document.body.append(player);
if (link.has('sound')) player.muted = false;
