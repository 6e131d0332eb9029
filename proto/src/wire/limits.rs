//! Numbers that both ends agree on (spec, "Limits").

use std::time::Duration;

/// Names the family of all session versions in the TLS handshake (spec, "Connection"). It stays when the version rises.
pub const ALPN: &[u8] = b"nestcast/1";
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
/// Most bytes that a stream's head takes: its kind and six integers, or a package's hash and length.
pub const MAX_HEAD_BYTES: usize = 64;
