//! A transport whose enhancement groups can be stopped (RFC 9000, section 3.5), group by group.
//!
//! `moq-net` reads each group's stream to its end, and stops it only if nobody wants the whole track. So its streams go
//! through this file, which looks at two heads of moq-lite: which number a subscription has, and to which subscription
//! and group a stream belongs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use web_transport_trait::{Stats, poll};

use crate::mapping::Track;

/// The most bytes of a head that are looked at: a subscription's has the broadcast's path, which has at most 1 kB.
const MAX_HEAD_BYTES: usize = 2048;
/// The message of moq-lite that subscribes to a track, and the stream that has a group.
const SUBSCRIBE_MESSAGE: u64 = 2;
const GROUP_STREAM: u64 = 0;
/// The code of a stopped stream: cancelled.
const CANCELLED_CODE: u32 = 1;

/// Stops enhancement groups. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stops(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The subscription of the enhancement track.
    subscription: Option<u64>,
    /// Groups before it are stopped.
    before: u64,
    /// The readers of open groups.
    readers: BTreeMap<u64, Waker>,
}

impl Stops {
    /// Stops the groups before this one, also those that come later.
    pub(crate) fn stop_before(&self, group: u64) {
        let mut state = self.state();
        state.before = state.before.max(group);
        let rest = state.readers.split_off(&group);
        let stopped = std::mem::replace(&mut state.readers, rest);
        drop(state);
        stopped.into_values().for_each(Waker::wake);
    }

    fn is_stopped(&self, group: Group, reader: &Waker) -> bool {
        let mut state = self.state();
        if state.subscription != Some(group.subscription) {
            return false;
        }
        if group.number < state.before {
            return true;
        }
        state.readers.insert(group.number, reader.clone());
        false
    }

    fn forget(&self, group: Group) {
        self.state().readers.remove(&group.number);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session whose enhancement groups can be stopped.
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
    group: Option<Group>,
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

    const fn incoming(stream: S::RecvStream, stops: Stops, head: Head) -> Incoming<S::RecvStream> {
        Incoming { stream, stops, head, group: None }
    }
}

impl<S: poll::Session> poll::Session for Stoppable<S> {
    type SendStream = Outgoing<S::SendStream>;
    type RecvStream = Incoming<S::RecvStream>;
    type Error = S::Error;

    fn poll_accept_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::RecvStream, S::Error>> {
        let stops = self.stops.clone();
        let head = Head::Incomplete(Vec::new());
        self.session.poll_accept_uni(cx).map_ok(|stream| Self::incoming(stream, stops, head))
    }

    fn poll_accept_bi(&mut self, cx: &mut Context<'_>) -> Poll<Result<poll::BiStreams<Self>, S::Error>> {
        let stops = self.stops.clone();
        let both = self.session.poll_accept_bi(cx);
        both.map_ok(|(out, back)| (Self::outgoing(out, stops.clone()), Self::incoming(back, stops, Head::Known)))
    }

    fn poll_open_uni(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::SendStream, S::Error>> {
        let stops = self.stops.clone();
        self.session.poll_open_uni(cx).map_ok(|stream| Self::outgoing(stream, stops))
    }

    fn poll_open_bi(&mut self, cx: &mut Context<'_>) -> Poll<Result<poll::BiStreams<Self>, S::Error>> {
        let stops = self.stops.clone();
        let both = self.session.poll_open_bi(cx);
        both.map_ok(|(out, back)| (Self::outgoing(out, stops.clone()), Self::incoming(back, stops, Head::Known)))
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
        self.session.close(code, reason);
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
            if let Some(number) = subscription {
                self.stops.state().subscription = Some(number);
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
        let is_stopped = self.group.is_some_and(|group| self.stops.is_stopped(group, cx.waker()));
        if is_stopped { Err(ReadError::Stopped) } else { Ok(()) }
    }

    fn look(&mut self, bytes: &[u8]) {
        if let Some(head) = self.head.add(bytes)
            && let Some(group) = group(head)
        {
            (self.head, self.group) = (Head::Known, group);
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
        self.group.iter().for_each(|group| self.stops.forget(*group));
    }
}

/// Reads the head of a stream that this end opened: `None` while it is incomplete, the number of the subscription if it
/// subscribes to the enhancement track.
fn subscription(head: &[u8]) -> Option<Option<u64>> {
    let mut rest = head;
    if varint(&mut rest)? != SUBSCRIBE_MESSAGE {
        return Some(None);
    }
    let _length = varint(&mut rest)?;
    let number = varint(&mut rest)?;
    let _broadcast = string(&mut rest)?;
    let track = string(&mut rest)?;
    Some((track == Track::More.name().as_bytes()).then_some(number))
}

/// Reads the head of a stream that the relay opened: `None` while it is incomplete.
fn group(head: &[u8]) -> Option<Option<Group>> {
    let mut rest = head;
    if varint(&mut rest)? != GROUP_STREAM {
        return Some(None);
    }
    let _length = varint(&mut rest)?;
    let (subscription, number) = (varint(&mut rest)?, varint(&mut rest)?);
    Some(Some(Group { subscription, number }))
}

/// Reads an integer of QUIC (RFC 9000, section 16).
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let (bytes, after) = rest.split_at_checked(1 << (first >> 6))?;
    *rest = after;
    Some(bytes[1..].iter().fold(u64::from(first & 0x3F), |value, &byte| value << 8 | u64::from(byte)))
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(varint(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subscription as moq-lite writes it: its kind, its length, its number, two names, and more.
    fn subscribe(number: u8, track: &str) -> Vec<u8> {
        let length = u8::try_from(track.len()).expect("short");
        let mut all = vec![2, 20, number, 3, b'c', b'a', b'm', length];
        all.extend_from_slice(track.as_bytes());
        all.extend_from_slice(&[50, 0, 0]);
        all
    }

    #[test]
    fn the_enhancement_tracks_subscription_is_found_as_soon_as_its_name_is_there() {
        let head = subscribe(3, "more");
        for length in 0..12 {
            assert_eq!(subscription(&head[..length]), None, "{length}");
        }
        assert_eq!(subscription(&head[..12]), Some(Some(3)));
        assert_eq!(subscription(&subscribe(2, "base")), Some(None));
        assert_eq!(subscription(&[1, 9]), Some(None), "another message");
    }

    #[test]
    fn a_groups_head_is_read_from_its_first_bytes() {
        let head = [0, 6, 3, 0x40, 0xC8, 0, 9];
        for length in 0..5 {
            assert_eq!(group(&head[..length]), None, "{length}");
        }
        assert_eq!(group(&head), Some(Some(Group { subscription: 3, number: 200 })));
        assert_eq!(group(&[1, 2, 3]), Some(None), "another stream");
    }

    #[test]
    fn groups_of_the_enhancement_track_alone_are_stopped() {
        let stops = Stops::default();
        stops.state().subscription = Some(3);
        let of = |subscription, number| Group { subscription, number };
        assert!(!stops.is_stopped(of(3, 7), Waker::noop()));
        stops.stop_before(8);
        stops.stop_before(5);
        assert!(stops.is_stopped(of(3, 7), Waker::noop()) && !stops.is_stopped(of(3, 8), Waker::noop()));
        assert!(!stops.is_stopped(of(2, 7), Waker::noop()));
        stops.forget(of(3, 8));
        assert!(stops.state().readers.is_empty());
    }
}
