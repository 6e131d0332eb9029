//! A frame that was shown, in figures.

use std::time::Duration;

/// A frame that one receiver showed, and what the rivals show of it. PSNR is that of luma, in dB.
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) seconds: f64,
    pub(super) bytes: usize,
    pub(super) latency: Duration,
    pub(super) psnr: f64,
    /// By the best rung that the link carries at the time.
    pub(super) x264: Option<f64>,
    /// Quality and PSNR of the best JPEG of no more bytes.
    pub(super) jpeg: Option<(u8, f64)>,
}

/// A figure, or that there is none.
pub(super) fn figure(psnr: Option<f64>) -> String {
    psnr.map_or_else(|| "\u{2013}".to_owned(), |psnr| format!("{psnr:.1}"))
}
