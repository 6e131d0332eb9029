//! Writes decoded frames as a y4m video, or as PNG pictures in a folder.

use std::path::{Path, PathBuf, is_separator};

use nestcast_codec::{Display, FrameRate, Picture, Size};

use super::{Error, Output, PictureFolder, Pieces, promised_format};
use crate::y4m::Writer;

/// A place for frames, checked before any work.
///
/// ```
/// use nestcast_codec::{Channels, Display, FrameRate, Picture, Size};
/// use nestcast_media::output::FramePlace;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("clip.y4m");
/// let place = FramePlace::new(&path, &[])?;
/// let mut frames = place.begin(FrameRate::new(30, 1)?, Display::default())?;
/// frames.put(0, &Picture::new(Size::new(4, 2)?, Channels::Grey, vec![9; 8])?)?;
/// frames.finish()?;
/// assert!(std::fs::read(&path)?.starts_with(b"YUV4MPEG2 W4 H2 F30:1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum FramePlace {
    /// A y4m video.
    Video(Output),
    /// A folder of PNG pictures.
    Folder(PathBuf),
}

impl FramePlace {
    /// Takes a path as a folder if the folder exists or the path ends with a slash, otherwise as a y4m video.
    ///
    /// # Errors
    /// Those of [`Output::new`] and [`PictureFolder::check`]; [`Error::NotY4m`] if the name of a file promises another
    /// format.
    pub fn new(path: &Path, inputs: &[&Path]) -> Result<Self, Error> {
        if path.is_dir() || path.to_string_lossy().ends_with(is_separator) {
            PictureFolder::check(path)?;
            return Ok(Self::Folder(path.to_owned()));
        }
        if promised_format(path).is_some_and(|format| format != "y4m") {
            return Err(Error::NotY4m(path.to_owned()));
        }
        Output::new(path, inputs).map(Self::Video)
    }

    /// Takes a path as a folder, with or without a slash at its end.
    ///
    /// # Errors
    /// Those of [`PictureFolder::check`]; [`Error::FileName`] if the folder does not exist and its name promises a
    /// file.
    pub fn folder(path: &Path) -> Result<Self, Error> {
        if let Some(format) = promised_format(path).filter(|_| !path.is_dir()) {
            return Err(Error::FileName { path: path.to_owned(), format });
        }
        PictureFolder::check(path)?;
        Ok(Self::Folder(path.to_owned()))
    }

    /// Returns whether the video goes to standard output.
    #[must_use]
    pub const fn is_standard(&self) -> bool {
        matches!(self, Self::Video(output) if output.is_standard())
    }

    /// Begins a video with this frame rate and display, or creates the folder.
    ///
    /// # Errors
    /// [`Error`] if the output cannot be written, or the folder is not empty.
    pub fn begin(&self, rate: FrameRate, display: Display) -> Result<FrameWriter, Error> {
        let kind = match self {
            Self::Video(output) => {
                let mut video = Writer::new(output.begin()?, rate);
                video.set_display(display);
                Kind::Video(video)
            }
            Self::Folder(folder) => Kind::Folder(PictureFolder::begin(folder)?, display),
        };
        Ok(FrameWriter { kind, held: 0, repeated: 0 })
    }
}

/// Writes frames to their place.
#[derive(Debug)]
pub struct FrameWriter {
    kind: Kind,
    /// The last pictures, which repeat the one before them while no frame comes.
    held: u64,
    repeated: u64,
}

#[derive(Debug)]
enum Kind {
    Video(Writer<Pieces>),
    Folder(PictureFolder, Display),
}

