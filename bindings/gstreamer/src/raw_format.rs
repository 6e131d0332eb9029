//! The formats of raw video: caps to the codec's types and back.

use gst_video::{
    VideoChromaSite, VideoColorMatrix, VideoColorRange, VideoColorimetry, VideoFieldOrder, VideoFormat, VideoInfo,
    VideoInterlaceMode,
};
use nestcast_codec::{Display, Format, FrameRate, Matrix, Range, Scan, Siting, Size, Ycbcr};

/// The longest side of a picture.
const MAX_SIDE: i32 = 16_384;
/// The most frames a second.
const MAX_RATE: i32 = 1000;
/// The rate of video whose caps state none: 0/1, as a camera's of variable rate.
const USUAL_RATE: [u32; 2] = [30, 1];
/// The layouts of planes that the elements read and write, with the bits of a sample, the preferred one of each first.
const PLANE_LAYOUTS: [(VideoFormat, u8); 6] = [
    (VideoFormat::I420, 8),
    (VideoFormat::Nv12, 8),
    (VideoFormat::I42010le, 10),
    (VideoFormat::P01010le, 10),
    (VideoFormat::I42012le, 12),
    (VideoFormat::P012Le, 12),
];

/// Why raw video cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormatError {
    #[error("the colour matrix is {0:?}, and nestcast has BT.601 and BT.709: convert it by videoconvert")]
    Matrix(VideoColorMatrix),
    #[error("the fields are pictures of their own ({0:?}): join them by the element interlace, or deinterlace")]
    Fields(VideoInterlaceMode),
    #[error(transparent)]
    Size(#[from] nestcast_codec::Error),
    #[error("the frame rate {0} makes no sense: set one by videorate")]
    Rate(gst::Fraction),
}

/// What nestcast keeps of raw video's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawFormat {
    pub(crate) size: Size,
    pub(crate) colours: Ycbcr,
    /// Bits of a sample: those of one of the layouts.
    pub(crate) bits: u8,
    pub(crate) display: Display,
    pub(crate) rate: FrameRate,
}

impl RawFormat {
    /// Returns the codec's format.
    pub(crate) const fn samples(&self) -> Format {
        Format::planar(self.colours, self.bits)
    }

    /// Reads the format of negotiated caps. That of coded frames has 8 bits.
    pub(crate) fn of(info: &VideoInfo) -> Result<Self, FormatError> {
        let size = Size::new(info.width(), info.height())?;
        let colorimetry = info.colorimetry();
        let matrix = match colorimetry.matrix() {
            VideoColorMatrix::Bt601 => Matrix::Bt601,
            VideoColorMatrix::Bt709 => Matrix::Bt709,
            other => return Err(FormatError::Matrix(other)),
        };
        let range = if colorimetry.range() == VideoColorRange::Range0_255 { Range::Full } else { Range::Limited };
        let scan = match (info.interlace_mode(), info.field_order()) {
            (VideoInterlaceMode::Progressive, _) => Scan::Progressive,
            (VideoInterlaceMode::Interleaved, VideoFieldOrder::TopFieldFirst) => Scan::TopFirst,
            (VideoInterlaceMode::Interleaved, VideoFieldOrder::BottomFieldFirst) => Scan::BottomFirst,
            (VideoInterlaceMode::Interleaved | VideoInterlaceMode::Mixed, _) => Scan::Mixed,
            (other, _) => return Err(FormatError::Fields(other)),
        };
        let display = Display { siting: siting(info.chroma_site()), scan, aspect: aspect(info.par()) };
        let known = PLANE_LAYOUTS.into_iter().find(|(layout, _)| *layout == info.format());
        let bits = known.map_or(8, |(_, bits)| bits);
        Ok(Self { size, colours: Ycbcr { range, matrix }, bits, display, rate: rate(info.fps())? })
    }

