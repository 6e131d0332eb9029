//! Sound from a file or a pipe: WAV, raw samples or Ogg Opus.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read};
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Bitrate, Sound, SoundSource, SourceError};

use crate::codec::{SAMPLES_PER_SECOND, SoundEncoder};
use crate::error::Error;
use crate::ogg_opus::OggOpus;
use crate::pcm::{Blocks, to_i16};
use crate::rewind::Rewind;

/// The samples of each channel that are read at once: less than a packet, so that a live pipe is not waited for.
const READ_SAMPLES: usize = 240;

/// Raw samples: signed, 16 bits, the lower byte first, the channels in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawFormat {
    /// Samples of each channel in a second, 8000 to 192000.
    pub rate: u32,
    /// The number of channels, 1 or 2.
    pub channels: u16,
}

impl FromStr for RawFormat {
    type Err = &'static str;

    /// Reads `RATE:CHANNELS`, as in `48000:2`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let why = "give the rate in Hz and the channels, as in 48000:2";
        let (rate, channels) = text.split_once(':').ok_or(why)?;
        Ok(Self { rate: rate.parse().map_err(|_| why)?, channels: channels.parse().map_err(|_| why)? })
    }
}

/// Reads sound and makes packets of it.
pub struct SoundInput {
    kind: Kind,
    /// Opens the input again when it ends.
    again: Option<Again>,
    raw: Option<RawFormat>,
    bitrate: Bitrate,
}

type Input = Box<dyn Read + Send>;
type Again = Box<dyn FnMut() -> io::Result<Input> + Send>;

enum Kind {
    Samples(Box<Coding>),
    Opus(OggOpus<Input>),
}

/// From samples to packets.
struct Coding {
    samples: Samples,
    blocks: Blocks,
    encoder: SoundEncoder,
    is_over: bool,
}

/// Where samples come from.
enum Samples {
    Wav(hound::WavReader<Rewind<Input>>),
    Raw { input: Rewind<Input>, channels: u16, odd: VecDeque<u8> },
}

impl std::fmt::Debug for SoundInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoundInput").field("sound", &self.sound()).finish_non_exhaustive()
    }
}

impl SoundInput {
    /// Reads WAV or Ogg Opus, whichever it is, or raw samples if `raw` is there and it is neither. Samples are encoded
    /// at `bitrate`; Opus stays as it is.
    ///
    /// # Errors
    /// If it is none of these, or sound that is not supported.
    pub fn new(input: impl Read + Send + 'static, raw: Option<RawFormat>, bitrate: Bitrate) -> Result<Self, Error> {
        let kind = Kind::new(Box::new(input), raw, bitrate)?;
        Ok(Self { kind, again: None, raw, bitrate })
    }

    /// Begins again with what `again` opens when the sound ends.
    #[must_use]
    pub fn repeated(mut self, again: impl FnMut() -> io::Result<Box<dyn Read + Send>> + Send + 'static) -> Self {
        self.again = Some(Box::new(again));
        self
    }

    /// Returns the next packet of 20 ms; `None` at the end.
    ///
    /// # Errors
    /// If the input breaks off, or is damaged.
    pub fn next_packet(&mut self) -> Result<Option<Bytes>, Error> {
        if let Some(packet) = self.kind.next()? {
            return Ok(Some(packet));
        }
        let Some(again) = &mut self.again else { return Ok(None) };
        let mut kind = Kind::new(again()?, self.raw, self.bitrate)?;
        if kind.sound() != self.kind.sound() {
            return Err(Error::Wav("it has other channels than before".to_owned()));
        }
        if let (Kind::Samples(coding), Kind::Samples(before)) = (&mut kind, &mut self.kind) {
            // A new encoder would begin with silence of some 50 ms.
            std::mem::swap(&mut coding.encoder, &mut before.encoder);
        }
        self.kind = kind;
        self.kind.next()
    }
}

impl SoundSource for SoundInput {
    fn sound(&self) -> Sound {
        self.kind.sound()
    }

