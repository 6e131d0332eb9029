// The workers of a viewer. The page starts this file once as "network", which moves bytes between WebTransport and the
// session, and once as "screen", which decodes and draws. So decoding never delays the network. For a file, it starts
// "screen" alone. For large video, the screen starts this file as "residuals", which decodes a part of each frame. The
// WebAssembly module decides what to do; `web/src/exports.rs` describes its functions.

import * as painters from './painter.js';
import * as relays from './relay.js';
import { Residuals, ResidualWorker } from './residuals.js';

const [NOTHING, FAILED, SAY, WELCOME, STOP, CLOSE, PICTURE, WANTS_PHOTO, WANTS_VIDEO, SOUND, START, SETUP, REQUEST, WRITE, LEAVE, CATALOG, UNUSABLE, WANTS_RESIDUALS] =
  Array(18).keys();
// Samples of a packet of sound, at 48 kHz.
const [PACKET_SAMPLES, SAMPLE_RATE] = [960, 48_000];
// Pixels of a frame of video: two workers take less time than one for as many and more. Copies and messages take one or
// two milliseconds.
const LEAST_SHARED_PIXELS = 500_000;
// Milliseconds: for an attempt to connect, between two attempts (least and most), and for a connection to count as
// steady.
const [ATTEMPT_MS, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, STEADY_MS, STATS_MS] = [10_000, 250, 5_000, 5_000, 1_000];
// A sender waits 3 s for the first message. A connection that waited longer than this for the module is replaced.
const SILENT_MS = 2_000;
// Messages with mail that the screen may have at a time, alone and with another worker. That one begins with the next
// frame before the screen has ended this one.
const [MAILS_ALONE, MAILS_SHARED] = [1, 2];
// Pauses are longer by up to this share, so that viewers that lost their sender together do not reconnect together.
const JITTER = 0.5;

// Returns milliseconds since 1970, by a clock that never jumps.
const clock = () => performance.timeOrigin + performance.now();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Module {
  constructor(module) {
    this.x = new WebAssembly.Instance(module).exports;
  }

  put(bytes) {
    const at = this.x.input(bytes.length);
    new Uint8Array(this.x.memory.buffer, at, bytes.length).set(bytes);
  }

  output() {
    return new Uint8Array(this.x.memory.buffer, this.x.output(), this.x.output_length()).slice();
  }

  // Returns the bytes of its memory, which never shrinks.
  size() {
    return this.x.memory.buffer.byteLength;
  }

  text() {
    return new TextDecoder().decode(this.output());
  }

  numbers() {
    return new Float64Array(this.x.memory.buffer, this.x.numbers(), 16).slice();
  }
}

