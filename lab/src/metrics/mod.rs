//! The rate of a picture and its distance from the original: bits per pixel, PSNR and MS-SSIM.
//!
//! [`ycbcr_psnr`] and [`luma_psnr`] are for frames of video. All others work on 8-bit samples as a viewer gets them,
//! grey or RGB; planar pictures are converted. Figures of luma alone are not comparable with theirs.
//!
//! ```
//! use nestcast_codec::{Channels, Picture, Size};
//! use nestcast_lab::metrics::{MsSsim, bpp, ms_ssim_db, psnr};
//!
//! let size = Size::new(192, 176)?;
//! let flat = |grey| Picture::new(size, Channels::Grey, vec![grey; size.pixels()]);
//! let (original, decoded) = (flat(100)?, flat(110)?);
//! assert_eq!(bpp(8448, size), 2.0);
//! assert_eq!(format!("{:.2} dB", psnr(&original, &decoded)), "28.13 dB");
//!
//! // An original is prepared once, and compared with as many pictures as there are cuts.
//! let similarity = MsSsim::new(&original).expect("no side under MsSsim::MIN_SIDE").compare(&decoded);
//! assert_eq!(format!("{similarity:.3}, {:.0} dB", ms_ssim_db(similarity)), "0.999, 32 dB");
//! # Ok::<(), nestcast_codec::Error>(())
//! ```

mod ms_ssim;
#[cfg(feature = "perceptual")]
mod perceptual;
mod psnr;
mod rate;
mod shape;
mod ycbcr;

pub use ms_ssim::{MsSsim, ms_ssim_db};
#[cfg(feature = "perceptual")]
pub use perceptual::{Perceptual, PerceptualScores};
pub use psnr::psnr;
pub use rate::{bpp, budget, jpeg_over_rtp};
pub use ycbcr::{YcbcrPsnr, luma_psnr, ycbcr_psnr};

#[cfg(test)]
mod testdata;
