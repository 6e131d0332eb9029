//! What a sender promises under attack. Each test prints what an honest receiver got meanwhile; `NESTCAST_ATTACK=full`
//! makes the attacks longer and larger.

use std::net::Ipv4Addr;
use std::time::Duration;

use nestcast_lab::link::{Link, Relay, Traffic};
use nestcast_proto::{Code, Message, ModelRequest};
use nestcast_tests::broadcasts::{Plan, Running, identity};
use nestcast_tests::hostile_receiver::{HostileReceiver, hello};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Longer than anything here lasts.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns `long` if the whole attack was asked for, otherwise `short`.
fn scale<T>(short: T, long: T) -> T {
    if std::env::var("NESTCAST_ATTACK").is_ok_and(|value| value == "full") { long } else { short }
}

/// Waits until `done`, for at most [`PATIENCE`].
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let polling = async {
        while !done() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, polling).await.unwrap_or_else(|_| panic!("{what} within {PATIENCE:?}"));
}

/// Starts a fast link to a broadcast.
async fn relay(broadcast: &Running, rtt: Duration) -> Relay {
    Relay::start(broadcast.address, Link::constant(1_000_000_000).with_rtt(rtt)).await.expect("free ports")
}

/// Starts a broadcast of more bytes than any window holds, and receivers whose data stopped arriving: the sender's
/// windows are full.
async fn receivers_with_full_windows() -> (Running, Relay, Vec<HostileReceiver>) {
    let broadcast = Running::start(Plan { size: (320, 240), ..Plan::new(&identity()) });
    let relay = relay(&broadcast, Duration::ZERO).await;
    let mut receivers = Vec::new();
    for _ in 0..10 {
        let mut receiver = HostileReceiver::connect(relay.address(), 1 << 20).await;
        receiver.say(&hello(b"")).await;
        receiver.welcome().await;
        receivers.push(receiver);
    }
    until("every receiver is fed", || broadcast.monitor.read().receivers.len() == receivers.len()).await;
    relay.set_traffic(Traffic::Held);
    let frames = broadcast.monitor.read().frames;
    until("more frames are sent than the windows take", || broadcast.monitor.read().frames > frames + 10).await;
    (broadcast, relay, receivers)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_code_arrives_though_the_window_is_full() {
    let (broadcast, relay, mut receivers) = receivers_with_full_windows().await;
    for receiver in &mut receivers {
        receiver.say(&hello(b"")).await;
    }
    let violations = || broadcast.monitor.read().refusals.get("violation").copied().unwrap_or(0);
    until("every connection is closed", || violations() == receivers.len() as u64).await;
    relay.set_traffic(Traffic::Both);
    for receiver in &receivers {
        assert_eq!(receiver.close_code().await, Ok(Code::Violation));
    }
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_a_stream_gets_those_behind_it() {
    let broadcast = Running::start(Plan { size: (320, 240), ..Plan::new(&identity()) });
    // With so little room, frames still wait to be written when the receiver stops their streams.
    let mut receiver = HostileReceiver::connect(broadcast.address, 2048).await;
    receiver.say(&hello(b"")).await;
    receiver.welcome().await;
    for number in 0..20 {
        let stream = timeout(PATIENCE, receiver.connection.accept_uni()).await.expect("another stream in time");
        let mut stream = stream.unwrap_or_else(|error| panic!("stream {number}: {error}"));
        stream.stop(0_u32.into()).expect("a stream that is open");
    }
    broadcast.stop().await;
    assert_eq!(receiver.close_code().await, Ok(Code::Done));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_broadcast_arrives_though_the_window_is_full() {
    let (broadcast, relay, receivers) = receivers_with_full_windows().await;
    broadcast.stop().await;
    relay.set_traffic(Traffic::Both);
    for receiver in &receivers {
        assert_eq!(receiver.close_code().await, Ok(Code::Done));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_close_code_is_lost_while_frames_stream() {
    let broadcast = Running::start(Plan { size: (320, 240), ..Plan::new(&identity()) });
    for delay in [0, 5, 25, 50] {
        let relay = relay(&broadcast, Duration::from_millis(delay)).await;
        let (mut closing, all) = (JoinSet::new(), scale(10_u64, 100));
        for number in 0..all {
            let address = relay.address();
            closing.spawn(async move {
                // Their closes arrive at different moments of a frame interval.
                sleep(Duration::from_millis(100 * (number / 5) + 7 * (number % 5))).await;
                let mut receiver = HostileReceiver::connect(address, 4 << 20).await;
                receiver.say(&hello(b"")).await;
                let reading = receiver.read_all();
                sleep(Duration::from_millis(400)).await;
                receiver.say(&hello(b"")).await;
                let code = receiver.close_code().await;
                reading.await.expect("no panic");
                code
            });
        }
        let ends = closing.join_all().await;
        let lost = ends.iter().filter(|code| **code != Ok(Code::Violation)).count();
        println!("round trip {delay} ms: {lost} of {all} close codes lost");
        assert_eq!(lost, 0, "{ends:?}");
    }
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_for_the_model_is_a_violation() {
    let broadcast = Running::start(Plan { give_model: true, ..Plan::new(&identity()) });
    let mut receiver = HostileReceiver::connect(broadcast.address, 32 << 20).await;
    receiver.say(&hello(b"")).await;
    let package = receiver.welcome().await.package;
    let reading = receiver.read_all();
    let request = Message::ModelRequest(ModelRequest { package }).encode();
    receiver.say(&request.repeat(1000)).await;
    assert_eq!(receiver.close_code().await, Ok(Code::Violation));
    let streams = reading.await.expect("no panic");
    let models = streams.iter().filter(|bytes| bytes.first() == Some(&1)).count();
    println!(
        "of 1000 requests {models} were answered, {} bytes in all",
        streams.iter().map(bytes::Bytes::len).sum::<usize>()
    );
    assert!(models <= 1, "{models} models were sent");
    broadcast.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn version_1_of_quic_alone_is_offered() {
    let broadcast = Running::start(Plan::new(&identity()));
    let socket = tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a socket");
    // A long header of an unknown version with connection IDs of 8 bytes (RFC 8999, section 5.1).
    let mut first = [0; 1200];
    first[..6].copy_from_slice(&[0xC3, 0xFA, 0xCE, 0xB0, 0x0C, 8]);
    first[14] = 8;
    socket.send_to(&first, broadcast.address).await.expect("it is sent");
    let mut answer = [0; 1500];
    let length = timeout(PATIENCE, socket.recv(&mut answer)).await.expect("an answer").expect("a packet");
    let versions: Vec<_> = answer[23..length].chunks(4).filter(|version| version[3] & 0xF != 0xA).collect();
    assert_eq!(versions, [[0, 0, 0, 1]], "but for those that are reserved to be unknown");
    broadcast.stop().await;
}

/// Loopback addresses other than 127.0.0.1, and `/proc`.
#[cfg(target_os = "linux")]
mod strangers {
    use std::io::{BufRead as _, BufReader};
    use std::net::SocketAddr;
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Instant;

    use nestcast_receiver::ReceiverConfig;
    use nestcast_tests::broadcasts::{count, pinned};
    use nestcast_tests::hostile_receiver::{client, endpoint};
    use tokio::runtime::Builder;
    use tokio::task::JoinHandle;

    use super::*;

    /// Fewer places than the strangers of any attack.
    const PLACE_COUNT: &str = "20";

    /// A broadcast in a separate process, with its own memory and time.
    struct Sender {
        child: Child,
        config: ReceiverConfig,
    }

    impl Sender {
        fn start() -> Self {
            let mut command = Command::new(env!("CARGO_BIN_EXE_broadcast"));
            let command = command.arg(PLACE_COUNT).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("it starts");
            let mut line = String::new();
            let output = child.stdout.take().expect("a pipe");
            BufReader::new(output).read_line(&mut line).expect("it runs");
            let (address, fingerprint) = line.trim().split_once(' ').expect("two words");
            Self { config: pinned(address.parse().expect("an address"), fingerprint), child }
        }

        /// Returns the largest resident set so far in kB, and the seconds of processor time.
        fn usage(&self) -> (u64, f64) {
            let process = format!("/proc/{}", self.child.id());
            let status = std::fs::read_to_string(format!("{process}/status")).expect("it runs");
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux has it");
            let stat = std::fs::read_to_string(format!("{process}/stat")).expect("it runs");
            let fields: Vec<_> = stat.rsplit(')').next().expect("its name").split_whitespace().collect();
            let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number")).sum();
            (peak.trim().trim_end_matches(" kB").parse().expect("a number"), ticks / 100.0)
        }
    }

    impl Drop for Sender {
        fn drop(&mut self) {
            // The process may have ended already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Connects repeatedly, and never says hello.
    async fn stranger(from: quinn::Endpoint, sender: SocketAddr, stays: bool, connected: Arc<AtomicU64>) {
        loop {
            if let Ok(connection) = from.connect(sender, "localhost").expect("a valid name").await {
                connected.fetch_add(1, Ordering::Relaxed);
                if stays {
                    connection.closed().await;
                }
                connection.close(0_u32.into(), b"");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The figures of honest receivers.
    struct Figures {
        /// The longest time from the first packet to the welcome, of receivers that joined one after another.
        longest: Duration,
        /// Frames a second that an earlier receiver was shown.
        frames: f64,
        strangers: u64,
    }

    /// Attacks for a while with `strangers` strangers from `addresses` addresses, which stay silent as long as they
    /// may, or leave at once and return.
    async fn attack(strangers: usize, addresses: u8, stays: bool) -> Figures {
        let sender = Sender::start();
        let address = sender.config.address;
        let time = scale(Duration::from_secs(4), Duration::from_secs(20));
        // A separate runtime, so that the strangers' work does not delay it.
        let honest = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
        let first = honest.spawn(count(sender.config.clone(), Instant::now(), time));
        sleep(Duration::from_millis(300)).await;
        let (idle_memory, idle_time) = sender.usage();
        let connected: Arc<AtomicU64> = Arc::default();
        let (mut attacking, config) = (JoinSet::new(), client(1 << 20));
        for host in (1..=addresses).cycle().take(strangers) {
            // Each has its own port, as different programs do.
            let from = endpoint(Ipv4Addr::new(127, 0, 0, host), config.clone());
            attacking.spawn(stranger(from, address, stays, Arc::clone(&connected)));
        }
        let began = Instant::now();
        let comers: JoinHandle<Duration> = honest.spawn(async move {
            let mut longest = Duration::ZERO;
            while began.elapsed() < time - Duration::from_secs(2) {
                let came = Instant::now();
                let mut receiver = HostileReceiver::connect(address, 1 << 20).await;
                receiver.say(&hello(b"")).await;
                receiver.welcome().await;
                longest = longest.max(came.elapsed());
                sleep(Duration::from_millis(200)).await;
            }
            longest
        });
        let received = first.await.expect("no panic").expect("it is served").last().received;
        let longest = comers.await.expect("every honest receiver is let in");
        attacking.shutdown().await;
        honest.shutdown_background();
        let ((memory, processor), strangers) = (sender.usage(), connected.load(Ordering::Relaxed));
        let (frames, processor) = (received.shown as f64 / time.as_secs_f64(), processor - idle_time);
        println!(
            "{strangers} connections of strangers from {addresses} addresses in {time:?}: the slowest honest receiver \
             was let in after {longest:?}, another got {frames:.1} frames a second; the sender took {processor:.1} s of \
             processor time, and {memory} kB of memory, {idle_memory} before",
        );
        Figures { longest, frames, strangers }
    }

    /// Checks the promises. Frames a second count only in the whole attack, which runs without other tests.
    fn judge(figures: &Figures, within: Duration) {
        let Figures { longest, frames, strangers } = *figures;
        assert!(strangers > 20, "{strangers} strangers came in: that is no attack");
        assert!(frames > scale(0.0, 28.5), "{frames:.1} frames a second");
        assert!(longest < scale(PATIENCE, within), "{longest:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn strangers_at_its_address_do_not_keep_an_honest_receiver_out() {
        judge(&attack(scale(100, 1000), 1, true).await, Duration::from_secs(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn strangers_at_many_addresses_do_not_keep_an_honest_receiver_out() {
        judge(&attack(scale(100, 1000), 64, true).await, Duration::from_secs(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn strangers_that_come_again_at_once_do_not_keep_an_honest_receiver_out() {
        // A thousand handshakes at a time take two seconds.
        judge(&attack(scale(50, 1000), 64, false).await, Duration::from_secs(3));
    }
}
