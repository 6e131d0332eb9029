//! A subscriber's end of moq-lite over any transport: streams' bytes in, events and messages out.

use std::collections::VecDeque;

use bytes::Bytes;
use nestcast_proto::MAX_SOUND_PACKET;

use crate::catalog::{Fault, MAX_CATALOG_BYTES};
use crate::event::{Event, Piece};
use crate::track::Track;
use crate::wire::{GroupHead, MAX_HEAD_BYTES, Version, object_head};

/// The most groups of a track that are read at once.
pub const MAX_GROUPS: usize = 64;
/// The most bytes of a packet of sound with its head.
pub const MAX_SOUND_OBJECT_BYTES: usize = MAX_SOUND_PACKET + 64;
/// The most bytes of streams that are open. A stream that brings more is stopped.
pub const MAX_OPEN_BYTES: u64 = 32 * 1024 * 1024;

/// The most groups of a subscription that are remembered.
const MAX_KNOWN_GROUPS: usize = 256;

/// What a driver does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Open a unidirectional stream, write these bytes, and finish it.
    Setup(Bytes),
    /// Open a bidirectional stream for the request of this number, and write these bytes.
    Request(u64, Bytes),
    /// Write these bytes to the stream of this request.
    Write(u64, Bytes),
    /// Finish the stream of this request.
    Leave(u64),
    /// Stop reading this stream.
    Stop(u64),
    /// Read this catalog.
    Catalog(Bytes),
    /// A track brought this.
    Event(Event),
    /// This track ended: it has no request any more.
    TrackEnd(Track),
    /// The broadcast cannot be used.
    Unusable(Fault),
}

/// A subscription.
#[derive(Debug)]
struct Request {
    number: u64,
    track: Track,
    /// The groups that came last.
    groups: VecDeque<u64>,
    /// Whether a group came that was of use, and the request that this one replaces then.
    has_begun: bool,
    replaces: Option<u64>,
    /// The newest group that is still read, because later ones come by the request that replaces this one.
    last: Option<u64>,
}

/// A stream that the relay opened.
#[derive(Debug, Default)]
struct Incoming {
    stream: u64,
    /// All bytes so far.
    bytes: u64,
    /// The bytes of a head that is not whole.
    head: Vec<u8>,
    group: Option<Group>,
    is_ignored: bool,
}

/// A group that is read.
#[derive(Debug)]
struct Group {
    subscription: u64,
    track: Track,
    /// The group's number.
    number: u64,
    /// The number of the frame that its next object belongs to.
    frame: u64,
    /// The bytes that came of the group; of the base track, of the object.
    offset: u64,
    /// The bytes that the object lacks; `None` before its head.
    left: Option<u64>,
    /// The object so far, of a track whose objects are used whole.
    object: Vec<u8>,
}

/// A subscriber to one broadcast at a relay.
#[derive(Debug)]
pub struct Client {
    version: Version,
    broadcast: String,
    /// Lists in place of maps, because both are short and every browser loads this code.
    requests: Vec<Request>,
    next_request: u64,
    streams: Vec<Incoming>,
    /// Groups of each track before this one are stopped.
    before: [u64; Track::ALL.len()],
    open_bytes: u64,
    outputs: VecDeque<Output>,
}

/// Input.
impl Client {
    /// Begins a connection, and asks for the catalog of the broadcast of this name.
    #[must_use]
    pub fn new(version: Version, broadcast: String) -> Self {
        let mut client = Self {
            version,
            broadcast,
            requests: Vec::new(),
            next_request: 0,
            streams: Vec::new(),
            before: [0; Track::ALL.len()],
            open_bytes: 0,
            outputs: VecDeque::from([Output::Setup(version.setup())]),
        };
        client.read(Track::Catalog);
        client
    }

    /// Subscribes to a track.
    pub fn read(&mut self, track: Track) {
        self.request(track, None, None);
    }

    /// Replaces the subscription to a track by one that begins after group `newest`, or after the newest that came if that
    /// is later. The old subscription goes on until the new one brings a group that has not come yet. Then it ends, and the
    /// relay drops what it holds for the old one, such as streams of which nothing came.
    pub fn renew(&mut self, track: Track, newest: u64) {
        let mut requests = self.requests.iter().filter(|request| request.track == track);
        let (Some(request), None) = (requests.next(), requests.next()) else { return };
        let (number, came) = (request.number, request.groups.iter().max().copied());
        if let Some(came) = came {
            self.request(track, Some(came.max(newest).saturating_add(1)), Some(number));
        }
    }

    /// Ends the subscription to a track, and stops its groups.
    pub fn leave(&mut self, track: Track) {
        while let Some(request) = self.requests.iter().find(|request| request.track == track) {
            self.end_request(request.number);
        }
    }

    /// Stops the groups of a track before this one, also those that come later.
    pub fn stop_before(&mut self, track: Track, number: u64) {
        let before = &mut self.before[track as usize];
        *before = number.max(*before);
        self.stop_all(|group| group.track == track && group.number < number);
    }

