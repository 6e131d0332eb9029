//! Lets the crate `image` open streams, by the extension `nst` and by their first bytes.

use std::io::Read;
use std::sync::Arc;

use image::error::{DecodingError, ImageFormatHint};
use image::hooks::{GenericReader, register_decoding_hook, register_format_detection_hook};
use image::{ColorType, ImageDecoder, ImageError, ImageResult};
use nestcast_codec::{Codec, Format, ModelId, PlaneMut, ViewMut};

use crate::PeekedInput;
use crate::stream::{Error, Reader};

/// The extension of streams.
const FILE_EXTENSION: &str = "nst";
/// The first bytes of streams of grey and of RGB pictures: a name, the version, the kind. Stored videos have other
/// kinds.
const STREAM_BEGINNINGS: [&[u8]; 4] = [b"nst\x01\x00", b"nst\x01\x01", b"nst\x02\x00", b"nst\x02\x01"];

/// Registers streams with the crate `image`: from then on, `image::open` and `image::ImageReader` read any prefix of a
/// stream that contains its header, with the codec of the stream's model. It fails with a stream of a model that none of
/// `codecs` has, and above 100 megapixels.
///
/// Returns whether nobody had registered the extension before; otherwise that stays.
///
/// ```
/// use nestcast_codec::{Channels, Codec, Picture, Size};
///
/// let picture = Picture::new(Size::new(40, 20)?, Channels::Grey, vec![100; 800])?;
/// let stream = Codec::photo().encode(&picture)?;
///
/// // Add `Package::builtin("photo-ssim")` of `nestcast-models` as `Codec::with(package.linear(1))` for that model too.
/// assert!(nestcast_media::image_hooks::register([Codec::photo()]));
/// let opened = image::load_from_memory(&stream.prefix(30))?;
/// assert_eq!((opened.width(), opened.height()), (40, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn register(codecs: impl IntoIterator<Item = Codec>) -> bool {
    let codecs: Arc<[Codec]> = codecs.into_iter().collect();
    let is_new = register_decoding_hook(FILE_EXTENSION.into(), Box::new(move |input| open(input, &codecs)));
    if is_new {
        STREAM_BEGINNINGS
            .into_iter()
            .for_each(|magic| register_format_detection_hook(FILE_EXTENSION.into(), magic, None));
    }
    is_new
}

/// No codec has the model of a stream.
#[derive(Debug, thiserror::Error)]
#[error("unsupported model {0}: the stream needs it, and no codec of it was registered")]
struct UnknownModel(ModelId);

fn open<'a>(input: GenericReader<'a>, codecs: &[Codec]) -> ImageResult<Box<dyn ImageDecoder + 'a>> {
    let reader = Reader::new(PeekedInput::new(input)).map_err(refused)?;
    let needed = reader.header().model;
    let codec = codecs.iter().find(|codec| codec.model().id() == needed);
    let codec = codec.ok_or_else(|| corrupt(UnknownModel(needed)))?.clone();
    Ok(Box::new(Opened { reader, codec }))
}

/// A stream whose header was read.
struct Opened<R> {
    reader: Reader<R>,
    codec: Codec,
}

impl<R: Read> ImageDecoder for Opened<R> {
    fn dimensions(&self) -> (u32, u32) {
        let size = self.reader.header().size;
        let [width, height] = [size.width(), size.height()].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        (width, height)
    }

    fn color_type(&self) -> ColorType {
        match self.reader.header().format() {
            Format::Grey => ColorType::L8,
            Format::GreyAlpha => ColorType::La8,
            Format::Grey16 => ColorType::L16,
            Format::GreyAlpha16 => ColorType::La16,
            Format::Rgba => ColorType::Rgba8,
            Format::Rgb16 => ColorType::Rgb16,
            Format::Rgba16 => ColorType::Rgba16,
            _ => ColorType::Rgb8,
        }
    }

    fn read_image(self, samples: &mut [u8]) -> ImageResult<()> {
        let header = *self.reader.header();
        let stream = self.reader.read(None).map_err(refused)?;
        let mut decoder = self.codec.decoder();
        decoder.push(stream.as_ref()).map_err(corrupt)?;
        let format = header.format();
        let [stride, _] = format.plane(header.size, 0);
        let planes = [PlaneMut { samples: &mut *samples, stride }];
        decoder.render_into(ViewMut::new(header.size, format, planes).map_err(corrupt)?).map_err(corrupt)?;
        if format.is_deep() {
            // `image` has samples of 16 bits in the order of this machine.
            let all = samples.as_chunks_mut().0;
            all.iter_mut().for_each(|sample| *sample = u16::from_le_bytes(*sample).to_ne_bytes());
        }
        Ok(())
    }

