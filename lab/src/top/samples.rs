//! The samples of a page in the OpenMetrics text format, version 1.0.0.

use std::collections::BTreeMap;

/// The samples of one moment.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<Sample>);

#[derive(Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Samples {
    /// Parses a page, without the lines that are no samples.
    pub(super) fn parse(page: &str) -> Self {
        Self(page.lines().filter(|line| !line.starts_with('#')).filter_map(sample).collect())
    }

    /// Returns the value of a receiver's figure; 0 if there is none.
    pub(super) fn of_receiver(&self, name: &str, receiver: &str) -> f64 {
        let is_its =
            |sample: &&Sample| sample.name == name && sample.labels.get("receiver").is_some_and(|it| it == receiver);
        self.0.iter().find(is_its).map_or(0.0, |sample| sample.value)
    }

    /// Returns the sum of a figure over its labels.
    pub(super) fn sum(&self, name: &str) -> f64 {
        self.0.iter().filter(|sample| sample.name == name).map(|sample| sample.value).sum()
    }

    /// Returns the values of a figure of one receiver by another label.
    pub(super) fn by<'a>(&'a self, name: &str, receiver: &str, label: &str) -> BTreeMap<&'a str, f64> {
        let its = self
            .0
            .iter()
            .filter(|sample| sample.name == name && sample.labels.get("receiver").is_some_and(|it| it == receiver));
        its.filter_map(|sample| Some((sample.labels.get(label)?.as_str(), sample.value))).collect()
    }

    /// Returns the receivers of now, by address, with the names of their viewers.
    pub(super) fn receivers(&self) -> BTreeMap<&str, &str> {
        let frames = self.0.iter().filter(|sample| sample.name == "nestcast_receiver_frames_total");
        let named = frames.filter_map(|sample| {
            Some((sample.labels.get("receiver")?.as_str(), sample.labels.get("name").map_or("", String::as_str)))
        });
        named.collect()
    }
}

/// Parses `name{label="value",...} value`.
fn sample(line: &str) -> Option<Sample> {
    let name_end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(name_end);
    let mut labels = BTreeMap::new();
    let mut rest = rest;
    if let Some(mut inside) = rest.strip_prefix('{') {
        while !inside.starts_with('}') {
            let (label, after) = inside.split_once("=\"")?;
            let (value, after) = after.split_once('"')?;
            labels.insert(label.trim_start_matches(',').to_owned(), value.to_owned());
            inside = after;
        }
        rest = inside.strip_prefix('}')?;
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_parsed_with_their_labels_and_other_lines_left_out() {
        let page = "# TYPE nestcast_receivers gauge\nnestcast_receivers 2\n\
            nestcast_receiver_frames_total{receiver=\"[::1]:9\",name=\"ann b\"} 7\n\
            nestcast_receiver_frames_total{receiver=\"[::1]:10\"} 8\n\
            nestcast_refusals_total{code=\"full\"} 1\nnestcast_refusals_total{code=\"token\"} 2\n\
            nestcast_cut_total{receiver=\"[::1]:9\",reason=\"cap\"} 3\nbroken{\nbroken{a=\"b\nnone\n# EOF\n";
        let samples = Samples::parse(page);
        assert_eq!((samples.0.len(), samples.sum("nestcast_receivers"), samples.sum("none")), (6, 2.0, 0.0));
        assert_eq!(samples.receivers(), BTreeMap::from([("[::1]:9", "ann b"), ("[::1]:10", "")]));
        assert_eq!(samples.of_receiver("nestcast_receiver_frames_total", "[::1]:10"), 8.0);
        assert_eq!(samples.sum("nestcast_refusals_total"), 3.0);
        assert_eq!(samples.by("nestcast_cut_total", "[::1]:9", "reason"), BTreeMap::from([("cap", 3.0)]));
    }
}
