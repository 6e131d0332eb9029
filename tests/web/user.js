// Runs in a real browser: does with a viewer what a user does by its menu and its keys. Posts a line for each step that went as it
// should. The steps that a browser allows only after a real click are asked for here, and not done.

import './player.js';

const link = new URLSearchParams(location.hash.slice(1));
const lines = [];
const player = document.createElement('nestcast-player');
for (const name of ['src', 'fingerprint']) player.setAttribute(name, link.get(name));
player.setAttribute('muted', '');
const root = player.shadowRoot;

// A rate over two seconds exceeds the cap a little where a burst falls into them.
const SLACK = 1.05;

const until = async (is) => {
  while (!is()) await new Promise((resolve) => setTimeout(resolve, 20));
};
const press = (key, from = player, more = {}) =>
  !from.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true, ...more }));

// Returns the bit rate of the next pictures, by the times of their capture. Those that a busy machine leaves out count as empty.
const rate = (count) => new Promise((resolve) => {
  const shown = [];
  player.addEventListener('frame', function handle({ detail }) {
    if (detail.concealed || player.state !== 'playing' || shown.push(detail) <= count) return;
    player.removeEventListener('frame', handle);
    const [first, ...others] = shown;
    const bytes = others.reduce((sum, one) => sum + one.bytes, 0);
    resolve((8 * Number(link.get('rate')) * bytes) / (others.at(-1).id - first.id));
  });
});

const nameOf = (control) => (control.getAttribute('aria-label') ?? control.textContent).trim();
const isInside = (inner, outer) => {
  const [a, b] = [inner, outer].map((one) => one.getBoundingClientRect());
  return a.left >= b.left - 0.5 && a.right <= b.right + 0.5 && a.top >= b.top - 0.5 && a.bottom <= b.bottom + 0.5;
};
const overlap = (one, other) => {
  const [a, b] = [one, other].map((control) => control.getBoundingClientRect());
  return a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
};

async function checkControls() {
  await until(() => !root.querySelector('[aria-label="Sound on"]').hidden);
  const controls = [...root.querySelectorAll('button, select')];
  lines.push(`names: ${controls.map(nameOf).join(', ')}`);
  player.setAttribute('rewind', '');
  for (const width of [360, 320]) {
    player.style.width = `${width}px`;
    const shown = controls.filter((control) => control.getBoundingClientRect().width > 0);
    const outside = shown.filter((control) => !isInside(control, player)).map(nameOf);
    const covered = shown.filter((one, at) => shown.slice(at + 1).some((other) => overlap(one, other))).map(nameOf);
    lines.push(`${width} px: ${shown.length > 7} ${isInside(player.bar, player)} outside: ${outside}; covered: ${covered}`);
  }
  player.removeAttribute('rewind');
  player.style.width = '240px';
  const shown = controls.filter((control) => control.getBoundingClientRect().width > 0).map(nameOf);
  lines.push(`240 px: ${shown.join(', ')}; less than half: ${2 * player.bar.offsetHeight < player.offsetHeight}`);
  player.style.width = '';
}

async function pressKeys() {
  lines.push(`space: ${press(' ')} ${player.state}`);
  lines.push(`a held key: ${press(' ', player, { repeat: true })} ${player.state}`);
  press(' ');
  await until(() => player.state === 'playing');
  lines.push('space again: playing');

  press('i');
  await until(() => player.statisticsNow.shown > 0 && player.statisticsNow.bitrate > 0);
  await until(() => /[1-9]/.test(value('Frames shown')));
  for (const name of ['Picture', 'Rate', 'Latency', 'Round trip', 'Received', 'Last frame', 'Frames shown'])
    lines.push(`${name}: ${value(name).replaceAll(/\d+(\.\d+)?/g, (digits) => (name === 'Picture' ? digits : 'N'))}`);
  press('i');
  lines.push(`statistics: ${root.querySelector('dl').hidden ? 'hidden' : 'shown'}`);

  press('m');
  const on = player.muted;
  press('m');
  lines.push(`sound: ${on} ${player.muted}`);
  press('m', root.querySelector('select'));
  lines.push(`a key in the menu: ${player.muted}`);

  const saved = new Promise((resolve) => {
    HTMLAnchorElement.prototype.click = function () {
      resolve(this);
    };
  });
  press('s');
  const image = new Image();
  image.src = (await saved).href;
  await image.decode();
  lines.push(`snapshot: ${(await saved).download.replaceAll(/\d+/g, 'N')} ${image.width} x ${image.height}`);

  const asked = [];
  player.requestFullscreen = async () => asked.push('full screen');
  press('f');
  let video;
  HTMLVideoElement.prototype.requestPictureInPicture = async function () {
    video = this;
  };
  press('p');
  await until(() => video?.videoWidth > 0);
  lines.push(`asked for: ${asked}; picture in picture of ${video.videoWidth} x ${video.videoHeight}`);
  const [copy, isLit] = [new OffscreenCanvas(8, 8).getContext('2d'), () => {
    copy.drawImage(video, 0, 0, 8, 8);
    return copy.getImageData(0, 0, 8, 8).data.some((sample, at) => at % 4 < 3 && sample > 40);
  }];
  await until(isLit);
  lines.push('it shows the pictures');
}

const value = (name) => [...root.querySelectorAll('dt')].find((term) => term.textContent === name)?.nextSibling.textContent ?? '';

// Does what makes the viewer connect again, and waits until it plays.
async function connectAgain(change) {
  const connects = new Promise((resolve) => player.addEventListener('state', ({ detail }) => detail.state === 'connecting' && resolve()));
  change();
  await connects;
  await until(() => player.state === 'playing');
  // Pictures of before may still wait.
  await rate(10);
}

async function chooseCap() {
  const cap = 300_000;
  const before = await rate(20);
  lines.push(`more than the cap before: ${before > 2 * cap}`);
  const menu = root.querySelector('select');
  await connectAgain(() => {
    menu.value = cap;
    menu.dispatchEvent(new Event('change'));
  });
  const after = await rate(60);
  lines.push(`within the cap: ${player.getAttribute('max-bitrate')} ${after > cap / 10 && after <= SLACK * cap}`);
  await connectAgain(() => player.setAttribute('max-bitrate', 1_000_000));
  const more = await rate(60);
  lines.push(`the menu follows: ${menu.selectedOptions[0].textContent} ${more > 1.5 * cap && more <= SLACK * 1_000_000}`);
}

setTimeout(() => fetch('result', { method: 'POST', body: `failed: stuck in state ${player.state} after ${lines.join('; ')}` }), 150_000);

try {
  document.body.append(player);
  await until(() => player.state === 'playing');
  for (const step of [checkControls, pressKeys, chooseCap]) await step();
  await fetch('result', { method: 'POST', body: lines.join('\n') });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack} after ${lines.join('; ')}` });
}
