//! Checks of what a source gives, so that its author learns of a fault, and not its receivers.

use nestcast_proto::{BroadcastFrame, Close, Control, Frame, MAX_FRAME, Message, SourceError, VersionRange, Welcome};

/// Why receivers would not accept a frame.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum FrameFault {
    #[error("the source returned frame {id} after frame {last}: numbers of frames must rise")]
    Order { id: u64, last: u64 },
    #[error("the source says that {skipped} pictures before frame {id} are not sent: there are at most {id}")]
    Skipped { id: u64, skipped: u64 },
    #[error("the source returned frame {0} without bytes")]
    Empty(u64),
    #[error("the source returned frame {id} with {bytes} bytes: a frame has at most {MAX_FRAME}")]
    Long { id: u64, bytes: usize },
}

/// Checks the frames of a source, one after another.
#[derive(Debug, Default)]
pub(crate) struct FrameCheck {
    /// The number of the last frame.
    last: Option<u64>,
}

impl FrameCheck {
    /// Passes on what a source returned, but an error in place of a frame that receivers would not accept.
    pub(crate) fn pass(
        &mut self,
        next: Result<Option<BroadcastFrame>, SourceError>,
    ) -> Result<Option<BroadcastFrame>, SourceError> {
        let next = next?;
        if let Some(next) = &next {
            self.check_frame(next).map_err(SourceError::failed)?;
        }
        Ok(next)
    }

    fn check_frame(&mut self, BroadcastFrame { frame, renditions, .. }: &BroadcastFrame) -> Result<(), FrameFault> {
        let id = frame.id;
        if let Some(last) = self.last.replace(id).filter(|last| id <= *last) {
            return Err(FrameFault::Order { id, last });
        }
        let renditions = renditions.iter().flat_map(|renditions| renditions.iter());
        [frame].into_iter().chain(renditions.map(|rendition| &rendition.frame)).try_for_each(check_form)
    }
}

/// Checks one form of a frame.
fn check_form(frame: &Frame) -> Result<(), FrameFault> {
    let Frame { id, skipped, ref bytes, ref join, .. } = *frame;
    if skipped > id {
        return Err(FrameFault::Skipped { id, skipped });
    }
    for bytes in [bytes].into_iter().chain(join.iter().map(|join| &join.bytes)).map(bytes::Bytes::len) {
        match bytes as u64 {
            0 => return Err(FrameFault::Empty(id)),
            1..=MAX_FRAME => {}
            _ => return Err(FrameFault::Long { id, bytes }),
        }
    }
    Ok(())
}

/// Reads a welcome as a receiver does.
///
/// # Errors
/// The close with which a receiver would refuse it.
pub(crate) fn check_welcome(welcome: &Welcome) -> Result<(), Close> {
    let version = VersionRange::SPOKEN.common(VersionRange::SPOKEN).unwrap_or_default();
    let mut receiver = Control::default();
    receiver.handle_bytes(&Message::Welcome { version, welcome: welcome.clone() }.encode());
    receiver.poll().map(drop)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nestcast_proto::{Code, FrameRate, PackageHash, RandomAccessFrame, Video};

    use super::*;

    fn frame(id: u64, length: usize) -> Frame {
        let bytes = Bytes::from(vec![0; length]);
        Frame { id, skipped: 0, captured: 0, since: id, base: 1, bytes, join: None }
    }

    #[test]
    fn a_frame_that_receivers_would_not_accept_is_the_sources_error() {
        let longest = usize::try_from(MAX_FRAME).expect("a length");
        let join = |length| Some(RandomAccessFrame { base: 1, bytes: Bytes::from(vec![0; length]) });
        let mut check = FrameCheck::default();
        let mut said = |frame: Frame| match check.pass(Ok(Some(frame.into()))) {
            Ok(frame) => frame.map(|next| next.frame.id.to_string()).expect("it passes"),
            Err(SourceError::Failed(cause)) => cause.to_string(),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(said(frame(5, longest)), "5");
        assert_eq!(said(Frame { skipped: 6, join: join(9), ..frame(6, 1) }), "6");
        for (id, frame, words) in [
            (6, frame(6, 1), "frame 6 after frame 6"),
            (3, frame(3, 1), "frame 3 after frame 6"),
            (7, frame(7, 0), "frame 7 without bytes"),
            (8, frame(8, longest + 1), "16777217 bytes: a frame has at most 16777216"),
            (9, Frame { skipped: 10, ..frame(9, 1) }, "10 pictures before frame 9"),
            (10, Frame { join: join(0), ..frame(10, 1) }, "frame 10 without bytes"),
        ] {
            let said = said(frame);
            assert!(said.contains(words), "{id}: {said}");
        }
        assert!(matches!(check.pass(Ok(None)), Ok(None)), "it may end");
    }

    #[test]
    fn a_welcome_is_refused_as_receivers_would_refuse_it() {
        let rate = FrameRate::new(30, 1).expect("a rate");
        let of_size = |width, height| Welcome {
            model: [0; 6],
            package: PackageHash([0; 32]),
            width,
            height,
            rate,
            video: Some(Video::new([0; 6])),
        };
        assert!(check_welcome(&of_size(16384, 1)).is_ok());
        for (width, height) in [(0, 0), (0, 5), (5, 0), (16385, 5)] {
            let close = check_welcome(&of_size(width, height)).expect_err("no picture has that size");
            assert_eq!(close.code, Code::Violation, "{close}");
        }
        let reserved = Video { signal: 1 << 7, ..Video::new([0; 6]) };
        let close = check_welcome(&Welcome { video: Some(reserved), ..of_size(16, 16) }).expect_err("it is reserved");
        assert_eq!(close.code, Code::Unsupported, "{close}");
    }
}
