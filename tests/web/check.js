// Runs in a real browser: shows files in the viewer's elements, and posts the digest of what the canvas shows after each cut.

import './player.js';

const digest = async (pixels) => {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', pixels));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
const next = (element, name) => new Promise((resolve, reject) => {
  element.addEventListener(name, ({ detail }) => resolve(detail), { once: true });
  element.addEventListener('failed', ({ detail }) => reject(new Error(detail.why)), { once: true });
});

async function show({ name, cuts, frames: count }, renderer) {
  const element = document.createElement('nestcast-file');
  if (renderer) element.setAttribute('renderer', renderer);
  element.setAttribute('checks', '');
  const lines = [];
  // Cuts without a picture do not say what drew them, and Firefox has no WebGL on some machines.
  const add = async (what, { pixels, renderer: drew }) => {
    const told = (navigator.userAgent.includes('Chrome') && drew) || (renderer ?? '2d');
    lines.push([name, told, what, pixels ? await digest(pixels) : 'none'].join(' '));
  };
  document.body.append(element);
  const frames = [];
  element.addEventListener('cut', ({ detail }) => detail.frame !== undefined && frames.push(detail));
  const first = next(element, 'cut');
  await element.open(await (await fetch(name)).blob());
  await first;
  for (const cut of cuts) {
    const shown = next(element, 'cut');
    element.cut(cut);
    await add(`cut ${cut}`, await shown);
  }
  if (!cuts.length) {
    while (frames.length < count) await next(element, 'cut');
    for (const detail of frames) await add(`frame ${detail.frame}`, detail);
  }
  element.remove();
  return lines;
}

try {
  const files = await (await fetch('files.json')).json();
  const lines = [];
  // With `#choice`, also as the viewer chooses.
  const renderers = ['webgl', '2d', ...(location.hash === '#choice' ? [null] : [])];
  for (const file of files) for (const renderer of renderers) lines.push(...(await show(file, renderer)));
  await fetch('result', { method: 'POST', body: lines.join('\n') });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack}` });
}
