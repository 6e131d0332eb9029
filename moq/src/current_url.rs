//! The URL for the next connection to a relay: somebody may have replaced its token.

use nestcast_receiver::CurrentToken;

use crate::url::RelayUrl;

/// A broadcast at a relay, by the token that its file has now.
#[derive(Debug)]
pub(crate) struct CurrentUrl {
    url: RelayUrl,
    token: CurrentToken,
}

impl CurrentUrl {
    pub(crate) fn new(url: &RelayUrl) -> Self {
        Self { url: url.clone(), token: CurrentToken::new(url.token().clone(), url.token_file().cloned()) }
    }

    /// Returns the URL for a connection.
    pub(crate) async fn read(&mut self) -> &RelayUrl {
        self.url.set_token(self.token.read().await);
        &self.url
    }

    /// Returns whether another token may come.
    pub(crate) const fn may_change(&self) -> bool {
        self.token.may_change()
    }

    /// Waits for another token than that of the last URL; forever if there is no file for it.
    pub(crate) async fn changed(&mut self) {
        self.token.changed().await;
    }
}
