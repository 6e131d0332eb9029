//! Pages for browsers: the viewer of a broadcast, and the demonstration.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Error, Result, anyhow};
use nestcast_sender::{BrowserCertificate, Identity, PageFile, PageServer};
use nestcast_web::{PAGE_FILES, StaticFile};

use crate::files;

/// Listens for browsers that ask for the page, if the options say so.
pub(super) async fn listen(address: Option<SocketAddr>, identity: Option<Identity>) -> Result<Option<Arc<PageServer>>> {
    let Some(address) = address else { return Ok(None) };
    let is_plain = identity.is_none();
    let page = bind(address, identity).await?;
    if is_plain && !address.ip().is_loopback() {
        files::note(
            "browsers watch from this machine alone: for others add --cert, --key and --listen, so that the page is HTTPS",
        );
    }
    Ok(Some(page))
}

async fn bind(address: SocketAddr, identity: Option<Identity>) -> Result<Arc<PageServer>> {
    let failed =
        |error| anyhow!("the page cannot be served: {:#}; choose another address with --web", Error::from(error));
    Ok(Arc::new(PageServer::listen(address, identity).await.map_err(failed)?))
}

/// Serves the viewer of the broadcast at an address as long as the program runs.
pub(super) fn serve_viewer(page: &Arc<PageServer>, sender: SocketAddr, certificate: BrowserCertificate) {
    tokio::spawn(Arc::clone(page).serve(PAGE_FILES.iter().map(of_viewer).collect(), Some((sender, certificate))));
}

const fn of_viewer(file: &StaticFile) -> PageFile {
    PageFile::from_static(file.name, file.media_type, file.bytes).with_gzipped(file.gzipped)
}

/// The server of a page of the viewer's elements, which listens.
#[cfg(feature = "demo")]
pub(crate) struct Page(tokio::runtime::Runtime, Arc<PageServer>);

#[cfg(feature = "demo")]
impl Page {
    pub(crate) fn listen(address: SocketAddr) -> Result<Self> {
        let runtime = super::process::runtime()?;
        let server = runtime.block_on(bind(address, None))?;
        Ok(Self(runtime, server))
    }

    /// Serves the page until the user ends the program. Its files replace those of the viewer that have the same names.
    pub(crate) fn serve(self, page: Vec<PageFile>) {
        let Self(runtime, server) = self;
        let replaced: Vec<_> = page.iter().map(|file| file.name).collect();
        let others = PAGE_FILES.iter().filter(|file| !replaced.contains(&file.name)).map(of_viewer);
        let all = others.chain(page).collect();
        if let Some(place) = server.place() {
            files::note(&format!("cut the picture in a browser: {place} (ctrl-c ends this)"));
        }
        runtime.block_on(async {
            tokio::select! {
                () = server.serve(all, None) => {}
                () = super::process::interrupted() => {}
            }
        });
    }
}
