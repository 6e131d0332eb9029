// Runs in a real browser: watches the broadcast that the page's address names, and posts what the page's memory holds
// once a minute.

import './player.js';

const link = new URLSearchParams(location.hash.slice(1));
const player = document.createElement('nestcast-player');
for (const name of ['src', 'fingerprint']) player.setAttribute(name, link.get(name));
document.body.append(player);

// With the workers; the browser collects garbage first, so this takes some seconds. What it calls `JavaScript` includes
// the workers' heaps.
async function heaps() {
  const { bytes, breakdown } = await performance.measureUserAgentSpecificMemory();
  const scripts = breakdown.filter(({ types }) => types.includes('JavaScript'));
  return { all: bytes, scripts: scripts.reduce((sum, part) => sum + part.bytes, 0) };
}

async function post() {
  const { all, scripts } = await heaps();
  const { shown, late, concealed, networkMemory, screenMemory } = player.statisticsNow;
  const page = performance.memory.usedJSHeapSize;
  const values = [page, scripts, all, networkMemory + screenMemory, shown, late, concealed, player.state];
  await fetch('result', { method: 'POST', body: values.join(' ') });
}

setInterval(() => post().catch((error) => fetch('result', { method: 'POST', body: `failed: ${error.stack}` })), 60_000);
