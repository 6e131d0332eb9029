/** What a viewer of a broadcast is doing. It is `idle` while it is not in a page or has no `src`. */
export type State = 'idle' | 'connecting' | 'playing' | 'waiting' | 'paused' | 'ended' | 'failed';

/** Sent as `state` whenever the state changes. */
export interface StateDetail {
  state: State;
  /**
   * The reason: a close code of `spec/session.md`, or a word such as `unreachable`, `expired`, `insecure`; for a relay also
   * `relay` (unreachable), `absent`, `over`, `unauthorized`, `version`, `protocols` (of the browser) and `unusable`.
   */
  code?: number | string;
  why?: string;
  /** The text that the element shows. */
  message: string;
}

/** Sent as `frame` for every picture that is drawn. */
export interface FrameDetail {
  /** The frame's number in the source. */
  id: number;
  /** Whether the frame did not arrive, and the picture extrapolates the one before. */
  concealed: boolean;
  /** Bytes of the frame that arrived, and all its bytes. */
  bytes: number;
  full: number;
  /** Milliseconds from capture to the canvas, by the sender's clock; absent for concealed frames. */
  latency?: number;
  /** Milliseconds from the frame's first byte to its last. */
  receiving: number;
  /** Milliseconds that decoding took. */
  decoding: number;
  /** Workers that decoded it: 2 for large video, where the device has more than one processor. */
  workers: number;
  /** With the attribute `checks`: the canvas, as red, green, blue and 255 for each pixel, and what drew it. */
  pixels?: Uint8Array;
  renderer?: 'webgl' | '2d';
}

/** Sent as `seek` when the sender has answered where it begins. */
export interface SeekDetail {
  /** As in `NestcastPlayer`. Both are 0 and null where the sender cannot begin elsewhere. */
  lag: number | null;
  position: number | null;
}

/** Sent as `statistics` once a second. Counts include all connections so far. */
export interface Statistics {
  /** Bits per second received in the last second. */
  bitrate: number;
  /** Bytes of frames received. */
  bytes: number;
  /** Frames that arrived in time, frames whose base never arrived, and frames dropped because decoding was late. */
  frames: number;
  missing: number;
  replaced: number;
  /** Milliseconds; if the browser does not report them, those measured when the viewer connected. */
  roundTrip: number | null;
  /** Pictures that were shown, left out, concealed, repeated and broken. */
  shown: number;
  undecoded: number;
  concealed: number;
  repeated: number;
  corrupt: number;
  /** Pictures that were ready only after the moment at which they were to be shown. */
  late: number;
  /** Milliseconds that a picture waited for its moment, on average over the pictures of the last second. */
  delay: number;
  /**
   * Milliseconds that the unevenness of 95 % of the pictures does not exceed: the difference between the interval in
   * which two of them were shown and the interval in which they were captured. Infinity above 100.
   */
  unevenness: number;
  /** Packets of sound that were due, that never came, and that were handed to the device. */
  soundPackets: number;
  soundLost: number;
  soundHeard?: number;
  /** Bytes of memory of the WebAssembly modules of network and screen, which never shrinks. */
  networkMemory: number;
  screenMemory: number;
  /** Of the last frame: milliseconds from capture to the canvas, and for decoding; bytes that arrived, and all its bytes. */
  latency: number;
  decoding: number;
  frameBytes: number;
  frameFull: number;
}

/**
 * Shows a live broadcast. Attributes:
 *
 * - `src`: the sender, `https://HOST:PORT/`, and the name of the broadcast if it has one; or a broadcast at a relay,
 *   `moq://HOST:PORT/PATH` or `https://HOST:PORT/PATH`
 * - `fingerprint`: the SHA-256 of its certificate, 64 hexadecimal digits; without it, an authority must vouch for it
 * - `token`: the secret that admits this viewer to a sender; that for a relay is part of `src`
 * - `max-bitrate`: the most bits per second of a sender, 0 for no limit
 * - `latency`: `smooth` delays pictures by as little as keeps them even, `min` not at all, a number by so many milliseconds
 * - `rewind`: shows the controls to go back, for a sender with `--rewind` or of a stored video
 * - `expires`: seconds since 1970; after this time the link is invalid
 * - `from-link`: reads all of these from the fragment of the page's address. If the sender serves the page and the link
 *   has a fingerprint, the viewer plays again once a sender that ended its broadcast begins anew
 * - `muted`: without it, sound begins at once where the browser allows it; else it begins with the button or the key `m`
 * - `renderer`: `2d` for a 2D canvas, `webgl` for WebGL2; without it WebGL2 if a graphics card draws it
 * - `label`: what a screen reader calls the picture
 * - `checks`: each `frame` event has the pixels of the canvas, and what drew it
 */
