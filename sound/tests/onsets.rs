//! Sound keeps its time through the encoder and the decoder, also where a file begins again.

use std::io::Cursor;

use nestcast_proto::{Bitrate, SoundSource as _};
use nestcast_sound::{RawFormat, SoundDecoder, SoundInput};

#[expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]
#[test]
fn a_beep_is_as_late_as_the_input_says_also_after_the_sound_began_again() {
    let sample = |at: usize| if at % 48_000 < 24_000 { ((at as f64 * 0.06).sin() * 12_000.0) as i16 } else { 0 };
    let bytes: Vec<u8> = (0..96_000).flat_map(|at| sample(at).to_le_bytes()).collect();
    let raw = Some(RawFormat { rate: 48_000, channels: 1 });
    let input = SoundInput::new(Cursor::new(bytes.clone()), raw, Bitrate::from_bits(64_000)).expect("raw samples");
    let lag = input.lag().as_secs_f64() * 48_000.0;
    let mut input = input.repeated(move || Ok(Box::new(Cursor::new(bytes.clone()))));
    let mut decoder = SoundDecoder::new(input.sound()).expect("a decoder");
    let mut samples = Vec::new();
    for _ in 0..300 {
        let packet = input.next_packet().expect("a packet").expect("it begins again");
        samples.extend_from_slice(decoder.decode(&packet).expect("20 ms"));
    }
    let loud: Vec<bool> = samples.chunks(48).map(|block| block.iter().any(|sample| sample.abs() > 6000)).collect();
    let begins = loud.windows(2).enumerate().filter(|(_, pair)| !pair[0] && pair[1]).map(|(at, _)| (at + 1) * 48);
    let away: Vec<f64> = begins.map(|at| at as f64 - lag - ((at + 24_000) / 48_000 * 48_000) as f64).collect();
    println!("{away:?}");
    assert_eq!(away.len(), 6, "{away:?}");
    assert!(away.iter().all(|away| away.abs() < 240.0), "in samples: {away:?}");
}
