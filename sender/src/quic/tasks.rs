//! quinn's tasks, of which the last closes the socket.

use std::convert::Infallible;
use std::future::Future;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::sync::mpsc;

/// A tokio runtime that knows which of quinn's tasks still run.
#[derive(Debug)]
pub(super) struct TrackedRuntime(mpsc::Sender<Infallible>);

/// The tasks of a [`TrackedRuntime`].
#[derive(Debug)]
pub(super) struct Tasks(mpsc::Receiver<Infallible>);

impl TrackedRuntime {
    pub(super) fn new() -> (Self, Tasks) {
        let (running, tasks) = mpsc::channel(1);
        (Self(running), Tasks(tasks))
    }
}

impl Tasks {
    /// Waits until the endpoint and all its tasks have ended. quinn keeps the socket until then.
    pub(super) async fn ended(mut self) {
        while self.0.recv().await.is_some() {}
    }
}

impl Runtime for TrackedRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let running = self.0.clone();
        TokioRuntime.spawn(Box::pin(async move {
            // What the task holds is dropped here, and so before `running`.
            task.await;
            drop(running);
        }));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> std::io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}
