//! Numbers that both ends agree on, and the tuned ones with their reasons.

use std::time::Duration;

/// What both ends say in the TLS handshake (spec, "Connection").
pub const ALPN: &[u8] = b"nestcast/0";
/// The version of the session that this build speaks.
pub const VERSION: u64 = 9;

/// Most bytes of a control message's body: a token, and ten times what else there is.
pub const MAX_MESSAGE: usize = 1024;
/// Most bytes of a token.
pub const MAX_TOKEN: usize = 512;
/// Most pixels of a picture each way, as in the codec (bitstream.md, "Limits and errors").
pub(crate) const MAX_SIDE: u32 = 16384;
/// Most bytes of a frame's whole stream. At 30 frames a second this is 4 Gbit/s.
pub const MAX_FRAME: u64 = 16 * 1024 * 1024;
/// Most bytes of a model package on the wire: 12 MiB of files and their names.
pub const MAX_MODEL: u64 = 13 * 1024 * 1024;
/// Most frames of video whose bases one receiver may be owed, and over how long: what a viewer waits for rather than lose.
/// Beyond it a new picture of one frame is there sooner.
pub(crate) const MAX_OWED_FRAMES: usize = 64;
pub(crate) const MAX_OWED_TIME: Duration = Duration::from_secs(1);

/// How long a sender answers no second request for a join: each costs the encoder a picture, and the receiver the frames that wait.
pub(crate) const MIN_JOIN_INTERVAL: Duration = Duration::from_millis(500);
/// How long a receiver waits before it asks again: twice that, so that no request of its own is in vain.
pub(crate) const JOIN_REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// A sender says so often of a picture that stays and is whole that it does: well within the time after which receivers give
/// up a sender that says nothing.
pub(crate) const STAYS_EVERY: Duration = Duration::from_secs(10);

/// Most frames that a receiver holds before they are shown: those that came while a base is missing, half a second of them at 30 a
/// second. Behind an outage more come, and the oldest are given up.
pub const MAX_OPEN_FRAMES: usize = 16;

/// Unidirectional streams that a receiver grants at once: while a path is down, each frame's base is sent on one, and
/// none of them ends before the path carries again.
pub const MAX_STREAMS: u32 = 64;

/// Most bytes of a base that is sent again, many times what one has.
pub(crate) const MAX_BASE_AGAIN: usize = 64 * 1024;

/// Into how many pieces a stream is cut at most that has parity, and how long their blocks are: a packet's bytes.
pub(crate) const MAX_PIECES: u64 = 16;
pub(crate) const MAX_PARITY_BLOCK: u64 = 4096;
/// Most holes that are kept of a stream whose parity came: packets that one frame lost.
pub(crate) const MAX_HOLES: usize = 1024;

/// How long a receiver waits for a base that did not come while later ones did, if that is longer than two frames. A
/// path that falls to a tenth drops bases, and the sender learns of it from behind what stands in the queue.
pub(crate) const BASE_WAIT: Duration = Duration::from_millis(400);
/// It waits for no more frames than this, so that those which came meanwhile have room.
pub(crate) const BASE_WAIT_FRAMES: u32 = 12;
/// How long it waits for a base of video, which every later frame needs, if there is room for so many frames.
pub(crate) const BASE_WAIT_OF_VIDEO: Duration = Duration::from_secs(1);

/// How long data may wait in the network's queue, at most. Long enough for two packets at 1 Mbit/s, so that a slow link
/// stays busy; half of a frame interval at 30 frames a second, so that a frame does not wait for the one before.
pub const QUEUE_TARGET: Duration = Duration::from_millis(15);
/// A fast link stays busy with less: as many packets as are acknowledged together, and what the ends' clocks and
/// schedulers need. When its rate falls, what stands in the queue is what all later frames wait for.
pub(crate) const QUEUE_PACKETS: f64 = 4.0;
pub(crate) const QUEUE_LEAST: Duration = Duration::from_millis(5);
/// The same of the round trip: a rate is known to a few percent, and what that is of a long round trip must be there.
pub(crate) const QUEUE_OF_RTT: f64 = 1.0 / 16.0;
/// Bytes in flight before anything is known of a path: fewer than RFC 9002, section 7.2, allows, for a first frame that
/// does not wait behind what is too much; doubled in each round trip.
pub const INITIAL_WINDOW: u64 = 4_800;
/// Fewest bytes in flight, in packets: two make the peer acknowledge at once (RFC 9000, section 13.2.2).
pub(crate) const MIN_WINDOW_PACKETS: u64 = 2;
/// Most bytes in flight: 80 Mbit/s at 100 ms.
pub(crate) const MAX_WINDOW: u64 = 1024 * 1024;
/// How long a smallest round trip is believed, and where another flow's queue may hide the path.
pub(crate) const MIN_RTT_LIFE: Duration = Duration::from_secs(10);
pub(crate) const MIN_RTT_LIFE_BEHIND_QUEUE: Duration = Duration::from_secs(60);
/// How often the queue is drained to see the path without it, well within that life; costs a round trip's bytes at most.
pub(crate) const DRAIN_EVERY: Duration = Duration::from_secs(5);
/// How much less than the shortest round trip is in flight then, if that is not half of it: as long as a queue that was taken
/// for the path may be.
pub(crate) const DRAIN_DEPTH: Duration = Duration::from_millis(30);
/// How long that takes at least: flows that share a link begin within a round trip of each other.
pub(crate) const DRAIN_LEAST: Duration = Duration::from_millis(30);
/// The same while a queue stands that another flow may have made.
pub(crate) const DRAIN_SUSPECTED: Duration = Duration::from_millis(1000);
/// More loss than this, of so many packets or more, is taken for a full queue; less is the air's.
pub(crate) const LOSS_IS_CONGESTION: f64 = 0.08;
pub(crate) const LOSS_COUNTED: u64 = 100;
/// Over how long deliveries are counted to see that a rate fell, and how long that must last.
pub(crate) const FALL_SEEN: Duration = Duration::from_millis(25);
pub(crate) const FALL_CERTAIN: Duration = Duration::from_millis(4);