// One WebTransport session, and nestcast's session on it.
class Connection {
  constructor(viewer, options) {
    Object.assign(this, { viewer, options, readers: new Map(), isOpen: false, playedFrom: 0 });
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  get x() {
    return this.viewer.wasm.x;
  }

  // Runs to the end. Returns why it ended: { code, why, retry }; null if the module came so late that nobody waits for it.
  async run() {
    let place;
    try {
      place = relays.placeOf(this.options.src);
      this.transport = new WebTransport(place.href, relays.options(this.options.fingerprint));
    } catch (error) {
      return { code: 'link', why: error.message, retry: false };
    }
    const lost = { code: 'lost', why: 'the connection broke', retry: true };
    // The module knows the meaning of the sender's codes.
    this.transport.closed.then((info) => this.viewer.loaded.then(() => this.end(this.closed(info))), () => this.end(lost));
    const late = sleep(ATTEMPT_MS).then(() => Promise.reject(new Error('no answer')));
    const began = clock();
    try {
      await Promise.race([this.transport.ready, late]);
      // The handshake of QUIC needs one round trip, and the request for a session needs another.
      this.viewer.rtt = (clock() - began) / 2;
      const waitsFrom = clock();
      await this.viewer.loaded;
      if (clock() - waitsFrom > SILENT_MS || this.viewer.connection !== this) {
        this.transport.close();
        return null;
      }
      if (relays.isRelay(this.transport)) this.subscribe(place.name);
      else if (place.isRelay) this.end({ code: relays.problem(this.transport), why: 'another protocol', retry: false });
      else await this.greet(place.word);
      this.drive();
    } catch (error) {
      this.transport.close();
      return { code: place.isRelay ? 'relay' : 'unreachable', why: error.message, retry: true };
    }
    const end = await this.ended;
    if (this.isOpen) {
      // The screen still shows what arrived before the end.
      this.x.network_closed();
      this.drive();
      this.isOpen = false;
      clearTimeout(this.timer);
    }
    this.transport.close();
    return end;
  }

  // Begins a session with a sender.
  async greet(name) {
    const { token, maxBitrate, start } = this.options;
    const control = await this.transport.createBidirectionalStream();
    this.writer = control.writable.getWriter();
    this.viewer.wasm.put(new TextEncoder().encode(name));
    this.x.network_broadcast();
    this.x.network_start(...start);
    this.open(token, maxBitrate);
    this.pull(control.readable.getReader(), () => {
      // For browsers that do not report the round trip: the answer to the Hello took one too, and the sender's work.
      this.viewer.rtt = Math.min(this.viewer.rtt, clock() - this.helloAt);
      this.x.network_rtt(this.viewer.rtt);
      this.x.network_control();
    }).catch(() => {});
  }

  // Begins to read a broadcast at a relay, where nobody can begin elsewhere.
  subscribe(name) {
    const { start, asked } = this.options;
    if (start[0] !== 0) postMessage({ start: [0, 0], asked });
    this.requests = new relays.Requests(this);
    this.x.network_start(0, 0);
    this.open(new Uint8Array(), 0);
    this.viewer.wasm.put(new TextEncoder().encode(`${this.transport.protocol}\0${name}`));
    this.x.relay_open();
    this.x.network_rtt(this.viewer.rtt);
    this.accept().catch(() => {});
  }

  open(token, maxBitrate) {
    this.viewer.wasm.put(token);
    this.x.network_open(clock(), maxBitrate);
    this.x.network_sound(clock(), this.viewer.wantsSound ? 1 : 0);
    [this.isOpen, this.helloAt] = [true, clock()];
  }

  // Returns the meaning of the sender's close.
  closed({ closeCode, reason }) {
    if (this.requests) return relays.closed({ closeCode, reason });
    this.x.close_code(closeCode);
    return { code: closeCode, why: this.viewer.wasm.text(), reason, retry: this.viewer.wasm.numbers()[0] === 1 };
  }

  leave() {
    this.isOpen = false;
    clearTimeout(this.timer);
    this.transport?.close({ closeCode: 0, reason: 'the receiver leaves' });
  }

  // Reads a stream to its end. The bytes are in the module; `take` hands them to the session.
  async pull(reader, take) {
    for (;;) {
      const { value, done } = await reader.read();
      if (done || !this.isOpen) return;
      try {
        this.viewer.wasm.put(value);
        take();
        this.drive();
      } catch (error) {
        // The module broke. Nothing here can continue, so the page gets the error.
        reportError(error);
      }
    }
  }

  async accept() {
    const incoming = this.transport.incomingUnidirectionalStreams.getReader();
    for (;;) {
      const { value, done } = await incoming.read();
      if (done || !this.isOpen) return;
      const [stream, reader] = [this.x.network_opened(), value.getReader()];
      this.readers.set(stream, reader);
      const end = (isWhole) => {
        this.readers.delete(stream);
        if (!this.isOpen) return;
        this.x.network_end(clock(), stream, isWhole);
        this.drive();
      };
      this.pull(reader, () => this.x.network_bytes(clock(), stream)).then(() => end(1), () => end(0));
    }
  }

  // Handles the screen's answer: it has processed the mail, can (1) or cannot (0) show what was announced, and perhaps
  // could not decode a frame.
  answer({ readiness, undecoded }) {
    if (!this.isOpen) return;
    this.x.network_undecoded(undecoded);
    if (readiness < 2) {
      this.x.network_answer(clock(), readiness);
      this.playedFrom = clock();
      if (!this.requests) this.accept().catch(() => {});
    }
    this.drive();
  }

  // Does everything that the session asks for.
  drive() {
    if (!this.isOpen) return;
    const { wasm } = this.viewer;
    for (let step; (step = this.x.network_poll(clock())) !== NOTHING; ) {
      if (step === SAY) this.writer.write(wasm.output()).then(() => this.isOpen && this.x.network_said(), () => {});
      if (step === WELCOME) {
        this.ahead = wasm.numbers()[0];
        postMessage({ welcomed: this.number });
      }
      if (step === SOUND) postMessage({ sound: { channels: wasm.numbers()[0] } });
      if (step === START) postMessage({ start: [...wasm.numbers().slice(0, 2)], asked: this.options.asked });
      if (step === STOP) this.readers.get(wasm.numbers()[0])?.cancel().catch(() => {});
      if (step === CLOSE) {
        const [code, retry] = wasm.numbers();
        const why = wasm.text();
        this.end({ code, why, retry: retry === 1 });
        this.transport.close(this.requests ? {} : { closeCode: code, reason: why });
      }
      if (step >= SETUP) this.ask(step);
    }
    this.viewer.sendMail(this);
    clearTimeout(this.timer);
    const due = this.x.network_due();
    if (due < Infinity) this.timer = setTimeout(() => this.drive(), Math.max(0, due - clock()));
  }

  // Does what the session asks for at a relay.
  ask(step) {
    const { wasm } = this.viewer;
    const [number] = wasm.numbers();
    if (step === SETUP) this.requests.setup(wasm.output()).catch(() => {});
    if (step === REQUEST) this.requests.open(number, wasm.output());
    if (step === WRITE) this.requests.write(number, wasm.output());
    if (step === LEAVE) this.requests.leave(number);
    const isUnusable = step === UNUSABLE || (step === CATALOG && relays.takeCatalog(wasm, wasm.output(), clock(), this.viewer.rtt) === UNUSABLE);
    if (!isUnusable) return;
    const retry = wasm.numbers()[0] === 1;
    // The relay had a broadcast that played, so that has ended.
    const code = !retry ? 'unusable' : this.playedFrom ? 'over' : 'absent';
    this.end({ code, why: wasm.text(), retry });
  }
}

class Network {
  constructor({ port }) {
    Object.assign(this, { port, copies: null, mails: 0, answered: 0, connections: 0, bytes: 0, rtt: null });
    this.loaded = new Promise((resolve) => (this.load = resolve));
    port.onmessage = ({ data }) => {
      // From now on another worker gets a copy of the mail, or none does.
      if (data.copies !== undefined) return (this.copies = data.copies);
      this.answered++;
      if (this.connection?.number === data.connection) this.connection.answer(data);
      // Its mail had to wait for that of the connection before.
      else this.connection?.drive();
    };
    setInterval(() => this.report(), STATS_MS);
  }

