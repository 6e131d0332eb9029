//! The model package, for a receiver that asks for it.

use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Close, Code, ModelHeader, ModelRequest, PackageHash, StreamHead};

use super::{End, Feed};
use crate::transport::{Connection, Disconnected, Outgoing as _, Urgency};

/// Least bytes of it that are written at once: what a packet carries.
const LEAST_BYTES: u64 = 1200;

impl<C: Connection> Feed<'_, C> {
    /// Answers the one request that a receiver may make.
    pub(super) async fn give_model(&mut self, request: ModelRequest) -> Result<(), End> {
        if std::mem::replace(&mut self.asked, true) {
            return Err(Close { code: Code::Violation, why: "the model was asked for before" }.into());
        }
        let package = self.shared.package.as_ref().filter(|_| request.package == self.shared.welcome.package);
        let Some(package) = package else {
            return Err(Close { code: Code::Model, why: "this sender does not hand out that model" }.into());
        };
        self.send_model(request.package, package.clone()).await.map_err(End::Disconnected)
    }

    async fn send_model(&mut self, hash: PackageHash, package: Bytes) -> Result<(), Disconnected> {
        // It goes before frames: without it they cannot be shown.
        let head = StreamHead::Model(ModelHeader { package: hash, length: package.len() as u64 }).encode();
        let mut stream = self.connection.open(Urgency::First).await?;
        let mut chunks = [head, package];
        while chunks.iter().any(|chunk| !chunk.is_empty()) {
            let mut room = self.publisher.room(&self.connection.path());
            if let Some(cap) = self.cap {
                // No more than goes in a second: nothing may come of it only for so long.
                let second = cap.bytes_in(Duration::from_secs(1)).max(LEAST_BYTES);
                room.pending = Some(room.pending.unwrap_or(u64::MAX).min(second));
            }
            let written = stream.write(&mut chunks, room).await?;
            if let Some(cap) = self.cap {
                // With its headers, a packet has a sixteenth more.
                tokio::time::sleep(cap.time_for((written + written / 16) as u64)).await;
            }
        }
        stream.finish();
        Ok(())
    }
}
