//! A broadcast with the page by which browsers watch it.

use std::net::SocketAddr;
use std::sync::Arc;

use nestcast_proto::BroadcastName;
use tokio::task::JoinHandle;

use crate::broadcast::Broadcast;
use crate::config::{Browsers, SenderConfig};
use crate::error::Error;
use crate::frames::source::FrameSource;
use crate::page::{PageFile, PageServer};
use crate::rotation::BrowserCertificate;

/// Serves the page by which browsers watch the only broadcast of a sender, until it is dropped.
#[derive(Debug)]
pub struct BrowserPage {
    server: Arc<PageServer>,
    sender: SocketAddr,
    certificate: BrowserCertificate,
    serving: JoinHandle<()>,
}

impl BrowserPage {
    /// Listens for receivers as `config` says, and at `web` for browsers that ask for `files`. If an authority that browsers
    /// know certifies [`SenderConfig::identity`] (`is_certified`), it serves the page over HTTPS and shows browsers that identity;
    /// otherwise it serves HTTP, and browsers let the page connect on this machine alone. [`SenderConfig::browsers`] changes how
    /// browsers may watch.
    ///
    /// # Errors
    /// As [`PageServer::listen`] and [`Broadcast::listen`].
    pub async fn listen<S: FrameSource>(
        config: SenderConfig,
        source: S,
        web: SocketAddr,
        is_certified: bool,
        files: Vec<PageFile>,
    ) -> Result<(Broadcast<S>, Self), Error> {
        let server = PageServer::listen(web, is_certified.then(|| config.identity.clone())).await?;
        let usual = Browsers::default();
        let usual = Browsers { validity: usual.validity.filter(|_| !is_certified), ..usual };
        let mut browsers = config.browsers.unwrap_or(usual);
        server.allow(&mut browsers.origins);
        let (server, listen) = (Arc::new(server), config.listen);
        let broadcast = Broadcast::listen(SenderConfig { browsers: Some(browsers), ..config }, source)?;
        let (sender, certificate) = (broadcast.address().unwrap_or(listen), broadcast.browser_certificate());
        let serving = tokio::spawn(Arc::clone(&server).serve(files, Some((sender, certificate.clone()))));
        Ok((broadcast, Self { server, sender, certificate, serving }))
    }

    /// Returns the address of the page; `None` if the system does not know it.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.address()
    }

    /// Returns the link that opens the page, as [`PageServer::link`] does without a token. The certificate for browsers is
    /// replaced while the broadcast runs, and the link with it.
    #[must_use]
    pub fn link(&self) -> Option<String> {
        self.server.link(self.sender, &BroadcastName::default(), &self.certificate, None)
    }
}

impl Drop for BrowserPage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
