//! Sound in stored videos (spec, section 28).

/// The length of a capture time.
const TIME_BYTES: usize = 8;
/// The most bytes of a packet of sound.
pub(super) const MAX_PACKET: usize = 1276;

/// The body of a block of sound of a stored video: Opus at 48 kHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoundRecord<'a> {
    /// 1: mono. 2: stereo. Others are reserved.
    pub channels: u8,
    /// The capture time of the packet's first sample, in microseconds since 1970-01-01 UTC, and the packet of 20 ms;
    /// `None` in the block that says that a video has sound.
    pub packet: Option<(u64, &'a [u8])>,
}

impl<'a> SoundRecord<'a> {
    /// The most bytes of a body. A reader skips longer ones.
    pub const MAX_BYTES: usize = 1 + TIME_BYTES + MAX_PACKET;

    /// Reads a body; `None` if it is not that of sound.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let (&channels, rest) = body.split_first().filter(|(channels, _)| [1, 2].contains(*channels))?;
        let packet = rest.split_first_chunk().filter(|(_, packet)| !packet.is_empty() && packet.len() <= MAX_PACKET);
        let packet = packet.map(|(captured, packet)| (u64::from_le_bytes(*captured), packet));
        (packet.is_some() || rest.is_empty()).then_some(Self { channels, packet })
    }
}
