//! Links of given rates in separate network namespaces: `ip netns`, veth and `tc tbf`. They need root.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use nestcast_receiver::ReceiverConfig;
use nix::sched::{CloneFlags, setns};

use crate::broadcasts::{Plan, Running, config, identity};

/// The longest queue at a bottleneck.
const QUEUE_LATENCY: &str = "100ms";
/// Two packets: an idle link saves up no more.
const BURST_BYTES: &str = "3000";
/// The port of a broadcast.
const PORT: u16 = 4433;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Two namespaces, one for each end, and the links between them. Dropping it removes them.
#[derive(Debug)]
pub struct NetnsLinks {
    name: String,
}

/// An end of the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end whose packets pass the bottlenecks.
    Sender,
    /// The end that receives them.
    Receiver,
}

impl NetnsLinks {
    /// Creates a link for each of `rates`, in bits per second.
    ///
    /// # Errors
    /// The reason if the machine allows none.
    pub fn new(rates: &[u64]) -> Result<Self, String> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let links = Self { name: format!("nc{}-{number}", std::process::id()) };
        let (sender, receiver) = (links.namespace(End::Sender), links.namespace(End::Receiver));
        run("tc -Version")?;
        run(&format!("ip netns add {sender}"))?;
        run(&format!("ip netns add {receiver}"))?;
        for (link, &rate) in rates.iter().enumerate() {
            let SocketAddr::V4(address) = links.address(link, 0) else { continue };
            let [a, b, c, _] = address.ip().octets();
            run(&format!("ip link add v{link} netns {sender} type veth peer name v{link} netns {receiver}"))?;
            for (namespace, end) in [(&sender, 1), (&receiver, 2)] {
                run(&format!("ip -n {namespace} addr add {a}.{b}.{c}.{end}/24 dev v{link}"))?;
                run(&format!("ip -n {namespace} link set v{link} up"))?;
            }
            links.shape("add", link, rate)?;
        }
        Ok(links)
    }

    /// Returns the sender's address over a link.
    pub fn address(&self, link: usize, port: u16) -> SocketAddr {
        let link = u8::try_from(link).expect("few links");
        SocketAddr::new(Ipv4Addr::new(10, 77, link, 1).into(), port)
    }

    /// Sets the link's rate from now on, in bits per second.
    ///
    /// # Errors
    /// If the rate cannot be changed.
    pub fn set_rate(&self, link: usize, rate: u64) -> Result<(), String> {
        self.shape("change", link, rate)
    }

    /// Returns the bytes that a link has carried from the sender so far, with all headers.
    ///
    /// # Errors
    /// If `tc` does not report them.
    pub fn carried(&self, link: usize) -> Result<u64, String> {
        let told = run(&format!("tc -n {} -s qdisc show dev v{link}", self.namespace(End::Sender)))?;
        let mut words = told.split_whitespace().skip_while(|word| *word != "Sent").skip(1);
        words.next().and_then(|bytes| bytes.parse().ok()).ok_or_else(|| format!("no count of bytes in {told:?}"))
    }

    /// Broadcasts pictures of noise, and runs `receive` at the end of each of `links`; returns the results.
    ///
    /// # Panics
    /// If a receiver panics.
    pub fn broadcast<T: Send + 'static>(
        &self,
        links: usize,
        receive: impl AsyncFn(usize, ReceiverConfig) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let identity = identity();
        let listen = SocketAddr::from(([0, 0, 0, 0], PORT));
        let plan = Plan { listen, size: (320, 240), ..Plan::new(&identity) };
        let ((listens, listening), (ended, end)) = (mpsc::channel(), mpsc::channel::<()>());
        let sender = self.at(End::Sender, move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let running = Running::start(plan);
                listens.send(()).expect("it is waited for");
                // A message and a closed channel both mean the end.
                let _ = tokio::task::spawn_blocking(move || end.recv()).await;
                running.stop().await;
            });
        });
        listening.recv().expect("it listens");
        let receivers = (0..links).map(|link| {
            let (config, receive) = (config(self.address(link, PORT), &identity), receive.clone());
            self.at(End::Receiver, move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(receive(link, config))
            })
        });
        let receivers: Vec<_> = receivers.collect();
        let given = receivers.into_iter().map(|receiver| receiver.join().expect("no panic")).collect();
        drop(ended);
        sender.join().expect("no panic");
        given
    }

    fn shape(&self, verb: &str, link: usize, rate: u64) -> Result<(), String> {
        let sender = self.namespace(End::Sender);
        let rate = rate.max(20_000);
        let shape = format!(
            "tc -n {sender} qdisc {verb} dev v{link} root tbf rate {rate}bit burst {BURST_BYTES} latency {QUEUE_LATENCY}"
        );
        run(&shape).map(drop)
    }

    /// Runs `work` on a thread whose sockets are at that end.
    pub fn at<T: Send + 'static>(&self, end: End, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let path = format!("/run/netns/{}", self.namespace(end));
        std::thread::spawn(move || {
            let namespace = File::open(path).expect("the namespace is there");
            setns(namespace, CloneFlags::CLONE_NEWNET).expect("whoever made it may enter it");
            work()
        })
    }

    fn namespace(&self, end: End) -> String {
        let letter = if end == End::Sender { 's' } else { 'r' };
        format!("{}{letter}", self.name)
    }
}

impl Drop for NetnsLinks {
    fn drop(&mut self) {
        for end in [End::Sender, End::Receiver] {
            // The namespace may not exist.
            let _ = run(&format!("ip netns del {}", self.namespace(end)));
        }
    }
}

/// Runs a command; returns its output, or its last line if it fails.
fn run(command: &str) -> Result<String, String> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("`{program}` cannot be run: {error}; install iproute2"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{command}` failed: {}; run it as root", said.lines().last().unwrap_or_default().trim()))
}
