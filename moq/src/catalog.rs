//! The catalog: what a subscriber learns before the first frame, in the format of MSF (draft-ietf-moq-msf).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use nestcast_proto::{Message, Sound, Welcome};
use nestcast_relayed::catalog::{CATALOG_VERSION, MAX_CATALOG_BYTES, TRACK_PACKAGING, messages};
use nestcast_relayed::{Fault, Track, catalog};
use serde::{Deserialize, Serialize};

/// The version of the session whose messages and frame heads the tracks contain.
const SESSION_VERSION: u64 = 1;
/// Samples of sound a second.
const SOUND_SAMPLES_PER_SECOND: u32 = 48_000;
/// The units of timestamps in a second: microseconds since 1970-01-01 UTC.
pub const TIMESTAMP_UNITS_PER_SECOND: u64 = 1_000_000;

#[derive(Debug, Serialize, Deserialize)]
struct Catalog {
    version: u64,
    tracks: Vec<Entry>,
}

/// A track, as far as a subscriber must know it; it ignores all other fields.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    packaging: String,
    is_live: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    framerate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samplerate: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_config: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timescale: Option<u64>,
    /// The session's welcome, or its announcement of sound, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    init_data: Option<String>,
}

impl Entry {
    fn of(track: Track) -> Self {
        Self {
            name: track.name().to_owned(),
            packaging: TRACK_PACKAGING.to_owned(),
            is_live: true,
            role: Some("video".to_owned()),
            depends: Vec::new(),
            codec: None,
            width: None,
            height: None,
            framerate: None,
            samplerate: None,
            channel_config: None,
            timescale: Some(TIMESTAMP_UNITS_PER_SECOND),
            init_data: None,
        }
    }
}

/// Writes the catalog of a broadcast, with sound or without.
#[must_use]
pub fn encode(welcome: &Welcome, sound: Option<Sound>) -> Bytes {
    let message = Message::Welcome { version: SESSION_VERSION, welcome: welcome.clone() };
    let base = Entry {
        codec: Some(TRACK_PACKAGING.to_owned()),
        width: Some(welcome.width),
        height: Some(welcome.height),
        framerate: Some(welcome.rate.per_second()),
        init_data: Some(STANDARD.encode(message.encode())),
        ..Entry::of(Track::Base)
    };
    let depends = vec![Track::Base.name().to_owned()];
    let more = Entry { depends: depends.clone(), ..Entry::of(Track::More) };
    let join = Entry { depends, ..Entry::of(Track::Join) };
    let sound = sound.map(|sound| Entry {
        role: Some("audio".to_owned()),
        codec: Some("opus".to_owned()),
        samplerate: Some(SOUND_SAMPLES_PER_SECOND),
        channel_config: Some(sound.channels().to_string()),
        init_data: Some(STANDARD.encode(Message::Sound(sound).encode())),
        ..Entry::of(Track::Sound)
    });
    let tracks = [base, more, join].into_iter().chain(sound).collect();
    let catalog = Catalog { version: CATALOG_VERSION, tracks };
    // Strings and numbers: nothing that JSON lacks.
    serde_json::to_vec(&catalog).unwrap_or_default().into()
}

/// Reads a catalog, and returns the bytes of the session's welcome, followed by those of its announcement of sound if
/// there is any, unchecked.
///
/// # Errors
/// If it is longer than [`MAX_CATALOG_BYTES`], of another version, or of another kind of broadcast.
pub fn decode(bytes: &[u8]) -> Result<Bytes, Fault> {
    if bytes.len() > MAX_CATALOG_BYTES {
        return Err(Fault::CatalogTooLong);
    }
    let read: Catalog = serde_json::from_slice(bytes).map_err(|error| Fault::Catalog(error.to_string()))?;
    let entries: Result<Vec<_>, _> = read.tracks.into_iter().map(entry).collect();
    messages(read.version, &entries?)
}

/// Returns a track with its `initData` as bytes. That of sound may be of a build that writes it otherwise.
fn entry(Entry { name, packaging, init_data, .. }: Entry) -> Result<catalog::Entry, Fault> {
    let init_data = match STANDARD.decode(init_data.unwrap_or_default()) {
        Ok(bytes) => bytes.into(),
        Err(_) if name != Track::Base.name() => Bytes::new(),
        Err(error) => return Err(Fault::Catalog(error.to_string())),
    };
    Ok(catalog::Entry { name, packaging, init_data })
}

#[cfg(test)]
mod tests {
    use nestcast_proto::{Control, FrameRate, PackageHash, Video};

    use super::*;

    fn welcome() -> Welcome {
        Welcome {
            model: [1, 2, 3, 4, 5, 6],
            package: PackageHash([0; 32]),
            width: 640,
            height: 360,
            rate: FrameRate::new(30, 1).expect("a rate"),
            video: Some(Video::new([6, 5, 4, 3, 2, 1])),
        }
    }

    fn changed(change: impl FnOnce(&mut serde_json::Value)) -> Result<Bytes, Fault> {
        let mut catalog: serde_json::Value = serde_json::from_slice(&encode(&welcome(), None)).expect("JSON");
        change(&mut catalog);
        decode(&serde_json::to_vec(&catalog).expect("JSON"))
    }

    #[test]
    fn a_catalog_has_the_welcome_and_the_fields_of_other_players() {
        let bytes = encode(&welcome(), Some(Sound::Stereo));
        let mut control = Control::default();
        control.handle_bytes(&decode(&bytes).expect("ours"));
        let read = control.poll().expect("legal");
        assert!(matches!(read, Some(Message::Welcome { welcome: read, .. }) if read == welcome()), "{bytes:?}");
        assert_eq!(control.poll(), Ok(Some(Message::Sound(Sound::Stereo))));
        let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!((&json["tracks"][0]["width"], &json["tracks"][0]["framerate"]), (&640.into(), &30.0.into()));
        assert_eq!(json["tracks"][1]["depends"][0], "base");
        assert_eq!((&json["tracks"][3]["codec"], &json["tracks"][3]["channelConfig"]), (&"opus".into(), &"2".into()));
    }

    #[test]
    fn another_broadcasts_catalog_is_refused() {
        assert!(changed(|_| {}).is_ok());
        assert!(changed(|catalog| catalog["later"] = 3.into()).is_ok(), "what is unknown is ignored");
        assert!(matches!(changed(|catalog| catalog["version"] = 2.into()), Err(Fault::CatalogVersion(2))));
        let other = changed(|catalog| catalog["tracks"][0]["packaging"] = "loc".into());
        assert!(matches!(other, Err(Fault::OtherBroadcast)));
        let none = changed(|catalog| catalog["tracks"][1]["name"] = "audio".into());
        assert!(matches!(none, Err(Fault::OtherBroadcast)));
        assert!(matches!(changed(|catalog| catalog["tracks"][0]["initData"] = "%".into()), Err(Fault::Catalog(_))));
        assert!(matches!(decode(b"{"), Err(Fault::Catalog(_))));
        assert!(matches!(decode(&vec![b' '; MAX_CATALOG_BYTES + 1]), Err(Fault::CatalogTooLong)));
    }
}
