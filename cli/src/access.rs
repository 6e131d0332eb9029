//! `nestcast key` and `nestcast token`: keys and signed tokens for `send --keys`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use nestcast_media::Input;
use nestcast_media::output::{Output, write_secret};
use nestcast_proto::{Bitrate, MAX_TOKEN};
use nestcast_sender::{Audience, Claims, KeyError, SigningKey};

use crate::args::{Key, Token};
use crate::files;

/// The most bytes of a file with keys.
const MAX_FILE: u64 = 64 * 1024;

/// Makes a key, and adds its public half to the file that senders read.
pub(crate) fn key(options: &Key) -> Result<()> {
    let output = Output::new(&options.keys, &[])?;
    let old = options.keys.exists().then(|| text(&options.keys)).transpose()?;
    let (key, pem) = SigningKey::generate()?;
    let set = key.add_to(old.as_deref()).map_err(|error| unusable(&options.keys, error))?;
    write_secret(&options.key, pem.as_bytes())
        .with_context(|| format!("{} cannot be written: name a new file", options.key.display()))?;
    output.write(set.as_bytes())?;
    let (private, public) = (options.key.display(), options.keys.display());
    files::print(&format!("{private}: sign tokens with it; {public}: give it to nestcast send --keys\n"))
}

/// Prints a signed token.
pub(crate) fn token(options: &Token) -> Result<()> {
    let key = SigningKey::from_pem(&text(&options.key)?).map_err(|error| unusable(&options.key, error))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock shows a time before 1970: set it")?;
    let claims = Claims {
        exp: (now + options.expires).as_secs(),
        nbf: None,
        aud: options.audience.clone().map(Audience::One),
        sub: options.name.clone(),
        jti: options.once.then(Claims::new_number).transpose()?,
        max_bitrate: options.max_bitrate.map(Bitrate::bits),
    };
    let token = key.sign(&claims)?;
    anyhow::ensure!(token.len() <= MAX_TOKEN, "the token has over {MAX_TOKEN} bytes: give shorter names");
    files::print(&format!("{token}\n"))
}

fn text(path: &Path) -> Result<String> {
    let mut input = Input::open(path)?;
    let bytes = input.read_to(MAX_FILE)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| unusable(path, KeyError::NotAPrivateKey))
}

fn unusable(path: &Path, error: KeyError) -> anyhow::Error {
    anyhow::Error::from(error).context(format!("{} cannot be used", path.display()))
}
