// Large video is decoded by two workers: "residuals" decodes the residuals of the frames in the screen's mail, while the
// screen predicts the same frames. Each does about half of a frame's work. So a frame is ready earlier, and the worker
// begins the next one before the screen has ended this one.

const RESIDUALS = 18;
// A worker that is silent for twice as long was stopped by the browser. Twice, because after the page was frozen the
// first of these times is over before any message can be read.
const PATIENCE_MS = 2_000;
// Frames whose residuals may wait for the screen, of about 9 bytes a pixel each.
const MOST_AHEAD = 2;

// The screen's end. `network` is the port to the worker that sends mail to the screen; as soon as the other worker is
// ready, that one gets a copy. `tables` are those of video.
export class Residuals {
  constructor(module, tables, size, network) {
    const { port1, port2 } = new MessageChannel();
    Object.assign(this, { network, arrived: [], isEnded: false, wake: () => {} });
    // Its own address, so that tools that bundle a page find no worker inside a worker.
    this.worker = new Worker(self.location.href, { type: 'module' });
    this.worker.onmessage = ({ data }) => {
      if (data.isReady) network.postMessage({ copies: port1 }, [port1]);
      else this.arrived.push(data);
      this.wake();
    };
    this.worker.onerror = () => this.end();
    this.worker.postMessage({ start: 'residuals', module, tables, size, port: port2 }, [port2]);
  }

  // Stops the worker. The screen decodes alone again.
  end() {
    if (this.isEnded) return;
    this.isEnded = true;
    this.worker.terminate();
    this.network.postMessage({ copies: null });
    this.arrived = [];
    this.wake();
  }

  // Returns the residuals of a frame in this mail; undefined if the worker has none.
  async take(mail, frame) {
    for (let isLate = false; !this.isEnded; ) {
      while (this.arrived.length > 0) {
        const first = this.arrived[0];
        if (first.mail > mail || (first.mail === mail && first.isLast)) return undefined;
        this.arrived.shift();
        if (first.mail === mail && first.frame === frame) return first;
        this.giveBack(first);
      }
      const patience = setTimeout(() => {
        if (isLate) this.end();
        isLate = true;
        this.wake();
      }, PATIENCE_MS);
      await new Promise((resolve) => (this.wake = resolve));
      clearTimeout(patience);
    }
    return undefined;
  }

  // Gives the memory of residuals back.
  giveBack({ buffer }) {
    if (buffer && !this.isEnded) this.worker.postMessage({ spare: buffer }, [buffer]);
  }
}

// The other worker.
export class ResidualWorker {
  constructor(wasm, { tables, size, port }) {
    Object.assign(this, { wasm, spares: [], ahead: 0, reading: Promise.resolve(), returned: () => {} });
    wasm.put(tables);
    wasm.x.load_tables(1);
    wasm.x.residual_open(...size);
    port.onmessage = ({ data }) => (this.reading = this.reading.then(() => this.mail(data)));
    postMessage({ isReady: true });
  }

  handle({ spare }) {
    this.ahead--;
    this.spares.push(spare);
    this.returned();
  }

  async mail({ mail, number }) {
    const { wasm } = this;
    wasm.put(mail);
    wasm.x.residual_mail();
    for (;;) {
      while (this.ahead >= MOST_AHEAD) await new Promise((resolve) => (this.returned = resolve));
      if (wasm.x.residual_next() !== RESIDUALS) break;
      const [frame, address, bytes] = wasm.numbers();
      const buffer = this.memory(bytes);
      new Uint8Array(buffer).set(new Uint8Array(wasm.x.memory.buffer, address, bytes));
      this.ahead++;
      postMessage({ mail: number, frame, bytes, buffer }, [buffer]);
    }
    postMessage({ mail: number, isLast: true });
  }

  // Returns memory that the screen gave back, or other memory if that is too small or much too large.
  memory(bytes) {
    const spare = this.spares.pop();
    return spare?.byteLength >= bytes && spare.byteLength <= 4 * bytes ? spare : new ArrayBuffer(bytes);
  }
}
