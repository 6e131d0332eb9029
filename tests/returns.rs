//! Receivers whose network changes or goes away for a while, in virtual time: how soon they go on.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::link::Link;
use nestcast_proto::{ReceiveStats, ReceivedFrame};
use nestcast_receiver::{FrameSink, Goal, Trust, receive_over};
use nestcast_sender::Broadcast;
use nestcast_tests::network::{INTERVAL, identity};
use nestcast_tests::still_frames::StillFrames;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// When the network changes.
const CHANGE: Duration = Duration::from_secs(5);
/// The longest time without a sign of a receiver, at the sender.
const SENDER_PATIENCE: Duration = Duration::from_secs(9);
/// The length of a broadcast.
const RUN_TIME: Duration = Duration::from_secs(30);

/// A receiver's socket, over one of several addresses, or none, depending on the time.
pub(crate) struct Roaming {
    network: Bottleneck,
    sockets: Vec<Arc<dyn AsyncUdpSocket>>,
    /// Returns the address in use; `None` without a network.
    place: fn(Duration) -> Option<usize>,
    /// The last packet that was sent.
    last: Mutex<Vec<u8>>,
}

impl fmt::Debug for Roaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roaming").finish_non_exhaustive()
    }
}

impl Roaming {
    /// Makes a socket; returns it with its seed.
    pub(crate) fn new(network: &Bottleneck, place: fn(Duration) -> Option<usize>) -> (Arc<Self>, [u8; 32]) {
        let (sockets, seeds): (Vec<_>, Vec<_>) = (0..2).map(|_| network.client(0)).unzip();
        (Arc::new(Self { network: network.clone(), sockets, place, last: Mutex::default() }), seeds[0])
    }

    /// Sends the last packet again; returns the length of the answer, if one comes within a second.
    async fn repeat(&self, destination: SocketAddr) -> Option<usize> {
        let contents = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert_eq!(contents[0] & 0x80, 0, "a packet of a connection that is established");
        let socket = &self.sockets[0];
        let send = Transmit { destination, ecn: None, contents: &contents, segment_size: None, src_ip: None };
        // What the sender sent before is here still.
        while tokio::time::timeout(INTERVAL, receive_one(socket)).await.is_ok() {}
        socket.try_send(&send).expect("it is sent");
        tokio::time::timeout(Duration::from_secs(1), receive_one(socket)).await.ok()
    }
}

impl AsyncUdpSocket for Roaming {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.sockets[0]).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = transmit.contents.to_vec();
        (self.place)(self.network.now()).map_or(Ok(()), |place| self.sockets[place].try_send(transmit))
    }

    /// Packets to an address that is not in use are lost.
    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let place = (self.place)(self.network.now());
        for (number, socket) in self.sockets.iter().enumerate() {
            while let Poll::Ready(came) = socket.poll_recv(context, buffers, metas) {
                if place == Some(number) {
                    return Poll::Ready(came);
                }
            }
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.sockets[0].local_addr()
    }

    fn may_fragment(&self) -> bool {
        false
    }
}

/// Notes when frames were captured and when they came, and counts connections.
pub(crate) struct Times {
    network: Bottleneck,
    pub(crate) frames: Vec<(Duration, Duration)>,
    pub(crate) connections: usize,
    /// When there was no connection any more.
    disconnections: Vec<Duration>,
}

impl FrameSink for Times {
    type Error = std::convert::Infallible;

    fn handle_connection(&mut self) {
        self.connections += 1;
    }

    fn handle_disconnection(&mut self) {
        self.disconnections.push(self.network.now());
    }

    fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), Self::Error> {
        self.frames.push((Duration::from_micros(frame.header.captured), self.network.now()));
        Ok(())
    }
}

impl Times {
    pub(crate) fn new(network: &Bottleneck) -> Self {
        Self { network: network.clone(), frames: Vec::new(), connections: 0, disconnections: Vec::new() }
    }

    /// Returns when the first frame comes that was captured after a moment.
    pub(crate) fn first_after(&self, moment: Duration) -> Duration {
        self.frames.iter().find(|(captured, _)| *captured >= moment).expect("frames come again").1
    }
}

/// Runs in virtual time.
pub(crate) fn in_virtual_time<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run)
}

/// Begins a broadcast; returns its address, and how to trust it.
fn begin(network: &Bottleneck) -> (SocketAddr, Trust) {
    begin_lasting(network, RUN_TIME)
}

pub(crate) fn begin_lasting(network: &Bottleneck, time: Duration) -> (SocketAddr, Trust) {
    let identity = identity();
    let trust = Trust::fingerprint(&identity.fingerprint().to_string()).expect("a fingerprint");
    let (socket, seed) = network.server();
    let address = socket.local_addr().expect("it is bound");
    let socket = nestcast_sender::SenderSocket::simulated(socket, seed).expect("it is bound");
    let source = StillFrames::new(6000, 400, time).of_video();
    let broadcast = Broadcast::over(socket, nestcast_sender::SenderConfig::new(address, identity), source);
    tokio::spawn(broadcast.expect("a configuration").run(std::future::pending()));
    (address, trust)
}