    /// Notes that the relay opened the unidirectional stream to which the driver gave this number.
    pub fn handle_opened(&mut self, stream: u64) {
        self.streams.push(Incoming { stream, ..Incoming::default() });
    }

    /// Processes the next bytes of a stream.
    pub fn handle_bytes(&mut self, stream: u64, mut bytes: Bytes) {
        let Some(mut incoming) = self.take_stream(stream) else { return };
        incoming.bytes += bytes.len() as u64;
        self.open_bytes += bytes.len() as u64;
        if self.open_bytes <= MAX_OPEN_BYTES && self.take(&mut incoming, &mut bytes) {
            self.streams.push(incoming);
        } else {
            self.open_bytes -= incoming.bytes;
            self.outputs.push_back(Output::Stop(stream));
        }
    }

    /// Notes the end of a stream: all of it came, or it was reset.
    pub fn handle_end(&mut self, stream: u64, is_whole: bool) {
        let Some(incoming) = self.take_stream(stream) else { return };
        self.open_bytes -= incoming.bytes;
        let Some(group) = incoming.group else { return };
        let is_whole = is_whole && group.left.is_none() && incoming.head.is_empty();
        // A random-access frame without its end is none; of the rest of a frame any part is worth something.
        if group.track == Track::More || group.track == Track::Join && is_whole {
            let end = Event::End { track: group.track, number: group.number, length: group.offset };
            self.outputs.push_back(Output::Event(end));
        }
    }

    /// Notes that the relay ended the stream of a request: there is no such track, or it is over. If the track has another
    /// request, that goes on alone.
    pub fn handle_request_end(&mut self, number: u64) {
        if let Some(at) = self.requests.iter().position(|request| request.number == number) {
            let request = self.requests.remove(at);
            match self.requests.iter_mut().find(|other| other.track == request.track) {
                Some(other) => other.last = None,
                None => self.outputs.push_back(Output::TrackEnd(request.track)),
            }
        }
    }

    /// Returns what to do next; `None` until the next input.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}

impl Client {
    fn request(&mut self, track: Track, first: Option<u64>, replaces: Option<u64>) {
        let number = self.next_request;
        self.next_request += 1;
        self.requests.push(Request { number, track, groups: VecDeque::new(), has_begun: false, replaces, last: None });
        self.outputs.push_back(Output::Request(number, self.version.subscribe(number, &self.broadcast, track, first)));
    }

    fn end_request(&mut self, number: u64) {
        if let Some(at) = self.requests.iter().position(|request| request.number == number) {
            self.requests.remove(at);
            self.outputs.push_back(Output::Leave(number));
            self.stop_all(|group| group.subscription == number);
        }
    }

    fn take_stream(&mut self, stream: u64) -> Option<Incoming> {
        let at = self.streams.iter().position(|incoming| incoming.stream == stream)?;
        Some(self.streams.swap_remove(at))
    }

