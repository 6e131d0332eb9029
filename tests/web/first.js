// Runs in the viewer's own page, which a real browser opens. After the first picture it goes back to the page that opened it, with
// the milliseconds from the opening of this page until its script ran, until the viewer began to connect, and until the picture.

const times = { script: performance.now() };
document.addEventListener('state', ({ detail }) => {
  if (detail.state === 'connecting') times.connecting ??= performance.now();
});
document.addEventListener('frame', () => {
  if (times.picture) return;
  times.picture = performance.now();
  const words = [times.script, times.connecting, times.picture].map((ms) => ms.toFixed(1));
  // The workers still play while the next page is loaded.
  setTimeout(() => location.assign(new URL(`next.html?${words}`, document.querySelector('meta[name=back]').content)), 500);
});
