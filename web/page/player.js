// Elements for pages: <nestcast-player> shows a live broadcast, and <nestcast-file> shows a picture or video in a file,
// cut where the reader wants. `player.d.ts` describes their attributes, methods and events.

const STYLE = `
:host { display: block; position: relative; background: #000; color: #fff; font: 14px/1.4 system-ui, sans-serif;
  aspect-ratio: var(--ratio, 16 / 9); overflow: hidden; }
:host([hidden]) { display: none; }
canvas { display: block; width: 100%; height: 100%; object-fit: contain; }
.bar { position: absolute; inset: auto 0 0 0; display: flex; flex-wrap: wrap; gap: 4px; align-items: center; padding: 6px 8px;
  background: linear-gradient(transparent, #000c); transition: opacity .2s; }
:host(:not(:hover, :focus-within, .paused)) .bar { opacity: 0; }
@media (hover: none) { :host .bar { opacity: 1 !important; } }
/* Narrow viewers leave out what keys do too: the picture would hardly be seen. */
.bar { container-type: inline-size; }
@container (width < 260px) { .lesser { display: none; } }
.space { flex: 1; }
button { display: inline-grid; place-items: center; }
button, select { min-width: 36px; min-height: 36px; padding: 4px 8px; border: 0; border-radius: 6px; background: #fff2;
  color: inherit; font: inherit; cursor: pointer; }
option { color: #000; }
button:hover, select:hover { background: #fff4; }
:focus-visible { outline: 2px solid #6cf; outline-offset: 1px; }
.live { display: inline-flex; align-items: center; gap: 6px; padding: 0 6px; }
.live::before { content: ''; width: 8px; height: 8px; border-radius: 50%; background: #888; }
:host(.playing) .live::before { background: #f33; }
.message { position: absolute; inset: 0 0 48px 0; display: grid; place-items: center; padding: 16px; text-align: center; }
.message:empty, [hidden] { display: none !important; }
.message span { max-width: 36em; padding: 10px 14px; border-radius: 8px; background: #000b; }
.statistics { position: absolute; top: 8px; left: 8px; margin: 0; padding: 8px 10px; border-radius: 8px; background: #000b;
  display: grid; grid-template-columns: auto auto; gap: 0 12px; font-size: 12px; font-variant-numeric: tabular-nums; }
.statistics dt { color: #bbb; } .statistics dd { margin: 0; text-align: right; }
.over { outline: 3px dashed #6cf; outline-offset: -8px; }
input[type=range] { flex: 1 1 100%; accent-color: #6cf; min-height: 28px; margin: 0; }
output { font-variant-numeric: tabular-nums; padding: 0 6px; }
:host(.below) { aspect-ratio: auto; }
:host(.below) canvas { aspect-ratio: var(--ratio, 16 / 9); }
:host(.below) .bar { position: static; background: #222; }
@media (prefers-reduced-motion: reduce) { .bar { transition: none; } }`;

const CAPS = [0, 300_000, 1_000_000, 2_500_000, 5_000_000];
const LINK_DAYS = 14;
// Where a viewer begins: with all others, some time after the beginning of a stored video, or some time before now.
const [WITH_ALL, AFTER_BEGINNING, BEFORE_NOW] = [0, 1, 2];
// Times that the viewer asks for, at most: some decades.
const LONGEST_SECONDS = 1e9;
// Attributes that a link to a page states.
const OF_LINK = ['src', 'fingerprint', 'token', 'max-bitrate', 'latency', 'rewind', 'expires'];
// Seconds of a step back or forward; milliseconds for which a message about it stays.
const [STEP_S, NOTICE_MS] = [10, 4000];
// Milliseconds between two looks for a sender that begins anew, the least and the most. Pauses are longer by up to half, so that
// viewers that waited together do not connect together.
const [FIRST_LOOK_MS, LONGEST_LOOK_MS, LOOK_JITTER] = [1000, 60_000, 0.5];
const SAMPLE_RATE = 48_000;
// Seconds: the latency of a device that is made up for, and how far packets are from their moment and still played in a row.
const [MAX_OUTPUT_LATENCY_S, MAX_SOUND_STEP_S] = [0.05, 0.03];
const MAX_DRIFT = 0.003;
// The ends of the slider for videos, in bits per second.
const [SLOWEST, FASTEST] = [20_000, 10_000_000];
// The most bits per second at which a page can have a video played.
const HIGHEST_BITRATE = 1e8;