  // A connection begins before the module is loaded, and needs it once the sender has answered.
  handle({ module, watch, leave, sound }) {
    if (module) this.load((this.wasm = new Module(module)));
    if (sound !== undefined) this.setSound(sound);
    if (watch) this.watch(watch);
    if (leave) this.leave();
  }

  // Asks for sound from now on, or for no more of it.
  setSound(wanted) {
    this.wantsSound = wanted;
    this.wasm?.x.network_sound(clock(), wanted ? 1 : 0);
    this.connection?.drive();
  }

  leave() {
    this.connection?.leave();
    this.connection = null;
  }

  // Connects, and reconnects whenever that may help.
  async watch(options) {
    this.leave();
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const connection = (this.connection = new Connection(this, options));
      connection.number = ++this.connections;
      postMessage({ state: 'connecting' });
      const end = await connection.run();
      if (this.connection !== connection) return;
      if (!end) continue;
      const played = connection.playedFrom && clock() - connection.playedFrom;
      if (played > STEADY_MS) pause = FIRST_PAUSE_MS;
      // A stored video goes on where it broke.
      if (options.start[0] === 1) options.start[1] += played;
      postMessage({ state: end.retry ? 'waiting' : 'ended', ...end });
      if (!end.retry) return;
      await sleep(pause * (1 + JITTER * Math.random()));
      if (this.connection !== connection) return;
    }
  }

