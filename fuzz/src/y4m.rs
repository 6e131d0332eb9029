//! y4m video.

use std::io::{self, Read};
use std::time::Duration;

use nestcast_codec::Picture;
use nestcast_media::y4m::{Reader, Writer};

use crate::bounded;

const MAX_PIXELS: usize = 4096;
/// A header's line, a read buffer, and the largest frame's bytes, samples and converter.
const MAX_MEMORY_BYTES: usize = 4096 + 8192 + 16 * MAX_PIXELS + 1024;

/// Checks that any bytes are pictures of one size and format within the limit, or an error, in whichever pieces they
/// arrive and in any memory. A video that was read is written as y4m that reads as the same pictures at the same
/// rate. Memory is bounded.
pub fn y4m(data: &[u8]) {
    for max_bits in [8, 12] {
        read_as(data, max_bits);
    }
}

/// As [`y4m`], with pictures of at most `max_bits` bits a sample.
fn read_as(data: &[u8], max_bits: u8) {
    bounded::within(3 * MAX_MEMORY_BYTES + 2 * data.len(), "reading y4m", || {
        let (mut whole, mut slow) = match (opened(data, max_bits), opened(Trickle(data), max_bits)) {
            (Ok(whole), Ok(slow)) => (whole, slow),
            (Err(one), Err(other)) => return assert_eq!(one, other),
            _ => panic!("it is refused only in pieces, or only at once"),
        };
        assert_eq!((whole.size(), whole.rate()), (slow.size(), slow.rate()));
        assert!(whole.size().pixels() <= MAX_PIXELS && whole.rate().interval() > Duration::ZERO);
        let mut into = Picture::zero(slow.size(), slow.format());
        for _ in 0..4 {
            let (picture, again) = (whole.read(), slow.read_into(&mut into).map(|one| one.then(|| into.clone())));
            match (&picture, &again) {
                (Ok(one), Ok(other)) => assert_eq!(one, other),
                (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                _ => panic!("{picture:?} at once, {again:?} in pieces"),
            }
            let Ok(Some(picture)) = picture else { break };
            assert_eq!((picture.size(), picture.format()), (whole.size(), whole.format()));
            written(&picture, &whole);
        }
    });
}

/// Returns a reader, or one line that says why there is none.
fn opened<R: Read>(input: R, max_bits: u8) -> Result<Reader<R>, String> {
    Reader::new(input, MAX_PIXELS as u64).map(|reader| reader.with_max_bits(max_bits)).map_err(|error| {
        let line = error.to_string();
        assert!(!line.contains(|c: char| c.is_control()), "no line for a terminal: {line:?}");
        line
    })
}

fn written(picture: &Picture, like: &Reader<&[u8]>) {
    let mut writer = Writer::new(Vec::new(), like.rate());
    writer.write(picture).expect("memory takes it");
    let bytes = writer.into_inner();
    let mut again = Reader::new(&bytes[..], MAX_PIXELS as u64).expect("what was written is read").with_max_bits(16);
    assert_eq!(again.rate(), like.rate());
    assert_eq!(again.read().expect("what was written is read").as_ref(), Some(picture));
}

/// Gives a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(7);
        self.0.read(&mut buffer[..count])
    }
}