    fn lag(&self) -> Duration {
        let samples = match &self.kind {
            Kind::Samples(coding) => coding.encoder.lookahead(),
            Kind::Opus(opus) => opus.skipped().into(),
        };
        Duration::from_secs(samples.into()) / SAMPLES_PER_SECOND
    }

    fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        self.next_packet().map_err(SourceError::broken_off)
    }
}

impl Kind {
    fn new(input: Input, raw: Option<RawFormat>, bitrate: Bitrate) -> Result<Self, Error> {
        let mut input = Rewind::new(Box::new(BufReader::new(input)) as Input);
        let magic = input.peek(4)?;
        if magic == b"OggS" {
            return OggOpus::new(input).map(Self::Opus);
        }
        let (samples, rate, channels) = if magic == b"RIFF" {
            let reader = hound::WavReader::new(input)?;
            let hound::WavSpec { channels, sample_rate, bits_per_sample, sample_format } = reader.spec();
            if sample_format == hound::SampleFormat::Int && bits_per_sample > 32 {
                return Err(Error::Wav(format!("its samples have {bits_per_sample} bits")));
            }
            (Samples::Wav(reader), sample_rate, channels)
        } else {
            let RawFormat { rate, channels } = raw.ok_or(Error::Unknown)?;
            (Samples::Raw { input, channels, odd: VecDeque::new() }, rate, channels)
        };
        let blocks = Blocks::new(rate, channels)?;
        let encoder = SoundEncoder::new(blocks.sound(), bitrate)?;
        Ok(Self::Samples(Box::new(Coding { samples, blocks, encoder, is_over: false })))
    }

    fn sound(&self) -> Sound {
        match self {
            Self::Samples(coding) => coding.blocks.sound(),
            Self::Opus(opus) => opus.sound(),
        }
    }

    fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self {
            Self::Opus(opus) => opus.next(),
            Self::Samples(coding) => coding.next(),
        }
    }
}

impl Coding {
    fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(block) = self.blocks.pop() {
                return self.encoder.encode(&block).map(Some);
            }
            if self.is_over {
                return Ok(None);
            }
            let read = self.samples.read()?;
            self.is_over = read.is_empty();
            if self.is_over { self.blocks.finish() } else { self.blocks.push(&read)? }
        }
    }
}

impl Samples {
    /// Returns the next samples of all channels; none at the end.
    fn read(&mut self) -> Result<Vec<i16>, Error> {
        match self {
            Self::Wav(reader) => read_wav(reader),
            Self::Raw { input, channels, odd } => {
                let mut bytes = vec![0; READ_SAMPLES * 2 * usize::from(*channels)];
                let sample = 2 * usize::from(*channels);
                loop {
                    let count = match input.read(&mut bytes) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        other => other?,
                    };
                    odd.extend(&bytes[..count]);
                    let whole = odd.len() - odd.len() % sample;
                    if whole > 0 || count == 0 {
                        let whole: Vec<u8> = odd.drain(..whole).collect();
                        return Ok(whole.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect());
                    }
                }
            }
        }
    }
}

