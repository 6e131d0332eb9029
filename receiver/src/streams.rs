//! What a sender's streams bring, each read to its end.

use std::future::Future;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use nestcast_proto::{
    Bases, Bitrate, Control, FrameHeader, LateHeader, MAX_FRAME, ModelHeader, ParityHeader, StreamHead,
};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::model::{self, Request};
use crate::repair::{Repaired, Repairs};
use crate::transport::{Incoming, Scattered};

/// What a stream brought.
#[derive(Debug)]
pub(crate) enum Event {
    Head(FrameHeader),
    Bytes(u64, Bytes),
    End(u64),
    Base(FrameHeader, Bytes),
    /// Late bytes, which stand where the header says.
    Late(LateHeader, Bytes),
    /// The model package that was asked for.
    Package(Bytes, Arc<Request>),
}

/// Where the readers of all streams bring what they read.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) request: Option<Arc<Request>>,
    pub(crate) repairs: Repairs,
    /// The most that the receiver wants, which it told the sender.
    pub(crate) cap: Option<Bitrate>,
}

impl Reader {
    /// Reads one stream. The streams of a connection are to be given in the order in which they were opened.
    pub(crate) fn read<S: Scattered>(&self, stream: S) -> impl Future<Output = Result<(), Error>> + Send + use<S> {
        let stream = self.repairs.watch(stream);
        self.clone().read_repaired(stream)
    }

    async fn read_repaired<S: Scattered>(self, mut stream: Repaired<S>) -> Result<(), Error> {
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
            StreamHead::Frame(header) => self.frame(header, first, stream).await,
            StreamHead::Model(header) => self.model(header, first, stream).await,
            StreamHead::Bases => self.bases(first, stream).await,
            StreamHead::Late(header) => self.late(header, first, stream).await,
            StreamHead::Parity(header) => self.parity(header, first, stream).await,
            // A later version's: dropping the stream stops it.
            StreamHead::Unknown(_) => Ok(()),
        }
    }

    async fn frame(self, header: FrameHeader, first: Bytes, mut stream: impl Incoming) -> Result<(), Error> {
        let shown = self.request.is_none_or(|request| !request.is_open());
        if shown {
            // Whoever no longer listens knows why.
            let _ = self.events.send(Event::Head(header)).await;
        }
        let mut next = Some(first);
        while let Some(bytes) = next {
            if shown {
                let _ = self.events.send(Event::Bytes(header.id, bytes)).await;
            }
            next = stream.read().await?;
        }
        let _ = self.events.send(Event::End(header.id)).await;
        Ok(())
    }

    /// Bases that come again, each as soon as it is whole.
    async fn bases(self, first: Bytes, mut stream: impl Incoming) -> Result<(), Error> {
        let shown = self.request.is_none_or(|request| !request.is_open());
        let mut bases = Bases::default();
        let mut next = Some(first);
        while let Some(bytes) = next {
            bases.handle_bytes(&bytes);
            while let Some((header, base)) = bases.poll()? {
                if shown {
                    // Whoever no longer listens knows why.
                    let _ = self.events.send(Event::Base(header, base)).await;
                }
            }
            next = stream.read().await?;
        }
        Ok(())
    }

    /// More of a picture whose own stream ended.
    async fn late(self, mut header: LateHeader, first: Bytes, mut stream: impl Incoming) -> Result<(), Error> {
        let mut next = Some(first);
        while let Some(bytes) = next {
            let length = bytes.len() as u64;
            // Whoever no longer listens knows why.
            let _ = self.events.send(Event::Late(header, bytes)).await;
            header.offset += length;
            if header.offset > MAX_FRAME {
                return Err(Error::violation("a picture has more late bytes than any frame"));
            }
            next = stream.read().await?;
        }
        Ok(())
    }

    /// Parity of another stream, which that one gets when it is whole.
    async fn parity(self, header: ParityHeader, first: Bytes, mut stream: impl Incoming) -> Result<(), Error> {
        if !self.repairs.wants(&header) {
            return Ok(());
        }
        let length = header.parity_bytes();
        let mut parity = BytesMut::with_capacity(length);
        let mut next = Some(first);
        while let Some(bytes) = next {
            if parity.len() + bytes.len() > length {
                return Err(Error::violation("parity is longer than it announced"));
            }
            parity.extend_from_slice(&bytes);
            next = if parity.len() == length { None } else { stream.read().await? };
        }
        self.repairs.bring(header, parity.freeze());
        Ok(())
    }

    /// Nothing is read of a model that was not asked for, or comes a second time.
    async fn model(self, header: ModelHeader, first: Bytes, mut stream: impl Incoming) -> Result<(), Error> {
        let request = self.request.filter(|request| request.begin(&header));
        let request = request.ok_or(Error::violation("a model came that was not asked for"))?;
        let package = model::read(&header, first, &mut stream, self.cap).await?;
        let _ = self.events.send(Event::Package(package, request)).await;
        Ok(())
    }
}

/// Watches a control stream on which nothing more may come.
pub(crate) async fn silence(mut stream: impl Incoming, mut control: Control) -> Result<(), Error> {
    loop {
        if control.poll()?.is_some() {
            return Err(Error::violation("a message came behind the clock"));
        }
        match stream.read().await? {
            Some(bytes) => control.handle_bytes(&bytes),
            None => return Ok(()),
        }
    }
}
