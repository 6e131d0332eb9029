//! The page by which browsers watch a broadcast.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use nestcast_proto::BroadcastName;
use nestcast_sender::{
    Broadcast, BrowserCertificate, Browsers, Config, Error, FrameSource, Identity, PageFile, PageServer,
};
use nestcast_web::PAGE_FILES;

/// A page that browsers open, as long as the runtime of its broadcast lives.
pub(crate) struct Page {
    server: Arc<PageServer>,
    sender: SocketAddr,
    certificate: BrowserCertificate,
}

impl Page {
    /// Listens for receivers as `config` says, and for browsers if `web` is the address of a page. The page comes over
    /// HTTPS if the caller has a certificate, else over HTTP, and then browsers let it connect on this machine alone.
    pub(crate) async fn listen<S: FrameSource>(
        config: Config,
        source: S,
        web: Option<SocketAddr>,
        certified: Option<Identity>,
    ) -> Result<(Broadcast<S>, Option<Self>), Error> {
        let Some(web) = web else { return Ok((Broadcast::listen(config, source)?, None)) };
        let usual = Browsers::default();
        // A certificate of the caller's is one that browsers know.
        let browsers = Browsers { validity: usual.validity.filter(|_| certified.is_none()), ..usual };
        let server = Arc::new(PageServer::listen(web, certified).await?);
        let listen = config.listen;
        let sender = Broadcast::listen(Config { browsers: Some(browsers), ..config }, source)?;
        let (address, certificate) = (sender.address().unwrap_or(listen), sender.browser_certificate());
        let files = PAGE_FILES.iter().map(|file| PageFile {
            name: file.name,
            media_type: file.media_type,
            bytes: Bytes::from_static(file.bytes),
        });
        tokio::spawn(Arc::clone(&server).serve(files.collect(), Some((address, certificate.clone()))));
        Ok((sender, Some(Self { server, sender: address, certificate })))
    }

    /// Returns the link that opens the viewer, with the certificate of this moment.
    pub(crate) fn link(&self) -> Option<String> {
        self.server.link(self.sender, &BroadcastName::default(), &self.certificate, None)
    }
}
