//! What the sender's streams carry: reads each from its head to its end.

mod parity;

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};

use self::parity::Parity;
use crate::subscribe::repair::Repair;
use crate::wire::bases::Bases;
use crate::wire::close::Close;
use crate::wire::frame::FrameHeader;
use crate::wire::limits::MAX_FRAME;
use crate::wire::parity::ParityHeader;
use crate::wire::sound::{SoundHeader, SoundPacket};
use crate::wire::stream::{LateHeader, ModelHeader, StreamHead};

/// A piece of data from a stream.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A part of a frame.
    Frame(FramePart),
    /// A packet of sound.
    Sound(SoundPacket),
    /// This stream carries a model package.
    Package(u64, ModelHeader),
    /// Bytes of the package on this stream.
    PackageBytes(u64, Bytes),
    /// The package's stream ended.
    PackageEnd(u64),
    /// From now on bytes of this stream are useful in any order.
    AnyOrder(u64),
    /// The rest of this stream is useless.
    Useless(u64),
}

/// A part of a frame.
#[derive(Debug)]
pub(super) enum FramePart {
    /// Its stream began.
    Head(FrameHeader),
    /// Bytes of this frame, in order.
    Bytes(u64, Bytes),
    /// This frame's stream ended.
    End(u64),
    /// The base layer of a frame, sent again.
    Base(FrameHeader, Bytes),
    /// More bytes of a picture, at the header's offset.
    Late(LateHeader, Bytes),
}

impl From<FramePart> for Arrival {
    fn from(part: FramePart) -> Self {
        Self::Frame(part)
    }
}

/// All open streams of a connection.
#[derive(Debug)]
pub(super) struct Streams {
    streams: BTreeMap<u64, Stream>,
    /// The most bytes of a stream that are kept for its parity.
    most_kept: usize,
    /// Whether any parity has come: until then nothing is kept for it.
    has_parity: bool,
    /// Whether sound is useful.
    wants_sound: bool,
    /// The lowest number of a stream that ended inside its head.
    headless: Option<u64>,
    /// The lowest number of a stream on which a frame began.
    first_frame: Option<u64>,
    arrivals: VecDeque<Arrival>,
}

#[derive(Debug)]
struct Stream {
    content: Content,
    /// Bytes that came in order.
    came: u64,
    parity: Parity,
}

/// What a stream carries.
#[derive(Debug)]
enum Content {
    /// Its head is incomplete.
    Unknown(BytesMut),
    Frame {
        id: u64,
        is_shown: bool,
    },
    Bases {
        bases: Bases,
        is_shown: bool,
    },
    Late(LateHeader),
    Parity {
        header: ParityHeader,
        bytes: BytesMut,
    },
    Sound {
        header: SoundHeader,
        bytes: BytesMut,
    },
    Package,
    /// The rest of it is useless.
    Useless,
}

impl Streams {
    /// Keeps at most `most_kept` bytes of a stream for its parity.
    pub(super) const fn new(most_kept: usize) -> Self {
        Self {
            streams: BTreeMap::new(),
            most_kept,
            has_parity: false,
            wants_sound: false,
            headless: None,
            first_frame: None,
            arrivals: VecDeque::new(),
        }
    }

    /// Sets the most bytes of a stream that are kept for its parity from now on.
    pub(super) const fn set_most_kept(&mut self, most_kept: usize) {
        self.most_kept = most_kept;
    }

    /// Sets whether sound that begins now is useful.
    pub(super) const fn set_wants_sound(&mut self, wanted: bool) {
        self.wants_sound = wanted;
    }

    /// Adds a stream that the sender opened.
    pub(super) fn open(&mut self, number: u64) {
        let content = Content::Unknown(BytesMut::new());
        self.streams.entry(number).or_insert(Stream { content, came: 0, parity: Parity::default() });
    }

