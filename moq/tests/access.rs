//! Who may publish and watch at `moq-relay` itself: rules for everybody, and tokens that a service of yours checks.

mod harness;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use harness::program::RelayProgram;
use harness::{Counter, Made, Place, broadcast, receive_for, welcome};
use nestcast_moq::{Config, Error, Rates, Relayed, publish, receive};
use nestcast_proto::Demand;
use nestcast_sender::FrameFanout;
use tokio::task::JoinSet;

/// The line for both ends.
const REFUSAL: &str = "the relay does not allow this: check the path and the token in the URL";

/// Longer than anything here lasts: it only turns a hang into a message.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns why a publisher ends.
async fn refused_publisher(place: &Place) -> Error {
    let fanout = FrameFanout::new(PATIENCE);
    let relayed = Relayed { welcome: welcome(), frames: fanout.subscribe(), demand: Demand::default(), sound: None };
    let published = publish(&place.url, &place.trust, Rates::default(), relayed, std::future::pending());
    let ended = tokio::time::timeout(PATIENCE, published).await.expect("the relay answers");
    ended.expect_err("it may not publish")
}

/// Returns why a subscriber ends, which would wait for a broadcast that is not there.
async fn refused_subscriber(place: &Place) -> Error {
    receive_for(place, PATIENCE, PATIENCE).await.1.expect_err("it may not watch")
}

fn place(relay: &RelayProgram, path: &str) -> Place {
    Place::new(relay.address(), relay.place.trust.clone(), path)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn who_may_not_publish_or_watch_is_told_so_and_tries_no_longer() {
    let relay = RelayProgram::start_with(&["--auth-public-subscribe", "live/**"]);
    let [inside, outside] = ["live/garden", "other/garden"].map(|path| place(&relay, path));
    for place in [inside.clone(), inside.over_web_transport(), outside.clone(), outside.over_web_transport()] {
        let error = refused_publisher(&place).await;
        assert!(matches!(error, Error::Unauthorized) && error.to_string() == REFUSAL, "{place:?}: {error}");
    }
    for place in [outside.clone(), outside.over_web_transport()] {
        let error = refused_subscriber(&place).await;
        assert!(matches!(error, Error::Unauthorized) && error.to_string() == REFUSAL, "{place:?}: {error}");
    }
    let (_, waits) = receive_for(&inside, Duration::from_secs(20), Duration::ZERO).await;
    assert!(matches!(waits, Err(Error::NoBroadcast(_))), "it may watch, and nobody publishes: {waits:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_token_in_the_url_is_checked_by_the_relays_service() {
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", service.local_addr().expect("an address"));
    std::thread::spawn(move || service.incoming().for_each(|question| answer(question.expect("a connection"))));
    let relay = RelayProgram::start_with(&["--auth-url", &url]);
    let [publisher, viewer, wrong] =
        ["publish", "watch", "guess"].map(|token| place(&relay, &format!("live/garden?jwt={token}")));
    let mut tasks = JoinSet::new();
    broadcast(&mut tasks, Made::for_time(Duration::from_secs(120)), &publisher, Rates::default());
    for viewer in [&viewer, &viewer.over_web_transport()] {
        let (got, ended) = receive_for(viewer, Duration::from_secs(5), Duration::from_secs(9)).await;
        ended.expect("a shutdown");
        assert!(got.wrong == 0 && got.frames.len() > 20, "{} frames", got.frames.len());
    }
    for error in [
        refused_publisher(&wrong).await,
        refused_publisher(&viewer).await,
        refused_publisher(&place(&relay, "live/garden")).await,
        refused_subscriber(&wrong).await,
    ] {
        assert!(matches!(error, Error::Unauthorized) && error.to_string() == REFUSAL, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs moq-relay: cargo xtask relays"]
async fn a_token_that_is_refused_is_replaced_in_its_file_while_both_ends_run() {
    let service = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", service.local_addr().expect("an address"));
    std::thread::spawn(move || service.incoming().for_each(|question| answer(question.expect("a connection"))));
    let relay = RelayProgram::start_with(&["--auth-url", &url]);
    let folder = tempfile::tempdir().expect("a folder");
    let [publishers, viewers] = ["publisher", "viewer"].map(|name| folder.path().join(name));
    let with = |place: Place, file: &Path| {
        std::fs::write(file, "expired").expect("a file");
        let url = place.url.with_token(b"expired").expect("no other token").with_token_file(file.to_owned());
        Place { url, ..place }
    };
    for watches in [place(&relay, "live/garden"), place(&relay, "live/garden").over_web_transport()] {
        let (publisher, viewer) = (with(place(&relay, "live/garden"), &publishers), with(watches, &viewers));
        let mut tasks = JoinSet::new();
        broadcast(&mut tasks, Made::for_time(PATIENCE), &publisher, Rates::default());
        let does_not_wait = receive_for(&viewer, PATIENCE, PATIENCE).await.1;
        assert!(matches!(does_not_wait, Err(Error::Unauthorized)), "{does_not_wait:?}");
        let counter = Counter::default();
        let (mut sink, got) = (counter.clone(), async || {
            while counter.got().frames.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let waits = Config { wait: true, ..viewer.config(Duration::ZERO) };
        let until_it_got = async { tokio::time::timeout(PATIENCE, got()).await.unwrap_or_default() };
        let watched = receive(waits, &mut sink, until_it_got);
        let replaced = async {
            // Nothing tells when the relay has refused both, and a token that comes earlier is as good.
            tokio::time::sleep(Duration::from_secs(2)).await;
            std::fs::write(&publishers, "publish").expect("a file");
            std::fs::write(&viewers, "watch\n").expect("a file");
        };
        tokio::join!(watched, replaced).0.expect("a shutdown");
        assert!(!counter.got().frames.is_empty(), "frames come by the other tokens");
    }
}

/// Answers a question of the relay: `publish` may publish below the path of the connection, `watch` may watch there, and
/// nobody else anything.
fn answer(mut question: TcpStream) {
    let mut text = Vec::new();
    let ends_head = |text: &[u8]| text.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let mut bytes = [0; 4096];
    let (head, length) = loop {
        let count = question.read(&mut bytes).expect("a question");
        text.extend_from_slice(&bytes[..count]);
        if let Some(head) = ends_head(&text) {
            let fields = String::from_utf8_lossy(&text[..head]).to_lowercase();
            let length = fields.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
            break (head, length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or_default());
        }
        if count == 0 {
            return;
        }
    };
    while text.len() < head + length {
        let count = question.read(&mut bytes).expect("a question");
        text.extend_from_slice(&bytes[..count]);
    }
    let asked: serde_json::Value = serde_json::from_slice(&text[head..]).expect("JSON");
    let (status, grant) = match asked["query"].as_str() {
        Some("jwt=publish") => ("200 OK", r#"{"publish":["**"]}"#),
        Some("jwt=watch") => ("200 OK", r#"{"subscribe":["**"]}"#),
        _ => ("403 Forbidden", "{}"),
    };
    let length = grant.len();
    let fields = format!("Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close");
    write!(question, "HTTP/1.1 {status}\r\n{fields}\r\n\r\n{grant}").expect("it is sent");
}
