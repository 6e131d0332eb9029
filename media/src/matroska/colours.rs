//! What the file says of its colours (RFC 9559, section 5.1.4.1.28.16), by the code points of ITU-T H.273.

use nestcast_codec::{Matrix, Size};

/// Matrices: BT.709, BT.470 BG, BT.601, BT.2020 in two ways, BT.2100 ICtCp.
const BT709: u64 = 1;
const BT601: [u64; 2] = [5, 6];
const BT2020: [u64; 2] = [9, 10];
const ICTCP: u64 = 14;
/// Transfers: PQ and HLG of BT.2100.
const PQ: u64 = 16;
const HLG: u64 = 18;
/// Primaries: BT.2020.
const BT2020_PRIMARIES: u64 = 9;

/// Colours that 8 bits of BT.601 or BT.709 cannot show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideColours {
    /// BT.2100 with the curve PQ, as of HDR10.
    Pq,
    /// BT.2100 with the curve HLG, as of many phones.
    Hlg,
    /// BT.2020 without high dynamic range.
    Bt2020,
}

impl WideColours {
    /// Returns how standards call them.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pq => "BT.2100 PQ (HDR)",
            Self::Hlg => "BT.2100 HLG (HDR)",
            Self::Bt2020 => "BT.2020",
        }
    }

    /// Returns ffmpeg's filter that makes BT.709 of them.
    pub(super) const fn filter(self) -> &'static str {
        match self {
            Self::Pq | Self::Hlg => {
                "zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=mobius,zscale=t=bt709:m=bt709:r=tv,format=yuv420p"
            }
            Self::Bt2020 => "zscale=p=bt709:t=bt709:m=bt709:r=tv,format=yuv420p",
        }
    }
}

/// Returns the matrix of a picture of this size, from the code points of matrix, transfer and primaries.
pub(super) fn matrix(codes: [Option<u64>; 3], size: Size) -> Result<Matrix, WideColours> {
    let is_wide = |code: u64| BT2020.contains(&code) || code == ICTCP;
    match codes {
        [_, Some(PQ), _] => Err(WideColours::Pq),
        [_, Some(HLG), _] => Err(WideColours::Hlg),
        [_, _, Some(BT2020_PRIMARIES)] => Err(WideColours::Bt2020),
        [Some(matrix), ..] if is_wide(matrix) => Err(WideColours::Bt2020),
        [Some(BT709), ..] => Ok(Matrix::Bt709),
        [Some(matrix), ..] if BT601.contains(&matrix) => Ok(Matrix::Bt601),
        _ => Ok(Matrix::usual(size)),
    }
}