// What went wrong, in words. Codes that are not here have words of their own.
const WORDS = {
  insecure: 'Browsers play live broadcasts only on pages opened by https, or from localhost. Open this page so.',
  unsupported: 'This browser has no WebTransport. Use a current Chrome, Edge, Firefox or Safari.',
  expired: 'This link has expired. Ask the sender for a new one.',
  link: 'This link is broken. Ask the sender for a new one.',
  lost: 'The connection broke. Connecting again …',
  unreachable: `The sender does not answer, shows another certificate than the link names (links are valid for ${LINK_DAYS} days at most), `
    + 'or does not admit pages of this site. Trying again …',
  relay: 'The relay does not answer, refuses the path or the token in the address, or shows another certificate than the link names. Trying again …',
  // `web/tests/relay.rs` compares these versions with the module's.
  version: 'The relay speaks another version of Media over QUIC. This viewer speaks moq-lite-06 and moq-lite-05.',
  protocols: 'This browser cannot watch at a relay, because it cannot name a protocol. Use a current Chrome or Edge.',
  unauthorized: 'The relay does not allow this. Check the path and the token in the address.',
  absent: 'The relay does not have this broadcast at the moment. Trying again …',
  over: 'The broadcast has ended. Waiting for the next one …',
  0: 'The broadcast has ended.',
  3: 'The sender refuses the token. Ask for a new link.',
  10: 'This link has expired. Ask the sender for a new one.',
  11: 'This link is for another broadcast. Ask the sender for a new one.',
  12: 'This link was used before, and admits once. Ask the sender for a new one.',
  13: 'The sender does not admit you.',
  14: 'The sender has no broadcast of this name. Ask the sender for a new link.',
  15: 'The token of this link is signed by a key that the sender does not know. Ask the sender for a new link.',
  4: 'The sender has as many viewers as it takes. Trying again …',
  6: 'The sender uses a model that this viewer does not have.',
  8: 'The broadcast broke off: the sender lost its source.',
  start: 'The sender cannot begin elsewhere now, so this is what all others see.',
};

const compiled = (() => {
  let module;
  return () => (module ??= fetch(new URL('./nestcast.wasm', import.meta.url)).then(compile));
})();

