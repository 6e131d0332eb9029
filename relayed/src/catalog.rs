//! What a subscriber needs of a catalog, which a reader of JSON has taken apart (spec: relay.md, "Catalog").

use bytes::{Bytes, BytesMut};
use nestcast_proto::{Control, Message};

use crate::track::Track;

/// The version of the catalog's format.
pub const CATALOG_VERSION: u64 = 1;
/// The packaging of all tracks: what their objects contain.
pub const TRACK_PACKAGING: &str = "nestcast";
/// The most bytes of a catalog.
pub const MAX_CATALOG_BYTES: usize = 16 * 1024;

/// A track as a catalog lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The track's name.
    pub name: String,
    /// What its objects contain.
    pub packaging: String,
    /// The bytes of `initData`; empty if there are none.
    pub init_data: Bytes,
}

/// What is wrong with a broadcast.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The catalog is no JSON of this form.
    #[error("its catalog is damaged: {0}")]
    Catalog(String),
    /// The catalog is too long.
    #[error("its catalog has more than {MAX_CATALOG_BYTES} bytes")]
    CatalogTooLong,
    /// The catalog is of another version.
    #[error("its catalog is of version {0}, and this nestcast reads version {CATALOG_VERSION}")]
    CatalogVersion(u64),
    /// The catalog announces no tracks of nestcast.
    #[error("it is no broadcast of nestcast")]
    OtherBroadcast,
    /// No catalog comes.
    #[error("no catalog came in time")]
    NoCatalog,
    /// The broadcast ended.
    #[error("it ended")]
    Ended,
    /// The frames are pictures.
    #[error("its frames are pictures that are encoded each by itself; relays carry video alone")]
    Pictures,
}

/// Returns the session's welcome that a catalog has, followed by the announcement of sound if there is any. Both are
/// bytes of a control stream, which a session checks.
///
/// # Errors
/// If the catalog is of another version, or of another kind of broadcast.
pub fn messages(version: u64, entries: &[Entry]) -> Result<Bytes, Fault> {
    if version != CATALOG_VERSION {
        return Err(Fault::CatalogVersion(version));
    }
    let named = |track: Track| {
        let is_ours = |entry: &&Entry| entry.name == track.name() && entry.packaging == TRACK_PACKAGING;
        entries.iter().find(is_ours).ok_or(Fault::OtherBroadcast)
    };
    named(Track::More)?;
    named(Track::Join)?;
    let welcome = named(Track::Base)?;
    if welcome.init_data.is_empty() {
        return Err(Fault::OtherBroadcast);
    }
    let mut messages = BytesMut::from(&welcome.init_data[..]);
    // Pictures do without sound that this build does not know.
    let sound = named(Track::Sound).ok().filter(|sound| is_sound(&sound.init_data));
    messages.extend_from_slice(sound.map_or(&[], |sound| &sound.init_data));
    Ok(messages.freeze())
}

/// Returns whether these bytes announce sound, and nothing else.
fn is_sound(message: &[u8]) -> bool {
    let mut control = Control::default();
    control.handle_bytes(message);
    matches!(control.poll(), Ok(Some(Message::Sound(sound))) if Message::Sound(sound).encode() == message)
}

#[cfg(test)]
mod tests {
    use nestcast_proto::Sound;

    use super::*;

    fn entries() -> Vec<Entry> {
        let entry = |track: Track, init_data: &[u8]| Entry {
            name: track.name().to_owned(),
            packaging: TRACK_PACKAGING.to_owned(),
            init_data: Bytes::copy_from_slice(init_data),
        };
        vec![entry(Track::Base, b"welcome"), entry(Track::More, b""), entry(Track::Join, b"")]
    }

    #[test]
    fn a_catalog_gives_the_beginning_of_a_session() {
        assert_eq!(messages(1, &entries()).as_deref(), Ok(&b"welcome"[..]));
        let sound = |init_data: Bytes| {
            let sound = Entry { name: "sound".to_owned(), packaging: TRACK_PACKAGING.to_owned(), init_data };
            messages(1, &[&entries()[..], &[sound]].concat()).expect("a broadcast")
        };
        let announced = Message::Sound(Sound::Stereo).encode();
        assert_eq!(sound(announced.clone()), [b"welcome", &announced[..]].concat());
        let twice = [&announced[..], &announced].concat();
        assert_eq!((&sound(twice.into())[..], &sound(Bytes::new())[..]), (&b"welcome"[..], &b"welcome"[..]));
    }

    #[test]
    fn other_catalogs_are_refused() {
        assert_eq!(messages(2, &entries()), Err(Fault::CatalogVersion(2)));
        for index in 0..3 {
            let mut all = entries();
            all[index].packaging = "loc".to_owned();
            assert_eq!(messages(1, &all), Err(Fault::OtherBroadcast), "{index}");
            all.remove(index);
            assert_eq!(messages(1, &all), Err(Fault::OtherBroadcast), "{index}");
        }
        let mut all = entries();
        all[0].init_data = Bytes::new();
        assert_eq!(messages(1, &all), Err(Fault::OtherBroadcast));
    }
}