    /// Describes pictures of this format in a layout, with the colours that are usual with the matrix.
    pub(crate) fn to_info(self, layout: VideoFormat) -> Result<VideoInfo, gst::glib::BoolError> {
        let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let usual = match self.colours.matrix {
            Matrix::Bt601 => "bt601",
            Matrix::Bt709 => "bt709",
        };
        let usual: VideoColorimetry = usual.parse()?;
        let range = match self.colours.range {
            Range::Full => VideoColorRange::Range0_255,
            Range::Limited => VideoColorRange::Range16_235,
        };
        let colorimetry = VideoColorimetry::new(range, usual.matrix(), usual.transfer(), usual.primaries());
        let (mode, order) = match self.display.scan {
            Scan::Progressive => (VideoInterlaceMode::Progressive, VideoFieldOrder::Unknown),
            Scan::TopFirst => (VideoInterlaceMode::Interleaved, VideoFieldOrder::TopFieldFirst),
            Scan::BottomFirst => (VideoInterlaceMode::Interleaved, VideoFieldOrder::BottomFieldFirst),
            Scan::Mixed => (VideoInterlaceMode::Mixed, VideoFieldOrder::Unknown),
        };
        let site = match self.display.siting {
            Siting::Centre => VideoChromaSite::JPEG,
            Siting::Left => VideoChromaSite::MPEG2,
            Siting::PalDv => VideoChromaSite::DV,
        };
        let whole = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let [width, height] = self.display.aspect.map(i32::from);
        let builder = VideoInfo::builder(layout, side(self.size.width()), side(self.size.height()))
            .colorimetry(&colorimetry)
            .chroma_site(site)
            .par(gst::Fraction::new(width, height))
            .fps(gst::Fraction::new(whole(self.rate.frames()), whole(self.rate.seconds())))
            .interlace_mode(mode);
        if order == VideoFieldOrder::Unknown { builder.build() } else { builder.field_order(order).build() }
    }
}

/// Returns the caps of pads that read or write raw video.
pub(crate) fn raw_caps() -> gst::Caps {
    gst_video::VideoCapsBuilder::new()
        .format_list(PLANE_LAYOUTS.map(|(layout, _)| layout))
        .width_range(1..=MAX_SIDE)
        .height_range(1..=MAX_SIDE)
        .framerate_range(gst::Fraction::new(0, 1)..=gst::Fraction::new(MAX_RATE, 1))
        .field("interlace-mode", gst::List::new(["progressive", "interleaved", "mixed"]))
        .build()
}

/// Returns those caps of a peer that this plugin reads, in the plugin's order: a source that has every format gives 8 bits.
pub(crate) fn readable(caps: &gst::Caps, filter: Option<&gst::Caps>) -> gst::Caps {
    match filter {
        Some(filter) => caps.intersect_with_mode(filter, gst::CapsIntersectMode::First),
        None => caps.clone(),
    }
}

/// Returns the layout in which to write a video whose samples have `bits` bits, and the bits of its samples: the first one
/// in a peer's caps with enough bits, else the one with the most. If the caps name none, it is I420.
pub(crate) fn layout(allowed: Option<&gst::CapsRef>, bits: u8) -> (VideoFormat, u8) {
    let names = |structure: &gst::StructureRef| -> Vec<String> {
        match (structure.get::<String>("format"), structure.get::<gst::List>("format")) {
            (Ok(name), _) => vec![name],
            (_, Ok(list)) => list.iter().filter_map(|name| name.get::<String>().ok()).collect(),
            _ => Vec::new(),
        }
    };
    let listed = allowed.into_iter().flat_map(|caps| caps.iter().flat_map(names));
    let known =
        listed.filter_map(|name| PLANE_LAYOUTS.into_iter().find(|(layout, _)| layout.to_str() == name.as_str()));
    // Bits that the video lacks are worth nothing, and then the first one of a peer is the one that it prefers.
    let suits = |&(_, given): &(VideoFormat, u8)| (given.min(most_useful(bits)), std::cmp::Reverse(given));
    let known: Vec<_> = known.collect();
    let best = known.iter().map(suits).max();
    known.into_iter().find(|layout| Some(suits(layout)) == best).unwrap_or(PLANE_LAYOUTS[0])
}

/// Returns the bits of the smallest layout that holds samples of `bits` bits, or of the largest one.
fn most_useful(bits: u8) -> u8 {
    let [.., (_, most)] = PLANE_LAYOUTS;
    PLANE_LAYOUTS.into_iter().map(|(_, given)| given).find(|given| *given >= bits).unwrap_or(most)
}

fn siting(site: VideoChromaSite) -> Siting {
    if site == VideoChromaSite::MPEG2 || site == VideoChromaSite::COSITED {
        Siting::Left
    } else if site == VideoChromaSite::DV {
        Siting::PalDv
    } else {
        Siting::Centre
    }
}

/// Returns the aspect of a pixel; a square one if it does not fit the codec's numbers.
fn aspect(par: gst::Fraction) -> [u16; 2] {
    let side = |number: i32| u16::try_from(number).ok().filter(|&side| side > 0);
    match (side(par.numer()), side(par.denom())) {
        (Some(width), Some(height)) => [width, height],
        _ => [1, 1],
    }
}

fn rate(fps: gst::Fraction) -> Result<FrameRate, FormatError> {
    let [frames, seconds] = match [fps.numer(), fps.denom()].map(u32::try_from) {
        [Ok(0), Ok(_)] => USUAL_RATE,
        [Ok(frames), Ok(seconds)] => [frames, seconds],
        _ => return Err(FormatError::Rate(fps)),
    };
    FrameRate::new(frames, seconds).map_err(|_| FormatError::Rate(fps))
}
