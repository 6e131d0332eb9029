//! A transport whose groups can be stopped (RFC 9000, section 3.5), group by group.
//!
//! `moq-net` reads each group's stream to its end, and stops it only if nobody wants the whole track. So its streams go
//! through this file, which looks at two heads of moq-lite: which number a subscription has, and to which subscription
//! and group a stream belongs.
//!
//! A relay sends the newest group first, so on a slow link it opens streams that never get a byte. It buffers them, and
//! they use up the window of flow control until no base layer fits. Nobody knows their group. But a relay opens streams
//! in the order of groups. So a stream that was opened before that of a group, and all base layers up to that group are
//! here, is late enhancement.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use nestcast_relayed::Track;
use nestcast_relayed::client::MAX_OPEN_BYTES;
use nestcast_relayed::wire::{GroupHead, subscription};
use quinn::Connection;
use web_transport_trait::{Stats, poll};

/// The most bytes of a head that are looked at: a subscription's has the broadcast's path, which has at most 1 kB.
const MAX_HEAD_BYTES: usize = 2048;
/// The code of a stopped stream: cancelled.
const CANCELLED_CODE: u32 = 1;
/// The most groups whose streams are remembered.
const MAX_KNOWN_GROUPS: usize = 256;

/// Stops groups. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stops(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The newest subscription of each track.
    subscriptions: BTreeMap<Track, u64>,
    /// Groups of a track before this one are stopped.
    before: BTreeMap<Track, u64>,
    /// The readers of open groups.
    readers: BTreeMap<(Track, u64), Waker>,
    /// Streams that the relay opened so far. They are numbered in this order.
    opened: u64,
    /// The streams of base and enhancement groups, by the group's number: the newest groups.
    known: BTreeMap<u64, u64>,
    /// The readers of streams that have no head yet, by the stream's number.
    headless: BTreeMap<u64, Waker>,
    /// Streams before it are stopped if they have no head.
    headless_before: u64,
    /// The bytes that came on streams that are open: `moq-net` keeps those of a group until its stream ends.
    open_bytes: u64,
}

impl State {
    fn track_of(&self, group: Group) -> Option<Track> {
        self.subscriptions.iter().find(|(_, number)| **number == group.subscription).map(|(track, _)| *track)
    }
}

impl Stops {
    /// Stops the groups of a track before this one, also those that come later.
    pub(crate) fn stop_before(&self, track: Track, group: u64) {
        let mut state = self.state();
        let before = state.before.entry(track).or_default();
        *before = group.max(*before);
        let stopped = state.readers.extract_if((track, 0)..(track, group), |_, _| true).collect();
        drop(state);
        wake(stopped);
    }

    /// Returns the newest stream of a base or enhancement group up to this one.
    pub(crate) fn newest_stream(&self, group: u64) -> Option<u64> {
        self.state().known.range(..=group).map(|(_, stream)| *stream).max()
    }

    /// Stops the streams without a head that were opened before this one. Call it when all base layers up to `complete`
    /// are here. It does nothing if a later group is known to have begun before that stream: a stream without a head
    /// may then be its base layer's.
    pub(crate) fn stop_headless_before(&self, stream: u64, complete: u64) {
        let mut state = self.state();
        let later = state.known.range(complete.saturating_add(1)..);
        if later.map(|(_, known)| *known).any(|known| known < stream) {
            return;
        }
        let before = stream.max(state.headless_before);
        state.headless_before = before;
        let stopped = state.headless.extract_if(..before, |_, _| true).collect();
        drop(state);
        wake(stopped);
    }

    /// Counts bytes of a stream that is open; returns whether they are too many.
    fn is_flooded(&self, bytes: u64) -> bool {
        let mut state = self.state();
        state.open_bytes += bytes;
        state.open_bytes > MAX_OPEN_BYTES
    }

    /// Numbers a stream that the relay opened.
    fn number(&self) -> u64 {
        let mut state = self.state();
        state.opened += 1;
        state.opened
    }

    fn is_stopped_headless(&self, number: u64, reader: &Waker) -> bool {
        let mut state = self.state();
        let is_stopped = number < state.headless_before;
        if !is_stopped {
            state.headless.insert(number, reader.clone());
        }
        is_stopped
    }

