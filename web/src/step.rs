//! What the network asks of the page.

use bytes::Bytes;
use nestcast_proto::{Code, Sound, Start};

/// An action for the page.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Write these bytes to the control stream, and call [`Network::handle_said`](crate::Network::handle_said) after it accepted them.
    Say(Bytes),
    /// The mail has a welcome. Answer with [`Network::handle_ready`](crate::Network::handle_ready) or [`Network::handle_model_missing`](crate::Network::handle_model_missing), and then
    /// read streams. The sender's clock is this many milliseconds ahead of the page's.
    Welcome(f64),
    /// The session begins here, after a hello with a start; `None`: where all others do.
    Start(Option<Start>),
    /// The broadcast has this sound. The page may let its user choose it.
    Sound(Sound),
    /// Stop reading this stream.
    Stop(u64),
    /// Open a unidirectional stream to the relay, write these bytes, and finish it.
    Setup(Bytes),
    /// Open a bidirectional stream to the relay for the request of this number, and write these bytes. Report its end by
    /// [`Network::handle_request_end`](crate::Network::handle_request_end).
    Request(u64, Bytes),
    /// Write these bytes to the stream of this request.
    Write(u64, Bytes),
    /// Finish the stream of this request.
    Leave(u64),
    /// Read this catalog, JSON, and call [`Network::handle_catalog`](crate::Network::handle_catalog).
    Catalog(Bytes),
    /// Leave the relay, and tell the user why.
    Unusable {
        /// The reason, for the user.
        why: String,
        /// Whether a new connection may help: the relay has no such broadcast at the moment, or it ended.
        may_retry: bool,
    },
    /// Close the session with this code, and tell the user why.
    Close {
        /// The code for the sender.
        code: Code,
        /// The reason, for the user.
        why: String,
        /// Whether a new connection may help.
        may_retry: bool,
    },
}