  // Hands over the mail that waits, unless the screen is still busy with the mail before.
  sendMail({ number: connection, ahead }) {
    const most = this.copies ? MAILS_SHARED : MAILS_ALONE;
    if (this.mails - this.answered >= most || this.wasm.x.network_mail() === 0) return;
    const [mail, number] = [this.wasm.output(), ++this.mails];
    this.copies?.postMessage({ mail, number });
    this.port.postMessage({ mail, number, isShared: this.copies !== null, ahead, connection }, [mail.buffer]);
  }

  async report() {
    if (!this.connection?.isOpen) return;
    const stats = await this.connection.transport.getStats?.().catch(() => null);
    if (stats?.smoothedRtt > 0) this.wasm.x.network_rtt((this.rtt = stats.smoothedRtt));
    this.wasm.x.network_stats();
    const [frames, missing, bytes, , replaced] = this.wasm.numbers();
    const bitrate = Math.max(0, bytes - this.bytes) * 8;
    this.bytes = bytes;
    const networkMemory = this.wasm.size();
    postMessage({ network: { frames, missing, bytes, bitrate, replaced, roundTrip: this.rtt, networkMemory } });
  }
}

class Screen {
  constructor({ canvas, renderer, checks, port }) {
    const idle = Promise.resolve();
    Object.assign(this, { canvas, checks, port, ahead: 0, decoding: 0, drawn: 0, playing: 0, opening: idle, reading: idle });
    this.loaded = new Promise((resolve) => (this.load = resolve));
    // A broadcast needs them as soon as the sender has answered. Making the painter stops this worker for a while.
    if (port) this.tables = { [WANTS_VIDEO]: fetchTables(WANTS_VIDEO) };
    this.painter = painters.of(canvas, renderer);
  }

  // Begins once the module is there. The painter did not wait for it.
  begin(module) {
    this.module = module;
    this.wasm = new Module(module);
    this.x = this.painter.exports = this.wasm.x;
    this.load();
    const { port } = this;
    if (!port) return;
    const read = (data) => this.mail(data).catch((error) => this.fail(error.message));
    port.onmessage = ({ data }) => (this.reading = this.reading.then(() => read(data)));
    setInterval(() => this.report(), STATS_MS);
  }

  fail(why, file) {
    postMessage({ state: 'failed', code: 'failed', why, file });
  }

  // A file that is refused leaves this worker usable. A trap does not.
  failFile(error, file) {
    this.fail(error.message, error instanceof WebAssembly.RuntimeError ? undefined : file);
  }

  // Counts from the next connection on. The module ignores what it does not know.
  setLatency(latency) {
    this.wasm.put(new TextEncoder().encode(latency));
    this.x.screen_latency();
  }

  // Calls `first`, which may lack tables, and `again` after they are loaded. Throws if the module refuses the input.
  async withTables(first, again) {
    let result = first();
    while (result === WANTS_PHOTO || result === WANTS_VIDEO) {
      this.wasm.put(await this.tablesOf(result));
      if (this.x.load_tables(result === WANTS_VIDEO ? 1 : 0) === FAILED) throw new Error(this.wasm.text());
      result = again();
    }
    if (result === FAILED) throw new Error(this.wasm.text());
    return result;
  }

