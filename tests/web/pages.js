// Runs in a real browser: changes a viewer's attributes, and moves and removes it, as pages do. Posts a line for each step.

import './player.js';

const link = new URLSearchParams(location.hash.slice(1));
const [lines, errors] = [[], []];
const player = document.createElement('nestcast-player');
player.setAttribute('muted', '');
addEventListener('unhandledrejection', ({ reason }) => errors.push(reason));
let said = [];
player.addEventListener('state', ({ detail }) => said.push(detail));
let [frames, connection] = [0];
player.addEventListener('frame', () => {
  frames++;
  if (player.state === 'playing') connection = player.connection;
});

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (is) => {
  while (!is()) await sleep(20);
};
const plays = () => until(() => player.state === 'playing');
// Returns whether the element plays on.
const playsOn = async () => {
  await sleep(100);
  const before = frames;
  await sleep(1000);
  return frames > before;
};
const states = () => said.splice(0).map(({ state, message }) => `${state} [${message}]`).join(', ');
const pixels = async () => {
  const bitmap = await createImageBitmap(await player.snapshot());
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height).data.join();
};

setTimeout(() => fetch('result', { method: 'POST', body: `failed: stuck in state ${player.state} after ${lines.join('; ')}` }), 120_000);

try {
  document.body.append(player);
  player.dispatchEvent(new KeyboardEvent('keydown', { key: 's' }));
  const refused = await player.snapshot().catch((error) => error);
  lines.push(`without src: ${player.state}, ${player.shadowRoot.querySelector('.live').textContent}, ${refused}`);

  player.setAttribute('fingerprint', 'no digits');
  player.setAttribute('src', link.get('src'));
  await until(() => player.state === 'ended');
  lines.push(`a wrong fingerprint: ended, ${said[0].code}, ${said[0].why}`);
  said = [];
  player.setAttribute('fingerprint', link.get('fingerprint'));
  await plays();
  lines.push(`the right one: ${states()}`);

  const menu = player.shadowRoot.querySelector('select');
  player.setAttribute('max-bitrate', 500_000);
  const own = menu.selectedOptions[0].textContent;
  player.removeAttribute('max-bitrate');
  lines.push(`a cap of a page: ${own}, then ${menu.selectedOptions[0].textContent} of ${menu.options.length}`);
  await sleep(100);
  await plays();

  player.setAttribute('label', 'The stage');
  // As after a click on the page.
  Object.defineProperty(navigator, 'userActivation', { value: { hasBeenActive: true } });
  player.removeAttribute('muted');
  const { muted } = player;
  player.setAttribute('muted', '');
  lines.push(`label: ${player.canvas.getAttribute('aria-label')}; muted: ${muted}, ${player.muted}`);

  await until(() => connection);
  player.handle({ state: 'ended', code: 0 });
  player.handle({ frame: { concealed: false }, of: connection });
  lines.push(`a late frame: ${player.state}`);
  said = [];
  await player.play();
  await plays();
  lines.push(`again: ${states()}`);

  player.pause();
  await sleep(500);
  const before = await pixels();
  const aside = document.createElement('div');
  document.body.append(aside);
  aside.append(player);
  lines.push(`a paused viewer that was moved: ${player.state}, ${(await pixels()) === before}`);
  await player.play();
  await plays();
  lines.push(`on: ${player.state}`);

  player.removeAttribute('src');
  await until(() => player.state !== 'playing');
  lines.push(`without src again: ${player.state}, ${await playsOn()}`);
  player.setAttribute('src', link.get('src'));
  await plays();
  player.remove();
  lines.push(`back: playing; removed: ${player.state}`);
  await sleep(500);
  lines.push(`errors: ${errors.join()}`);
  await fetch('result', { method: 'POST', body: lines.join('\n') });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack} after ${lines.join('; ')}` });
}
