//! Receives a broadcast of video as y4m: `show_received ADDRESS FINGERPRINT [FRAMES] | ffplay -`.

use std::io::{Stdout, stdout};

use nestcast_media::y4m::Writer;
use nestcast_receiver::{Announcement, Decoding, ReceiverConfig, Shown, Trust, Viewer, view};
use tokio::sync::oneshot;

/// Writes what is shown.
struct Screen {
    output: Option<Writer<Stdout>>,
    /// The frames that it still wants, and whom it tells when there is none.
    wanted: u64,
    done: Option<oneshot::Sender<()>>,
}

impl Viewer for Screen {
    type Error = std::io::Error;

    fn handle_announcement(&mut self, announced: &Announcement) -> Result<Option<Decoding>, Self::Error> {
        self.output = Some(Writer::new(stdout(), announced.rate));
        let decoding = Decoding::video(announced, 1);
        decoding.map(Some).ok_or_else(|| std::io::Error::other("no video, or tables that this build lacks"))
    }

    fn show(&mut self, shown: &Shown<'_>) -> Result<(), Self::Error> {
        let Some(output) = self.output.as_mut().filter(|_| self.wanted > 0) else { return Ok(()) };
        output.write(shown.picture)?;
        self.wanted -= 1;
        if self.wanted == 0 {
            self.done.take().map(|done| done.send(()));
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, fingerprint, rest @ ..] = arguments.as_slice() else {
        return Err("usage: show_received ADDRESS FINGERPRINT [FRAMES]".into());
    };
    let trust = Trust::fingerprint(fingerprint).ok_or("a fingerprint has 64 hexadecimal digits")?;
    let wanted = rest.first().map_or(Ok(u64::MAX), |frames| frames.parse())?;
    let (done, end) = oneshot::channel();
    let screen = Screen { output: None, wanted, done: Some(done) };
    view(ReceiverConfig::new(address.parse()?, trust), screen, async { _ = end.await }).await?;
    Ok(())
}