  // Loads tables once. Those that cannot be loaded are tried again for the next file.
  tablesOf(kind) {
    const tables = (this.tables ??= {});
    return (tables[kind] ??= fetchTables(kind).catch((error) => {
      delete tables[kind];
      throw error;
    }));
  }

  async mail({ mail, number, isShared, ahead, connection }) {
    this.ahead = ahead;
    await this.showFirst();
    // The module does not have this mail yet. If time went on there now, its frame would seem to be missing.
    clearTimeout(this.timer);
    await this.letDraw();
    const open = () => {
      this.wasm.put(mail);
      return this.x.screen_mail(clock(), isShared ? 1 : 0);
    };
    const resume = () => this.x.screen_resume(clock());
    [this.workers, this.decoding] = [1, 0];
    for (let first = open; ; first = resume) {
      this.drawn = 0;
      const began = performance.now();
      const isPredicted = (await this.withTables(first, resume)) === WANTS_RESIDUALS;
      this.setTimer();
      if (isPredicted && (await this.complete(number))) this.workers = 2;
      // Sound takes no time.
      this.decoding = Math.max(this.decoding, performance.now() - began - this.drawn);
      // From a connection's first mail on, pictures are its own.
      this.connection = connection;
      if (!this.x.screen_has_mail()) break;
      // The module takes the frame for ready at its next call, so that comes before other tasks.
      this.present(this.x.screen_time(clock()));
      await this.showFirst();
      await this.letDraw();
    }
    this.playSound();
    this.present(this.x.screen_time(clock()));
    this.port.postMessage({ connection, readiness: this.x.screen_readiness(), undecoded: this.x.screen_undecoded() });
  }

  // Completes the predicted frame with what the other worker made of it, and returns whether that was of use. If not, the
  // module decodes it all.
  async complete(mail) {
    const [frame] = this.wasm.numbers();
    const worker = this.residuals;
    const residuals = await worker?.take(mail, frame);
    await this.letDraw();
    if (residuals) {
      const { buffer, bytes } = residuals;
      const at = this.x.screen_residuals(bytes);
      new Uint8Array(this.x.memory.buffer, at, bytes).set(new Uint8Array(buffer, 0, bytes));
      worker.giveBack(residuals);
    }
    return this.x.screen_complete(residuals ? 1 : 0) === 1;
  }

  // Shares large video with another worker from its first picture on, and nothing else. The worker itself learns of other
  // sizes.
  async share(width, height, format) {
    const isLarge = width * height >= LEAST_SHARED_PIXELS && navigator.hardwareConcurrency > 1;
    const isShared = this.port && format >= painters.LIMITED && isLarge;
    if (isShared === this.isShared) return;
    this.isShared = isShared;
    this.residuals?.end();
    if (!isShared) return;
    const tables = await this.tables[WANTS_VIDEO];
    if (this.isShared) this.residuals = new Residuals(this.module, tables, [width, height], this.port);
  }

  // Decodes the sound that is due soon, and hands it to the page. The page hears nothing where a packet is missing.
  playSound() {
    if (this.isResting()) return;
    while (this.x.screen_sound(clock()) === SOUND) {
      const [samples, at] = this.wasm.numbers();
      const data = this.wasm.output();
      if (data.length === 0) continue;
      this.audio ??= this.audioDecoder();
      this.dueSound.push({ samples, at });
      this.audio.decode(new EncodedAudioChunk({ type: 'key', timestamp: Math.round(at * 1e3), data }));
    }
    clearTimeout(this.soundTimer);
    const due = this.x.screen_sound_due();
    if (due < Infinity) this.soundTimer = setTimeout(() => this.playSound(), Math.max(1, due - clock()));
  }