fn network() -> Bottleneck {
    network_of(Duration::from_millis(50))
}

fn network_of(rtt: Duration) -> Bottleneck {
    Bottleneck::new(&[Link::constant(4_000_000).with_rtt(rtt)])
}

/// Receives over these addresses until `end`; returns what came, and the socket.
async fn receive(
    network: &Bottleneck,
    (address, trust): (SocketAddr, Trust),
    place: fn(Duration) -> Option<usize>,
    end: Duration,
) -> (Times, Arc<Roaming>) {
    let config = nestcast_receiver::ReceiverConfig::new(address, trust);
    receive_with(network, config, place, end).await
}

/// Does the same with these settings.
async fn receive_with(
    network: &Bottleneck,
    config: nestcast_receiver::ReceiverConfig,
    place: fn(Duration) -> Option<usize>,
    end: Duration,
) -> (Times, Arc<Roaming>) {
    let (roaming, seed) = Roaming::new(network, place);
    let mut times = Times::new(network);
    let config = nestcast_receiver::ReceiverConfig { name: "localhost".to_owned(), ..config };
    let socket = nestcast_receiver::ReceiverSocket::simulated(Arc::clone(&roaming) as Arc<dyn AsyncUdpSocket>, seed);
    receive_over(socket, config, &mut times, tokio::time::sleep(end)).await.expect("it goes on to the end");
    (times, roaming)
}

#[test]
fn a_receiver_whose_address_changes_goes_on_within_a_second_on_the_same_connection() {
    let times = in_virtual_time(async {
        let network = network();
        let to = begin(&network);
        // For a moment there is no network: what would tell the sender by itself is lost.
        let place = |now| match now {
            now if now < CHANGE => Some(0),
            now if now < CHANGE + Duration::from_millis(200) => None,
            _ => Some(1),
        };
        receive(&network, to, place, Duration::from_secs(10)).await.0
    });
    let first = times.first_after(CHANGE);
    println!("a new address: {:?} without a frame", first - CHANGE);
    assert!(first < CHANGE + Duration::from_secs(1) && times.connections == 1, "{first:?}, {}", times.connections);
    let later = times.frames.iter().filter(|(captured, _)| *captured >= CHANGE + Duration::from_secs(1)).count();
    assert!(later >= 110, "all frames of four seconds come, {later}");
}

#[test]
fn a_receiver_without_a_network_for_three_seconds_goes_on_with_the_newest_frames() {
    const BACK: Duration = Duration::from_secs(8);
    let times = in_virtual_time(async {
        let network = network();
        let to = begin(&network);
        let place = |now| Some(0).filter(|_| !(CHANGE..BACK).contains(&now));
        receive(&network, to, place, Duration::from_secs(14)).await.0
    });
    let first = times.first_after(BACK);
    println!("three seconds without a network: the first frame comes {:?} after them", first - BACK);
    assert!(first < BACK + Duration::from_secs(1) && times.connections == 1, "{first:?}, {}", times.connections);
    let later = times.frames.iter().filter(|(captured, _)| *captured >= BACK + Duration::from_secs(1)).count();
    assert!(later >= 140, "all frames of five seconds come, {later}");
}

/// The receiver leaves its connection itself, so the sink learns only from the failed attempt that there is none.
#[test]
fn a_sink_learns_that_a_receiver_which_goes_elsewhere_finds_no_sender() {
    let times = in_virtual_time(async {
        let network = network();
        let (address, trust) = begin(&network);
        let mut config = nestcast_receiver::ReceiverConfig::new(address, trust);
        config.retry = RUN_TIME;
        let seek = config.seek.clone();
        tokio::spawn(async move {
            tokio::time::sleep(CHANGE + INTERVAL).await;
            seek.request(Goal::Back(Duration::from_secs(2)));
        });
        receive_with(&network, config, |now| Some(0).filter(|_| now < CHANGE), Duration::from_secs(20)).await.0
    });
    assert_eq!(times.connections, 1);
    let first = times.disconnections.first().expect("the sink hears of it");
    // The limit of one attempt, and the time that the connection before needs to settle.
    assert!(*first < CHANGE + Duration::from_secs(9), "{first:?}");
}

/// Each attempt to connect has a socket of its own, as a system gives it.
#[test]
fn a_receiver_without_a_network_for_fifty_seconds_goes_on_within_a_second() {
    const BACK: Duration = Duration::from_secs(55);
    let times = in_virtual_time(async {
        let network = network();
        let (address, trust) = begin_lasting(&network, BACK + RUN_TIME);
        let mut config = nestcast_receiver::ReceiverConfig::new(address, trust);
        config.name = "localhost".to_owned();
        config.retry = Duration::from_secs(300);
        let mut times = Times::new(&network);
        let place = |now| Some(0).filter(|_| !(CHANGE..BACK).contains(&now));
        let socket = nestcast_receiver::ReceiverSocket::simulated_each(move || {
            let (roaming, seed) = Roaming::new(&network, place);
            (roaming, seed)
        });
        let end = tokio::time::sleep(BACK + Duration::from_secs(5));
        receive_over(socket, config, &mut times, end).await.expect("it goes on to the end");
        times
    });
    let first = times.first_after(BACK);
    println!("fifty seconds without a network: the first frame comes {:?} after them", first - BACK);
    assert!(first < BACK + Duration::from_secs(1), "{first:?}");
    assert_eq!(times.connections, 2, "the other attempts are given up");
    let later = times.frames.iter().filter(|(captured, _)| *captured >= BACK + Duration::from_secs(1)).count();
    assert!(later >= 110, "all frames of four seconds come, {later}");
}

