//! Lines of JSON for programs that watch a broadcast.

use nestcast_receiver::{Shown, Totals};
use nestcast_sender::Statistics;
use serde::Serialize;

/// A line that a command prints for programs.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    Listening {
        address: String,
        fingerprint: String,
        metrics: Option<String>,
        web: Option<String>,
    },
    Web {
        web: String,
    },
    #[cfg(feature = "moq")]
    Relay {
        #[serde(skip_serializing_if = "Option::is_none")]
        broadcast: Option<&'a str>,
        url: String,
        web: Option<String>,
    },
    Sent {
        #[serde(skip_serializing_if = "Option::is_none")]
        broadcast: Option<&'a str>,
        #[serde(flatten)]
        figures: &'a Statistics,
    },
    Frame {
        #[serde(flatten)]
        shown: &'a Shown<'a>,
        psnr_db: Option<f64>,
    },
    Concealed {
        id: u64,
        psnr_db: Option<f64>,
    },
    Received(&'a Totals),
    Recorded {
        #[serde(skip_serializing_if = "Option::is_none")]
        broadcast: Option<&'a str>,
        frames: u64,
        bytes: u64,
    },
}
