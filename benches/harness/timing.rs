//! Medians of `cargo bench` as a table, and ratios to rivals.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The median of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Processor and cores.
    pub machine: String,
    /// The picture that was coded.
    pub picture: String,
    /// Criterion's group.
    pub group: String,
    /// Criterion's benchmark, with its parameter after a slash.
    pub name: String,
    /// Milliseconds.
    pub median_ms: f64,
}

/// One of nestcast's times and a rival's from the same run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// nestcast's benchmark.
    pub ours: String,
    /// nestcast's milliseconds.
    pub ours_ms: f64,
    /// The rival's benchmark, with its setting.
    pub rival: String,
    /// The rival's milliseconds.
    pub rival_ms: f64,
}

/// The compared pairs: nestcast's benchmark, and the start of the rival's name.
const COMPARED_PAIRS: [(&str, &str); 5] = [
    ("encode/linear", "encode/webp-m4"),
    ("encode/deep", "encode/webp-m4"),
    ("decode/linear", "decode/webp-m4"),
    ("decode/linear", "decode/jpeg2000"),
    ("decode/deep", "decode/jpeg2000"),
];

/// Criterion's record of a benchmark.
#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Collects the medians under criterion's folder, by group and name.
pub fn collect(criterion: &Path, machine: &str, picture: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut folders = vec![criterion.to_owned()];
    while let Some(folder) = folders.pop() {
        let name = || format!("criterion's results in {} (run `cargo bench -p nestcast-benches`)", folder.display());
        for entry in std::fs::read_dir(&folder).with_context(name)? {
            let path = entry.with_context(name)?.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name == "new") {
                rows.push(row(&path, machine, picture).with_context(|| path.display().to_string())?);
            } else if path.is_dir() {
                folders.push(path);
            }
        }
    }
    rows.sort_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
    Ok(rows)
}

fn row(folder: &Path, machine: &str, picture: &str) -> Result<Row> {
    let benchmark: Benchmark = serde_json::from_slice(&std::fs::read(folder.join("benchmark.json"))?)?;
    let estimates: Estimates = serde_json::from_slice(&std::fs::read(folder.join("estimates.json"))?)?;
    let name: Vec<String> = [benchmark.function_id, benchmark.value_str].into_iter().flatten().collect();
    Ok(Row {
        machine: machine.to_owned(),
        picture: picture.to_owned(),
        group: benchmark.group_id,
        name: name.join("/"),
        median_ms: nestcast_lab::rate_distortion::rounded(estimates.median.point_estimate / 1e6, 3),
    })
}

/// Returns the ratios of one run, without pairs of which one side was not timed.
pub fn ratios(rows: &[Row]) -> Vec<Ratio> {
    let find = |group: &str, start: &str| rows.iter().find(|row| row.group == group && row.name.starts_with(start));
    let ratio = |(ours, rival): (&str, &str)| {
        let (ours, rival) = (find("nestcast", ours)?, find("rival", rival)?);
        Some(Ratio {
            ours: ours.name.clone(),
            ours_ms: ours.median_ms,
            rival: rival.name.clone(),
            rival_ms: rival.median_ms,
        })
    };
    COMPARED_PAIRS.into_iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_collected_and_compared() {
        let folder = tempfile::tempdir().expect("a folder");
        let bench = |at: &str, group: &str, function: &str, value: &str, ns: f64| {
            let new = folder.path().join(at).join("new");
            std::fs::create_dir_all(&new).expect("a folder");
            let about = format!(r#"{{"group_id":"{group}","function_id":"{function}","value_str":"{value}"}}"#);
            std::fs::write(new.join("benchmark.json"), about).expect("writes");
            let estimates = format!(r#"{{"median":{{"point_estimate":{ns}}},"mean":{{"point_estimate":1}}}}"#);
            std::fs::write(new.join("estimates.json"), estimates).expect("writes");
        };
        bench("nestcast/encode/linear", "nestcast", "encode", "linear", 20e6);
        bench("rival/encode/a", "rival", "encode", "webp-m4 80 (0.9 bpp)", 40e6);
        let rows = collect(folder.path(), "a machine", "a picture").expect("two benchmarks");
        assert_eq!(rows.len(), 2);
        let ratios = ratios(&rows);
        assert_eq!((ratios.len(), ratios[0].ours_ms, ratios[0].rival_ms), (1, 20.0, 40.0));
        assert_eq!(ratios[0].rival, "encode/webp-m4 80 (0.9 bpp)");
    }
}