    fn read_image_boxed(self: Box<Self>, samples: &mut [u8]) -> ImageResult<()> {
        (*self).read_image(samples)
    }
}

fn refused(error: Error) -> ImageError {
    if let Error::Io(error) = error { ImageError::IoError(error) } else { corrupt(error) }
}

fn corrupt(error: impl std::error::Error + Send + Sync + 'static) -> ImageError {
    ImageError::Decoding(DecodingError::new(ImageFormatHint::Name("nestcast".to_owned()), error))
}

#[cfg(test)]
mod tests {
    use image::ImageReader;
    use nestcast_codec::{Linear, Model, Picture, Size, Stream};

    use super::*;

    /// Another model: the one of the frozen vectors.
    fn other() -> Codec {
        let tables = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/vectors/tables.bin"));
        let model = Model::from_bytes(&tables.expect("the vectors")).expect("tables");
        Codec::with(Linear::new(Arc::new(model)))
    }

    /// Registers two models. Another test of this process may have been first, with the same ones.
    fn registered() {
        let _ = register([Codec::photo(), other()]);
    }

    fn encoded(format: Format) -> (Picture, Stream) {
        let size = Size::new(37, 21).expect("a size");
        let samples = (0..format.bytes(size)).map(|at| (at % 200).to_le_bytes()[0]).collect();
        let picture = Picture::new(size, format, samples).expect("a picture");
        let stream = Codec::photo().encode(&picture).expect("a stream");
        (picture, stream)
    }

    #[test]
    fn image_opens_any_prefix_by_its_extension_and_by_its_first_bytes() {
        registered();
        assert!(!register([Codec::photo()]));
        let folder = tempfile::tempdir().expect("a folder");
        for (format, colour) in [
            (Format::Grey, ColorType::L8),
            (Format::Rgb, ColorType::Rgb8),
            (Format::Rgba, ColorType::Rgba8),
            (Format::GreyAlpha16, ColorType::La16),
            (Format::Rgb16, ColorType::Rgb16),
        ] {
            let (_, stream) = encoded(format);
            for count in [22, 100, stream.len()] {
                let prefix = stream.prefix(count);
                let mut decoder = Codec::photo().decoder();
                decoder.push(&prefix).expect("a prefix");
                let expected = decoder.render_as(format).expect("a picture");
                let path = folder.path().join("picture.NST");
                std::fs::write(&path, &prefix).expect("a file");
                let by_extension = image::open(&path).expect("a picture");
                assert_eq!((by_extension.color(), by_extension.as_bytes()), (colour, expected.samples()));
                let by_magic = image::load_from_memory(&prefix).expect("a picture");
                assert_eq!(by_magic, by_extension);
            }
        }
    }

    #[test]
    fn a_stream_is_opened_by_the_codec_of_its_model() {
        registered();
        let (picture, stream) = encoded(Format::Rgb);
        let another = other().encode(&picture).expect("a stream");
        assert_ne!(stream.header().model, another.header().model);
        for (codec, stream) in [(Codec::photo(), stream), (other(), another)] {
            let mut decoder = codec.decoder();
            decoder.push(stream.as_ref()).expect("a stream");
            let opened = image::load_from_memory(stream.as_ref()).expect("a picture");
            assert_eq!(opened.as_bytes(), decoder.render().expect("a picture").samples());
        }
    }

    #[test]
    fn what_is_no_stream_of_this_codec_is_an_error() {
        registered();
        let (_, stream) = encoded(Format::Grey);
        let mut other_model = stream.as_ref().to_vec();
        other_model[7] ^= 1;
        let error = image::load_from_memory(&other_model).expect_err("another model");
        assert!(error.to_string().contains("unsupported model"), "{error}");
        let error = image::load_from_memory(&stream.as_ref()[..9]).expect_err("part of a header");
        assert!(error.to_string().contains("ends inside its header"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wrong.nst");
        std::fs::write(&path, b"text").expect("a file");
        let error = ImageReader::open(&path).expect("a file").decode().expect_err("text");
        assert!(error.to_string().contains("no nestcast stream"), "{error}");
    }
}
