// Large video is decoded by two workers, each of which does about half of a frame: "halves" decodes the residuals of the
// frames in the screen's mail, while the screen predicts the same frames. A frame is ready earlier, and the next one
// can begin before it is.

const RESIDUALS = 18;
// Pixels of a frame from which on two workers take less time than one. Messages between them take about a millisecond.
const LEAST_PIXELS = 500_000;

export const areWorthwhile = (width, height) => width * height >= LEAST_PIXELS && navigator.hardwareConcurrency > 1;

// The screen's end. `network` is the port to the worker that sends mail to the screen; from now on it sends a copy to the
// other worker. `tables` are those of video.
export class Residuals {
  constructor(module, tables, [width, height], network) {
    const { port1, port2 } = new MessageChannel();
    Object.assign(this, { network, made: [], isLost: false, wake: () => {} });
    this.worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.worker.onmessage = ({ data }) => {
      if (data.isReady) network.postMessage({ copies: port1 }, [port1]);
      else this.made.push(data);
      this.wake();
    };
    this.worker.onerror = () => this.lose();
    this.worker.postMessage({ start: 'halves', module, tables, width, height, port: port2 }, [port2]);
  }

  // Begins with frames of another size.
  open(width, height) {
    this.worker.postMessage({ width, height });
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
      await new Promise((resolve) => (this.wake = resolve));
    }
  }

  // Gives the memory of residuals back.
  reuse({ buffer }) {
    if (buffer && !this.isLost) this.worker.postMessage({ spare: buffer }, [buffer]);
  }
}

// The other worker.
export class Halves {
  constructor(wasm, { tables, width, height, port }) {
    Object.assign(this, { wasm, spares: [] });
    wasm.put(tables);
    wasm.x.load_tables(1);
    wasm.x.halves_open(width, height);
    port.onmessage = ({ data }) => this.mail(data);
    postMessage({ isReady: true });
  }

  handle({ spare, width, height }) {
    if (spare) this.spares.push(spare);
    else this.wasm.x.halves_open(width, height);
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
