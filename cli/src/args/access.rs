//! The words of `nestcast key`, `nestcast token` and of the options that use them.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nestcast_proto::Bitrate;

use super::common::time;

#[derive(Debug, Args)]
pub(crate) struct Key {
    /// The private key to write, PEM, which signs tokens: keep it where you make tokens
    #[arg(value_name = "KEY.pem")]
    pub(crate) key: PathBuf,
    /// The file of public keys for `send --keys`, a JWK Set; if it is there, the new key is added to it
    #[arg(value_name = "KEYS.json")]
    pub(crate) keys: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The private key, as `nestcast key` writes it
    #[arg(value_name = "KEY.pem")]
    pub(crate) key: PathBuf,
    /// How long the token admits, in seconds, or with m, h or d, as in 12h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = time)]
    pub(crate) expires: Duration,
    /// The viewer's name, which the sender's figures and log show
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The broadcast that the token is for: what its sender has as `--audience`
    #[arg(long, value_name = "NAME")]
    pub(crate) audience: Option<String>,
    /// The most that the viewer gets, in bits per second, or with k or M, as in 1.5M
    #[arg(long, value_name = "RATE")]
    pub(crate) max_bitrate: Option<Bitrate>,
    /// Let the token admit once: a viewer that comes back needs another one
    #[arg(long)]
    pub(crate) once: bool,
}

/// Who may watch.
#[derive(Debug, Args)]
pub(crate) struct Access {
    /// Accept only receivers whose token one of these public keys signed, a JWK Set; nestcast reads the file again when
    /// it changes
    #[arg(long, value_name = "KEYS.json")]
    pub(crate) keys: Option<PathBuf>,
    /// The name of this broadcast: with `--keys`, accept only tokens for it
    #[arg(long, value_name = "NAME", requires = "keys")]
    pub(crate) audience: Option<String>,
    /// Ask the web service at this URL about each receiver
    #[arg(long, value_name = "URL")]
    pub(crate) admit: Option<String>,
    /// A file with the token that the web service of `--admit` asks for: it gets `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE", requires = "admit")]
    pub(crate) admit_token_file: Option<PathBuf>,
}