export class NestcastPlayer extends HTMLElement {
  readonly state: State;
  readonly statisticsNow: Partial<Statistics>;
  /** Whether sound is off. Browsers let a page turn it on only after its user did something there. */
  muted: boolean;
  /** Connects, and reconnects by itself whenever the connection breaks. */
  play(): Promise<void>;
  /** Stops receiving until `play`; the last picture stays. */
  pause(): void;
  /**
   * Begins elsewhere: this many seconds after the beginning of a stored video, or, for a negative number, so long before
   * now. The sender begins about two seconds earlier, and at the nearest moment that it has; the event `seek` says where.
   */
  seek(seconds: number): Promise<void>;
  /** Goes where all others are. */
  live(): Promise<void>;
  /** Seconds after the beginning of a stored video, after `seek` to such a time; otherwise null. */
  readonly position: number | null;
  /** Seconds by which the pictures are later than those of all others; null where `position` is a number. */
  readonly lag: number | null;
  /** Returns a PNG of the picture. Fails before the first one. */
  snapshot(): Promise<Blob>;
  addEventListener<K extends keyof PlayerEvents>(
    type: K, listener: (this: NestcastPlayer, event: PlayerEvents[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener<K extends keyof HTMLElementEventMap>(
    type: K, listener: (this: NestcastPlayer, event: HTMLElementEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<K extends keyof PlayerEvents>(
    type: K, listener: (this: NestcastPlayer, event: PlayerEvents[K]) => unknown, options?: boolean | EventListenerOptions): void;
  removeEventListener<K extends keyof HTMLElementEventMap>(
    type: K, listener: (this: NestcastPlayer, event: HTMLElementEventMap[K]) => unknown, options?: boolean | EventListenerOptions): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | EventListenerOptions): void;
}

/** Sent as `opened`. */
export interface OpenedDetail {
  bytes: number;
  isVideo: boolean;
  /** 0 for a picture. */
  framesPerSecond: number;
}

/** Sent as `cut` for every picture that is drawn. */
export interface CutDetail {
  /** Bytes of the file, or of the frame, that were decoded. */
  bytes: number;
  /** Whether they are enough for a picture. */
  isPicture: boolean;
  /** Milliseconds. */
  decoding: number;
  /** For a video: the frame's number, and the bit rate, 0 for all bytes. */
  frame?: number;
  bitrate?: number;
  /** As in `FrameDetail`. */
  pixels?: Uint8Array;
  renderer?: 'webgl' | '2d';
}

/**
 * Shows a picture's stream or a stored video, cut where the reader wants. Attributes: `src`, `label`, `renderer` and
 * `checks`.
 * You can also drop a file on it. Sends `failed` with `{ why }` for a file that it cannot load or show.
 */
export class NestcastFile extends HTMLElement {
  /** Opens a file instead of the one before; `opened` or `failed` follows, unless another one is opened meanwhile. */
  open(file: Blob): Promise<void>;
  /**
   * Cuts a picture after this many bytes, or plays a video at this many bits per second, 0 for all of it. Numbers beyond
   * the ends count as the ends. Before a file is open, the cut waits for it.
   */
  cut(value: number): void;
  snapshot(): Promise<Blob>;
  addEventListener<K extends keyof FileEvents>(
    type: K, listener: (this: NestcastFile, event: FileEvents[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener<K extends keyof HTMLElementEventMap>(
    type: K, listener: (this: NestcastFile, event: HTMLElementEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<K extends keyof FileEvents>(
    type: K, listener: (this: NestcastFile, event: FileEvents[K]) => unknown, options?: boolean | EventListenerOptions): void;
  removeEventListener<K extends keyof HTMLElementEventMap>(
    type: K, listener: (this: NestcastFile, event: HTMLElementEventMap[K]) => unknown, options?: boolean | EventListenerOptions): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | EventListenerOptions): void;
}

/** The events of `NestcastPlayer`, by name. */
export interface PlayerEvents {
  state: CustomEvent<StateDetail>;
  frame: CustomEvent<FrameDetail>;
  seek: CustomEvent<SeekDetail>;
  statistics: CustomEvent<Statistics>;
}

/** The events of `NestcastFile`, by name. */
export interface FileEvents {
  opened: CustomEvent<OpenedDetail>;
  cut: CustomEvent<CutDetail>;
  failed: CustomEvent<{ why: string }>;
}

declare global {
  interface HTMLElementTagNameMap {
    'nestcast-player': NestcastPlayer;
    'nestcast-file': NestcastFile;
  }
}
