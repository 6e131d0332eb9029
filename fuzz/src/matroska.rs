//! Matroska.

use std::io::{self, Read};

use nestcast_codec::Picture;
use nestcast_media::matroska::{Part, Reader};

use crate::bounded;

const MAX_PIXELS: usize = 4096;
/// The largest element that is read as a whole, as memory grows for it, and a picture with its copy.
const MAX_MEMORY_BYTES: usize = (2 << 20) + 16 * MAX_PIXELS + (1 << 15);
const MAX_PARTS: usize = 200;

/// Checks that any bytes are pictures of one size within the limit and packets of sound, or an error, in whichever
/// pieces they arrive. Memory is bounded.
pub fn matroska(data: &[u8]) {
    bounded::within(2 * MAX_MEMORY_BYTES + 4 * data.len(), "reading Matroska", || {
        let (mut whole, mut slow) = match (opened(data), opened(Trickle(data))) {
            (Ok(whole), Ok(slow)) => (whole, slow),
            (Err(one), Err(other)) => return assert_eq!(one, other),
            _ => panic!("it is refused only in pieces, or only at once"),
        };
        assert_eq!((whole.size(), whole.format(), whole.sound()), (slow.size(), slow.format(), slow.sound()));
        assert!(whole.size().pixels() <= MAX_PIXELS);
        let [mut one, mut other] =
            [Picture::zero(whole.size(), whole.format()), Picture::zero(slow.size(), slow.format())];
        for _ in 0..MAX_PARTS {
            let (part, again) = (whole.next(&mut one), slow.next(&mut other));
            match (part, again) {
                (Ok(part), Ok(again)) => {
                    assert_eq!(part, again);
                    match part {
                        Some(Part::Picture(_)) => assert_eq!(one, other),
                        Some(Part::Sound(..)) => {}
                        None => return,
                    }
                }
                (Err(part), Err(again)) => return assert_eq!(part.to_string(), again.to_string()),
                (part, again) => panic!("{part:?} at once, {again:?} in pieces"),
            }
        }
    });
}

/// Returns a reader, or one line that says why there is none.
fn opened<R: Read>(input: R) -> Result<Reader<R>, String> {
    Reader::new(input, MAX_PIXELS as u64).map_err(|error| {
        let line = error.to_string();
        assert!(!line.contains(|c: char| c.is_control()), "no line for a terminal: {line:?}");
        line
    })
}

/// Gives a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(7);
        self.0.read(&mut buffer[..count])
    }
}
