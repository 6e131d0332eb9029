//! A stream's header.

use nestcast_codec::{Channels, Decoder, Error, Header, MAX_HEADER, Parsed};
use nestcast_reference::{self as reference, Fault};

use crate::stream::{LINEAR, MODEL};

/// Pixels that the decoder here agrees to hold.
const MAX_PIXELS: u64 = 4096;

/// The reference's word for an error of the codec.
pub(crate) fn fault(error: Error) -> Fault {
    match error {
        Error::Corrupt { .. } => Fault::Corrupt,
        Error::Version { .. } | Error::Model { .. } => Fault::Unsupported,
        Error::Limit { .. } => Fault::Limit,
        other => panic!("no error for bytes: {other}"),
    }
}

/// Checks that any bytes give the header that the reference decoder reads in them, or the same error, or an incomplete
/// header. The stated number of missing bytes is never more than it lacks. A decoder accepts a header if it names the
/// decoder's model and has no more pixels than agreed.
pub fn header(data: &[u8]) {
    let expected = reference::Header::read(data);
    match Header::parse(data).map_err(fault) {
        Err(fault) => assert_eq!(expected, Err(fault)),
        Ok(Parsed::NeedMore(more)) => {
            assert_eq!(expected, Ok(None));
            assert!(more > 0 && data.len() + more <= MAX_HEADER, "{more} more than {}", data.len());
        }
        Ok(Parsed::Complete(header, length)) => {
            assert!(length <= data.len() && length <= MAX_HEADER);
            let axes = header.axes.angles().map(i32::from);
            let same = reference::Header {
                colour: header.channels == Channels::Rgb,
                width: header.size.width(),
                height: header.size.height(),
                model: header.model.0,
                planes: header.planes.into(),
                gains: header.gains,
                axes,
                bits: header.bits.into(),
                fine: header.fine_planes.into(),
                alpha: header.alpha.map(|alpha| [alpha.planes, alpha.fine_planes].map(i32::from)),
                bytes: length,
            };
            assert_eq!(expected, Ok(Some(same)));
            taken(&header, &data[..length]);
            for cut in 0..length {
                match Header::parse(&data[..cut]) {
                    Ok(Parsed::NeedMore(more)) => assert!(more > 0 && cut + more <= length, "{more} more than {cut}"),
                    other => panic!("the first {cut} bytes of a header: {other:?}"),
                }
            }
        }
    }
}

fn taken(header: &Header, bytes: &[u8]) {
    let expected = if header.model == MODEL.id() {
        header.check_pixels(MAX_PIXELS)
    } else {
        Err(Error::Model { needed: header.model, given: MODEL.id() })
    };
    let fits = header.size.pixels() as u64 <= MAX_PIXELS;
    assert!(fits || expected.is_err(), "opacity and more bits do not make a picture smaller");
    let mut decoder = Decoder::new(LINEAR.clone()).with_max_pixels(MAX_PIXELS);
    assert_eq!(decoder.push(bytes).map(drop), expected);
    assert_eq!(decoder.header(), expected.ok().map(|()| *header));
}
