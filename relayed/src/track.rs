//! The tracks of a relayed broadcast (spec: relay.md, "Tracks").

use std::time::Duration;

/// A track of a relayed broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Track {
    /// The announcement: one group with one object, as JSON.
    Catalog,
    /// The base layer of each frame, after the frame's head: one object for each frame, several in a group. Its number
    /// is that of its first frame.
    Base,
    /// The rest of each frame in embedded order: one group for each frame.
    More,
    /// Packets of sound, if the broadcast has sound: one object for each, several in a group.
    Sound,
    /// Random-access frames, each in a group with the number of the frame that it replaces. A group of base layers
    /// begins with the same frame.
    Join,
}

impl Track {
    /// All tracks.
    pub const ALL: [Self; 5] = [Self::Catalog, Self::Sound, Self::Base, Self::More, Self::Join];

    /// How much of the past a new subscription gets: what the relay may send before the next frame.
    pub const MAX_FIRST_AGE: Duration = Duration::from_millis(50);

    /// Returns the track's name at a relay.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalog => "catalog",
            Self::Sound => "sound",
            Self::Base => "base",
            Self::More => "more",
            Self::Join => "join",
        }
    }

    /// Returns the track's priority: a relay sends the higher one first.
    #[must_use]
    pub const fn priority(self) -> u8 {
        match self {
            Self::Catalog => 250,
            Self::Sound => 220,
            Self::Base => 200,
            Self::Join => 150,
            Self::More => 50,
        }
    }

    /// Returns how late a group may be, after the first one of a subscription: base layers as long as a session waits
    /// for them, the rest of a frame until it is stopped. A catalog may have any age.
    #[must_use]
    pub const fn max_age(self) -> Duration {
        match self {
            Self::Catalog => Duration::ZERO,
            Self::Sound => Duration::from_millis(500),
            Self::Base | Self::Join => Duration::from_secs(1),
            Self::More => Duration::from_millis(300),
        }
    }
}
