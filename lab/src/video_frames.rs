//! A source of live video in real or virtual time: each picture is ready when it is due, and is encoded as in the
//! product.

use std::time::Instant;

use nestcast_codec::Picture;
use nestcast_encode::{PictureFormat, RenditionLimit, VideoEncoding};
use nestcast_proto::{BroadcastFrame, Captured, Demand, FrameEncoder as _, SourceError, Welcome};
use nestcast_sender::FrameSource;

use crate::pace::{Pace, microseconds};

/// Successive pictures, encoded for the present receivers, as long as the sender asks for them.
pub struct VideoFrames {
    encoding: VideoEncoding,
    picture: Box<dyn FnMut(u64) -> Picture + Send>,
    id: u64,
    /// The interval, in pictures, at which one is left out.
    leaves_out: Option<u64>,
    /// How many were left out.
    skipped: u64,
    pace: Pace,
}

impl VideoFrames {
    /// Encodes the pictures that `picture` returns for their numbers, planar YCbCr 4:2:0 of this format, on `threads`
    /// threads. The time that this takes does not count in virtual time and changes no renditions.
    ///
    /// # Panics
    /// If the format is not planar, or a video cannot have this many renditions.
    pub fn new(
        format: PictureFormat,
        (threads, limit): (usize, RenditionLimit),
        picture: impl FnMut(u64) -> Picture + Send + 'static,
    ) -> Self {
        let encoding = VideoEncoding::new(format, threads, limit).expect("planar pictures in a few renditions");
        let pace = Pace::new(format.rate.most().interval());
        Self { encoding, picture: Box::new(picture), id: 0, leaves_out: None, skipped: 0, pace }
    }

    /// Leaves out one picture in `every`, at least 2, like an encoder that is too slow.
    #[must_use]
    pub fn leaving_out(self, every: u64) -> Self {
        Self { leaves_out: Some(every), ..self }
    }
}

impl FrameSource for VideoFrames {
    fn welcome(&self) -> Welcome {
        self.encoding.welcome()
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        let mut due = self.pace.next().await;
        if self.leaves_out.is_some_and(|every| self.id % every == every - 1) {
            (self.id, self.skipped) = (self.id + 1, self.skipped + 1);
            due = self.pace.next().await;
        }
        let captured = Captured { id: self.id, at: microseconds(due), picture: (self.picture)(self.id) };
        self.id += 1;
        let start = Instant::now();
        let (frame, _) = self.encoding.encode(captured, self.skipped, demand)?;
        Ok(Some(BroadcastFrame { encode_time: start.elapsed(), ..frame }))
    }
}
