//! Numbers that both ends agree on (spec, "Limits").

use std::time::Duration;

/// Names the family of all session versions in the TLS handshake (spec, "Connection"). It does not change with the
/// version.
pub const SESSION_ALPN: &[u8] = b"nestcast/1";
/// The most bytes of a control message's body: a token, and many times the rest.
pub const MAX_MESSAGE: usize = 2048;
/// The most bytes of a token: a signed one with a few claims has 400.
pub const MAX_TOKEN: usize = 1024;
/// The most bytes of a broadcast's name.
pub(crate) const MAX_BROADCAST_NAME: usize = 64;
/// The most pixels of a picture in each direction, as in the codec (bitstream.md, "Limits and errors").
pub(crate) const MAX_SIDE: u32 = 16384;
/// The most bytes of a frame's whole stream. At 30 frames a second this is 4 Gbit/s.
pub const MAX_FRAME: u64 = 16 * 1024 * 1024;
/// The most bytes of a model package on the wire: 12 MiB of files, and their names.
pub const MAX_MODEL: u64 = 13 * 1024 * 1024;
/// The least time between answered requests for a random-access frame: each costs the encoder a picture and the
/// receiver the waiting frames.
pub(crate) const MIN_RANDOM_ACCESS_INTERVAL: Duration = Duration::from_millis(500);
/// How long a receiver waits before it asks again: twice that, so that none of its requests is ignored.
pub(crate) const RANDOM_ACCESS_REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// How often a sender says that a complete picture stays: well within the time after which receivers give up a silent
/// sender.
pub(crate) const STAYS_EVERY: Duration = Duration::from_secs(10);
/// The most pictures that a receiver holds before it shows them: those that come while a base layer is missing, half a
/// second at 30 frames a second. After an outage more come, and the receiver drops the oldest.
pub const MAX_OPEN_FRAMES: usize = 16;
/// The most frames of video that a receiver holds before it shows them. Every later frame needs each of them, and a
/// base layer that was lost when a link fell to a tenth takes 0.6 s to come again. This is a second at 30 frames a
/// second.
pub const MAX_OPEN_VIDEO_FRAMES: usize = 32;
/// The unidirectional streams that a receiver allows at once. While a path is down, each frame's base layer is sent on
/// its own stream, and none of them ends before the path works again. Sound may have 24 of them.
///
/// A receiver allows more streams each time that an eighth is used, and the packet that says so brings an
/// acknowledgement at once. With 96 streams these come too seldom for the delay controller, which then uses less of slow
/// links (`tests/network.rs`).
pub const MAX_STREAMS: u32 = 64;
/// The most bytes of a base layer that is sent again: many times its usual size.
pub(crate) const MAX_BASE_AGAIN: usize = 64 * 1024;
/// The most bytes of a packet of sound: one frame of Opus, and its first byte (RFC 6716, section 3.2.1).
pub const MAX_SOUND_PACKET: usize = 1276;
/// The most pieces of a stream with parity, and the most bytes of their blocks: a packet's.
pub(crate) const MAX_PIECES: u64 = 16;
pub(crate) const MAX_PARITY_BLOCK: u64 = 4096;
/// The most bytes of a stream's head: its kind and six integers, or a package's hash and length.
pub const MAX_HEAD_BYTES: usize = 64;
