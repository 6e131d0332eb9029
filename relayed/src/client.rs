//! A subscriber's end of moq-lite over any transport: streams' bytes in, events and messages out.

use std::collections::{BTreeMap, VecDeque};

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
    /// Whether a group has come.
    has_begun: bool,
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
        let number = self.next_request;
        self.next_request += 1;
        self.requests.insert(number, Request { track, has_begun: false });
        self.outputs.push_back(Output::Request(number, self.version.subscribe(number, &self.broadcast, track)));
    }

    /// Ends the subscription to a track, and stops its groups.
    pub fn leave(&mut self, track: Track) {
        let left = self.requests.extract_if(.., |_, request| request.track == track);
        let left: Vec<_> = left.map(|(number, _)| number).collect();
        for number in left {
            self.outputs.push_back(Output::Leave(number));
            self.stop_all(|group| group.subscription == number);
        }
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
        let Some(request) = self.requests.get_mut(&head.subscription) else { return false };
        let track = request.track;
        let is_first = !std::mem::replace(&mut request.has_begun, true);
        if is_first && track != Track::Catalog {
            self.outputs.push_back(Output::Write(head.subscription, self.version.update(track)));
        }
        let is_stopped = self.before.get(&track).is_some_and(|before| head.number < *before);
        let open = self.streams.values().filter_map(|stream| stream.group.as_ref());
        // Only base layers can be used without those before them.
        let is_partial = head.first > 0 && track != Track::Base;
        if is_stopped || is_partial || open.filter(|group| group.track == track).count() >= MAX_GROUPS {
            return false;
        }
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
