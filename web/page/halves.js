// Large video is decoded by two workers, each of which does about half of a frame: "halves" decodes the residuals of the
// frames in the screen's mail, while the screen predicts the same frames. A frame is ready earlier, and the next one
// can begin before it is.

const RESIDUALS = 18;
// A worker that takes longer for a frame was stopped by the browser.
const PATIENCE_MS = 3_000;

// The screen's end. `network` is the port to the worker that sends mail to the screen; as soon as the other worker is
// ready, it gets a copy. `tables` are those of video.
export class Residuals {
  constructor(module, tables, network) {
    const { port1, port2 } = new MessageChannel();
    Object.assign(this, { network, made: [], isReady: false, isLost: false, wake: () => {} });
    this.worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.worker.onmessage = ({ data }) => {
      if (data.isReady) this.begin(port1);
      else this.made.push(data);
      this.wake();
    };
    this.worker.onerror = () => this.lose();
    this.worker.postMessage({ start: 'halves', module, tables, port: port2 }, [port2]);
  }

  begin(port) {
    this.isReady = true;
    this.open(this.size);
    this.network.postMessage({ copies: port }, [port]);
  }

  // Frames have this width and height from now on.
  open(size) {
    this.size = size;
    if (this.isReady) this.worker.postMessage({ size });
  }

  // Without the worker, the screen decodes alone again.
  lose() {
    this.isLost = true;
    this.worker.terminate();
    this.network.postMessage({ copies: null });
    this.wake();
  }

  // Returns the residuals of a frame in this mail; undefined if the worker has none.
  async of(mail, frame) {
    for (;;) {
      while (this.made.length > 0) {
        const first = this.made[0];
        if (first.mail > mail) return undefined;
        if (first.mail === mail && first.isEnd) return undefined;
        this.made.shift();
        if (first.mail === mail && first.frame === frame) return first;
        this.reuse(first);
      }
      if (this.isLost) return undefined;
      const late = setTimeout(() => this.lose(), PATIENCE_MS);
      await new Promise((resolve) => (this.wake = resolve));
      clearTimeout(late);
    }
  }

  // Gives the memory of residuals back.
  reuse({ buffer }) {
    if (buffer && !this.isLost) this.worker.postMessage({ spare: buffer }, [buffer]);
  }
}

// The other worker.
export class Halves {
  constructor(wasm, { tables, port }) {
    Object.assign(this, { wasm, spares: [] });
    wasm.put(tables);
    wasm.x.load_tables(1);
    port.onmessage = ({ data }) => this.mail(data);
    postMessage({ isReady: true });
  }

  handle({ spare, size }) {
    if (spare) this.spares.push(spare);
    if (size) this.wasm.x.halves_open(...size);
  }

  mail({ mail, number }) {
    const { wasm } = this;
    wasm.put(mail);
    wasm.x.halves_mail();
    while (wasm.x.halves_next() === RESIDUALS) {
      const [frame, address, bytes] = wasm.numbers();
      const spare = this.spares.pop();
      const buffer = spare?.byteLength >= bytes ? spare : new ArrayBuffer(bytes);
      new Uint8Array(buffer).set(new Uint8Array(wasm.x.memory.buffer, address, bytes));
      postMessage({ mail: number, frame, bytes, buffer }, [buffer]);
    }
    postMessage({ mail: number, isEnd: true });
  }
}
