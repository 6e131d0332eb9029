// Runs in a real browser: two viewers of a broadcast that has one place, and what a user does with the second. Posts a line for each
// step that went as it should.

import './player.js';

const link = new URLSearchParams(location.hash.slice(1));
const lines = [];

function player() {
  const made = document.createElement('nestcast-player');
  for (const name of ['src', 'fingerprint']) made.setAttribute(name, link.get(name));
  document.body.append(made);
  return made;
}

// Waits for a state, and for a code with it if one is given: a busy machine may break a connection first, and the viewer tries again.
const reach = (element, wanted, code) => new Promise((resolve) => {
  if (element.state === wanted && code === undefined) return resolve({});
  element.addEventListener('state', function handle({ detail }) {
    if (detail.state !== wanted || (code !== undefined && detail.code !== code)) return;
    element.removeEventListener('state', handle);
    resolve(detail);
  });
});

try {
  const first = player();
  await reach(first, 'playing');
  lines.push('the first plays');
  const second = player();
  const { code, message } = await reach(second, 'waiting', 4);
  lines.push(`the second waits: ${code}, ${message}`);
  first.remove();
  await reach(second, 'playing');
  lines.push('the second plays once the first has gone');
  const png = await second.snapshot();
  const [image] = [await createImageBitmap(png)];
  lines.push(`a snapshot: ${png.type}, ${image.width} x ${image.height}`);
  second.pause();
  let frames = 0;
  second.addEventListener('frame', () => frames++);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  lines.push(`paused: ${second.state}, ${frames} frames`);
  await second.play();
  await reach(second, 'playing');
  lines.push('it plays again');
  second.setAttribute('fingerprint', 'no digits');
  lines.push((await reach(second, 'ended')).message);
  second.setAttribute('expires', '1');
  second.setAttribute('fingerprint', link.get('fingerprint'));
  await second.play();
  lines.push(second.shadowRoot.querySelector('[role=status]').textContent);
  await fetch('result', { method: 'POST', body: lines.join('\n') });
} catch (error) {
  await fetch('result', { method: 'POST', body: `failed: ${error.stack} after ${lines.join('; ')}` });
}
