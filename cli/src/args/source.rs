//! What `nestcast send` broadcasts: one source, or several with names, and the options that are for one of them.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use nestcast_media::is_standard;
use nestcast_proto::{BroadcastName, BroadcastNameError};

/// A source or the value of an option, and the name of the broadcast that it is for; empty if that is alone.
#[derive(Debug, Clone)]
pub(crate) struct Named<T> {
    pub(crate) name: BroadcastName,
    pub(crate) value: T,
}

pub(crate) type NamedSource = Named<PathBuf>;

/// Parses `NAME=VALUE`, or a value without a name. A file whose own name has a `=` is a value.
pub(super) fn named<T: FromStr<Err: Display>>(text: &str) -> Result<Named<T>, String> {
    let split = text.split_once('=').filter(|(name, _)| !name.contains('/') && !Path::new(text).exists());
    let (name, value) = split.unwrap_or(("", text));
    let name = name.parse().map_err(|error: BroadcastNameError| error.to_string())?;
    Ok(Named { name, value: value.parse().map_err(|error: T::Err| error.to_string())? })
}

/// Checks sources that are broadcast together, and the files with their sound.
pub(crate) fn check(sources: &[NamedSource], sounds: &[NamedSource]) -> Result<()> {
    let named: BTreeSet<_> = sources.iter().map(|source| &source.name).collect();
    ensure!(
        sources.len() == 1 || named.len() == sources.len() && !named.iter().any(|name| name.is_empty()),
        "each of several sources needs a name of its own, as in cam1=a.y4m cam2=b.y4m"
    );
    let piped = sources.iter().chain(sounds).filter(|source| is_standard(&source.value)).count();
    ensure!(piped <= 1, "only one source or sound can be standard input");
    Ok(())
}

/// Returns what an option says for each of the sources, in their order.
pub(crate) fn assign<'a, T>(
    sources: &[NamedSource],
    option: &str,
    values: &'a [Named<T>],
) -> Result<Vec<Option<&'a T>>> {
    let mut assigned: Vec<_> = sources.iter().map(|_| None).collect();
    for Named { name, value } in values {
        let place = match sources {
            [_] if name.is_empty() => Some(0),
            _ => sources.iter().position(|source| source.name == *name),
        };
        let Some(place) = place else {
            ensure!(!name.is_empty(), "{option} is for one source: say for which, as in {option} cam1=...");
            bail!("{option} names {name}, but no source has this name; write ./ before a file whose own name has a =");
        };
        ensure!(assigned[place].replace(value).is_none(), "{option} is there twice for one source: leave one out");
    }
    Ok(assigned)
}

/// Does the same for an option whose values must differ.
pub(crate) fn assign_apart<'a, T: PartialEq>(
    sources: &[NamedSource],
    option: &str,
    values: &'a [Named<T>],
) -> Result<Vec<Option<&'a T>>> {
    let is_repeated = |(at, it): (usize, &Named<T>)| values[..at].iter().any(|before| before.value == it.value);
    let is_any = values.iter().enumerate().any(is_repeated);
    ensure!(!is_any, "{option} names one place for two sources: give each a place of its own");
    assign(sources, option, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_a_name_only_before_the_first_sign_of_equality() {
        let parsed = |text| named(text).map(|it: NamedSource| (it.name.to_string(), it.value.display().to_string()));
        for (text, name, path) in [("a.y4m", "", "a.y4m"), ("cam1=a=b.y4m", "cam1", "a=b.y4m"), ("./a=b", "", "./a=b")]
        {
            assert_eq!(parsed(text), Ok((name.to_owned(), path.to_owned())));
        }
        assert!(parsed("a b=c").is_err());
        let checked =
            |texts: &[&str]| check(&texts.iter().flat_map(|text| named(text)).collect::<Vec<_>>(), &[]).is_ok();
        assert!(checked(&["a"]) && checked(&["x=a", "y=a"]));
        assert!(!checked(&["a", "y=b"]) && !checked(&["x=a", "x=b"]) && !checked(&["x=-", "y=-"]));
    }
}