/// On a slow path, as by satellite, one round trip more or less counts.
#[test]
fn on_a_round_trip_of_half_a_second_receivers_go_on_with_the_same_connection() {
    const BACK: Duration = Duration::from_secs(8);
    let slow = Duration::from_millis(500);
    let places: [fn(Duration) -> Option<usize>; 2] =
        [|now| Some(usize::from(now >= CHANGE)), |now| Some(0).filter(|_| !(CHANGE..BACK).contains(&now))];
    for (place, back, most) in [(places[0], CHANGE, 2500), (places[1], BACK, 4500)] {
        let times = in_virtual_time(async {
            let network = network_of(slow);
            let to = begin(&network);
            receive(&network, to, place, Duration::from_secs(16)).await.0
        });
        let first = times.first_after(back);
        println!("500 ms: the first frame comes {:?} after the path is back", first - back);
        assert!(first - back < Duration::from_millis(most), "{first:?}");
        assert_eq!(times.connections, 1);
    }
}

/// One that seeks, or goes from an earlier part to where all others are, connects again in the same way.
#[test]
fn on_a_round_trip_of_half_a_second_a_receiver_that_leaves_and_starts_again_sees_a_frame_after_two() {
    let (left, times) = in_virtual_time(async {
        let network = network_of(Duration::from_millis(500));
        let to = begin(&network);
        receive(&network, to.clone(), |_| Some(0), CHANGE).await;
        let left = network.now();
        (left, receive(&network, to, |_| Some(0), Duration::from_secs(4)).await.0)
    });
    let first = times.frames.first().expect("frames come again").1;
    println!("500 ms: the first frame comes {:?} after a receiver left and started again", first - left);
    assert!(first - left < Duration::from_millis(1250), "{first:?}");
}

/// A machine that slept sends from where it was, and its clock stood still: what it sends next is what this receiver sent
/// last.
#[test]
fn a_receiver_that_slept_is_told_that_its_connection_is_gone() {
    let answer = in_virtual_time(async {
        let network = network();
        let (address, trust) = begin(&network);
        let (times, roaming) =
            receive(&network, (address, trust), |now| Some(0).filter(|_| now < CHANGE), CHANGE + INTERVAL).await;
        assert!(times.frames.len() > 100);
        tokio::time::sleep(SENDER_PATIENCE + Duration::from_secs(1)).await;
        roaming.repeat(address).await
    });
    let length = answer.expect("a reset comes");
    assert!(length >= 21, "a stateless reset has 21 bytes or more, {length}");
}

/// The close of a connection may be late, so for a while the sender sends no reset for that connection, but still for
/// others.
#[test]
fn a_receiver_that_the_sender_refuses_hides_no_reset_from_one_that_slept() {
    let [silent, refused, later] = in_virtual_time(async {
        let network = network();
        let (address, trust) = begin(&network);
        let to = (address, trust.clone());
        let (_, slept) = receive(&network, to, |now| Some(0).filter(|_| now < CHANGE), CHANGE + INTERVAL).await;
        tokio::time::sleep(SENDER_PATIENCE + Duration::from_secs(1)).await;
        let (roaming, seed) = Roaming::new(&network, |_| Some(0));
        let mut config = nestcast_receiver::ReceiverConfig::new(address, trust);
        config.broadcast = "another".parse().expect("a name");
        let socket =
            nestcast_receiver::ReceiverSocket::simulated(Arc::clone(&roaming) as Arc<dyn AsyncUdpSocket>, seed);
        let mut times = Times::new(&network);
        let refused = receive_over(socket, config, &mut times, std::future::pending()).await;
        refused.expect_err("there is no such broadcast");
        // By now quinn has forgotten the connection that the sender closed.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = [slept.repeat(address).await, roaming.repeat(address).await];
        tokio::time::sleep(Duration::from_secs(3)).await;
        [now[0], now[1], roaming.repeat(address).await]
    });
    assert!(silent.is_some(), "a reset comes");
    assert_eq!(refused, None, "the close may be on its way");
    assert!(later.is_some(), "a reset comes in the end");
}

/// Waits for a packet, and returns its length.
async fn receive_one(socket: &Arc<dyn AsyncUdpSocket>) -> usize {
    poll_fn(|context| {
        let (mut buffer, mut metas) = ([0; 2048], [RecvMeta::default()]);
        let came = socket.poll_recv(context, &mut [IoSliceMut::new(&mut buffer)], &mut metas);
        came.map(|count| count.map(|_| metas[0].len).expect("a packet"))
    })
    .await
}