    /// Processes bytes of a stream; `shows_frames` says whether frames that begin now are useful. [`Streams::poll`]
    /// returns the results.
    ///
    /// # Errors
    /// If they break a rule.
    pub(super) fn handle_bytes(
        &mut self,
        number: u64,
        offset: u64,
        bytes: Bytes,
        shows_frames: bool,
    ) -> Result<(), Close> {
        let has_place = self.has_parity && self.kept_streams() < parity::MAX_KEPT_STREAMS;
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        if stream.parity.is_repairing() {
            stream.parity.handle_scattered(offset, &bytes)?;
            return self.take_repaired(number, shows_frames);
        }
        if offset != stream.came {
            return Ok(());
        }
        stream.parity.keep(offset, &bytes, self.most_kept, has_place);
        stream.came += bytes.len() as u64;
        self.read(number, bytes, shows_frames)
    }

    /// Ends a stream.
    pub(super) fn end(&mut self, number: u64) {
        match self.streams.remove(&number).map(|stream| stream.content) {
            Some(Content::Frame { id, .. }) => self.arrivals.push_back(FramePart::End(id).into()),
            Some(Content::Package) => self.arrivals.push_back(Arrival::PackageEnd(number)),
            Some(Content::Unknown(_)) => self.headless = least(self.headless, number),
            _ => {}
        }
    }

    /// Returns whether a frame may have begun on an earlier stream than all frames that began: the head of such a stream
    /// has not come, or was lost with a reset.
    pub(super) fn may_lack_first_frame(&self) -> bool {
        let Some(first) = self.first_frame else { return false };
        let is_unread = |stream: &Stream| matches!(stream.content, Content::Unknown(_));
        self.headless.is_some_and(|number| number < first) || self.streams.range(..first).any(|(_, it)| is_unread(it))
    }

    /// Returns the next piece of data.
    pub(super) fn poll(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// Reads the next bytes of a stream in order.
    fn read(&mut self, number: u64, bytes: Bytes, shows_frames: bool) -> Result<(), Close> {
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        let Content::Unknown(start) = &mut stream.content else {
            return self.read_content(number, bytes, shows_frames);
        };
        start.extend_from_slice(&bytes);
        let Some((head, length)) = StreamHead::parse(start)? else { return Ok(()) };
        let first = start.split_off(length).freeze();
        let content = self.begin(number, head, shows_frames);
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.content = content;
        }
        self.read_content(number, first, shows_frames)
    }

    /// Returns the content of a stream that begins with this head.
    fn begin(&mut self, number: u64, head: StreamHead, is_shown: bool) -> Content {
        match head {
            StreamHead::Frame(header) => {
                if is_shown {
                    self.first_frame = least(self.first_frame, number);
                    self.arrivals.push_back(FramePart::Head(header).into());
                }
                Content::Frame { id: header.id, is_shown }
            }
            // A later version of the session defines it.
            StreamHead::Unknown(_) => Content::Useless,
            StreamHead::Sound(_) if !self.wants_sound => Content::Useless,
            StreamHead::Sound(header) => Content::Sound { header, bytes: BytesMut::new() },
            StreamHead::Bases => Content::Bases { bases: Bases::default(), is_shown },
            StreamHead::Late(header) => Content::Late(header),
            StreamHead::Model(header) => {
                self.arrivals.push_back(Arrival::Package(number, header));
                Content::Package
            }
            StreamHead::Parity(header) => {
                self.has_parity = true;
                match self.wants_parity(&header) {
                    true => Content::Parity { header, bytes: BytesMut::with_capacity(header.parity_bytes()) },
                    false => Content::Useless,
                }
            }
        }
    }

