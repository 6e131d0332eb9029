//! What a receiver says if it begins elsewhere than it asked for.

use std::time::Duration;

use nestcast_proto::Start;

/// A smaller difference is no news: a receiver begins with the frame before the moment that a decoder can begin with.
const START_TOLERANCE: Duration = Duration::from_secs(3);

/// The note if the sender grants nothing. It does not say why.
const NOWHERE_ELSE: &str = "the sender cannot begin elsewhere now: it keeps nothing for that, or too many receivers do";

/// Returns a note if the receiver begins elsewhere than it asked for.
pub(crate) fn note(asked: Start, granted: Option<Start>) -> Option<String> {
    let Some(granted) = granted else { return Some(NOWHERE_ELSE.to_owned()) };
    let is_near = granted.time().abs_diff(asked.time()) <= START_TOLERANCE;
    (!is_near).then(|| match granted {
        Start::BeforeNow(time) => format!("the sender keeps the last {}, and the broadcast begins there", text(time)),
        Start::AfterBeginning(time) => {
            format!("the latest beginning of this video is at {}, and it begins there", text(time))
        }
    })
}

/// Writes a time as options have it, as in 1m30s.
fn text(time: Duration) -> String {
    // Frames are a little before a whole second at many rates.
    let seconds = (time + Duration::from_millis(500)).as_secs();
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let parts = parts.into_iter().filter(|(count, unit)| *count > 0 || *unit == 's' && seconds == 0);
    parts.map(|(count, unit)| format!("{count}{unit}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_begins_elsewhere_says_where() {
        let seconds = Duration::from_secs;
        let before = |time| Start::BeforeNow(seconds(time));
        assert_eq!(note(before(600), Some(before(602))), None);
        let said = note(before(3600), Some(before(250))).expect("it says so");
        assert!(said.contains("the last 4m10s"), "{said}");
        let after = |time| Start::AfterBeginning(seconds(time));
        assert_eq!(note(after(90), Some(after(89))), None);
        assert!(note(after(9000), Some(after(3600))).is_some_and(|said| said.contains("at 1h, ")));
        assert!(note(after(9), Some(after(0))).is_some_and(|said| said.contains("at 0s, ")));
        for asked in [before(9), after(9)] {
            assert!(note(asked, None).is_some_and(|said| said.contains("keeps nothing for that, or too many")));
        }
    }
}
