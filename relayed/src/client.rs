//! A subscriber's end of moq-lite over any transport: streams' bytes in, events and messages out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use nestcast_proto::MAX_SOUND_PACKET;

use crate::catalog::{Fault, MAX_CATALOG_BYTES};
use crate::event::Event;
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
    /// This track ended.
    TrackEnd(Track),
    /// The broadcast cannot be used.
    Unusable(Fault),
}

/// A subscription.
#[derive(Debug)]
struct Request {
    track: Track,
    /// The newest groups that came.
    groups: BTreeSet<u64>,
    /// Whether a group came that was of use, and the request that this one replaces then.
    has_begun: bool,
    replaces: Option<u64>,
}

/// A stream that the relay opened.
#[derive(Debug, Default)]
struct Incoming {
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
    requests: BTreeMap<u64, Request>,
    next_request: u64,
    streams: BTreeMap<u64, Incoming>,
    /// Groups of a track before this one are stopped.
    before: BTreeMap<Track, u64>,
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
            requests: BTreeMap::new(),
            next_request: 0,
            streams: BTreeMap::new(),
            before: BTreeMap::new(),
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

    /// Replaces the subscription to a track by one that begins after the newest group that came. The old one ends when
    /// the first group of the new one comes. With it the relay drops all that it holds for the old one, such as streams of
    /// which nothing came.
    pub fn renew(&mut self, track: Track) {
        let mut requests = self.requests.iter().filter(|(_, request)| request.track == track);
        let (Some((&number, request)), None) = (requests.next(), requests.next()) else { return };
        if let Some(newest) = request.groups.last().copied() {
            self.request(track, Some(newest.saturating_add(1)), Some(number));
        }
    }

    /// Ends the subscription to a track, and stops its groups.
    pub fn leave(&mut self, track: Track) {
        let left = self.requests.iter().filter(|(_, request)| request.track == track);
        let left: Vec<_> = left.map(|(number, _)| *number).collect();
        left.into_iter().for_each(|number| self.end_request(number));
    }

    /// Stops the groups of a track before this one, also those that come later.
    pub fn stop_before(&mut self, track: Track, number: u64) {
        let before = self.before.entry(track).or_default();
        *before = number.max(*before);
        self.stop_all(|group| group.track == track && group.number < number);
    }

    /// Notes that the relay opened the unidirectional stream to which the driver gave this number.
    pub fn handle_opened(&mut self, stream: u64) {
        self.streams.insert(stream, Incoming::default());
    }

    /// Processes the next bytes of a stream.
    pub fn handle_bytes(&mut self, stream: u64, mut bytes: Bytes) {
        let Some(mut incoming) = self.streams.remove(&stream) else { return };
        incoming.bytes += bytes.len() as u64;
        self.open_bytes += bytes.len() as u64;
        if self.open_bytes <= MAX_OPEN_BYTES && self.take(&mut incoming, &mut bytes) {
            self.streams.insert(stream, incoming);
        } else {
            self.open_bytes -= incoming.bytes;
            self.outputs.push_back(Output::Stop(stream));
        }
    }

    /// Notes the end of a stream: all of it came, or it was reset.
    pub fn handle_end(&mut self, stream: u64, is_whole: bool) {
        let Some(incoming) = self.streams.remove(&stream) else { return };
        self.open_bytes -= incoming.bytes;
        let Some(group) = incoming.group else { return };
        let is_whole = is_whole && group.left.is_none() && incoming.head.is_empty();
        // A random-access frame without its end is none; of the rest of a frame any part is worth something.
        if group.track == Track::More || group.track == Track::Join && is_whole {
            self.outputs.push_back(Output::Event(Event::GroupEnd(group.track, group.number)));
        }
    }

    /// Notes that the relay ended the stream of a request: there is no such track, or it is over.
    pub fn handle_request_end(&mut self, number: u64) {
        if let Some(request) = self.requests.remove(&number) {
            self.outputs.push_back(Output::TrackEnd(request.track));
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
        self.requests.insert(number, Request { track, groups: BTreeSet::new(), has_begun: false, replaces });
        self.outputs.push_back(Output::Request(number, self.version.subscribe(number, &self.broadcast, track, first)));
    }

    fn end_request(&mut self, number: u64) {
        if self.requests.remove(&number).is_some() {
            self.outputs.push_back(Output::Leave(number));
            self.stop_all(|group| group.subscription == number);
        }
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
        let Some(track) = self.requests.get(&head.subscription).map(|request| request.track) else { return false };
        let of_track = self.requests.values().filter(|request| request.track == track);
        let is_known = of_track.into_iter().any(|request| request.groups.contains(&head.number));
        let is_stopped = self.before.get(&track).is_some_and(|before| head.number < *before);
        let open = self.streams.values().filter_map(|stream| stream.group.as_ref());
        // Only base layers can be used without those before them.
        let is_partial = head.first > 0 && track != Track::Base;
        let has_room = open.filter(|group| group.track == track).count() < MAX_GROUPS;
        self.note(head);
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
            left: None,
            object: Vec::new(),
        });
        true
    }

    fn note(&mut self, head: GroupHead) {
        let Some(request) = self.requests.get_mut(&head.subscription) else { return };
        request.groups.insert(head.number);
        if request.groups.len() > MAX_KNOWN_GROUPS {
            request.groups.pop_first();
        }
    }

    /// Notes that a group of this request is of use.
    fn begin_request(&mut self, number: u64) {
        let Some(request) = self.requests.get_mut(&number) else { return };
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
        let Some(Group { track, frame, left: Some(left), object, .. }) = &mut incoming.group else { return false };
        let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
        let taken = bytes.split_to(count);
        *left -= count as u64;
        let is_whole = *left == 0;
        match track {
            Track::Catalog | Track::Sound => object.extend_from_slice(&taken),
            _ => self.outputs.push_back(Output::Event(Event::Bytes(*track, *frame, taken))),
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
                self.outputs.push_back(Output::Event(Event::GroupEnd(Track::Base, group.frame)));
                group.frame = group.frame.saturating_add(1);
            }
            Track::More | Track::Join => {}
        }
    }

    /// Stops the open groups that are such.
    fn stop_all(&mut self, is_such: impl Fn(&Group) -> bool) {
        let stopped = self.streams.extract_if(.., |_, stream| stream.group.as_ref().is_some_and(&is_such));
        for (number, stream) in stopped {
            self.open_bytes -= stream.bytes;
            self.outputs.push_back(Output::Stop(number));
        }
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
