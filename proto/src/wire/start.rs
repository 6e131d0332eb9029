//! Where in a broadcast a receiver begins (spec, "Another beginning").

use std::time::Duration;

use bytes::BytesMut;

use crate::wire::close::{Close, SHORT_MESSAGE};
use crate::wire::varint::{Reader, put_varint};

const USUAL_START: u64 = 0;
const AFTER_BEGINNING: u64 = 1;
const BEFORE_NOW: u64 = 2;

/// Where in a broadcast a receiver begins, if not where all others are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// This long after the beginning of a stored video.
    AfterBeginning(Duration),
    /// This long before the newest frame of a live broadcast, or before the frame that a stored video has reached.
    BeforeNow(Duration),
}

impl Start {
    /// Returns the time, after the beginning or before now.
    #[must_use]
    pub const fn time(self) -> Duration {
        match self {
            Self::AfterBeginning(time) | Self::BeforeNow(time) => time,
        }
    }

    pub(crate) fn write(start: Option<Self>, body: &mut BytesMut) {
        let kind = match start {
            None => return put_varint(body, USUAL_START),
            Some(Self::AfterBeginning(_)) => AFTER_BEGINNING,
            Some(Self::BeforeNow(_)) => BEFORE_NOW,
        };
        put_varint(body, kind);
        let micros = start.map(|start| start.time().as_micros()).unwrap_or_default();
        put_varint(body, u64::try_from(micros).unwrap_or(u64::MAX));
    }

    /// Reads the start at the end of a hello. An older receiver's hello ends before it.
    pub(crate) fn read_of_hello(reader: &mut Reader<'_>) -> Result<Option<Self>, Close> {
        if reader.left() == 0 { Ok(None) } else { Self::read(reader) }
    }

    /// Reads a start; `None` if there is none, or one of a kind that this build does not know.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, Close> {
        let kind = reader.varint().ok_or(SHORT_MESSAGE)?;
        if ![AFTER_BEGINNING, BEFORE_NOW].contains(&kind) {
            return Ok(None);
        }
        let time = Duration::from_micros(reader.varint().ok_or(SHORT_MESSAGE)?);
        Ok(Some(if kind == AFTER_BEGINNING { Self::AfterBeginning(time) } else { Self::BeforeNow(time) }))
    }
}