    /// Notes what stream `number` is, which has its head now.
    fn handle_head(&self, number: u64, group: Option<Group>) {
        let mut state = self.state();
        state.headless.remove(&number);
        if let Some(group) = group
            && matches!(state.track_of(group), Some(Track::Base | Track::More))
        {
            state.known.insert(group.number, number);
            if state.known.len() > MAX_KNOWN_GROUPS {
                state.known.pop_first();
            }
        }
    }

    fn handle_subscription(&self, track: Track, number: u64) {
        self.state().subscriptions.insert(track, number);
    }

    fn is_stopped(&self, group: Group, reader: &Waker) -> bool {
        let mut state = self.state();
        let Some(track) = state.track_of(group) else { return false };
        if state.before.get(&track).is_some_and(|before| group.number < *before) {
            return true;
        }
        state.readers.insert((track, group.number), reader.clone());
        false
    }

    fn forget(&self, kind: Kind) {
        let mut state = self.state();
        match kind {
            Kind::Headless(number) => drop(state.headless.remove(&number)),
            Kind::Group(group) => {
                if let Some(track) = state.track_of(group) {
                    state.readers.remove(&(track, group.number));
                }
            }
            Kind::Other => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake<K>(readers: BTreeMap<K, Waker>) {
    readers.into_values().for_each(Waker::wake);
}

/// A session whose groups can be stopped.
#[derive(Clone)]
pub(crate) struct Stoppable<S> {
    session: S,
    stops: Stops,
}

impl<S> Stoppable<S> {
    pub(crate) const fn new(session: S, stops: Stops) -> Self {
        Self { session, stops }
    }
}

/// A stream to the relay, which may begin with a subscription.
pub(crate) struct Outgoing<W> {
    stream: W,
    stops: Stops,
    head: Head,
}

/// A stream from the relay, which may be a group.
pub(crate) struct Incoming<R> {
    stream: R,
    stops: Stops,
    head: Head,
    kind: Kind,
    /// The bytes that came.
    bytes: u64,
    /// Whether all streams together brought too many.
    is_flooded: bool,
}

/// What a stream from the relay is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// It has no head yet. The number is that of [`Stops::number`].
    Headless(u64),
    Group(Group),
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    subscription: u64,
    number: u64,
}

/// The beginning of a stream, until it is known what the stream is.
enum Head {
    Incomplete(Vec<u8>),
    Known,
}

impl Head {
    /// Adds bytes, as far as a head is long; returns all so far until it is [`Head::Known`].
    fn add(&mut self, bytes: &[u8]) -> Option<&[u8]> {
        let Self::Incomplete(head) = self else { return None };
        let room = MAX_HEAD_BYTES.saturating_sub(head.len());
        head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Some(head)
    }
}

/// Why a stream cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError<E> {
    #[error(transparent)]
    Transport(#[from] E),
    #[error("stopped here")]
    Stopped,
}

impl<E: web_transport_trait::Error> web_transport_trait::Error for ReadError<E> {
    fn session_error(&self) -> Option<(u32, String)> {
        match self {
            Self::Transport(error) => error.session_error(),
            Self::Stopped => None,
        }
    }

    fn stream_error(&self) -> Option<u32> {
        match self {
            Self::Transport(error) => error.stream_error(),
            Self::Stopped => Some(CANCELLED_CODE),
        }
    }
}

impl<S: poll::Session> Stoppable<S> {
    const fn outgoing(stream: S::SendStream, stops: Stops) -> Outgoing<S::SendStream> {
        Outgoing { stream, stops, head: Head::Incomplete(Vec::new()) }
    }

    const fn incoming(stream: S::RecvStream, stops: Stops, head: Head, kind: Kind) -> Incoming<S::RecvStream> {
        Incoming { stream, stops, head, kind, bytes: 0, is_flooded: false }
    }
}

impl<S: poll::Session + Deref<Target = Connection>> poll::Session for Stoppable<S> {
    type SendStream = Outgoing<S::SendStream>;
    type RecvStream = Incoming<S::RecvStream>;
    type Error = S::Error;

    fn poll_accept_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::RecvStream, S::Error>> {
        let stops = self.stops.clone();
        let head = Head::Incomplete(Vec::new());
        self.session.poll_accept_uni(cx).map_ok(|stream| {
            let kind = Kind::Headless(stops.number());
            Self::incoming(stream, stops, head, kind)
        })
    }

    fn poll_accept_bi(&mut self, cx: &mut Context<'_>) -> Poll<Result<poll::BiStreams<Self>, S::Error>> {
        let stops = self.stops.clone();
        let both = self.session.poll_accept_bi(cx);
        both.map_ok(|(out, back)| {
            (Self::outgoing(out, stops.clone()), Self::incoming(back, stops, Head::Known, Kind::Other))
        })
    }

    fn poll_open_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::SendStream, S::Error>> {
        let stops = self.stops.clone();
        self.session.poll_open_uni(cx).map_ok(|stream| Self::outgoing(stream, stops))
    }

    fn poll_open_bi(&mut self, cx: &mut Context<'_>) -> Poll<Result<poll::BiStreams<Self>, S::Error>> {
        let stops = self.stops.clone();
        let both = self.session.poll_open_bi(cx);
        both.map_ok(|(out, back)| {
            (Self::outgoing(out, stops.clone()), Self::incoming(back, stops, Head::Known, Kind::Other))
        })
    }

    fn poll_send_datagram(&mut self, cx: &mut Context<'_>, payload: &[u8]) -> Poll<Result<(), S::Error>> {
        self.session.poll_send_datagram(cx, payload)
    }

    fn poll_recv_datagram(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, S::Error>> {
        self.session.poll_recv_datagram(cx)
    }

    fn max_datagram_size(&self) -> usize {
        self.session.max_datagram_size()
    }

    fn protocol(&self) -> Option<&str> {
        self.session.protocol()
    }

    fn close(&mut self, code: u32, reason: &str) {
        // If this end closes it too, it forgets why the relay closed it.
        if self.session.close_reason().is_none() {
            self.session.close(code, reason);
        }
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<S::Error> {
        self.session.poll_closed(cx)
    }

    fn stats(&self) -> impl Stats {
        self.session.stats()
    }
}

impl<W: poll::SendStream> poll::SendStream for Outgoing<W> {
    type Error = W::Error;

    fn poll_write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize, W::Error>> {
        let written = self.stream.poll_write(cx, buf);
        if let Poll::Ready(Ok(count)) = &written
            && let Some(head) = self.head.add(buf.get(..*count).unwrap_or_default())
            && let Some(subscription) = subscription(head)
        {
            self.head = Head::Known;
            if let Some((track, number)) = subscription {
                self.stops.handle_subscription(track, number);
            }
        }
        written
    }

    fn set_priority(&mut self, order: u8) {
        self.stream.set_priority(order);
    }

    fn finish(&mut self) -> Result<(), W::Error> {
        self.stream.finish()
    }

    fn reset(&mut self, code: u32) {
        self.stream.reset(code);
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), W::Error>> {
        self.stream.poll_closed(cx)
    }
}

impl<R: poll::RecvStream> Incoming<R> {
    /// Returns an error if the group is stopped; otherwise a stop wakes the reader.
    fn go_on(&self, cx: &Context<'_>) -> Result<(), ReadError<R::Error>> {
        let is_stopped = match self.kind {
            Kind::Headless(number) => self.stops.is_stopped_headless(number, cx.waker()),
            Kind::Group(group) => self.stops.is_stopped(group, cx.waker()),
            Kind::Other => false,
        };
        if is_stopped || self.is_flooded { Err(ReadError::Stopped) } else { Ok(()) }
    }

    fn look(&mut self, bytes: &[u8]) {
        // Control messages are read and dropped; what comes on other streams is kept.
        if !matches!(self.kind, Kind::Other) {
            self.bytes += bytes.len() as u64;
            self.is_flooded |= self.stops.is_flooded(bytes.len() as u64);
        }
        if let Some(head) = self.head.add(bytes)
            && let Some(group) = group(head)
        {
            if let Kind::Headless(number) = self.kind {
                self.stops.handle_head(number, group);
            }
            (self.head, self.kind) = (Head::Known, group.map_or(Kind::Other, Kind::Group));
        }
    }
}

impl<R: poll::RecvStream> poll::RecvStream for Incoming<R> {
    type Error = ReadError<R::Error>;

    fn poll_read(&mut self, cx: &mut Context<'_>, dst: &mut [u8]) -> Poll<Result<Option<usize>, Self::Error>> {
        self.go_on(cx)?;
        let read = self.stream.poll_read(cx, dst);
        if let Poll::Ready(Ok(Some(count))) = &read {
            self.look(dst.get(..*count).unwrap_or_default());
        }
        read.map_err(ReadError::from)
    }

    fn poll_read_chunk(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Option<Bytes>, Self::Error>> {
        self.go_on(cx)?;
        let read = self.stream.poll_read_chunk(cx, max);
        if let Poll::Ready(Ok(Some(bytes))) = &read {
            self.look(bytes);
        }
        read.map_err(ReadError::from)
    }

    fn stop(&mut self, code: u32) {
        self.stream.stop(code);
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.stream.poll_closed(cx).map_err(ReadError::from)
    }
}

impl<R> Drop for Incoming<R> {
    fn drop(&mut self) {
        self.stops.forget(self.kind);
        let mut state = self.stops.state();
        state.open_bytes = state.open_bytes.saturating_sub(self.bytes);
    }
}

/// Reads the head of a stream that the relay opened: `None` while it is incomplete.
fn group(head: &[u8]) -> Option<Option<Group>> {
    let group = |(head, _): (GroupHead, usize)| Group { subscription: head.subscription, number: head.number };
    Some(GroupHead::parse(head)?.map(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_stopped_by_track() {
        let stops = Stops::default();
        stops.handle_subscription(Track::Base, 2);
        stops.handle_subscription(Track::More, 3);
        stops.handle_subscription(Track::Join, 4);
        let of = |subscription, number| Group { subscription, number };
        let is_stopped = |group| stops.is_stopped(group, Waker::noop());
        assert!(!is_stopped(of(3, 7)));
        stops.stop_before(Track::More, 8);
        stops.stop_before(Track::More, 5);
        assert!(is_stopped(of(3, 7)) && !is_stopped(of(3, 8)));
        assert!(!is_stopped(of(2, 7)) && !is_stopped(of(4, 7)) && !is_stopped(of(9, 7)));
        stops.stop_before(Track::Join, 8);
        assert!(is_stopped(of(4, 7)));
        [of(3, 8), of(2, 7)].into_iter().for_each(|group| stops.forget(Kind::Group(group)));
        assert!(stops.state().readers.is_empty());
    }

    #[test]
    fn open_streams_have_a_limit_of_bytes_together() {
        let stops = Stops::default();
        assert!(!stops.is_flooded(MAX_OPEN_BYTES));
        assert!(stops.is_flooded(1));
    }

    #[test]
    fn a_stream_without_a_head_is_stopped_once_it_cannot_be_a_base_layer() {
        let stops = Stops::default();
        stops.handle_subscription(Track::Base, 1);
        stops.handle_subscription(Track::More, 3);
        let head = |stream, subscription, number| stops.handle_head(stream, Some(Group { subscription, number }));
        let is_stopped = |stream| stops.is_stopped_headless(stream, Waker::noop());
        head(1, 1, 10);
        head(5, 3, 13);
        head(9, 3, 16);
        head(12, 7, 14);
        assert_eq!(stops.newest_stream(9), None);
        assert_eq!(stops.newest_stream(13), Some(5), "14 is another track's");
        assert!(!is_stopped(2));
        stops.stop_headless_before(5, 13);
        assert!(is_stopped(2) && is_stopped(4) && !is_stopped(6));
        stops.stop_headless_before(1, 13);
        assert!(is_stopped(4), "it never goes back");
        stops.stop_headless_before(12, 15);
        assert!(!is_stopped(6), "group 16 began on stream 9: stream 6 may be its base layer's");
        stops.stop_headless_before(12, 16);
        assert!(is_stopped(6) && !is_stopped(13));
        stops.forget(Kind::Headless(13));
        stops.forget(Kind::Headless(6));
        assert!(stops.state().headless.is_empty());
        (0..1000).for_each(|group| head(group, 1, group));
        assert_eq!(stops.state().known.len(), MAX_KNOWN_GROUPS);
    }
}
