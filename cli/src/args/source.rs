//! What `nestcast send` broadcasts: one source, or several with names.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use nestcast_media::is_standard;
use nestcast_proto::BroadcastName;

/// A source, and the name of its broadcast; empty if it is alone.
#[derive(Debug, Clone)]
pub(crate) struct NamedSource {
    pub(crate) name: BroadcastName,
    pub(crate) path: PathBuf,
}

/// Parses `NAME=SOURCE`, or a source without a name. A file whose own name has a `=` is no named source.
pub(super) fn named_source(text: &str) -> Result<NamedSource, String> {
    let whole = || NamedSource { name: BroadcastName::default(), path: text.into() };
    match text.split_once('=') {
        Some((name, path)) if !name.contains('/') && !whole().path.exists() => {
            let name: BroadcastName = name.parse().map_err(|error| format!("{error}"))?;
            Ok(NamedSource { name, path: path.into() })
        }
        _ => Ok(whole()),
    }
}

/// Checks sources that are broadcast together.
pub(crate) fn check(sources: &[NamedSource]) -> Result<()> {
    let named: std::collections::BTreeSet<_> = sources.iter().map(|source| &source.name).collect();
    let [_, _, ..] = sources else { return Ok(()) };
    ensure!(
        named.len() == sources.len() && !named.iter().any(|name| name.is_empty()),
        "each of several sources needs a name of its own, as in cam1=a.y4m cam2=b.y4m"
    );
    let piped = sources.iter().filter(|source| is_standard(&source.path)).count();
    ensure!(piped <= 1, "two sources cannot both be standard input");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_a_name_only_before_the_first_sign_of_equality() {
        let parsed = |text| named_source(text).map(|it| (it.name.to_string(), it.path.display().to_string()));
        for (text, name, path) in [("a.y4m", "", "a.y4m"), ("cam1=a=b.y4m", "cam1", "a=b.y4m"), ("./a=b", "", "./a=b")]
        {
            assert_eq!(parsed(text), Ok((name.to_owned(), path.to_owned())));
        }
        assert!(parsed("a b=c").is_err());
        let checked = |texts: &[&str]| check(&texts.iter().flat_map(|text| named_source(text)).collect::<Vec<_>>());
        assert!(checked(&["a"]).is_ok() && checked(&["x=a", "y=a"]).is_ok());
        assert!(
            checked(&["a", "y=b"]).is_err() && checked(&["x=a", "x=b"]).is_err() && checked(&["x=-", "y=-"]).is_err()
        );
    }
}