fn read_wav(reader: &mut hound::WavReader<Rewind<Input>>) -> Result<Vec<i16>, Error> {
    let spec = reader.spec();
    let count = READ_SAMPLES * usize::from(spec.channels);
    let mut samples = Vec::with_capacity(count);
    // A program that writes WAV to a pipe announces more samples than come.
    let ended = |error: &hound::Error| matches!(error, hound::Error::IoError(error) if error.kind() != io::ErrorKind::Interrupted);
    match spec.sample_format {
        hound::SampleFormat::Int => {
            for sample in reader.samples::<i32>().take(count) {
                match sample {
                    Ok(sample) => samples.push(to_16_bits(sample, spec.bits_per_sample)),
                    Err(error) if ended(&error) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        hound::SampleFormat::Float => {
            for sample in reader.samples::<f32>().take(count) {
                match sample {
                    Ok(sample) => samples.push(to_i16(sample * 32_767.0)),
                    Err(error) if ended(&error) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    samples.truncate(samples.len() - samples.len() % usize::from(spec.channels));
    Ok(samples)
}

fn to_16_bits(sample: i32, bits: u16) -> i16 {
    let scaled = if bits > 16 { sample >> (bits - 16) } else { sample << (16 - bits) };
    i16::try_from(scaled).unwrap_or(if scaled < 0 { i16::MIN } else { i16::MAX })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]

    use super::*;
    use crate::codec::PACKET_SAMPLES;

    fn tone(samples: usize, channels: usize) -> Vec<u8> {
        let sample = |at: usize| ((at as f64 * 0.05).sin() * 9000.0) as i16;
        (0..samples).flat_map(|at| sample(at).to_le_bytes().repeat(channels)).collect()
    }

    /// Returns the header of a WAV of 48 kHz that announces this number of bytes.
    fn header(channels: u16, bytes: u32) -> Vec<u8> {
        let spec = hound::WavSpec {
            channels,
            sample_rate: SAMPLES_PER_SECOND,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut header = io::Cursor::new(Vec::new());
        hound::WavWriter::new(&mut header, spec).expect("memory").finalize().expect("memory");
        let mut header = header.into_inner();
        let end = header.len();
        header[4..8].copy_from_slice(&bytes.saturating_add(36).to_le_bytes());
        header[end - 4..].copy_from_slice(&bytes.to_le_bytes());
        header
    }

    fn count(mut input: SoundInput) -> (Sound, usize) {
        let mut packets = 0;
        while let Some(packet) = input.next_packet().expect("a packet") {
            assert!(!packet.is_empty() && packets < 1000);
            packets += 1;
        }
        (input.sound(), packets)
    }

    fn open(bytes: Vec<u8>, raw: Option<RawFormat>) -> Result<SoundInput, Error> {
        SoundInput::new(io::Cursor::new(bytes), raw, Bitrate::from_bits(64_000))
    }

    #[test]
    fn wav_and_raw_samples_are_packets_of_20_ms_and_the_last_is_filled() {
        let raw = |rate, channels| Some(RawFormat { rate, channels });
        let stereo = tone(10 * PACKET_SAMPLES + 1, 2);
        assert_eq!(count(open(stereo.clone(), raw(48_000, 2)).expect("raw")), (Sound::Stereo, 11));
        let whole = [&header(2, stereo.len() as u32)[..], &stereo].concat();
        assert_eq!(count(open(whole.clone(), None).expect("wav")), (Sound::Stereo, 11));
        // One that was written to a pipe announces more than comes.
        let piped = [&header(2, u32::MAX - 39)[..], &stereo].concat();
        assert_eq!(count(open(piped, None).expect("wav")), (Sound::Stereo, 11));
        let mono = tone(44_100, 1);
        assert_eq!(count(open(mono, raw(44_100, 1)).expect("raw")), (Sound::Mono, 50));
        let lag = open(whole, None).expect("wav").lag();
        assert_eq!(lag, Duration::from_micros(6500));
    }

    /// Sound of these samples, which goes on with `after`.
    fn repeated(before: Vec<u8>, after: Vec<u8>) -> SoundInput {
        open(before, None).expect("sound").repeated(move || Ok(Box::new(io::Cursor::new(after.clone()))))
    }

    #[test]
    fn sound_that_repeats_may_have_another_rate_then_but_no_other_channels() {
        let wav = |channels: u16, rate: u32| {
            let samples = tone(rate as usize / 10, channels.into());
            let mut bytes = header(channels, samples.len() as u32);
            // The rate, and the bytes of a second.
            bytes[24..28].copy_from_slice(&rate.to_le_bytes());
            bytes[28..32].copy_from_slice(&(rate * 2 * u32::from(channels)).to_le_bytes());
            [bytes, samples].concat()
        };
        let mut faster = repeated(wav(1, 44_100), wav(1, 48_000));
        for packet in 0..15 {
            let packet = faster.next_packet().unwrap_or_else(|error| panic!("packet {packet}: {error}"));
            assert!(packet.is_some_and(|packet| !packet.is_empty()));
        }
        let mut wider = repeated(wav(1, 48_000), wav(2, 48_000));
        for _ in 0..5 {
            assert!(wider.next_packet().expect("a packet").is_some());
        }
        let error = wider.next_packet().expect_err("two channels follow one").to_string();
        assert!(error.contains("it has other channels than before"), "{error}");
    }

    #[test]
    fn what_is_no_sound_is_refused() {
        assert!(matches!(open(b"YUV4MPEG2".to_vec(), None), Err(Error::Unknown)));
        assert!(matches!(open(Vec::new(), None), Err(Error::Unknown)));
        assert!(matches!(open(b"RIFFnothing".to_vec(), None), Err(Error::Wav(_) | Error::Io(_))));
        assert!(matches!(open(b"OggSnothing".to_vec(), None), Err(Error::Ogg(_) | Error::Io(_))));
        assert!(matches!(open(vec![0; 9], Some(RawFormat { rate: 48_000, channels: 6 })), Err(Error::Format { .. })));
        assert!("48000".parse::<RawFormat>().is_err() && "a:2".parse::<RawFormat>().is_err());
        assert_eq!("44100:1".parse(), Ok(RawFormat { rate: 44_100, channels: 1 }));
    }

    /// Returns five packets of Opus, and an Ogg stream of this serial number with them.
    fn ogg_opus(serial: u32) -> (Vec<Bytes>, Vec<u8>) {
        let mut encoder = SoundEncoder::new(Sound::Mono, Bitrate::from_bits(32_000)).expect("an encoder");
        let packets: Vec<Bytes> = (0..5).map(|_| encoder.encode(&[300; PACKET_SAMPLES]).expect("20 ms")).collect();
        let mut bytes = Vec::new();
        let mut writer = ogg::PacketWriter::new(&mut bytes);
        let mut write = |packet: Vec<u8>, end, at| writer.write_packet(packet, serial, end, at).expect("memory");
        let head = [&b"OpusHead\x01\x01"[..], &312_u16.to_le_bytes(), &48_000_u32.to_le_bytes(), &[0; 3]].concat();
        write(head, ogg::PacketWriteEndInfo::EndPage, 0);
        write(b"OpusTags\0\0\0\0\0\0\0\0".to_vec(), ogg::PacketWriteEndInfo::EndPage, 0);
        for (at, packet) in packets.iter().enumerate() {
            let end = if at == 4 { ogg::PacketWriteEndInfo::EndStream } else { ogg::PacketWriteEndInfo::NormalPacket };
            write(packet.to_vec(), end, (at as u64 + 1) * PACKET_SAMPLES as u64);
        }
        (packets, bytes)
    }

    /// As radio stations send them: a stream for each song.
    #[test]
    fn a_second_stream_of_ogg_ends_the_sound() {
        let (packets, bytes) = ogg_opus(7);
        let mut input = open([bytes, ogg_opus(8).1].concat(), None).expect("ogg");
        for packet in &packets {
            assert_eq!(input.next_packet().expect("a packet").as_ref(), Some(packet));
        }
        let error = input.next_packet().expect_err("a stream follows").to_string();
        assert!(error.contains("another stream follows the first"), "{error}");
    }

    #[test]
    fn ogg_opus_is_passed_on_as_it_is_and_begins_again() {
        let (packets, bytes) = ogg_opus(7);
        let input = open(bytes.clone(), None).expect("ogg");
        assert_eq!((input.sound(), input.lag()), (Sound::Mono, Duration::from_micros(6500)));
        let mut input = input.repeated(move || Ok(Box::new(io::Cursor::new(bytes.clone()))));
        for packet in packets.iter().cycle().take(12) {
            assert_eq!(input.next_packet().expect("a packet").as_ref(), Some(packet));
        }
    }
}
