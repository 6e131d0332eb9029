//! A token in a file, which somebody may replace while a receiver waits.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::MAX_TOKEN;
use tokio::task::spawn_blocking;

/// The most bytes of a file with a token and white space around it.
const MAX_FILE: u64 = MAX_TOKEN as u64 + 1024;
/// The time between two looks at a file whose token was refused.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The token for the next connection, perhaps in a file that somebody may replace.
pub struct CurrentToken {
    file: Option<PathBuf>,
    token: Bytes,
    /// Whether the log said that the file has no token.
    is_said: bool,
}

impl CurrentToken {
    /// Begins with `token`, which a `file` may replace.
    #[must_use]
    pub const fn new(token: Bytes, file: Option<PathBuf>) -> Self {
        Self { file, token, is_said: false }
    }

    /// Returns whether there is a file, so that another token may come.
    #[must_use]
    pub const fn may_change(&self) -> bool {
        self.file.is_some()
    }

    /// Waits until the file has another token; forever if there is no file.
    pub async fn changed(&mut self) {
        if !self.may_change() {
            return std::future::pending().await;
        }
        let refused = self.token.clone();
        while self.read().await == refused {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Reads the file, if there is one. The last token stays if there is none in it.
    pub async fn read(&mut self) -> Bytes {
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

/// Without the token.
impl fmt::Debug for CurrentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentToken").field("file", &self.file).finish_non_exhaustive()
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
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_replaced_gives_its_new_token_and_a_bad_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let first = Bytes::from_static(b"first");
        assert_eq!(CurrentToken::new(first.clone(), None).read().await, "first", "there is no file");
        let mut current = CurrentToken::new(first, Some(file.clone()));
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

    #[tokio::test(start_paused = true)]
    async fn a_token_that_was_refused_is_waited_for_until_it_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let mut current = CurrentToken::new(Bytes::from_static(b"first"), Some(file.clone()));
        for content in [None, Some("first\n"), Some("")] {
            content.into_iter().for_each(|content| fs::write(&file, content).expect("it is written"));
            let waited = tokio::time::timeout(10 * LOOK_EVERY, current.changed()).await;
            assert!(waited.is_err(), "{content:?}");
        }
        fs::write(&file, "second").expect("it is written");
        current.changed().await;
        assert_eq!(current.read().await, "second");
        assert!(!format!("{current:?}").contains("second"));
    }
}