impl FrameWriter {
    /// Announces that frames of `size` and this rate follow.
    ///
    /// # Errors
    /// [`Error`] if the video has frames of another size or rate. A folder accepts all.
    pub fn expect(&mut self, size: Size, rate: FrameRate) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Video(video) => video.expect(size, rate).map_err(|error| video.get_ref().explain(error)),
            Kind::Folder(..) => Ok(()),
        }
    }

    /// Returns whether a video has no frame yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(&self.kind, Kind::Video(video) if video.is_empty())
    }

    /// Returns how many whole frames a video has; `None` for a folder.
    #[must_use]
    pub const fn frames(&self) -> Option<u64> {
        match &self.kind {
            Kind::Video(video) => Some(video.pictures()),
            Kind::Folder(..) => None,
        }
    }

    /// Returns for how many frames a video has a picture again, because there was none.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Writes the frame with this number.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&mut self, number: u64, picture: &Picture) -> Result<(), Error> {
        self.write(number, picture)?;
        self.held = 0;
        Ok(())
    }

    fn write(&mut self, number: u64, picture: &Picture) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Video(video) => video.write(picture).map_err(|error| video.get_ref().explain(error)),
            Kind::Folder(folder, display) => folder.put_shown(number, picture, *display),
        }
    }

    /// Writes a picture in place of one frame: a video needs every frame, a folder does not.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn substitute(&mut self, picture: &Picture) -> Result<(), Error> {
        match self.kind {
            Kind::Video(_) => self.put(0, picture),
            Kind::Folder(..) => Ok(()),
        }
    }

    /// Repeats a picture for `count` frames of a video.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn repeat(&mut self, picture: &Picture, count: u64) -> Result<(), Error> {
        if matches!(self.kind, Kind::Video(_)) {
            for _ in 0..count {
                self.write(0, picture)?;
                self.repeated += 1;
            }
        }
        Ok(())
    }

    /// Repeats a picture for a frame that does not come. [`FrameWriter::cut_held`] takes it back.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn hold(&mut self, picture: &Picture) -> Result<(), Error> {
        self.repeat(picture, 1)?;
        self.held += 1;
        Ok(())
    }

    /// Cuts a file to the last picture that was not held, because its source has ended. Standard output, pipes and
    /// devices keep what was written.
    ///
    /// # Errors
    /// If the file cannot be cut.
    pub fn cut_held(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        let Kind::Video(video) = &mut self.kind else { return Ok(()) };
        if held > 0 && video.get_ref().is_file() {
            let whole = video.forget(held);
            self.repeated -= held;
            video.get_mut().truncate(whole)?;
        }
        Ok(())
    }

    /// Ends the output. The file appears now, or replaces the old one. If a write failed, as on a full disk, the file
    /// has the whole pictures before the failure.
    ///
    /// # Errors
    /// [`Error`] if the system cannot write it to the disk.
    pub fn finish(self) -> Result<(), Error> {
        match self.kind {
            Kind::Video(video) => {
                let whole = video.whole_bytes();
                let mut pieces = video.into_inner();
                pieces.truncate(whole)?;
                pieces.finish()
            }
            Kind::Folder(..) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(sample: u8) -> Picture {
        let size = Size::new(2, 2).expect("a size");
        Picture::new(size, nestcast_codec::Channels::Grey, vec![sample; 4]).expect("all samples")
    }

    fn begin(path: &Path) -> FrameWriter {
        let place = FramePlace::new(path, &[]).expect("a place");
        place.begin(FrameRate::new(30, 1).expect("a rate"), Display::default()).expect("it can be written")
    }

    /// Returns the first sample of each picture of a video that [`picture`] made.
    fn samples(video: &[u8]) -> Vec<u8> {
        let mut reader = crate::y4m::Reader::new(video, 100).expect("a header");
        std::iter::from_fn(|| reader.read().expect("whole pictures")).map(|picture| picture.samples()[0]).collect()
    }

    #[test]
    fn held_pictures_are_in_a_file_unless_their_source_ended_after_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.y4m");
        let mut frames = begin(&path);
        let hold = |frames: &mut FrameWriter, sample, count| {
            (0..count).for_each(|_| frames.hold(&picture(sample)).expect("it is written"));
        };
        frames.put(0, &picture(1)).expect("it is written");
        hold(&mut frames, 2, 3);
        assert_eq!((frames.frames(), frames.repeated()), (Some(4), 3), "nothing waits for the next frame");
        frames.put(4, &picture(3)).expect("it is written");
        hold(&mut frames, 4, 100);
        (0..2).for_each(|_| frames.cut_held().expect("it is cut"));
        assert_eq!((frames.frames(), frames.repeated()), (Some(5), 3));
        frames.substitute(&picture(5)).expect("it is written");
        hold(&mut frames, 6, 2);
        frames.finish().expect("it is written");
        assert_eq!(samples(&std::fs::read(&path).expect("a file")), [1, 2, 2, 2, 3, 5, 6, 6], "it was not cut again");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_gets_held_pictures_at_once_and_keeps_them() {
        use std::io::Read as _;

        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::File::open(path).expect("a pipe")
        });
        let mut frames = begin(&path);
        let mut pipe = reader.join().expect("it is open");
        let mut next = |length: usize| {
            let mut bytes = vec![0; length];
            pipe.read_exact(&mut bytes).expect("it is there at once");
            bytes
        };
        frames.put(0, &picture(1)).expect("a reader");
        while next(1) != b"\n" {}
        assert_eq!(next(10), b"FRAME\n\x01\x01\x01\x01");
        frames.hold(&picture(2)).expect("a reader");
        assert_eq!(next(10), b"FRAME\n\x02\x02\x02\x02");
        frames.cut_held().expect("there is nothing to cut");
        assert_eq!((frames.frames(), frames.repeated()), (Some(2), 1));
        frames.put(2, &picture(3)).expect("a reader");
        assert_eq!(next(10), b"FRAME\n\x03\x03\x03\x03");
        frames.finish().expect("a reader");
    }

    #[test]
    fn a_name_says_whether_it_is_a_video_or_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let is_folder = |name: &str| matches!(FramePlace::new(&at(name), &[]).expect("a place"), FramePlace::Folder(_));
        assert_eq!(["a.y4m", "b", "c/", ""].map(is_folder), [false, false, true, true]);
        let refused = FramePlace::new(&at("d.png"), &[]).expect_err("a video").to_string();
        assert!(refused.contains("d.png would hold a y4m video: "), "{refused}");
        assert!(matches!(FramePlace::folder(&at("e")), Ok(FramePlace::Folder(_))));
        std::fs::write(at("g"), "").expect("a file");
        assert!(matches!(FramePlace::new(&at(""), &[]), Err(Error::NotEmpty(_))));
        assert!(matches!(FramePlace::folder(&at("")), Err(Error::NotEmpty(_))));
        let refused = FramePlace::folder(&at("f.mp4")).expect_err("a folder").to_string();
        assert!(refused.ends_with("f.mp4 would be a folder of PNG pictures: give it a name without .mp4"), "{refused}");
    }
}
