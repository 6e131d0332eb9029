//! What the functions of the module share, and how they return results.

use std::cell::RefCell;

use bytes::Bytes;
use nestcast_codec::{Format, FrameResiduals, Matrix, Range, Ycbcr};
use nestcast_proto::{BroadcastName, Start};
use nestcast_relayed::catalog::Entry;

use super::picture;
use crate::file::File;
use crate::milliseconds::milliseconds;
use crate::network::Network;
use crate::residual_worker::ResidualWorker;
use crate::screen::{Presented, Screen, ScreenError};
use crate::step::Step;
use crate::tables::{Tables, Wanted};

/// The values that functions return; `page/worker.js` has the same numbers.
pub(super) const REPLY_NOTHING: u32 = 0;
pub(super) const REPLY_FAILED: u32 = 1;
pub(super) const REPLY_SAY: u32 = 2;
pub(super) const REPLY_WELCOME: u32 = 3;
pub(super) const REPLY_STOP: u32 = 4;
pub(super) const REPLY_CLOSE: u32 = 5;
pub(super) const REPLY_PICTURE: u32 = 6;
pub(super) const REPLY_WANTS_PHOTO: u32 = 7;
pub(super) const REPLY_WANTS_VIDEO: u32 = 8;
pub(super) const REPLY_SOUND: u32 = 9;
pub(super) const REPLY_START: u32 = 10;
pub(super) const REPLY_SETUP: u32 = 11;
pub(super) const REPLY_REQUEST: u32 = 12;
pub(super) const REPLY_WRITE: u32 = 13;
pub(super) const REPLY_LEAVE: u32 = 14;
pub(super) const REPLY_CATALOG: u32 = 15;
pub(super) const REPLY_UNUSABLE: u32 = 16;
pub(super) const REPLY_WANTS_RESIDUALS: u32 = 17;
pub(super) const REPLY_RESIDUALS: u32 = 18;

/// What the functions of one instance of the module share.
#[derive(Default)]
pub(super) struct State {
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
    pub(super) numbers: [f64; 16],
    pub(super) network: Option<Network>,
    /// The tracks of a catalog.
    pub(super) entries: Vec<Entry>,
    pub(super) broadcast: BroadcastName,
    pub(super) start: Option<Start>,
    pub(super) screen: Screen,
    pub(super) tables: Tables,
    pub(super) residual_worker: ResidualWorker,
    /// Residuals that are made for another worker, or taken from one.
    pub(super) residuals: FrameResiduals,
    pub(super) file: Option<File>,
    /// A file whose tables are not loaded yet.
    pub(super) unopened: Bytes,
    pub(super) rgba: Vec<u8>,
}

thread_local! {
    static MODULE_STATE: RefCell<State> = RefCell::default();
}

pub(super) fn with<R>(work: impl FnOnce(&mut State) -> R) -> R {
    MODULE_STATE.with_borrow_mut(work)
}

impl State {
    pub(super) fn input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    pub(super) fn set(&mut self, numbers: &[f64]) {
        self.numbers[..numbers.len()].copy_from_slice(numbers);
    }

    pub(super) fn fail(&mut self, why: &dyn std::fmt::Display) -> u32 {
        self.output = why.to_string().into_bytes();
        REPLY_FAILED
    }

    /// Reports a step of the network, as `network_poll` says.
    pub(super) fn reply(&mut self, step: Step) -> u32 {
        match step {
            Step::Say(bytes) => self.put(REPLY_SAY, &[], bytes),
            Step::Welcome(ahead) => self.put(REPLY_WELCOME, &[ahead], Bytes::new()),
            Step::Start(start) => {
                let numbers = match start {
                    None => [0.0, 0.0],
                    Some(Start::AfterBeginning(time)) => [1.0, milliseconds(time)],
                    Some(Start::BeforeNow(time)) => [2.0, milliseconds(time)],
                };
                self.put(REPLY_START, &numbers, Bytes::new())
            }
            Step::Sound(sound) => self.put(REPLY_SOUND, &[sound.channels() as f64], Bytes::new()),
            Step::Stop(stream) => self.put(REPLY_STOP, &[stream as f64], Bytes::new()),
            Step::Close { code, why, may_retry } => {
                let numbers = [f64::from(code.number()), f64::from(u8::from(may_retry))];
                self.put(REPLY_CLOSE, &numbers, why.into())
            }
            Step::Setup(bytes) => self.put(REPLY_SETUP, &[], bytes),
            Step::Request(number, bytes) => self.put(REPLY_REQUEST, &[number as f64], bytes),
            Step::Write(number, bytes) => self.put(REPLY_WRITE, &[number as f64], bytes),
            Step::Leave(number) => self.put(REPLY_LEAVE, &[number as f64], Bytes::new()),
            Step::Catalog(json) => self.put(REPLY_CATALOG, &[], json),
            Step::Unusable { why, may_retry } => {
                self.put(REPLY_UNUSABLE, &[f64::from(u8::from(may_retry))], why.into())
            }
        }
    }

    fn put(&mut self, reply: u32, numbers: &[f64], output: Bytes) -> u32 {
        self.set(numbers);
        self.output = output.into();
        reply
    }

    /// Reports the picture's place: address, width, height, and format. The formats: 0 grey, 1 RGB, 2 YCbCr of limited
    /// range by BT.601, 3 of full range, 4 and 5 the same by BT.709.
    pub(super) fn set_place(&mut self) {
        let Some(picture) = picture(&self.file, &self.screen) else { return };
        let format = match picture.format() {
            Format::Grey => 0.0,
            Format::Rgb => 1.0,
            Format::Ycbcr420(Ycbcr { range, matrix }) => {
                2.0 + f64::from(u8::from(range == Range::Full)) + 2.0 * f64::from(u8::from(matrix == Matrix::Bt709))
            }
            _ => 0.0,
        };
        let address = picture.samples().as_ptr().addr() as f64;
        let (width, height) = (picture.size().width() as f64, picture.size().height() as f64);
        self.numbers[8..12].copy_from_slice(&[address, width, height, format]);
    }

    pub(super) fn presented(&mut self, presented: Result<Presented, ScreenError>) -> u32 {
        match presented {
            Ok(Presented::Nothing) => REPLY_NOTHING,
            Ok(Presented::Wants(wanted)) => wants(wanted),
            Ok(Presented::WantsResiduals(frame)) => {
                self.set(&[frame as f64]);
                REPLY_WANTS_RESIDUALS
            }
            Ok(Presented::Picture(shown)) => {
                let id = shown.id.map_or(-1.0, |id| id as f64);
                let [bytes, full] = shown.bytes.map(|bytes| bytes as f64);
                self.set(&[id, f64::from(u8::from(shown.is_concealed)), shown.captured, bytes, full, shown.receiving]);
                self.set_place();
                REPLY_PICTURE
            }
            Err(why) => self.fail(&why),
        }
    }
}

pub(super) const fn wants(wanted: Wanted) -> u32 {
    match wanted {
        Wanted::Photo => REPLY_WANTS_PHOTO,
        Wanted::Video => REPLY_WANTS_VIDEO,
    }
}

/// Converts a stream's number from JavaScript, where it is a floating-point number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a whole number below 2^53")]
pub(super) const fn whole(number: f64) -> u64 {
    number as u64
}
