//! One connection: hello, welcome, the model if it is missing, then frames until the end.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use nestcast_codec::{ModelId, Size};
use nestcast_proto::{
    Close, Code, Control, FrameHeader, Hello, Message, ModelHeader, ModelRequest, PackageHash, StreamHead, Subscriber,
    Welcome,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::play::Player;
use crate::transport::{Incoming, Link};
use crate::view::Announcement;

/// How long a sender may take to say welcome.
const PATIENCE: Duration = Duration::from_secs(5);
/// Events of streams that wait to be put together.
const WAITING: usize = 64;

/// What a stream brought.
enum Event {
    Head(FrameHeader),
    Bytes(u64, Bytes),
    End(u64),
    Model(PackageHash, Bytes),
}

/// Runs one connection to its end.
pub(crate) async fn run<L: Link>(link: &L, hello: Hello, fetch: bool, player: &Player) -> Result<(), Error> {
    let outcome = session(link, hello, fetch, player).await;
    let close = match &outcome {
        Err(Error::Violation(close)) => *close,
        Err(Error::View(_)) => Close { code: Code::Model, why: "the receiver cannot show this" },
        _ => Close { code: Code::Done, why: "the receiver leaves" },
    };
    link.close(close);
    outcome
}

async fn session<L: Link>(link: &L, hello: Hello, fetch: bool, player: &Player) -> Result<(), Error> {
    let (mut outgoing, mut incoming) = link.open_control(Message::Hello(hello).encode()).await?;
    let mut control = Control::default();
    let welcome = tokio::time::timeout(PATIENCE, welcome(&mut incoming, &mut control)).await;
    let welcome = welcome.map_err(|_| Close { code: Code::Slow, why: "no welcome came in time" })??;
    let announced = announcement(&welcome)?;
    let known = player.announce(announced).await?;
    if !known {
        if !fetch {
            let why = format!(
                "the sender's model package {} is not here: name its folder with --model, or let it be fetched",
                announced.package
            );
            return Err(Error::View(why));
        }
        tracing::info!(package = %announced.package, "asking the sender for its model");
        let request = ModelRequest { package: welcome.package };
        link.say(&mut outgoing, Message::ModelRequest(request).encode()).await?;
    }
    let wanted = (!known).then_some(welcome.package);
    frames(link, &welcome, wanted, player).await
}

async fn welcome(incoming: &mut impl Incoming, control: &mut Control) -> Result<Welcome, Error> {
    loop {
        match control.poll()? {
            Some(Message::Welcome(welcome)) => return Ok(welcome),
            Some(_) => return Err(violation("the first message is no welcome")),
            None => {}
        }
        match incoming.read().await? {
            Some(bytes) => control.handle_bytes(&bytes),
            // The reason for the end, if there is one, comes with the connection's close.
            None => std::future::pending().await,
        }
    }
}

fn violation(why: &'static str) -> Error {
    Error::Violation(Close { code: Code::Violation, why })
}

fn announcement(welcome: &Welcome) -> Result<Announcement, Error> {
    let size = Size::new(welcome.width, welcome.height).map_err(|error| Error::View(error.to_string()))?;
    Ok(Announcement { model: ModelId(welcome.model), package: welcome.package, size, rate: welcome.rate })
}

/// Streams to frames, until the connection ends.
async fn frames<L: Link>(
    link: &L,
    welcome: &Welcome,
    mut wanted: Option<PackageHash>,
    player: &Player,
) -> Result<(), Error> {
    let (frames, seconds) = welcome.rate;
    let mut subscriber = Subscriber::new(Duration::from_secs(u64::from(seconds)) / frames);
    let epoch = Instant::now();
    let (events, mut inbox) = mpsc::channel(WAITING);
    let mut readers = JoinSet::new();
    let end = loop {
        let due = subscriber.poll_timeout().map(|due| epoch + due);
        tokio::select! {
            biased;
            Some(event) = inbox.recv() => handle(event, epoch.elapsed(), &mut subscriber, &mut wanted, player).await?,
            Some(read) = readers.join_next() => match read {
                Ok(read) => read?,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
            stream = link.accept() => match stream {
                Ok(stream) => drop(readers.spawn(read(stream, events.clone()))),
                Err(end) => break end,
            },
            () = until(due) => {}
        }
        while let Some(arrived) = subscriber.poll(epoch.elapsed()) {
            player.frame(arrived, subscriber.received())?;
        }
    };
    // What came before the end is still shown.
    readers.detach_all();
    drop(events);
    while let Some(event) = inbox.recv().await {
        handle(event, epoch.elapsed(), &mut subscriber, &mut wanted, player).await?;
    }
    subscriber.handle_close();
    while let Some(arrived) = subscriber.poll(epoch.elapsed()) {
        player.frame(arrived, subscriber.received())?;
    }
    Err(end)
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

async fn handle(
    event: Event,
    now: Duration,
    subscriber: &mut Subscriber,
    wanted: &mut Option<PackageHash>,
    player: &Player,
) -> Result<(), Error> {
    match event {
        Event::Head(header) => subscriber.handle_head(now, header)?,
        Event::Bytes(id, bytes) => subscriber.handle_bytes(now, id, &bytes)?,
        Event::End(id) => subscriber.handle_end(id),
        Event::Model(hash, package) => {
            if wanted.take() != Some(hash) {
                return Err(violation("a model came that was not asked for"));
            }
            player.package(package).await?;
        }
    }
    Ok(())
}

/// Reads one stream to its end.
async fn read(mut stream: impl Incoming, events: mpsc::Sender<Event>) -> Result<(), Error> {
    let mut start = BytesMut::new();
    let (head, length) = loop {
        let Some(bytes) = stream.read().await? else {
            // Cut inside its head: there is nothing to show.
            return Ok(());
        };
        start.extend_from_slice(&bytes);
        if let Some(parsed) = StreamHead::parse(&start)? {
            break parsed;
        }
    };
    let first = start.split_off(length).freeze();
    match head {
        StreamHead::Frame(header) => frame(header, first, stream, &events).await,
        StreamHead::Model(header) => model(header, first, stream, &events).await,
    }
}

async fn frame(
    header: FrameHeader,
    first: Bytes,
    mut stream: impl Incoming,
    events: &mpsc::Sender<Event>,
) -> Result<(), Error> {
    // Whoever no longer listens knows why.
    let _ = events.send(Event::Head(header)).await;
    let mut next = Some(first);
    while let Some(bytes) = next {
        let _ = events.send(Event::Bytes(header.id, bytes)).await;
        next = stream.read().await?;
    }
    let _ = events.send(Event::End(header.id)).await;
    Ok(())
}

async fn model(
    header: ModelHeader,
    first: Bytes,
    mut stream: impl Incoming,
    events: &mpsc::Sender<Event>,
) -> Result<(), Error> {
    let mut package = BytesMut::from(first);
    while let Some(bytes) = stream.read().await? {
        package.extend_from_slice(&bytes);
        if package.len() as u64 > header.length {
            return Err(violation("a model package is longer than announced"));
        }
    }
    if package.len() as u64 != header.length {
        return Err(violation("a model package is shorter than announced"));
    }
    let _ = events.send(Event::Model(header.package, package.freeze())).await;
    Ok(())
}
