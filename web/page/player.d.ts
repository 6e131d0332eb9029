/** What a viewer of a broadcast does now. */
export type State = 'idle' | 'connecting' | 'playing' | 'waiting' | 'paused' | 'ended' | 'failed';

/** Sent as `state` whenever the state changes. */
export interface StateDetail {
  state: State;
  /** Why: a close code of `spec/session.md`, or a word such as `unreachable`, `expired`, `insecure`. */
  code?: number | string;
  why?: string;
  /** What the viewer reads on the element. */
  message: string;
}

/** Sent as `frame` for every picture that is drawn. */
export interface FrameDetail {
  /** The frame's number in the source. */
  id: number;
  /** Whether the frame did not come, and the picture before it was moved on. */
  concealed: boolean;
  /** Bytes that came of it, and bytes that it has. */
  bytes: number;
  full: number;
  /** Milliseconds from capture to the canvas, by the sender's clock; none for concealed frames. */
  latency?: number;
  /** Milliseconds from its first byte to its last. */
  receiving: number;
  /** Milliseconds that decoding took. */
  decoding: number;
  /** With the attribute `checks`: the canvas, as red, green, blue and 255 for each pixel. */
  pixels?: Uint8Array;
}

/** Sent as `statistics` once a second. Counts are of all connections so far. */
export interface Statistics {
  /** Bits per second received in the last second. */
  bitrate: number;
  /** Bytes of frames received. */
  bytes: number;
  /** Frames that came in time, whose base never came, and that were dropped because decoding was late. */
  frames: number;
  missing: number;
  replaced: number;
  /** Milliseconds; where the browser does not tell, as they were when the viewer connected. */
  roundTrip: number | null;
  /** Pictures shown, left out, concealed, repeated and broken. */
  shown: number;
  undecoded: number;
  concealed: number;
  repeated: number;
  corrupt: number;
  /** Of the last frame: milliseconds from capture to the canvas and for decoding; bytes that came, and bytes that it has. */
  latency: number;
  decoding: number;
  frameBytes: number;
  frameFull: number;
}

/**
 * Shows a live broadcast. Attributes:
 *
 * - `src`: the sender, `https://HOST:PORT/…`
 * - `fingerprint`: the SHA-256 of its certificate, 64 hexadecimal digits; without it, an authority must vouch for the sender
 * - `token`: what lets this viewer in
 * - `max-bitrate`: bits per second at most, 0 for no limit
 * - `expires`: seconds since 1970 after which the link is not valid
 * - `from-link`: takes all of these from the fragment of the page's address
 * - `muted`: has no effect yet, because broadcasts have no sound
 * - `renderer`: `2d` for a 2D canvas in place of WebGL2
 * - `label`: what a screen reader calls the picture
 * - `checks`: each `frame` event has the pixels of the canvas
 */
export class NestcastPlayer extends HTMLElement {
  readonly state: State;
  readonly statisticsNow: Partial<Statistics>;
  /** Connects, and again by itself whenever the connection breaks. */
  play(): Promise<void>;
  /** Receives nothing until `play`; the last picture stays. */
  pause(): void;
  /** A PNG of the picture. */
  snapshot(): Promise<Blob>;
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
  /** Bytes of the file that were decoded, or of the frame. */
  bytes: number;
  /** Whether they are enough for a picture. */
  isPicture: boolean;
  /** Milliseconds. */
  decoding: number;
  /** Of a video: the frame's number, and the bit rate, 0 for all bytes. */
  frame?: number;
  bitrate?: number;
  /** As in `FrameDetail`. */
  pixels?: Uint8Array;
}

/**
 * Shows a picture's stream or a stored video, cut where the reader wants. Attributes: `src`, `label`, `renderer` and `checks`.
 * A file may also be dropped on it. Sends `failed` with `{ why }` for a file that it cannot show.
 */
export class NestcastFile extends HTMLElement {
  open(file: Blob): Promise<void>;
  /** Cuts a picture after this many bytes, or plays a video at this many bits per second, 0 for all of it. */
  cut(value: number): void;
  snapshot(): Promise<Blob>;
}

export interface PlayerEvents {
  state: CustomEvent<StateDetail>;
  frame: CustomEvent<FrameDetail>;
  statistics: CustomEvent<Statistics>;
}

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
