//! y4m out: 4:4:4 or mono, so that nothing of what was decoded is lost to the chroma.

use std::io::{self, Write};

use nestcast_codec::{Channels, Picture, Size};

use super::{Rate, colour};

/// Writes pictures as a y4m stream. The first one fixes size and colours.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    rate: Rate,
    shape: Option<(Size, Channels)>,
}

impl<W: Write> Writer<W> {
    /// For pictures at `rate`.
    pub const fn new(output: W, rate: Rate) -> Self {
        Self { output, rate, shape: None }
    }

    /// Writes one picture and flushes it.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::InvalidInput`] if the picture is of another size or kind than the first.
    pub fn write(&mut self, picture: &Picture) -> io::Result<()> {
        let shape = (picture.size(), picture.channels());
        match self.shape {
            None => {
                self.header(shape)?;
                self.shape = Some(shape);
            }
            Some(first) if first == shape => {}
            Some(_) => {
                let why = "the video changed its size, and y4m cannot: begin again";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
        }
        let planes = colour::planes(picture);
        self.output.write_all(b"FRAME\n")?;
        self.output.write_all(&planes)?;
        self.output.flush()
    }

    /// Gives the output back.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn header(&mut self, (size, channels): (Size, Channels)) -> io::Result<()> {
        let samples = match channels {
            Channels::Grey => "mono",
            Channels::Rgb => "444",
        };
        let (frames, seconds) = (self.rate.frames(), self.rate.seconds());
        let (width, height) = (size.width(), size.height());
        writeln!(self.output, "YUV4MPEG2 W{width} H{height} F{frames}:{seconds} Ip A1:1 C{samples}")
    }
}