    /// Takes bytes of a stream. Returns whether to read on.
    fn take(&mut self, incoming: &mut Incoming, bytes: &mut Bytes) -> bool {
        while !bytes.is_empty() && !incoming.is_ignored {
            let goes_on = match &mut incoming.group {
                None => self.take_group_head(incoming, bytes),
                Some(Group { left: Some(_), .. }) => self.take_object(incoming, bytes),
                Some(_) => self.take_object_head(incoming, bytes),
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn take_group_head(&mut self, incoming: &mut Incoming, bytes: &mut Bytes) -> bool {
        let Some(parsed) = take_head(&mut incoming.head, bytes, |head| match GroupHead::parse(head)? {
            None => Some((None, 0)),
            Some((head, length)) => Some((Some(head), length)),
        }) else {
            return incoming.head.len() < MAX_HEAD_BYTES;
        };
        let Some(head) = parsed else {
            // The relay's setup message, or something that this version does not know.
            incoming.is_ignored = true;
            return true;
        };
        self.begin(incoming, head)
    }

    /// Begins a group. Returns whether to read it.
    fn begin(&mut self, incoming: &mut Incoming, head: GroupHead) -> bool {
        let asked = self.requests.iter().find(|request| request.number == head.subscription);
        let Some(track) = asked.map(|request| request.track) else { return false };
        let is_over = asked.and_then(|request| request.last).is_some_and(|last| head.number > last);
        let mut of_track = self.requests.iter().filter(|request| request.track == track);
        let is_known = of_track.any(|request| request.groups.contains(&head.number));
        let is_stopped = is_over || head.number < self.before[track as usize];
        let open = self.streams.iter().filter_map(|stream| stream.group.as_ref());
        // A base layer and a packet of sound are of use without the objects before them.
        let is_partial = head.first > 0 && !matches!(track, Track::Base | Track::Sound);
        let has_room = open.filter(|group| group.track == track).count() < MAX_GROUPS;
        if !is_over {
            self.note(head);
        }
        if is_known || is_stopped || is_partial || !has_room {
            return false;
        }
        self.begin_request(head.subscription);
        if track == Track::Base {
            self.outputs.push_back(Output::Event(Event::BaseGroup(head.number)));
        }
        incoming.group = Some(Group {
            subscription: head.subscription,
            track,
            number: head.number,
            frame: head.number.saturating_add(head.first),
            offset: 0,
            left: None,
            object: Vec::new(),
        });
        true
    }

    /// Notes that a group came. Once a new request has brought one, the old one brings nothing later.
    fn note(&mut self, head: GroupHead) {
        let asked = self.requests.iter_mut().find(|request| request.number == head.subscription);
        let Some(request) = asked else { return };
        request.groups.push_back(head.number);
        if request.groups.len() > MAX_KNOWN_GROUPS {
            request.groups.pop_front();
        }
        let Some(replaced) = request.replaces else { return };
        if let Some(old) = self.requests.iter_mut().find(|request| request.number == replaced) {
            old.last.get_or_insert(head.number);
        }
    }

    /// Notes that a group of this request is of use.
    fn begin_request(&mut self, number: u64) {
        let Some(request) = self.requests.iter_mut().find(|request| request.number == number) else { return };
        if std::mem::replace(&mut request.has_begun, true) || request.track == Track::Catalog {
            return;
        }
        let (track, replaced) = (request.track, request.replaces.take());
        self.outputs.push_back(Output::Write(number, self.version.update(track)));
        if let Some(replaced) = replaced {
            self.end_request(replaced);
        }
    }

    fn take_object_head(&mut self, incoming: &mut Incoming, bytes: &mut Bytes) -> bool {
        let Some(size) = take_head(&mut incoming.head, bytes, object_head) else {
            return incoming.head.len() < MAX_HEAD_BYTES;
        };
        let Some(group) = &mut incoming.group else { return false };
        let most = match group.track {
            Track::Catalog => MAX_CATALOG_BYTES,
            Track::Sound => MAX_SOUND_OBJECT_BYTES,
            _ => usize::MAX,
        };
        if size > most as u64 {
            if group.track == Track::Catalog {
                self.outputs.push_back(Output::Unusable(Fault::CatalogTooLong));
            }
            return false;
        }
        group.left = Some(size);
        if size == 0 {
            self.end_object(incoming);
        }
        true
    }

    fn take_object(&mut self, incoming: &mut Incoming, bytes: &mut Bytes) -> bool {
        let Some(Group { track, frame, offset, left: Some(left), object, .. }) = &mut incoming.group else {
            return false;
        };
        let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
        let taken = bytes.split_to(count);
        *left -= count as u64;
        let is_whole = *left == 0;
        match track {
            Track::Catalog | Track::Sound => object.extend_from_slice(&taken),
            _ => {
                let piece = Piece { track: *track, number: *frame, offset: *offset, bytes: taken };
                self.outputs.push_back(Output::Event(Event::Bytes(piece)));
                *offset += count as u64;
            }
        }
        if is_whole {
            self.end_object(incoming);
        }
        true
    }

    /// Ends an object, all of which came.
    fn end_object(&mut self, incoming: &mut Incoming) {
        let Some(group) = &mut incoming.group else { return };
        group.left = None;
        let object = std::mem::take(&mut group.object);
        match group.track {
            Track::Catalog => self.outputs.push_back(Output::Catalog(object.into())),
            Track::Sound => self.outputs.push_back(Output::Event(Event::Sound(object.into()))),
            Track::Base => {
                let length = std::mem::take(&mut group.offset);
                let end = Event::End { track: Track::Base, number: group.frame, length };
                self.outputs.push_back(Output::Event(end));
                group.frame = group.frame.saturating_add(1);
            }
            Track::More | Track::Join => {}
        }
    }

    /// Stops the open groups for which `is_such` is true.
    fn stop_all(&mut self, is_such: impl Fn(&Group) -> bool) {
        let (outputs, open_bytes) = (&mut self.outputs, &mut self.open_bytes);
        self.streams.retain(|incoming| {
            let is_stopped = incoming.group.as_ref().is_some_and(&is_such);
            if is_stopped {
                *open_bytes -= incoming.bytes;
                outputs.push_back(Output::Stop(incoming.stream));
            }
            !is_stopped
        });
    }
}

/// Moves bytes to a head until `parse` returns what it says and its length. Then it takes those bytes, and no more.
fn take_head<T>(head: &mut Vec<u8>, bytes: &mut Bytes, parse: impl Fn(&[u8]) -> Option<(T, usize)>) -> Option<T> {
    let before = head.len();
    let added = bytes.len().min(MAX_HEAD_BYTES.saturating_sub(before));
    head.extend_from_slice(&bytes[..added]);
    let Some((parsed, length)) = parse(head) else {
        drop(bytes.split_to(added));
        return None;
    };
    drop(bytes.split_to(length.saturating_sub(before)));
    head.clear();
    Some(parsed)
}

#[cfg(test)]
mod tests;
