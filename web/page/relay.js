// What `worker.js` does for a broadcast at a relay of Media over QUIC, and not for one of a sender. The module speaks moq-lite, and
// decides what to read and where to stop; this file opens the streams and reads the catalog.

// The versions of moq-lite that the module speaks (`relayed/src/wire.rs`), the best one first. `player.js` names them in a message.
const VERSIONS = ['moq-lite-06', 'moq-lite-05'];
// Close codes of moq-lite.
const [UNAUTHORIZED, NO_VERSION] = [2, 21];

// Returns where `src` leads: the address to connect to, the broadcast's name there, and whether only a relay can have it. A sender's
// broadcast is one word, at the root. An `https` address of that form may also lead to a relay, and the connection says which it is.
// A relay gets the name as the address has it, as from `nestcast receive`; a sender gets the word that it stands for.
export function placeOf(src) {
  const address = src.trim();
  const place = new URL(address.replace(/^(moq|moqt|moql):/i, 'https:'));
  const path = place.pathname.replace(/^\/+|\/+$/g, '');
  const end = path.lastIndexOf('/');
  const name = path.slice(end + 1);
  const isRelay = end > 0 || !/^https:/i.test(address);
  if (isRelay && !name) throw new Error('the address names no broadcast');
  place.pathname = path.slice(0, Math.max(end, 0));
  return { href: place.href, name, word: isRelay ? '' : decodeURIComponent(name), isRelay };
}

// Returns the options of a connection that a sender and a relay accept: senders ignore the protocols.
export const options = (fingerprint) => ({
  protocols: VERSIONS,
  ...(fingerprint && { serverCertificateHashes: [{ algorithm: 'sha-256', value: fingerprint }] }),
});

// Returns whether the other end is a relay that speaks one of the versions.
export const isRelay = ({ protocol }) => VERSIONS.includes(protocol);

// Returns why a relay cannot be watched on this connection, as a word.
export const problem = (transport) => ('protocol' in transport ? 'version' : 'protocols');

// Returns the meaning of a relay's close.
export function closed({ closeCode, reason }) {
  const code = { [UNAUTHORIZED]: 'unauthorized', [NO_VERSION]: 'version' }[closeCode];
  return code ? { code, why: reason, retry: false } : { code: 'lost', why: reason || 'the connection broke', retry: true };
}

// The requests of a connection to a relay.
export class Requests {
  constructor(connection) {
    Object.assign(this, { connection, transport: connection.transport, writers: new Map() });
  }

  // Sends the relay's setup message on a stream of its own.
  async setup(bytes) {
    const writer = (await this.transport.createUnidirectionalStream()).getWriter();
    writer.write(bytes).catch(() => {});
    writer.close().catch(() => {});
  }

  // Opens a stream for a request, and says when the relay has ended it.
  open(number, bytes) {
    const opened = this.transport.createBidirectionalStream();
    const end = () => {
      if (!this.writers.delete(number) || !this.connection.isOpen) return;
      this.connection.x.relay_end(number);
      this.connection.drive();
    };
    // What the relay says there is also in the heads of its groups.
    const read = async ({ readable }) => {
      const reader = readable.getReader();
      while (!(await reader.read()).done);
    };
    this.writers.set(number, opened.then(({ writable }) => writable.getWriter()));
    this.write(number, bytes);
    opened.then(read).then(end, end);
  }

  write(number, bytes) {
    this.writers.get(number)?.then((writer) => writer.write(bytes)).catch(() => {});
  }

  leave(number) {
    this.writers.get(number)?.then((writer) => writer.close()).catch(() => {});
    this.writers.delete(number);
  }
}

// Returns the letters that base64 encodes, and none for text that is not base64: the module refuses a track that lacks them.
function decoded(base64) {
  try {
    return atob(base64);
  } catch {
    return '';
  }
}

// Passes a catalog to the module, track by track. Returns the module's reply.
export function takeCatalog(wasm, json, now, rtt) {
  let version = -1;
  try {
    const catalog = JSON.parse(new TextDecoder().decode(json));
    for (const { name, packaging, initData } of catalog.tracks) {
      const text = new TextEncoder().encode(`${name}\0${packaging}\0`);
      const data = Uint8Array.from(decoded(initData ?? ''), (letter) => letter.charCodeAt(0));
      wasm.put(new Uint8Array([...text, ...data]));
      wasm.x.relay_track();
    }
    version = Number.isInteger(catalog.version) ? catalog.version : -1;
  } catch {
    // The module says that it is damaged.
  }
  return wasm.x.relay_catalog(now, rtt, version);
}
