//! The figures of one shown frame.

use std::time::Duration;

/// A frame that one receiver showed, and what the rivals show of it. PSNR is of luma, in dB.
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) seconds: f64,
    pub(super) bytes: usize,
    pub(super) latency: Duration,
    pub(super) psnr: f64,
    /// PSNR of the best rung that fits the link at the time.
    pub(super) x264: Option<f64>,
    /// Quality and PSNR of the best JPEG of at most as many bytes.
    pub(super) jpeg: Option<(u8, f64)>,
}

/// Formats a figure, or says that there is none.
pub(super) fn figure(psnr: Option<f64>) -> String {
    psnr.map_or_else(|| "\u{2013}".to_owned(), |psnr| format!("{psnr:.1}"))
}
