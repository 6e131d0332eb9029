//! A source of live video in real or virtual time: pictures that are there when they are due, encoded as the product does.

use std::time::Instant;

use nestcast_codec::{Format, FrameRate, Picture, Range, Size, VideoModel};
use nestcast_proto::{Frame, PackageHash, Video, Welcome};
use nestcast_sender::{Feedback, FrameSource, Loops, SourceError, VideoEncoding};

use crate::pace::{Pace, microseconds};

/// Pictures one after another, encoded for the receivers of now, as long as anyone asks for them.
pub struct VideoFrames {
    welcome: Welcome,
    encoding: VideoEncoding,
    picture: Box<dyn FnMut(u64) -> Picture + Send>,
    id: u64,
    /// One picture in so many is left out.
    leaves_out: Option<u64>,
    /// How many were left out.
    skipped: u64,
    pace: Pace,
}

impl VideoFrames {
    /// The pictures that `picture` gives by their numbers, planar YCbCr 4:2:0 of this size and format, encoded on so many
    /// threads. The time that this takes is none of virtual time and changes no loops.
    ///
    /// # Panics
    /// If the format is not planar, or a video cannot have so many loops.
    pub fn new(
        (size, format): (Size, Format),
        rate: FrameRate,
        (threads, loops): (usize, Loops),
        picture: impl FnMut(u64) -> Picture + Send + 'static,
    ) -> Self {
        let Format::Ycbcr420(range) = format else { panic!("video is planar") };
        let [key, residual] = VideoModel::built_in().ids();
        let video = Some(Video { residual: residual.0, full_range: range == Range::Full });
        let side = |length: usize| u32::try_from(length).expect("a size has sides of 16384 pixels at most");
        let (width, height, rates) = (side(size.width()), side(size.height()), (rate.frames, rate.seconds));
        let welcome = Welcome { model: key.0, package: PackageHash([0; 32]), width, height, rate: rates, video };
        let encoding = VideoEncoding::new(size, rate, threads, loops);
        let pace = Pace::new(welcome.interval());
        Self { welcome, encoding, picture: Box::new(picture), id: 0, leaves_out: None, skipped: 0, pace }
    }

    /// One picture in `every`, at least 2, is left out, as by an encoder that is too slow.
    #[must_use]
    pub fn leaving_out(self, every: u64) -> Self {
        Self { leaves_out: Some(every), ..self }
    }
}

impl FrameSource for VideoFrames {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    async fn next(&mut self, feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
        let mut due = self.pace.next().await;
        if self.leaves_out.is_some_and(|every| self.id % every == every - 1) {
            (self.id, self.skipped) = (self.id + 1, self.skipped + 1);
            due = self.pace.next().await;
        }
        let (id, captured) = (self.id, microseconds(due));
        self.id += 1;
        let picture = (self.picture)(id);
        let start = Instant::now();
        let frame =
            self.encoding.encode(&picture, (id, self.skipped, captured), feedback).map_err(SourceError::failed)?;
        feedback.handle_encoded(start.elapsed());
        Ok(Some(frame))
    }
}
