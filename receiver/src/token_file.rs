//! A token in a file, which somebody may replace while a receiver waits.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use nestcast_proto::MAX_TOKEN;
use tokio::task::spawn_blocking;

use crate::config::ReceiverConfig;

/// The most bytes of a file with a token and white space around it.
const MAX_FILE: u64 = MAX_TOKEN as u64 + 1024;

/// The token for the next connection.
#[derive(Debug)]
pub(crate) struct CurrentToken {
    file: Option<PathBuf>,
    token: Bytes,
    /// Whether the log said that the file has no token.
    is_said: bool,
}

impl CurrentToken {
    pub(crate) fn new(config: &ReceiverConfig) -> Self {
        Self { file: config.token_file.clone(), token: config.token.clone(), is_said: false }
    }

    /// Reads the file, if there is one. The last token stays if there is none in it.
    pub(crate) async fn read(&mut self) -> Bytes {
        if let Some(file) = self.file.clone() {
            let read = spawn_blocking(move || read(&file).map_err(|error| (file, error))).await;
            match read {
                Ok(Ok(token)) => (self.token, self.is_said) = (token, false),
                Ok(Err((file, error))) if !self.is_said => {
                    self.is_said = true;
                    tracing::warn!("{}: {error}; the token that it had stays", file.display());
                }
                _ => {}
            }
        }
        self.token.clone()
    }
}

fn read(file: &Path) -> io::Result<Bytes> {
    // A pipe may have no end.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    File::open(file)?.take(MAX_FILE + 1).read_to_end(&mut content)?;
    match content.trim_ascii() {
        _ if content.len() as u64 > MAX_FILE => Err(io::Error::other("it is too long for a token")),
        [] => Err(io::Error::other("no token is in it")),
        token if token.len() > MAX_TOKEN => Err(io::Error::other("its token is too long")),
        token => Ok(Bytes::copy_from_slice(token)),
    }
}

#[cfg(test)]
mod tests {
    use crate::trust::Trust;

    use super::*;

    #[tokio::test]
    async fn a_file_that_is_replaced_gives_its_new_token_and_a_bad_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let trust = Trust::fingerprint(&"00".repeat(32)).expect("a fingerprint");
        let mut config = ReceiverConfig::new(([127, 0, 0, 1], 9).into(), trust);
        config.token = Bytes::from_static(b"first");
        assert_eq!(CurrentToken::new(&config).read().await, "first", "there is no file");
        config.token_file = Some(file.clone());
        let mut current = CurrentToken::new(&config);
        let mut after = Vec::new();
        // What a limit would cut in the token.
        let long = Some(" ".repeat(usize::try_from(MAX_FILE).expect("a length") - 2) + "third");
        for content in
            [None, Some("second\n".to_owned()), Some(" \n".to_owned()), Some("x".repeat(MAX_TOKEN + 1)), long]
        {
            content.into_iter().for_each(|content| fs::write(&file, content).expect("it is written"));
            after.push(current.read().await);
        }
        assert_eq!(after, ["first", "second", "second", "second", "second"]);
    }
}
