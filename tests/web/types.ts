// Compiled, and never run: what pages do with the viewer's elements has the types that `player.d.ts` states.

import { NestcastFile, NestcastPlayer, type CutDetail, type State, type StateDetail } from './player.js';

const player = document.querySelector('nestcast-player')!;
const file: NestcastFile = document.createElement('nestcast-file');
const texts: string[] = [];
const numbers: (number | null | undefined)[] = [];

player.addEventListener('state', (event) => texts.push(event.detail.state, event.detail.message));
player.addEventListener('state', ({ detail: { code, why } }) => texts.push(`${code} ${why}`), { once: true });
player.addEventListener('frame', ({ detail }) => numbers.push(detail.id, detail.bytes, detail.latency));
player.addEventListener('seek', ({ detail }) => numbers.push(detail.lag, detail.position));
player.addEventListener('statistics', function ({ detail }) {
  numbers.push(detail.bitrate, this.statisticsNow.roundTrip);
});
// The element's other events keep their types, and names that nobody knows have none.
player.addEventListener('keydown', ({ key }) => texts.push(key));
player.addEventListener('of a page', (event: Event) => texts.push(event.type));
player.addEventListener('frame', { handleEvent: (event: Event) => texts.push(event.type) });
const heard = ({ detail }: CustomEvent<StateDetail>) => texts.push(detail.state);
player.addEventListener('state', heard);
player.removeEventListener('state', heard);

// `cut` is also the name of an event of the clipboard.
file.addEventListener('cut', ({ detail }) => numbers.push(detail.bytes, detail.decoding));
file.addEventListener('opened', ({ detail }) => texts.push(detail.isVideo ? 'a video' : 'a picture'));
file.addEventListener('failed', ({ detail: { why } }) => texts.push(why));
const cutHere = ({ detail }: CustomEvent<CutDetail>) => numbers.push(detail.frame);
file.addEventListener('cut', cutHere);
file.removeEventListener('cut', cutHere);

// @ts-expect-error A state has no pixels.
player.addEventListener('state', ({ detail }) => detail.pixels);
// @ts-expect-error It is read alone.
player.state = 'playing';

const state: State = player.state;
const made: NestcastPlayer = new NestcastPlayer();
const [played, snapshot]: [Promise<void>, Promise<Blob>] = [made.play(), made.snapshot()];
player.muted = !player.muted;
player.seek(-60).then(() => player.live());
file.open(new Blob()).then(() => file.cut(20_000));
export { numbers, played, snapshot, state, texts };
