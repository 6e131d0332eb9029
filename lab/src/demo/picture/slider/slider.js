// Shows the JPEG that needs no more bytes than the cut, and says how far both are from the picture that was encoded.

import './player.js';

const at = (id) => document.getElementById(id);
const file = document.querySelector('nestcast-file');
const grouped = (count) => count.toLocaleString('en');
const load = async (name) => {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name} cannot be loaded`);
  return response;
};

// Returns red, green, blue and 255 for each pixel of a file.
async function pixelsOf(blob) {
  const image = await createImageBitmap(blob, { colorSpaceConversion: 'none' });
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
  const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, image.width, image.height).data;
}

// Returns the PSNR of red, green and blue in dB.
function psnr(one, other) {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += at % 4 === 3 ? 0 : (one[at] - other[at]) ** 2;
  return sum ? `${(10 * Math.log10((255 ** 2 * 3 * one.length) / 4 / sum)).toFixed(2)} dB` : 'without loss';
}

async function start() {
  const { name, credit, jpegs } = await (await load('picture.json')).json();
  const [original, rivals] = await Promise.all([load('original.png'), load('jpegs.bin')]);
  const [pixels, bytes] = [await pixelsOf(await original.blob()), await rivals.arrayBuffer()];
  let start = 0;
  for (const jpeg of jpegs) {
    jpeg.blob = new Blob([bytes.slice(start, start + jpeg.bytes)], { type: 'image/jpeg' });
    start += jpeg.bytes;
  }
  at('name').textContent = name;
  at('credit').textContent = credit;

  let shown;
  // The JPEGs are in the order of their bytes, and each is better than the one before.
  const show = async (cut) => {
    const jpeg = jpegs.findLast((jpeg) => jpeg.bytes <= cut);
    if (jpeg === shown && at('file').value) return;
    shown = jpeg;
    at('jpeg').hidden = at('switch').disabled = !jpeg;
    if (!jpeg) {
      const [least] = jpegs;
      at('file').value = `none is this small${least ? `; the smallest has ${grouped(least.bytes)} bytes` : ''}`;
      return;
    }
    jpeg.link ??= URL.createObjectURL(jpeg.blob);
    jpeg.psnr ??= psnr(await pixelsOf(jpeg.blob), pixels);
    // Another cut may have come meanwhile.
    if (shown !== jpeg) return;
    at('jpeg').src = jpeg.link;
    at('file').value = `${grouped(jpeg.bytes)} bytes, ${jpeg.sampling} at quality ${jpeg.quality}: ${jpeg.psnr}`;
  };
  let [isOwn, isNew] = [true, true];
  file.addEventListener('cut', ({ detail }) => {
    if (!isOwn || detail.frame !== undefined) return;
    at('cut').value = `${grouped(detail.bytes)} bytes: ${detail.isPicture ? psnr(detail.pixels, pixels) : 'no picture yet'}`;
    show(detail.bytes);
    // Where the difference is plain; a small picture begins later.
    if (isNew && detail.bytes > 2000) file.cut(Math.floor(detail.bytes / 20));
    isNew = false;
  });
  // A file that the reader opened is another picture.
  let count = 0;
  file.addEventListener('opened', () => {
    count += 1;
    isOwn = count === 1;
    for (const id of ['rival', 'cut']) at(id).hidden = !isOwn;
  });
  file.setAttribute('src', 'picture.nst');
}

// Says which picture is seen where both are in the same place.
function toggle() {
  const isSwitched = at('pictures').classList.toggle('switched');
  at('switch').textContent = isSwitched ? 'You see the JPEG: show nestcast (x)' : 'You see nestcast: show the JPEG (x)';
}

for (const input of document.querySelectorAll('[name=view]')) {
  input.addEventListener('change', () => {
    at('pictures').classList.toggle('over', input.value === 'over');
    at('switch').hidden = input.value !== 'over';
  });
}
at('switch').addEventListener('click', toggle);
addEventListener('keydown', ({ key }) => key === 'x' && !at('switch').hidden && !at('switch').disabled && toggle());
start().catch((error) => (at('cut').value = `This page is broken: ${error.message}.`));
