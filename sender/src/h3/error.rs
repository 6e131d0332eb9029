//! Errors in a peer's HTTP/3; each closes its connection (RFC 9114, section 8.1).

/// A rule of HTTP/3 that a peer broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("HTTP/3 error {code:#x}: {why}")]
pub(crate) struct H3Error {
    /// The code that the connection is closed with.
    pub(crate) code: u32,
    /// The reason, for people.
    pub(crate) why: &'static str,
}

impl H3Error {
    /// The code for a connection that ends without an error.
    pub(crate) const NO_ERROR: u32 = 0x100;

    pub(crate) const fn stream_creation(why: &'static str) -> Self {
        Self { code: 0x103, why }
    }

    pub(crate) const fn closed_critical_stream(why: &'static str) -> Self {
        Self { code: 0x104, why }
    }

    pub(crate) const fn unexpected_frame(why: &'static str) -> Self {
        Self { code: 0x105, why }
    }

    pub(crate) const fn malformed_frame(why: &'static str) -> Self {
        Self { code: 0x106, why }
    }

    pub(crate) const fn excessive_load(why: &'static str) -> Self {
        Self { code: 0x107, why }
    }

    pub(crate) const fn id(why: &'static str) -> Self {
        Self { code: 0x108, why }
    }

    pub(crate) const fn settings(why: &'static str) -> Self {
        Self { code: 0x109, why }
    }

    pub(crate) const fn missing_settings(why: &'static str) -> Self {
        Self { code: 0x10A, why }
    }

    pub(crate) const fn request_rejected(why: &'static str) -> Self {
        Self { code: 0x10B, why }
    }

    pub(crate) const fn malformed_message(why: &'static str) -> Self {
        Self { code: 0x10E, why }
    }

    pub(crate) const fn decompression_failed(why: &'static str) -> Self {
        Self { code: 0x200, why }
    }
}
