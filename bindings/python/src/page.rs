//! The page by which browsers watch a broadcast.

use std::net::SocketAddr;

use bytes::Bytes;
use nestcast_sender::{Broadcast, BrowserPage, Error, FrameSource, PageFile, SenderConfig};
use nestcast_web::PAGE_FILES;

/// Listens for receivers as `config` says, and for browsers if `web` is the address of a page.
pub(crate) async fn listen<S: FrameSource>(
    config: SenderConfig,
    source: S,
    web: Option<SocketAddr>,
    is_certified: bool,
) -> Result<(Broadcast<S>, Option<BrowserPage>), Error> {
    let Some(web) = web else { return Ok((Broadcast::listen(config, source)?, None)) };
    let of_viewer = PAGE_FILES.iter().map(|file| PageFile {
        name: file.name,
        media_type: file.media_type,
        bytes: Bytes::from_static(file.bytes),
    });
    let (broadcast, page) = BrowserPage::listen(config, source, web, is_certified, of_viewer.collect()).await?;
    Ok((broadcast, Some(page)))
}