    /// Reads bytes that follow a stream's head.
    fn read_content(&mut self, number: u64, bytes: Bytes, shows_frames: bool) -> Result<(), Close> {
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        match &mut stream.content {
            Content::Frame { id, is_shown: true } => self.arrivals.push_back(FramePart::Bytes(*id, bytes).into()),
            Content::Bases { bases, is_shown } => {
                bases.handle_bytes(&bytes);
                while let Some((header, base)) = bases.poll()? {
                    if *is_shown {
                        self.arrivals.push_back(FramePart::Base(header, base).into());
                    }
                }
            }
            Content::Late(header) => {
                let at = *header;
                header.offset += bytes.len() as u64;
                let is_too_long = header.offset > MAX_FRAME;
                self.arrivals.push_back(FramePart::Late(at, bytes).into());
                if is_too_long {
                    return Err(Close::violation("a picture has more late bytes than any frame"));
                }
            }
            Content::Parity { header, bytes: parity } => {
                let length = header.parity_bytes();
                if parity.len() + bytes.len() > length {
                    return Err(Close::violation("parity is longer than it announced"));
                }
                parity.extend_from_slice(&bytes);
                if parity.len() == length {
                    let header = *header;
                    let parity = std::mem::take(parity).freeze();
                    self.stop(number);
                    return self.bring_parity(header, parity, shows_frames);
                }
            }
            Content::Sound { header, bytes: packet } => {
                packet.extend_from_slice(&bytes);
                let &mut SoundHeader { number: id, captured, length } = header;
                if packet.len() as u64 > length {
                    return Err(Close::violation("a packet of sound is longer than it announced"));
                }
                if packet.len() as u64 == length {
                    let packet = SoundPacket { number: id, captured, bytes: std::mem::take(packet).freeze() };
                    self.arrivals.push_back(Arrival::Sound(packet));
                    self.stop(number);
                }
            }
            Content::Package => self.arrivals.push_back(Arrival::PackageBytes(number, bytes)),
            Content::Useless => self.stop(number),
            Content::Unknown(_) | Content::Frame { is_shown: false, .. } => {}
        }
        Ok(())
    }

    /// Drops a stream whose rest is useless.
    fn stop(&mut self, number: u64) {
        self.end(number);
        self.arrivals.push_back(Arrival::Useless(number));
    }

    /// Returns the number of streams of which something is kept for their parity.
    fn kept_streams(&self) -> usize {
        self.streams.values().filter(|stream| stream.parity.takes_place()).count()
    }

    /// Returns whether the parity protects a stream that is being read, and that is short enough to be kept.
    fn wants_parity(&self, header: &ParityHeader) -> bool {
        let is_read = self.streams.get(&header.stream).is_some_and(|stream| !stream.parity.came);
        is_read && header.length <= self.most_kept as u64
    }

    /// Begins the repair of a stream with its complete parity.
    fn bring_parity(&mut self, header: ParityHeader, parity: Bytes, shows_frames: bool) -> Result<(), Close> {
        let has_place = self.kept_streams() < parity::MAX_KEPT_STREAMS;
        let number = header.stream;
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        if stream.parity.came {
            // Two parities of one stream came at the same time.
            return Ok(());
        }
        stream.parity.begin(stream.came, header, parity, has_place);
        if !stream.parity.is_repairing() {
            return Ok(());
        }
        self.arrivals.push_back(Arrival::AnyOrder(number));
        self.take_repaired(number, shows_frames)
    }

    /// Reads the bytes that are now in order, of a stream whose parity came.
    fn take_repaired(&mut self, number: u64, shows_frames: bool) -> Result<(), Close> {
        while let Some(bytes) = self.repairing(number).and_then(Repair::poll) {
            self.read(number, bytes, shows_frames)?;
        }
        if self.repairing(number).is_some_and(|repair| repair.is_whole()) {
            self.stop(number);
        }
        Ok(())
    }

    fn repairing(&mut self, number: u64) -> Option<&mut Repair> {
        self.streams.get_mut(&number)?.parity.repair()
    }
}

fn least(before: Option<u64>, number: u64) -> Option<u64> {
    Some(before.map_or(number, |before| before.min(number)))
}
