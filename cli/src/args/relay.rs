//! The words for relays of Media over QUIC.

use nestcast_receiver::{Address, AddressError};

#[cfg(feature = "moq")]
pub(crate) use with::Relay;

/// What a receiver connects to.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A sender.
    Sender(Address),
    /// A broadcast at a relay.
    #[cfg(feature = "moq")]
    Relay(nestcast_moq::RelayUrl),
}

impl Place {
    /// Returns the sender's address; `None` if the broadcast is at a relay.
    pub(crate) const fn sender(&self) -> Option<&Address> {
        match self {
            Self::Sender(address) => Some(address),
            #[cfg(feature = "moq")]
            Self::Relay(_) => None,
        }
    }
}

pub(super) fn place(text: &str) -> Result<Place, String> {
    let address = text.parse::<Address>();
    if text.contains("://") && !matches!(address, Err(AddressError::Scheme(_))) {
        #[cfg(feature = "moq")]
        return text.parse().map(Place::Relay).map_err(|error: nestcast_moq::RelayUrlError| error.to_string());
        #[cfg(not(feature = "moq"))]
        return Err(super::missing::how_to_install("relays").unwrap_or_default() + ", or give a sender as HOST:PORT");
    }
    address.map(Place::Sender).map_err(|error| error.to_string())
}

#[cfg(feature = "moq")]
mod with {
    use std::path::PathBuf;

    use clap::Args;
    use nestcast_moq::{Rates, RelayUrl};
    use nestcast_receiver::Trust;

    use crate::args::common::fingerprint;
    use crate::args::source::{Named, named};

    /// A relay to publish at.
    #[derive(Debug, Args)]
    pub(crate) struct Relay {
        /// Publish at a relay too, as the broadcast of this name there: moq://HOST:PORT/NAME, or https for WebTransport;
        /// for one of several sources cam1=moq://HOST:PORT/NAME
        #[arg(long, value_name = "[NAME=]URL", requires = "relay_trust", value_parser = named::<RelayUrl>)]
        pub(crate) relay: Vec<Named<RelayUrl>>,
        /// A file with the relay's token, which a URL has after ?jwt=: a command line is no secret
        #[arg(long, value_name = "[NAME=]FILE", requires = "relay", value_parser = named::<PathBuf>)]
        pub(crate) relay_token_file: Vec<Named<PathBuf>>,
        /// Trust the relay whose certificate has this SHA-256
        #[arg(long, value_name = "HEX", group = "relay_trust", requires = "relay", value_parser = fingerprint)]
        relay_fingerprint: Option<Trust>,
        /// Trust a relay whose name one of these authorities certifies, PEM
        #[arg(long, value_name = "PEM", group = "relay_trust", requires = "relay")]
        relay_ca: Option<PathBuf>,
        /// The bandwidths of the viewers behind the relay, which does not tell: frames are encoded for them, and cut to
        /// the greatest [default: 500k..8M]
        #[arg(long, value_name = "MIN..MAX", requires = "relay", default_value_t)]
        pub(crate) relay_rates: Rates,
    }

    impl Relay {
        /// Returns which relays are trusted, if one is named.
        pub(crate) fn trust(&self) -> Option<Trust> {
            self.relay_fingerprint.clone().or_else(|| self.relay_ca.clone().map(Trust::Authorities))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_senders_and_a_url_a_relays() {
        assert!(matches!(place("example.org:4433"), Ok(Place::Sender(_))));
        #[cfg(feature = "moq")]
        assert!(matches!(place("moq://example.org:4443/garden"), Ok(Place::Relay(_))));
        #[cfg(not(feature = "moq"))]
        assert!(place("moq://example.org:4443/garden").is_err_and(|error| error.contains("without relays: install")));
        for (text, give) in [("http://127.0.0.1:4433/cam1", "127.0.0.1:4433/cam1"), ("https://[::1]:1/", "[::1]:1")] {
            assert!(place(text).is_err_and(|error| error.ends_with(&format!(": give {give}"))), "{text}");
        }
        assert!(place("moq://example.org").is_err() && place("example.org").is_err());
    }
}