// Compiles the module while its bytes arrive. Browsers do so only if the server names the type of the file.
async function compile(response) {
  const isNamed = response.headers.get('content-type') === 'application/wasm';
  return isNamed ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  for (const [key, value] of Object.entries(attributes)) if (key.includes('-') || key === 'role') made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Drawn on 24 x 24 units, so that no font needs them.
const ICONS = {
  play: 'M7 4v16l13-8z',
  pause: 'M6 4h4v16H6zM14 4h4v16h-4z',
  statistics: 'M4 13h4v7H4zM10 4h4v16h-4zM16 9h4v11h-4z',
  snapshot: 'M9 4h6l2 3h4v13H3V7h4zM12 10a3.5 3.5 0 1 0 .01 0z',
  sound: 'M4 9v6h4l5 4V5L8 9zM15 8.5a4 4 0 0 1 0 7zM17 5a8 8 0 0 1 0 14v-2a6 6 0 0 0 0-10z',
  muted: 'M4 9v6h4l5 4V5L8 9zM15 9l1.4-1.4 2.1 2.1 2.1-2.1L22 9l-2.1 2.1L22 13.2l-1.4 1.4-2.1-2.1-2.1 2.1L15 13.2l2.1-2.1z',
  inset: 'M3 4h18v16H3zM5 6v12h6v-6h8V6z',
  full: 'M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z',
  back: 'M11 5v14L2 12zM21 5v14l-9-7z',
  forward: 'M13 5v14l9-7zM3 5v14l9-7z',
  less: 'M5 11h14v2H5z',
  more: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z',
};

function icon(name) {
  const create = (tag) => document.createElementNS('http://www.w3.org/2000/svg', tag);
  const [svg, path] = [create('svg'), create('path')];
  for (const [key, value] of [['viewBox', '0 0 24 24'], ['width', 20], ['height', 20], ['aria-hidden', true]]) svg.setAttribute(key, value);
  for (const [key, value] of [['d', ICONS[name]], ['fill', 'currentColor'], ['fill-rule', 'evenodd']]) path.setAttribute(key, value);
  svg.append(path);
  return svg;
}

// Returns a time in minutes and seconds.
function minutes(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${`${whole % 60}`.padStart(2, '0')}`;
}

// Returns the name of a cap, in bits per second.
const nameOfCap = (cap) => (cap === 0 ? 'Auto' : cap < 1e6 ? `${cap / 1e3} kbit/s` : `${cap / 1e6} Mbit/s`);

// Makes a button with an icon, or with a word if no icon has that name.
const button = (label, name, title, onclick) =>
  element('button', { type: 'button', 'aria-label': label, title, onclick }, name in ICONS ? icon(name) : name);

function bytesOf(hexadecimal) {
  const digits = hexadecimal.replaceAll(':', '');
  if (!/^[0-9a-f]{64}$/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
}

function worker(onmessage, onerror) {
  const made = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  made.onmessage = ({ data }) => onmessage(data);
  made.onerror = (event) => onerror(event.message ?? 'a file of the viewer cannot be loaded');
  return made;
}

// The common part of both elements: a canvas that a worker draws on, a bar, a message.
class Picture extends HTMLElement {
  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    this.message = element('div', { className: 'message', role: 'status', 'aria-live': 'polite' });
    this.bar = element('div', { className: 'bar', role: 'group', 'aria-label': 'Controls' });
    root.append(this.message, this.bar);
    this.snapshots = [];
    this.addEventListener('keydown', (event) => this.handleKey(event));
  }

  handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.composedPath()[0].matches('input, select')) return;
    const isOnButton = event.key === ' ' && event.composedPath()[0].matches('button');
    const key = isOnButton ? undefined : this.keys[event.key.toLowerCase()];
    // A key that does nothing here keeps its meaning on the page.
    if (key && key() !== false) event.preventDefault();
  }

  // Makes a new canvas, and a worker that draws on it. The worker starts while the module is still loaded.
  async startScreen(options, transfer = []) {
    this.hasPicture = false;
    const offscreen = this.renewCanvas().transferControlToOffscreen();
    this.screen?.terminate();
    const screen = worker((data) => this.handle(data), (why) => this.handle({ state: 'failed', code: 'failed', why }));
    this.screen = screen;
    const renderer = this.getAttribute('renderer');
    const checks = this.hasAttribute('checks');
    screen.postMessage({ start: 'screen', canvas: offscreen, renderer, checks, ...options }, [offscreen, ...transfer]);
    const module = await compiled();
    screen.postMessage({ module });
    return module;
  }

  showLabel() {
    this.canvas?.setAttribute('aria-label', this.getAttribute('label') ?? 'Picture');
  }

  renewCanvas() {
    this.canvas?.remove();
    this.canvas = element('canvas', { role: 'img' });
    this.showLabel();
    this.shadowRoot.prepend(this.canvas);
    return this.canvas;
  }

  // Ends the workers; the next start makes new ones. The last picture stays.
  stop() {
    if (this.screen && this.hasPicture) this.keepPicture();
    this.screen?.terminate();
    [this.screen, this.starting] = [null, null];
    for (const resolve of this.snapshots.splice(0)) resolve(this.kept());
  }

  handle({ size, frame, cut, snapshot }) {
    if (frame || cut?.isPicture) this.hasPicture = true;
    if (size) {
      this.style.setProperty('--ratio', `${size.width} / ${size.height}`);
      this.size = size;
    }
    if (snapshot) this.snapshots.shift()?.(snapshot);
  }

  say(text) {
    this.message.replaceChildren(...(text ? [element('span', {}, text)] : []));
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  // Returns a PNG of the canvas.
  async snapshot() {
    if (!this.hasPicture) throw new Error('there is no picture yet');
    if (!this.screen) return this.kept();
    this.screen.postMessage({ snapshot: true });
    return new Promise((resolve) => this.snapshots.push(resolve));
  }

  // Copies the picture to a canvas of the page: in Firefox, that of a worker is empty once the worker has ended.
  keepPicture() {
    const last = this.canvas;
    const { width, height } = last;
    Object.assign(this.renewCanvas(), { width, height }).getContext('2d').drawImage(last, 0, 0);
  }

  // Returns a PNG of the picture that a worker left.
  kept() {
    return new Promise((resolve) => this.canvas.toBlob(resolve));
  }

  async saveSnapshot() {
    if (!this.hasPicture) return;
    const href = URL.createObjectURL(await this.snapshot());
    element('a', { href, download: `nestcast-${new Date().toISOString().replaceAll(':', '-')}.png` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  }

  toggleFullscreen() {
    return document.fullscreenElement ? document.exitFullscreen() : this.requestFullscreen();
  }
}

class NestcastPlayer extends Picture {
  // A key that is held is one step: each makes a connection.
  handleKey(event) {
    if (!event.repeat) super.handleKey(event);
  }

  static observedAttributes = ['src', 'fingerprint', 'token', 'max-bitrate', 'latency', 'rewind', 'muted', 'label'];

  constructor() {
    super();
    const step = (seconds) => () => this.hasAttribute('rewind') && this.step(seconds);
    this.keys = {
      arrowleft: step(-STEP_S), j: step(-STEP_S), arrowright: step(STEP_S), l: step(STEP_S), end: () => this.hasAttribute('rewind') && this.live(),
      ' ': () => this.toggle(), k: () => this.toggle(), f: () => this.toggleFullscreen(),
      i: () => this.toggleStatistics(), m: () => this.toggleSound(), s: () => this.saveSnapshot(), p: () => this.togglePictureInPicture(),
    };
    this.figures = {};
    this.toggleButton = button('Play', 'play', 'Play or pause (space)', () => this.toggle());
    this.isMuted = true;
    this.soundButton = button('Sound on', 'muted', 'Sound on or off (m)', () => this.toggleSound());
    this.soundButton.hidden = true;
    this.place = element('span', { className: 'live' });
    this.backButton = button('10 seconds back', 'back', '10 s back (left arrow or j)', step(-STEP_S));
    this.forwardButton = button('10 seconds forward', 'forward', '10 s forward (right arrow or l)', step(STEP_S));
    this.liveButton = button('To live', 'Live', 'To live (end)', () => this.live());
    this.showPlace();
    this.caps = element('select', { 'aria-label': 'Highest bit rate', title: 'Highest bit rate' },
      ...CAPS.map((cap) => element('option', { value: cap }, nameOfCap(cap))));
    this.caps.onchange = () => this.setAttribute('max-bitrate', this.caps.value);
    this.statistics = element('dl', { className: 'statistics', hidden: true, 'aria-label': 'Statistics' });
    const hasPictureInPicture = document.pictureInPictureEnabled && HTMLCanvasElement.prototype.captureStream;
    const lesser = [this.caps,
      button('Statistics', 'statistics', 'Statistics (i)', () => this.toggleStatistics()),
      button('Save a snapshot', 'snapshot', 'Snapshot (s)', () => this.saveSnapshot()),
      ...(hasPictureInPicture
        ? [button('Picture in picture', 'inset', 'Picture in picture (p)', () => this.togglePictureInPicture())] : [])];
    for (const control of lesser) control.classList.add('lesser');
    this.bar.append(this.toggleButton, this.backButton, this.forwardButton, this.soundButton, this.place, this.liveButton,
      element('span', { className: 'space' }), ...lesser,
      button('Full screen', 'full', 'Full screen (f)', () => this.toggleFullscreen()));
    this.shadowRoot.append(this.statistics);
  }

  connectedCallback() {
    if (this.hasAttribute('from-link')) {
      this.takeLink();
      this.onLink = () => this.takeLink();
      addEventListener('hashchange', this.onLink);
    }
    if (!this.hasAttribute('tabindex')) this.tabIndex = 0;
    if (!this.isPaused && this.hasAttribute('src')) this.play();
    // Browsers let a page make sound only after its user did something there.
    if (!this.hasAttribute('muted') && navigator.userActivation?.hasBeenActive) this.setMuted(false);
  }

  disconnectedCallback() {
    this.setMuted(true);
    this.audio?.close();
    this.audio = null;
    removeEventListener('hashchange', this.onLink);
    this.end();
  }

  // Leaves the sender for good: the element is removed, or has no `src` any more. One that is paused stays so.
  end() {
    clearTimeout(this.changing);
    this.stop();
    this.say('');
    if (!this.isPaused) this.setState('idle');
  }

  stop() {
    super.stop();
    this.network?.terminate();
    this.network = null;
  }

  attributeChangedCallback(name, before, now) {
    if (name === 'label') return this.showLabel();
    if (name === 'muted') return this.isConnected && this.setMuted(now !== null || !navigator.userActivation?.hasBeenActive);
    if (name === 'max-bitrate') this.showCap();
    if (name === 'src' && before !== now) this.begins = null;
    this.showPlace();
    if (name === 'rewind' || before === now || !this.isConnected || this.isTakingLink || this.isPaused) return;
    // Several attributes may change at once.
    clearTimeout(this.changing);
    this.changing = setTimeout(() => (this.hasAttribute('src') ? this.play() : this.end()));
  }

  // Shows the cap in the menu, which has other caps of pages only while they are set.
  showCap() {
    const cap = this.maxBitrate();
    this.otherCap?.remove();
    if (!CAPS.includes(cap)) this.caps.append((this.otherCap = element('option', { value: cap }, nameOfCap(cap))));
    this.caps.value = cap;
  }

  maxBitrate() {
    return Math.max(0, Number(this.getAttribute('max-bitrate')) || 0);
  }

  // Reads the attributes from the page's address: #src=https://HOST:PORT/NAME&fingerprint=HEX&token=TEXT&max-bitrate=BITS.
  takeLink() {
    const link = new URLSearchParams(location.hash.slice(1));
    this.isTakingLink = true;
    for (const name of OF_LINK)
      link.has(name) ? this.setAttribute(name, link.get(name)) : this.removeAttribute(name);
    if (link.has('fingerprint') && !link.has('src')) this.setAttribute('src', `${location.origin.replace(/^http:/, 'https:')}/`);
    this.isTakingLink = false;
    this.hidden = !this.hasAttribute('src');
    if (this.hidden) this.end();
    else if (this.network) this.play();
  }

  get state() {
    return this.stateNow ?? 'idle';
  }

  get statisticsNow() {
    return { ...this.figures };
  }

  // Seconds after the beginning of a stored video, for a viewer that began by such a time; otherwise null.
  get position() {
    if (this.begins?.kind !== AFTER_BEGINNING) return null;
    const { time, at } = this.begins;
    return time + ((this.pausedAt ?? performance.now()) - at) / 1e3;
  }

  // Seconds by which the pictures are later than those of all others; null for a viewer that has a `position`.
  get lag() {
    if (!this.begins) return 0;
    if (this.begins.kind !== BEFORE_NOW) return null;
    return this.begins.time + (this.pausedAt ? (performance.now() - this.pausedAt) / 1e3 : 0);
  }

  // Begins this many seconds after the beginning of a stored video; a negative number is a time before now.
  seek(seconds) {
    if (!Number.isFinite(seconds)) throw new TypeError('seek needs a number of seconds');
    const time = Math.min(Math.abs(seconds), LONGEST_SECONDS);
    return this.beginAt({ kind: seconds < 0 ? BEFORE_NOW : AFTER_BEGINNING, time });
  }

  // Goes where all others are.
  live() {
    return this.begins ? this.beginAt(null) : Promise.resolve();
  }

  step(seconds) {
    const { position } = this;
    if (position !== null) return this.seek(Math.max(0, position + seconds));
    const lag = this.lag - seconds;
    return lag > 0 ? this.seek(-lag) : this.live();
  }

  beginAt(begins) {
    this.begins = begins && { ...begins, at: performance.now() };
    this.pausedAt &&= performance.now();
    this.showPlace();
    if (this.isPaused || !this.network) return Promise.resolve();
    this.screen?.postMessage({ rest: true });
    return this.play();
  }

  // Takes what the sender grants: [kind, milliseconds].
  handleStart([kind, time]) {
    this.begins = kind === WITH_ALL ? null : { kind, time: time / 1e3, at: performance.now() };
    if (!this.begins) this.notice = WORDS.start;
    this.showPlace();
    this.emit('seek', { position: this.position, lag: this.lag });
  }

  async play() {
    if (this.begins) {
      const { position, lag } = this;
      this.begins = { ...this.begins, time: position ?? lag, at: performance.now() };
    }
    this.pausedAt = this.connection = null;
    this.isPaused = false;
    // Attributes that changed before are all read now.
    clearTimeout(this.changing);
    this.showToggle();
    const [src, fingerprint] = [this.getAttribute('src'), this.getAttribute('fingerprint')];
    const hash = fingerprint ? bytesOf(fingerprint) : null;
    const problem = !isSecureContext ? 'insecure' : !('WebTransport' in window) ? 'unsupported'
      : this.hasExpired() ? 'expired' : !src || (fingerprint && !hash) ? 'link' : null;
    const why = problem === 'link' ? (src ? 'the fingerprint is not 64 hexadecimal digits' : 'there is no src') : undefined;
    if (problem) return this.handle({ state: 'ended', code: problem, why });
    this.say('');
    this.setState('connecting');
    this.starting ??= this.start().catch((error) => this.handle({ state: 'failed', code: 'failed', why: error.message }));
    this.screen?.postMessage({ latency: this.getAttribute('latency') ?? 'smooth' });
    const token = new TextEncoder().encode(this.getAttribute('token') ?? '');
    const maxBitrate = this.maxBitrate();
    this.network?.postMessage({ sound: !this.isMuted });
    const start = this.begins ? [this.begins.kind, this.begins.time * 1e3] : [WITH_ALL, 0];
    this.asked = (this.asked ?? 0) + 1;
    this.network?.postMessage({ watch: { src, fingerprint: hash, token, maxBitrate, start, asked: this.asked } });
  }

  hasExpired() {
    return Number(this.getAttribute('expires') ?? Infinity) * 1e3 < Date.now();
  }

  async start() {
    const { port1, port2 } = new MessageChannel();
    const network = worker((data) => this.handle(data), (why) => this.handle({ state: 'failed', code: 'failed', why }));
    this.network = network;
    network.postMessage({ start: 'network', port: port1 }, [port1]);
    network.postMessage({ module: await this.startScreen({ port: port2 }, [port2]) });
  }

  // Stops receiving until `play`; the last picture stays.
  pause() {
    this.pausedAt ??= performance.now();
    this.isPaused = true;
    this.rest();
    this.say('');
    this.setState('paused');
  }

  // Leaves the sender, and stops to conceal and repeat.
  rest() {
    this.network?.postMessage({ leave: true });
    this.screen?.postMessage({ rest: true });
  }

  toggle() {
    return this.isStopped() ? this.play() : this.pause();
  }

  isStopped() {
    return this.isPaused || ['idle', 'ended', 'failed'].includes(this.state);
  }

  handle(data) {
    super.handle(data);
    const { state, code, why, frame, network, screen, sound, heard, start, asked, welcomed, of } = data;
    if (welcomed) this.connection = welcomed;
    // An answer that was on its way when the viewer asked for something else is too late.
    if (start && asked === this.asked) this.handleStart(start);
    // Where the browser cannot decode Opus, pictures are shown without sound.
    if (sound) this.soundButton.hidden = !('AudioDecoder' in window);
    if (heard) this.hear(heard);
    if (frame && !this.isPaused) {
      // Pictures may be those of the connection before, or of one that has ended.
      if (!frame.concealed && of === this.connection && this.state !== 'playing') {
        this.say(this.notice ?? '');
        this.setState('playing');
        if (this.notice) setTimeout(() => this.state === 'playing' && this.say(''), NOTICE_MS);
        this.notice = null;
      }
      const { latency, bytes: frameBytes, full: frameFull, decoding } = frame;
      if (!frame.concealed) Object.assign(this.figures, { latency, frameBytes, frameFull, decoding });
      this.emit('frame', frame);
    }
    if (network || screen) {
      Object.assign(this.figures, network, screen);
      this.showStatistics();
      this.showPlace();
      this.emit('statistics', this.statisticsNow);
    }
    if (state && !(this.isPaused && state !== 'failed')) this.handleState(state, code, why);
  }

  handleState(state, code, why) {
    const isExpired = state === 'waiting' && this.hasExpired();
    if (isExpired) [state, code] = ['ended', 'expired'];
    if (state === 'failed') this.stop();
    if (state === 'ended') this.rest();
    this.connection = null;
    const isNextAwaited = code === 0 && this.isOfSender();
    // A new attempt keeps the message that says why the last one failed.
    if (state !== 'connecting') this.say(WORDS[isNextAwaited ? 'over' : code] ?? `The viewer stopped: ${why}.`);
    this.setState(state, { code, why });
    if (code === 'unreachable' || code === 'expired') this.renew();
    if (isNextAwaited) this.awaitNext(FIRST_LOOK_MS);
  }

  // Returns whether the sender may have served this page, and so says there which certificate it shows.
  isOfSender() {
    const own = new URL(this.getAttribute('src') ?? '', location);
    return this.hasAttribute('from-link') && this.hasAttribute('fingerprint') && own.hostname === location.hostname;
  }

  // Looks less and less often whether the sender of a broadcast that has ended began anew.
  awaitNext(pause) {
    clearTimeout(this.looking);
    this.looking = setTimeout(async () => {
      const status = this.state === 'ended' && (await this.renew());
      if (this.state !== 'ended') return;
      // The page came from another server, which does not know.
      if (status === 404) this.say(WORDS[0]);
      else this.awaitNext(Math.min(2 * pause, LONGEST_LOOK_MS));
    }, pause * (1 + LOOK_JITTER * Math.random()));
  }

  // Plays with the sender's present certificate, if the sender served this page and the link has an older one. Returns the status of
  // the server's answer, if there is one.
  async renew() {
    if (!this.isOfSender()) return;
    const own = new URL(this.getAttribute('src'), location);
    const answer = await fetch(new URL('certificate.json', location), { cache: 'no-store' }).catch(() => null);
    const { port, fingerprint, expires } = (answer?.ok && (await answer.json().catch(() => null))) || {};
    // A page's own server may answer anything.
    if (!fingerprint) return answer?.ok ? 404 : answer?.status;
    if (`${port}` !== (own.port || '443') || fingerprint === this.getAttribute('fingerprint')) return answer.status;
    this.isTakingLink = true;
    this.setAttribute('fingerprint', fingerprint);
    this.setAttribute('expires', expires);
    this.isTakingLink = false;
    if (!this.isPaused && this.isConnected) this.play();
  }

  setState(state, detail = {}) {
    if (this.stateNow === state) return;
    this.stateNow = state;
    this.showToggle();
    this.classList.toggle('playing', state === 'playing');
    this.classList.toggle('paused', state !== 'playing');
    this.showPlace();
    this.emit('state', { state, ...detail, message: this.message.textContent });
  }

  // Says where the viewer is, and offers the ways from there.
  showPlace() {
    const { position, lag } = this;
    const playing = position !== null ? minutes(position) : lag > 0 ? `−${minutes(lag)}` : 'Live';
    this.place.textContent =
      { idle: '–', playing, connecting: 'Connecting …', waiting: 'Connecting …', paused: 'Paused' }[this.state] ?? 'Ended';
    this.backButton.hidden = !this.hasAttribute('rewind');
    for (const way of [this.forwardButton, this.liveButton]) way.hidden = !this.hasAttribute('rewind') || !this.begins;
  }

  showToggle() {
    const isPlay = this.isStopped();
    this.toggleButton.replaceChildren(icon(isPlay ? 'play' : 'pause'));
    this.toggleButton.setAttribute('aria-label', isPlay ? 'Play' : 'Pause');
  }

  get muted() {
    return this.isMuted;
  }

  set muted(muted) {
    this.setMuted(muted);
  }

  toggleSound() {
    if (!this.soundButton.hidden) this.setMuted(!this.isMuted);
  }

  // A sender sends sound only to viewers that play it.
  setMuted(muted) {
    this.isMuted = muted;
    this.soundButton.replaceChildren(icon(muted ? 'muted' : 'sound'));
    this.soundButton.setAttribute('aria-label', muted ? 'Sound on' : 'Sound off');
    if (!muted) {
      this.audio ??= new AudioContext({ sampleRate: SAMPLE_RATE, latencyHint: 'interactive' });
      this.audio.resume().catch(() => {});
    }
    this.network?.postMessage({ sound: !muted });
  }

  // Plays a packet at its moment, right after the one before it. The device's clock drifts from the page's: packets are
  // played faster or slower by up to 0.3 %, which nobody hears.
  hear({ at, rate, channels }) {
    const { audio } = this;
    if (this.isMuted || audio?.state !== 'running') return;
    this.figures.soundHeard = (this.figures.soundHeard ?? 0) + 1;
    const latency = Math.min(audio.outputLatency || 0, MAX_OUTPUT_LATENCY_S);
    const due = audio.currentTime + (at - performance.timeOrigin - performance.now()) / 1e3 - latency;
    const away = (this.soundEnd ?? 0) - due;
    const isNext = Math.abs(away) < MAX_SOUND_STEP_S;
    const start = isNext ? this.soundEnd : due;
    if (start < audio.currentTime) return;
    const buffer = audio.createBuffer(channels.length, channels[0].length, SAMPLE_RATE);
    channels.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
    const source = audio.createBufferSource();
    source.buffer = buffer;
    source.playbackRate.value = rate * (1 + (isNext ? Math.min(Math.max(away / 4, -MAX_DRIFT), MAX_DRIFT) : 0));
    source.connect(audio.destination);
    source.start(start);
    this.soundEnd = start + channels[0].length / SAMPLE_RATE / source.playbackRate.value;
  }

  toggleStatistics() {
    this.statistics.hidden = !this.statistics.hidden;
    this.showStatistics();
  }

  showStatistics() {
    if (this.statistics.hidden) return;
    const { bitrate = 0, latency, bytes = 0, frameBytes = 0, frameFull = 0, shown = 0, concealed = 0, missing = 0, decoding = 0,
      late = 0, delay, unevenness, roundTrip, soundPackets, soundLost } = this.figures;
    const ms = (value) => (value === undefined || value === null ? '–' : `${value.toFixed(0)} ms`);
    const { width = 0, height = 0 } = this.size ?? {};
    const rows = {
      Picture: `${width} × ${height}`, Rate: `${(bitrate / 1e3).toFixed(0)} kbit/s`, Latency: ms(latency),
      'Round trip': ms(roundTrip), Received: `${(bytes / 1e6).toFixed(2)} MB`,
      'Last frame': `${frameBytes} of ${frameFull} bytes`, 'Bytes cut': `${frameFull - frameBytes}`, 'Frames shown': shown,
      Concealed: concealed, 'Shown late': late, 'Never came': missing, Decoding: ms(decoding), 'Delay added': ms(delay),
      Sound: soundPackets ? `${soundPackets} packets, ${soundLost} lost` : '–',
      Unevenness: unevenness === Infinity ? '> 100 ms' : ms(unevenness),
    };
    this.statistics.replaceChildren(...Object.entries(rows).flatMap(([name, value]) => [
      element('dt', {}, name), element('dd', {}, `${value}`)]));
  }

  async togglePictureInPicture() {
    if (document.pictureInPictureElement) return document.exitPictureInPicture();
    if (!this.canvas?.captureStream) return;
    this.video ??= element('video', { muted: true, playsInline: true });
    this.video.srcObject = this.canvas.captureStream();
    await this.video.play();
    await this.video.requestPictureInPicture();
  }
}

class NestcastFile extends Picture {
  static observedAttributes = ['src', 'label'];

  constructor() {
    super();
    this.keys = { f: () => this.toggleFullscreen(), s: () => this.saveSnapshot() };
    this.slider = element('input', { type: 'range', min: 0, max: 1000, value: 1000, 'aria-label': 'Where to cut', disabled: true });
    this.slider.oninput = () => this.slide();
    this.slider.onchange = () => (this.isSliding = false);
    this.facts = element('output', {}, 'No file');
    this.picker = element('input', { type: 'file', accept: '.nst', hidden: true });
    this.picker.onchange = () => this.picker.files[0] && this.open(this.picker.files[0]);
    this.bar.append(this.slider, this.facts, element('span', { className: 'space' }),
      button('One byte less', 'less', 'One byte less', () => this.step(-1)), button('One byte more', 'more', 'One byte more', () => this.step(1)),
      button('Open a file', 'Open …', 'Open a .nst file; you can also drop one here', () => this.picker.click()),
      button('Save a snapshot', 'snapshot', 'Snapshot (s)', () => this.saveSnapshot()),
      button('Full screen', 'full', 'Full screen (f)', () => this.toggleFullscreen()));
    this.shadowRoot.append(this.picker);
    this.addEventListener('dragover', (event) => event.preventDefault());
    this.addEventListener('dragenter', () => this.classList.add('over'));
    this.addEventListener('dragleave', () => this.classList.remove('over'));
    this.addEventListener('drop', (event) => {
      event.preventDefault();
      this.classList.remove('over');
      if (event.dataTransfer.files[0]) this.open(event.dataTransfer.files[0]);
    });
  }

  connectedCallback() {
    if (!this.hasAttribute('tabindex')) this.tabIndex = 0;
    this.classList.add('paused', 'below');
    this.isReady = true;
    if (this.hasAttribute('src')) this.load();
  }

  disconnectedCallback() {
    this.stop();
    this.isReady = false;
  }

  attributeChangedCallback(name, before, now) {
    if (name === 'label') return this.showLabel();
    if (this.isReady && this.isConnected && before !== now && now) this.load();
  }

  async load() {
    const file = (this.file = (this.file ?? 0) + 1);
    const src = this.getAttribute('src');
    const response = await fetch(src).catch(() => null);
    if (file !== this.file) return;
    const blob = response?.ok && (await response.blob().catch(() => null));
    if (file !== this.file) return;
    if (blob) return this.open(blob);
    this.refuse(`${src} cannot be loaded.`, `${src} cannot be loaded${response ? `: ${response.status}` : ''}`);
  }

  // Says why there is no file.
  refuse(text, why) {
    this.say(text);
    this.emit('failed', { why });
  }

  // Opens a File or Blob, and shows all of it, unless another one is opened meanwhile.
  async open(blob) {
    const file = (this.file = (this.file ?? 0) + 1);
    this.close();
    this.say('');
    const bytes = await blob.arrayBuffer().catch(() => null);
    if (file !== this.file) return;
    if (!bytes) return this.refuse('This file cannot be read.', 'the file cannot be read');
    this.starting ??= this.startScreen({}).catch(({ message }) => this.handle({ state: 'failed', why: message }));
    await this.starting;
    if (file === this.file) this.screen?.postMessage({ open: bytes, file }, [bytes]);
  }

  close() {
    // A cut that was asked for before any file is one of the next.
    if (this.opened) this.wanted = undefined;
    [this.opened, this.isBusy, this.slider.disabled] = [undefined, false, true];
  }

  stop() {
    super.stop();
    this.close();
  }

  handle(data) {
    super.handle(data);
    const { opened, cut, state, why, file } = data;
    // A file that was replaced before it was open.
    if (file !== undefined && file !== this.file) return;
    if (state === 'failed') {
      // A refused file leaves the worker usable; a broken worker must be replaced.
      if (file === undefined) this.stop();
      this.facts.value = 'No file';
      this.refuse(`This file cannot be shown: ${why}.`, why);
    }
    if (opened) {
      this.opened = opened;
      Object.assign(this.slider, { disabled: false, value: 1000 });
      this.slider.setAttribute('aria-label', opened.isVideo ? 'Bit rate' : 'Where to cut');
      this.emit('opened', opened);
      // The worker shows a whole picture at once.
      this.value = opened.isVideo ? 0 : opened.bytes;
      if (opened.isVideo) this.cut(this.wanted ?? 0);
    }
    // A cut of the file before may be on its way.
    if (cut && this.opened) this.showCut(cut);
  }

  showCut(cut) {
    const { bytes, bitrate, frame, isPicture, decoding } = cut;
    this.isBusy = false;
    const { width = 0, height = 0 } = this.size ?? {};
    const count = bytes?.toLocaleString('en');
    if (frame === undefined) {
      const rate = isPicture ? `${((8 * bytes) / (width * height)).toFixed(3)} bits a pixel, decoded in ${decoding.toFixed(0)} ms` : 'no picture yet';
      this.facts.value = `${count} of ${this.opened.bytes.toLocaleString('en')} bytes: ${rate}`;
    } else if (isPicture) {
      this.facts.value = `${bitrate ? `${(bitrate / 1e3).toFixed(0)} kbit/s` : 'whole'}: frame ${frame}, ${count} bytes`;
    }
    this.slider.setAttribute('aria-valuetext', this.facts.value);
    // The slider follows a cut that something else made.
    if (!this.isSliding) this.slider.value = 1000 * (this.opened.isVideo ? this.part(bitrate) : Math.log(bytes || 1) / Math.log(this.opened.bytes));
    this.emit('cut', cut);
    if (this.wanted !== undefined) this.cut(this.wanted);
  }

  // Cuts a picture after `value` bytes, or plays a video at that bit rate, 0 for all of it.
  cut(value) {
    const number = Number(value);
    if (Number.isNaN(number)) throw new TypeError('cut needs a number');
    // While a file is opened or one cut is decoded, only the newest other one waits.
    this.wanted = !this.opened || (this.isBusy && !this.opened.isVideo) ? number : undefined;
    if (this.wanted !== undefined) return;
    this.isBusy = true;
    const { isVideo, bytes } = this.opened;
    this.value = Math.round(Math.min(Math.max(number, 0), isVideo ? HIGHEST_BITRATE : bytes));
    this.screen.postMessage(isVideo ? { play: this.value } : { cut: this.value });
  }

  // The slider is logarithmic, because the first bytes improve the picture the most.
  slide() {
    this.isSliding = true;
    const part = this.slider.value / 1000;
    if (!this.opened.isVideo) return this.cut(Math.round(Math.exp(part * Math.log(this.opened.bytes))));
    this.cut(part === 1 ? 0 : Math.round(SLOWEST * Math.exp(part * Math.log(FASTEST / SLOWEST))));
  }

  // Returns the place of a bit rate on the slider, 0..1.
  part(bitrate) {
    return bitrate ? Math.log(bitrate / SLOWEST) / Math.log(FASTEST / SLOWEST) : 1;
  }

  step(by) {
    if (!this.opened) return;
    const step = this.opened.isVideo ? by * 10_000 : by;
    this.cut((this.wanted ?? this.value) + step);
  }
}

customElements.define('nestcast-player', NestcastPlayer);
customElements.define('nestcast-file', NestcastFile);

export { NestcastFile, NestcastPlayer };