  audioDecoder() {
    this.dueSound = [];
    const output = (audio) => {
      const due = this.dueSound.shift();
      const channels = Array.from({ length: audio.numberOfChannels }, (_, planeIndex) => {
        const samples = new Float32Array(audio.numberOfFrames);
        audio.copyTo(samples, { planeIndex, format: 'f32-planar' });
        return samples;
      });
      audio.close();
      if (due) postMessage({ heard: { ...due, rate: PACKET_SAMPLES / due.samples, channels } }, channels.map(({ buffer }) => buffer));
    };
    // A packet that is none ends a decoder; the next packet gets another.
    const decoder = new AudioDecoder({ output, error: () => (this.audio = null) });
    decoder.configure({ codec: 'opus', sampleRate: SAMPLE_RATE, numberOfChannels: 2 });
    return decoder;
  }

  // Shows the frame before, if its moment comes while the next one is decoded.
  async showFirst() {
    const wait = this.x.screen_next_frame() - clock();
    if (wait < 0 || wait >= this.decoding) return;
    await sleep(wait);
    this.present(this.x.screen_time(clock()));
  }

  // Lets other tasks come between two pieces of work, if a picture waits for the display's next frame. One mail at a time is read, so
  // this waits once at a time. Notes how long that took.
  async letDraw() {
    if (!this.drawing) return;
    const began = performance.now();
    const { port1, port2 } = (this.turns ??= new MessageChannel());
    await new Promise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(null);
    });
    this.drawn += performance.now() - began;
  }

  // Returns whether the last picture stays, because the connection that it came by was paused.
  isResting() {
    return this.connection !== undefined && this.rested === this.connection;
  }

  // Draws the module's picture with the display's next frame.
  present(result) {
    if (result === FAILED) return this.fail(this.wasm.text());
    if (this.isResting()) return;
    if (result === PICTURE) {
      const numbers = this.wasm.numbers();
      const [id, isConcealed, captured, bytes, full, receiving] = numbers;
      if (id >= 0) {
        this.upload(numbers);
        const { decoding, workers, connection } = this;
        this.shown = { id, concealed: isConcealed === 1, captured, bytes, full, receiving, decoding, workers, connection };
        this.drawing ??= requestAnimationFrame(() => this.draw());
      }
    }
    this.setTimer();
  }

  // Waits for the moment at which the module has something to do.
  setTimer() {
    clearTimeout(this.timer);
    const due = this.x.screen_due();
    const time = () => this.present(this.x.screen_time(clock()));
    if (due < Infinity) this.timer = setTimeout(time, Math.max(0, due - clock()));
  }

  // Copies the picture from the module's memory, and tells the page its size.
  upload([, , , , , , , , address, width, height, format]) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      Object.assign(this.canvas, { width, height });
      postMessage({ size: { width, height } });
    }
    this.share(width, height, format);
    this.painter.upload(address, width, height, format);
  }

  draw() {
    this.drawing = null;
    this.painter.draw();
    const { captured, connection, ...frame } = this.shown;
    if (captured > 0) this.x.screen_shown((frame.latency = Math.max(0, clock() + this.ahead - captured)));
    if (this.checks) Object.assign(frame, { pixels: this.painter.pixels(), renderer: this.painter.renderer });
    postMessage({ frame, of: connection });
  }

  report() {
    this.x.screen_stats();
    const [shown, undecoded, concealed, repeated, corrupt, late, mean, unevenness, soundPackets, soundLost] = this.wasm.numbers();
    const screenMemory = this.wasm.size();
    // The module's mean is that of all pictures; a reader looks for that of the last second.
    const [before, sum] = [this.reported ?? { shown: 0, sum: 0, delay: 0 }, mean * shown];
    const delay = shown > before.shown ? Math.max(0, sum - before.sum) / (shown - before.shown) : before.delay;
    this.reported = { shown, sum, delay };
    postMessage({ screen: { shown, undecoded, concealed, repeated, corrupt, late, delay, unevenness, soundPackets, soundLost, screenMemory } });
  }

  async handle({ module, open, file, cut, play, rest, snapshot, latency }) {
    if (module) this.begin(module);
    await this.loaded;
    if (latency !== undefined) this.setLatency(latency);
    // Opens one file after another, because the first may wait for its tables.
    if (open) this.opening = this.opening.then(() => this.open(new Uint8Array(open), file)).catch((error) => this.failFile(error, file));
    try {
      if (cut !== undefined) this.cut(cut);
    } catch (error) {
      this.failFile(error, file);
    }
    if (play !== undefined) this.play(play).catch(({ message }) => this.fail(message));
    if (rest) {
      // Mail of this connection may still be read.
      this.rested = this.connection;
      [this.timer, this.soundTimer].forEach(clearTimeout);
    }
    if (snapshot) {
      this.painter.draw();
      postMessage({ snapshot: await this.canvas.convertToBlob({ type: 'image/png' }) });
    }
  }

  async open(bytes, file) {
    this.playing++;
    this.wasm.put(bytes);
    await this.withTables(() => this.x.file_open(), () => this.x.file_resume());
    const [frames, seconds] = this.wasm.numbers();
    this.interval = (1e3 * seconds) / frames;
    const opened = { file, opened: { bytes: bytes.length, isVideo: frames > 0, framesPerSecond: frames / seconds || 0 } };
    if (frames > 0) postMessage(opened);
    // Whether the bytes are a picture shows when they are decoded.
    else this.cut(bytes.length, opened);
  }

  // Shows the picture of a file that `call` decodes, and returns whether there is one. Throws if the module refuses the file.
  show(call, facts, more) {
    const began = performance.now();
    const result = call();
    const decoding = performance.now() - began;
    if (result === FAILED) throw new Error(this.wasm.text());
    const numbers = this.wasm.numbers();
    if (result === PICTURE) {
      this.upload(numbers);
      this.painter.draw();
    }
    const isPicture = result === PICTURE;
    const checked = this.checks && isPicture ? { pixels: this.painter.pixels(), renderer: this.painter.renderer } : {};
    // After a video's last frame there is nothing to say.
    if (isPicture || 'bytes' in facts) postMessage({ ...more, cut: { bytes: numbers[0], ...facts, isPicture, decoding, ...checked } });
    return isPicture;
  }

  cut(bytes, more) {
    this.show(() => this.x.file_cut(bytes), { bytes }, more);
  }

  // Plays a video in a loop at a bit rate, until the next call.
  async play(bitrate) {
    const playing = ++this.playing;
    while (playing === this.playing) {
      if (this.x.file_play(bitrate) === FAILED) throw new Error(this.wasm.text());
      const began = performance.now();
      for (let frame = 0; playing === this.playing && this.show(() => this.x.file_frame(), { frame, bitrate }); frame++)
        await sleep(Math.max(0, began + (frame + 1) * this.interval - performance.now()));
      if (this.checks) return;
      await sleep(this.interval);
    }
  }
}

// Loads the tables that the module wants, in its form: those of video one after the other. Tools that bundle a page find a file only
// where its whole name is written like this.
async function fetchTables(wanted) {
  const files = wanted === WANTS_PHOTO ? [new URL('./photo.bin', import.meta.url)]
    : [new URL('./key.bin', import.meta.url), new URL('./residual.bin', import.meta.url)];
  const parts = files.map(async (file) => {
    const response = await fetch(file);
    if (!response.ok) throw new Error(`${file.pathname.split('/').pop()} cannot be loaded: ${response.status}`);
    return response.arrayBuffer();
  });
  return new Uint8Array(await new Blob(await Promise.all(parts)).arrayBuffer());
}

let worker;
self.onmessage = ({ data }) => {
  if (data.start === 'network') worker = new Network(data);
  else if (data.start === 'screen') worker = new Screen(data);
  else if (data.start === 'residuals') worker = new ResidualWorker(new Module(data.module), data);
  else worker.handle(data);
};
