//! The figures as lines of text.

use std::time::Instant;

use super::samples::Samples;

/// The columns of a receiver's address and name.
const ADDRESS_COLUMNS: usize = 27;
const NAME_COLUMNS: usize = 16;

/// Returns the figures between two moments as at most `rows` lines of at most `columns` characters.
pub(super) fn table(
    place: &str,
    (then, before): &(Instant, Samples),
    (at, now): &(Instant, Samples),
    rows: usize,
    columns: usize,
) -> String {
    let seconds = at.duration_since(*then).as_secs_f64().max(0.001);
    let rate = |name: &str| (now.sum(name) - before.sum(name)).max(0.0) / seconds;
    let frames = rate("nestcast_frames_total");
    let encoding = if frames > 0.0 { 1000.0 * rate("nestcast_encode_seconds_total") / frames } else { 0.0 };
    let receivers = now.receivers();
    let mut lines = vec![
        format!(
            "{place}   receivers {}   frames/s {frames:.1}   skipped/s {:.1}   encoding {encoding:.1} ms   encoded {}/s   renditions {}   refused {}",
            receivers.len(),
            rate("nestcast_frames_skipped_total"),
            bits(8.0 * rate("nestcast_encoded_bytes_total")),
            now.sum("nestcast_renditions"),
            now.sum("nestcast_refusals_total"),
        ),
        String::new(),
        format!(
            "{:ADDRESS_COLUMNS$}{:NAME_COLUMNS$}{:>11}{:>11}{:>8}{:>9}{:>9}{:>8}{:>8}  most frames end because",
            "receiver", "name", "delivered", "allowed", "sent", "frames/s", "rtt", "queue", "lost"
        ),
    ];
    let fit = rows.saturating_sub(lines.len());
    let shown = if receivers.len() > fit { fit.saturating_sub(1) } else { receivers.len() };
    lines.extend(receivers.iter().take(shown).map(|(address, name)| receiver(address, name, before, now, seconds)));
    if shown < receivers.len() {
        lines.push(format!("and {} more", receivers.len() - shown));
    }
    let cut = |line: &String| line.chars().take(columns).collect::<String>().trim_end().to_owned();
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

fn receiver(address: &str, name: &str, before: &Samples, now: &Samples, seconds: f64) -> String {
    let value = |name: &str| now.of_receiver(name, address);
    let grown = |name: &str| (value(name) - before.of_receiver(name, address)).max(0.0);
    let (sent, full) = (grown("nestcast_receiver_bytes_total"), grown("nestcast_receiver_full_bytes_total"));
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    const REASONS_METRIC: &str = "nestcast_receiver_cut_reasons_total";
    let was = before.by(REASONS_METRIC, address, "reason");
    let grown_most = now
        .by(REASONS_METRIC, address, "reason")
        .into_iter()
        .map(|(reason, count)| (reason, count - was.get(reason).unwrap_or(&0.0)));
    let reason = grown_most.filter(|(_, count)| *count > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    format!(
        "{:ADDRESS_COLUMNS$}{:NAME_COLUMNS$}{:>11}{:>11}{:>8}{:>9.1}{:>9}{:>8}{:>8}  {}",
        start(address, ADDRESS_COLUMNS - 1),
        start(name, NAME_COLUMNS - 1),
        bits(value("nestcast_receiver_delivery_rate_bits_per_second")),
        bits(value("nestcast_receiver_target_rate_bits_per_second")),
        format!("{:.0} %", percent(sent, full)),
        grown("nestcast_receiver_frames_total") / seconds,
        format!("{:.0} ms", 1000.0 * value("nestcast_receiver_rtt_seconds")),
        format!("{:.0} ms", 1000.0 * value("nestcast_receiver_queue_seconds")),
        format!("{:.1} %", percent(grown("nestcast_receiver_lost_bytes_total"), sent)),
        reason.map_or_else(|| "-".to_owned(), |(reason, _)| reason.replace('_', " ")),
    )
}

/// Returns the first characters of a text.
fn start(text: &str, count: usize) -> String {
    text.chars().take(count).collect()
}

/// Returns a bit rate with its unit.
fn bits(rate: f64) -> String {
    match rate {
        rate if rate >= 9.995e8 => format!("{:.2} Gbit", rate / 1e9),
        rate if rate >= 9.995e5 => format!("{:.2} Mbit", rate / 1e6),
        rate => format!("{:.0} kbit", rate / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn page(second: u64) -> Samples {
        let one = |address: &str, name: &str| {
            let label = format!("receiver=\"{address}\"{name}");
            let bytes = 100_000 * second;
            format!(
                "nestcast_receiver_frames_total{{{label}}} {}\nnestcast_receiver_bytes_total{{{label}}} {bytes}\n\
                 nestcast_receiver_full_bytes_total{{{label}}} {}\nnestcast_receiver_lost_bytes_total{{{label}}} {}\n\
                 nestcast_receiver_queue_seconds{{{label}}} 0.012\n\
                 nestcast_receiver_rtt_seconds{{{label}}} 0.0476\n\
                 nestcast_receiver_delivery_rate_bits_per_second{{{label}}} 800000\n\
                 nestcast_receiver_target_rate_bits_per_second{{{label}}} 1250000\n\
                 nestcast_receiver_cut_reasons_total{{{label},reason=\"next_due\"}} {}\n\
                 nestcast_receiver_cut_reasons_total{{{label},reason=\"whole\"}} 90\n",
                25 * second,
                4 * bytes,
                bytes / 50,
                20 * second,
            )
        };
        let head = format!(
            "nestcast_frames_total {}\nnestcast_encode_seconds_total {}\nnestcast_encoded_bytes_total {}\n\
             nestcast_renditions 1\nnestcast_refusals_total{{code=\"full\"}} 3\n",
            25 * second,
            0.2 * second as f64,
            1_000_000 * second
        );
        Samples::parse(
            &(head + &one("192.0.2.1:9", ",name=\"ann\"") + &one("192.0.2.2:9", "") + &one("192.0.2.3:9", "")),
        )
    }

    #[test]
    fn rates_are_those_between_two_moments() {
        let began = Instant::now();
        let (before, now) = ((began, page(10)), (began + Duration::from_secs(2), page(12)));
        let text = table("HOST:1", &before, &now, 10, 200);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "HOST:1   receivers 3   frames/s 25.0   skipped/s 0.0   encoding 8.0 ms   encoded 8.00 Mbit/s   renditions 1   refused 3"
        );
        assert_eq!(
            lines[3],
            "192.0.2.1:9                ann                800 kbit  1.25 Mbit    25 %     25.0    48 ms   12 ms   2.0 %  next due"
        );
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let began = Instant::now();
        let (before, now) = ((began, page(10)), (began + Duration::from_secs(1), page(11)));
        let text = table("HOST:1", &before, &now, 5, 40);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[4]), (5, "and 2 more"));
        assert!(lines.iter().all(|line| line.chars().count() <= 40));
        assert!(table("HOST:1", &before, &now, 0, 0).lines().all(str::is_empty));
    }
}
