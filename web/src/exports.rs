//! The module's functions, by the names under which `page/worker.js` calls them. Arguments and results are numbers. The
//! caller writes bytes at [`input`] and reads bytes at [`output`]; several results are at [`numbers`].

mod state;

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::Bitrate;
use nestcast_media::to_rgba;
use nestcast_player::{Picture, PlayStats};
use nestcast_proto::{Code, Hello, Start};
use nestcast_relayed::Version;
use nestcast_relayed::catalog::Entry;

use self::state::{REPLY_NOTHING, REPLY_PICTURE, REPLY_RESIDUALS, REPLY_SOUND, State, wants, whole, with};
use crate::file::{Content, File};
use crate::milliseconds::{duration, milliseconds};
use crate::network::Network;
use crate::screen::Screen;
use crate::tables::Wanted;

/// Exports functions that have the state as their first argument.
macro_rules! exports {
    ($($(#[$doc:meta])* fn $name:ident($state:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        #[expect(unsafe_code, reason = "the compiler cannot know that no other function has this name")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            with(|$state: &mut State| $body)
        }
    )*};
}

exports! {
    /// Makes room for the bytes that the next function reads, and returns its address.
    fn input(state, count: usize) -> *mut u8 {
        state.input = vec![0; count];
        state.input.as_mut_ptr()
    }

    /// Returns the address of the bytes that the last function left.
    fn output(state) -> *const u8 {
        state.output.as_ptr()
    }

    /// Returns the number of these bytes.
    fn output_length(state) -> usize {
        state.output.len()
    }

    /// Returns the address of the numbers that the last function left: 16 of 64 bits.
    fn numbers(state) -> *const f64 {
        state.numbers.as_ptr()
    }

    /// Chooses the broadcast of the sessions from now on. In: its name. Text that is none chooses none.
    fn network_broadcast(state) {
        let name = state.input();
        state.broadcast = str::from_utf8(&name).ok().and_then(|name| name.parse().ok()).unwrap_or_default();
    }

    /// Chooses where the sessions from now on begin: 0, where all others do; 1, this many milliseconds after the
    /// beginning; 2, this many before now.
    fn network_start(state, kind: u32, time: f64) {
        state.start = match kind {
            1 => Some(Start::AfterBeginning(duration(time))),
            2 => Some(Start::BeforeNow(duration(time))),
            _ => None,
        };
    }

    /// Begins a session. In: the token.
    fn network_open(state, now: f64, max_bitrate: f64) {
        let hello = Network::hello(&state.input(), whole(max_bitrate), state.broadcast.clone());
        let hello = Hello { start: state.start, ..hello };
        match &mut state.network {
            Some(network) => network.handle_connection(now, hello),
            none => *none = Some(Network::new(now, hello)),
        }
    }

    /// See [`Network::handle_rtt`].
    fn network_rtt(state, rtt: f64) {
        state.network.iter_mut().for_each(|network| network.handle_rtt(rtt));
    }

    /// See [`Network::handle_said`].
    fn network_said(state) {
        state.network.iter_mut().for_each(Network::handle_said);
    }

    /// In: bytes of the control stream.
    fn network_control(state) {
        let bytes = state.input();
        state.network.iter_mut().for_each(|network| network.handle_control_bytes(&bytes));
    }

    /// Notes whether the screen can decode what was announced.
    fn network_answer(state, now: f64, is_ready: u32) {
        let Some(network) = &mut state.network else { return };
        match is_ready {
            0 => network.handle_model_missing(now),
            _ => network.handle_ready(now),
        }
    }

    /// See [`Network::handle_undecoded`]. A negative number is none.
    fn network_undecoded(state, frame: f64) {
        state.network.iter_mut().filter(|_| frame >= 0.0).for_each(|network| network.handle_undecoded(whole(frame)));
    }

    /// Notes whether the user wants sound: 0 or 1.
    fn network_sound(state, now: f64, wanted: u32) {
        state.network.iter_mut().for_each(|network| network.handle_sound_wanted(now, wanted == 1));
    }

    /// Returns the number of a stream that the sender opened.
    fn network_opened(state) -> f64 {
        state.network.as_mut().map_or(0.0, |network| network.handle_opened() as f64)
    }

    /// In: the next bytes of a stream.
    fn network_bytes(state, now: f64, stream: f64) {
        let bytes = Bytes::from(state.input());
        state.network.iter_mut().for_each(|network| network.handle_stream_bytes(now, whole(stream), bytes.clone()));
    }

    /// See [`Network::handle_stream_end`]: `is_whole` is 0 or 1.
    fn network_end(state, now: f64, stream: f64, is_whole: u32) {
        state.network.iter_mut().for_each(|network| network.handle_stream_end(now, whole(stream), is_whole == 1));
    }

    /// See [`Network::handle_relay`], after `network_open`. In: the version's name, a byte of 0, the broadcast's name.
    fn relay_open(state) {
        let input = state.input();
        let mut names = input.splitn(2, |byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
        let (version, broadcast) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        if let (Some(network), Some(version)) = (&mut state.network, Version::named(&version)) {
            network.handle_relay(version, broadcast);
        }
    }

    /// Adds a track of a catalog. In: its name, a byte of 0, its packaging, a byte of 0, and the bytes of its `initData`.
    fn relay_track(state) {
        let input = Bytes::from(state.input());
        let mut ends = input.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
        let (Some(first), Some(second)) = (ends.next(), ends.next()) else { return };
        let text = |range| String::from_utf8_lossy(&input[range]).into_owned();
        let (name, packaging) = (text(0..first), text(first + 1..second));
        state.entries.push(Entry { name, packaging, init_data: input.slice(second + 1..) });
    }

    /// See [`Network::handle_catalog`], after its tracks; a version below 0 if there is no JSON. Returns `REPLY_NOTHING` or
    /// `REPLY_UNUSABLE`, as `network_poll` does.
    fn relay_catalog(state, now: f64, rtt: f64, version: f64) -> u32 {
        let entries = std::mem::take(&mut state.entries);
        let catalog = (version >= 0.0).then(|| (whole(version), &entries[..]));
        match state.network.as_mut().and_then(|network| network.handle_catalog(now, rtt, catalog)) {
            Some(step) => state.reply(step),
            None => REPLY_NOTHING,
        }
    }

    /// See [`Network::handle_request_end`].
    fn relay_end(state, number: f64) {
        state.network.iter_mut().for_each(|network| network.handle_request_end(whole(number)));
    }

    /// See [`Network::handle_close`].
    fn network_closed(state) {
        state.network.iter_mut().for_each(Network::handle_close);
    }

    /// Returns `REPLY_SAY` (out: bytes), `REPLY_WELCOME` (numbers: milliseconds ahead), `REPLY_STOP` (numbers: stream),
    /// `REPLY_SOUND` (numbers: channels), `REPLY_START` (numbers: as the arguments of `network_start`), `REPLY_CLOSE`
    /// (numbers: code, whether to retry; out: why) or `REPLY_NOTHING`. With a relay also `REPLY_SETUP` (out: bytes),
    /// `REPLY_REQUEST` and `REPLY_WRITE` (numbers: request; out: bytes), `REPLY_LEAVE` (numbers: request),
    /// `REPLY_CATALOG` (out: JSON) or `REPLY_UNUSABLE` (numbers: whether to retry; out: why).
    fn network_poll(state, now: f64) -> u32 {
        match state.network.as_mut().and_then(|network| network.poll(now)) {
            Some(step) => state.reply(step),
            None => REPLY_NOTHING,
        }
    }

    /// Returns [`Network::poll_timeout`]; infinity for none.
    fn network_due(state) -> f64 {
        state.network.as_ref().and_then(Network::poll_timeout).unwrap_or(f64::INFINITY)
    }

    /// Out: mail for the screen. Returns its number of bytes.
    fn network_mail(state) -> usize {
        state.output = state.network.as_mut().map(|network| network.take_mail().into()).unwrap_or_default();
        state.output.len()
    }

    /// Numbers: frames that arrived, frames without a base, bytes, useful bytes, frames dropped because the screen was
    /// busy.
    fn network_stats(state) {
        let Some(network) = &state.network else { return };
        let received = network.received();
        let counts = [received.shown, received.missing_bases, received.bytes, received.useful, network.replaced()];
        state.set(&counts.map(|count| count as f64));
    }

    /// Explains a sender's close code. Numbers: whether a new connection may help. Out: words.
    fn close_code(state, number: f64) {
        let code = Code::from_number(whole(number));
        state.set(&[f64::from(u8::from(code.may_retry()))]);
        state.output = code.to_string().into_bytes();
    }

    /// In: a file of tables; `video` is 0 for pictures, 1 for video. Returns `REPLY_NOTHING` or `REPLY_FAILED` (out:
    /// why).
    fn load_tables(state, video: u32) -> u32 {
        let bytes = state.input();
        let wanted = if video == 0 { Wanted::Photo } else { Wanted::Video };
        let loaded = state.screen.handle_tables(wanted, &bytes).and_then(|()| state.tables.load(wanted, &bytes));
        loaded.map_or_else(|why| state.fail(&why), |()| REPLY_NOTHING)
    }

    /// In: how long to delay frames, `min`, `smooth` or milliseconds, from the next connection on. Returns
    /// `REPLY_NOTHING` or `REPLY_FAILED` (out: why).
    fn screen_latency(state) -> u32 {
        let text = state.input();
        let set = state.screen.set_latency(&String::from_utf8_lossy(&text));
        set.map_or_else(|why| state.fail(&why), |()| REPLY_NOTHING)
    }

    /// In: mail. Returns `REPLY_WANTS_PHOTO`, `REPLY_WANTS_VIDEO`, `REPLY_WANTS_RESIDUALS` (numbers: frame; call
    /// `screen_complete`), `REPLY_NOTHING` or `REPLY_FAILED` (out: why). While `screen_has_mail`, call `screen_resume`, and
    /// then `screen_time`. `is_shared` is 1 if a worker that decodes residuals has the same mail.
    fn screen_mail(state, now: f64, is_shared: u32) -> u32 {
        let mail = Bytes::from(state.input());
        let presented = state.screen.handle_mail(now, mail, is_shared == 1);
        state.presented(presented)
    }

    /// See [`Screen::resume`]; the results are those of [`screen_mail`].
    fn screen_resume(state, now: f64) -> u32 {
        let presented = state.screen.resume(now);
        state.presented(presented)
    }

    /// Makes room for this many bytes of residuals, and returns its address.
    fn screen_residuals(state, bytes: usize) -> *mut i16 {
        state.residuals.room(bytes / size_of::<i16>()).as_mut_ptr()
    }

    /// Completes the predicted frame: 1, with the residuals that are there; 0, without any. Returns 1 if they were of use.
    fn screen_complete(state, is_given: u32) -> u32 {
        u32::from(state.screen.complete((is_given == 1).then_some(&mut state.residuals)))
    }

    /// See [`ResidualWorker::open`](crate::ResidualWorker::open), after `load_tables`.
    fn residual_open(state, width: u32, height: u32) {
        if let Ok(model) = state.tables.video() {
            state.residual_worker.open(model, [width, height]);
        }
    }

    /// In: a copy of mail for the screen.
    fn residual_mail(state) {
        let mail = Bytes::from(state.input());
        // The screen reports broken mail.
        let _ = state.residual_worker.handle_mail(mail);
    }

    /// Returns `REPLY_RESIDUALS` (numbers: frame, address, bytes), or `REPLY_NOTHING` after the last frame.
    fn residual_next(state) -> u32 {
        let Some(frame) = state.residual_worker.poll(&mut state.residuals) else { return REPLY_NOTHING };
        let numbers = state.residuals.numbers();
        let (address, bytes) = (numbers.as_ptr().addr() as f64, size_of_val(numbers) as f64);
        state.set(&[frame as f64, address, bytes]);
        REPLY_RESIDUALS
    }

    /// See [`Screen::has_mail`].
    fn screen_has_mail(state) -> u32 {
        u32::from(state.screen.has_mail())
    }

    /// See [`Screen::handle_time`]. Returns `REPLY_PICTURE` (numbers: id or -1, whether it is concealed, captured,
    /// bytes, full, receiving, from 8 on place), `REPLY_NOTHING` or `REPLY_FAILED` (out: why).
    fn screen_time(state, now: f64) -> u32 {
        let presented = state.screen.handle_time(now);
        state.presented(presented)
    }

    /// Returns whether the sender that was announced last can be decoded: 0 no, 1 yes, 2 if an earlier call returned
    /// the answer.
    fn screen_readiness(state) -> u32 {
        state.screen.poll_readiness().map_or(2, u32::from)
    }

    /// Returns [`Screen::poll_undecoded`]; -1 for none.
    fn screen_undecoded(state) -> f64 {
        state.screen.poll_undecoded().map_or(-1.0, |frame| frame as f64)
    }

    /// Returns [`Screen::poll_timeout`]; infinity for none.
    fn screen_due(state) -> f64 {
        state.screen.poll_timeout().unwrap_or(f64::INFINITY)
    }

    /// Returns `REPLY_SOUND` (numbers: samples, the time at which it is heard; out: a packet, empty if it is missing)
    /// or `REPLY_NOTHING`.
    fn screen_sound(state, now: f64) -> u32 {
        let Some(heard) = state.screen.handle_sound_time(now) else { return REPLY_NOTHING };
        state.set(&[heard.samples as f64, heard.at]);
        state.output = heard.packet.map(Into::into).unwrap_or_default();
        REPLY_SOUND
    }

    /// Returns [`Screen::sound_timeout`]; infinity for none.
    fn screen_sound_due(state) -> f64 {
        state.screen.sound_timeout().unwrap_or(f64::INFINITY)
    }

    /// Returns [`Screen::next_frame_at`]; infinity for none.
    fn screen_next_frame(state) -> f64 {
        state.screen.next_frame_at().unwrap_or(f64::INFINITY)
    }

    /// See [`Screen::handle_shown`].
    fn screen_shown(state, latency: f64) {
        state.screen.handle_shown(latency);
    }

    /// Numbers: frames shown, undecoded, concealed, repeated, corrupt, late; the mean delay that the clock added, and
    /// what the unevenness of 95 % of the frames does not exceed, in milliseconds (infinity above 100); packets of
    /// sound that were played, and that were lost.
    fn screen_stats(state) {
        let played = state.screen.played();
        let PlayStats { shown, undecoded, concealed, repeated, corrupt, late, unevenness, sound, .. } = played;
        let p95 = unevenness.percentile(95).unwrap_or_default();
        let p95 = if p95 == Duration::MAX { f64::INFINITY } else { milliseconds(p95) };
        state.set(&[shown, undecoded, concealed, repeated, corrupt, late].map(|count| count as f64));
        let [packets, lost] = [sound.packets, sound.lost].map(|count| count as f64);
        state.numbers[6..10].copy_from_slice(&[milliseconds(played.mean_wait()), p95, packets, lost]);
    }

    /// Converts the last picture to red, green, blue and 255 for each pixel, as `nestcast decode` does. Returns its
    /// address; null if there is none, or if it has opacity or more than 8 bits a sample.
    fn rgba(state) -> *const u8 {
        let Some(picture) = picture(&state.file, &state.screen) else { return std::ptr::null() };
        if to_rgba(picture, &mut state.rgba) { state.rgba.as_ptr() } else { std::ptr::null() }
    }

    /// In: a file. Returns `REPLY_NOTHING` (numbers: frames and seconds of a video, else 0), `REPLY_FAILED` (out: why),
    /// `REPLY_WANTS_PHOTO` or `REPLY_WANTS_VIDEO`: load these and call [`file_resume`].
    fn file_open(state) -> u32 {
        state.unopened = Bytes::from(state.input());
        open(state)
    }

    /// Opens the file of [`file_open`] after its tables are loaded.
    fn file_resume(state) -> u32 {
        open(state)
    }

    /// Returns `REPLY_PICTURE` (numbers: place), `REPLY_NOTHING` if the bytes end inside the header, or `REPLY_FAILED`
    /// (out: why).
    fn file_cut(state, count: usize) -> u32 {
        match state.file.as_mut().map(|file| file.cut(count)) {
            Some(Ok(true)) => {
                state.set_place();
                REPLY_PICTURE
            }
            Some(Err(why)) => state.fail(&why),
            _ => REPLY_NOTHING,
        }
    }

    /// Plays a video from its beginning. Returns `REPLY_NOTHING` or `REPLY_FAILED` (out: why).
    fn file_play(state, bits_per_second: f64) -> u32 {
        match state.file.as_mut().map(|file| file.play(Bitrate::rounded(bits_per_second))) {
            Some(Err(why)) => state.fail(&why),
            _ => REPLY_NOTHING,
        }
    }

    /// Returns `REPLY_PICTURE` (numbers: bytes, from 8 on place), `REPLY_NOTHING` after the last frame, or
    /// `REPLY_FAILED` (out: why).
    fn file_frame(state) -> u32 {
        match state.file.as_mut().map(File::next_frame) {
            Some(Ok(Some(bytes))) => {
                state.set(&[bytes as f64]);
                state.set_place();
                REPLY_PICTURE
            }
            Some(Err(why)) => state.fail(&why),
            _ => REPLY_NOTHING,
        }
    }
}

fn open(state: &mut State) -> u32 {
    match File::open(state.unopened.clone(), &state.tables) {
        Err(wanted) => wants(wanted),
        Ok(Err(why)) => state.fail(&why),
        Ok(Ok(file)) => {
            let (frames, seconds) = match file.content() {
                Content::Picture => (0, 0),
                Content::Video { frames, seconds } => (frames, seconds),
            };
            state.set(&[f64::from(frames), f64::from(seconds)]);
            (state.file, state.unopened) = (Some(file), Bytes::new());
            REPLY_NOTHING
        }
    }
}

fn picture<'a>(file: &'a Option<File>, screen: &'a Screen) -> Option<&'a Picture> {
    file.as_ref().map_or_else(|| screen.picture(), File::picture)
}
