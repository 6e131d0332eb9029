//! `nestcast receive`: a broadcast to a folder or a player.

use std::net::ToSocketAddrs as _;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use nestcast_proto::{Bitrate, Code, DecoderKind};
use nestcast_receiver::{Config, Error, Trust};

use super::viewer::Screen;
use crate::args::{Receive, Transform};

pub(crate) fn run(options: &Receive) -> Result<()> {
    let runtime = super::runtime()?;
    let trust = match (&options.fingerprint, &options.ca) {
        (Some(text), _) => {
            Trust::fingerprint(text).ok_or_else(|| anyhow!("--fingerprint must be 64 hexadecimal digits"))?
        }
        (None, Some(file)) => Trust::Authorities(file.clone()),
        (None, None) => bail!("nobody is trusted: give --fingerprint or --ca"),
    };
    let address = options.address.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    let name = options.address.rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']);
    let config = Config {
        address: address.with_context(|| format!("{} is no host and port that can be found", options.address))?,
        name: name.to_owned(),
        trust,
        token: super::token(options.token_file.as_deref())?.unwrap_or_default(),
        max_bitrate: options.max_bitrate.map(Bitrate::from_bits),
        decoder: match options.decoder {
            Transform::Linear => DecoderKind::Linear,
            Transform::Deep => DecoderKind::Deep,
        },
        fetch_model: !options.no_fetch_model,
        retry: Duration::from_secs(options.retry.into()),
    };
    let screen = Screen::new(options)?;
    runtime.block_on(nestcast_receiver::view(config, screen, super::interrupted())).map_err(advise)
}

/// Adds what to do.
fn advise(error: Error) -> anyhow::Error {
    let cause = match &error {
        Error::GaveUp { last, .. } => last,
        other => other,
    };
    let advice = match cause {
        Error::Untrusted { .. } => "check --fingerprint or --ca",
        Error::PackageMissing(_) => "name its folder with --model, or let it be fetched",
        Error::Closed(Code::Violation | Code::Version) | Error::Violation(_) => "update nestcast at the older end",
        Error::Closed(Code::Token) => "give the sender's with --token-file",
        Error::Closed(Code::Model) => "name it with --model",
        Error::Closed(Code::Full) => "try later",
        _ => return error.into(),
    };
    anyhow!("{error}: {advice}")
}
