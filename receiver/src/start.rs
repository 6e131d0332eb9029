//! Where a receiver begins: what it says if that is elsewhere than it asked for, and where its next connection begins.

use std::time::Duration;

use nestcast_proto::Start;

/// A smaller difference is no news: a receiver begins with the frame before the moment that a decoder can begin with.
const START_TOLERANCE: Duration = Duration::from_secs(3);

/// The notes if the sender grants no time before now, and none after the beginning. It does not say why.
const NOT_BEFORE_NOW: &str =
    "the sender cannot begin elsewhere now: it keeps nothing for that, or too many receivers do";
const NOT_AFTER_BEGINNING: &str = "the sender cannot begin at a time after the beginning: that is for a stored video. For a \
     live one give a time before now, if the sender keeps it. Or too many receivers begin elsewhere";

/// Returns a note if the receiver begins elsewhere than it asked for.
pub(crate) fn note(asked: Start, granted: Option<Start>) -> Option<String> {
    let Some(granted) = granted else {
        return Some(
            if matches!(asked, Start::BeforeNow(_)) { NOT_BEFORE_NOW } else { NOT_AFTER_BEGINNING }.to_owned(),
        );
    };
    let is_near = granted.time().abs_diff(asked.time()) <= START_TOLERANCE;
    (!is_near).then(|| match granted {
        Start::BeforeNow(time) => format!("the sender keeps the last {}, and the broadcast begins there", text(time)),
        Start::AfterBeginning(time) => {
            format!("the latest beginning of this video is at {}, and it begins there", text(time))
        }
    })
}

/// Returns where the next connection begins, after one that began at `granted` and played for a time: a stored video
/// goes on where it broke. A time before now stays.
pub(crate) fn next(asked: Option<Start>, granted: Option<Start>, played: Option<Duration>) -> Option<Start> {
    match (asked, granted) {
        (Some(Start::AfterBeginning(_)), Some(Start::AfterBeginning(time))) => {
            Some(Start::AfterBeginning(time.saturating_add(played.unwrap_or_default())))
        }
        _ => asked,
    }
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
    fn a_stored_video_goes_on_where_it_broke() {
        let seconds = Duration::from_secs;
        let [before, after] = [|time| Some(Start::BeforeNow(time)), |time| Some(Start::AfterBeginning(time))];
        let five = Some(seconds(5));
        assert_eq!(next(after(seconds(3)), after(seconds(2)), five), after(seconds(7)));
        assert_eq!(next(after(seconds(3)), after(seconds(2)), None), after(seconds(2)), "nothing came");
        assert_eq!(next(after(seconds(3)), None, five), after(seconds(3)), "it began where all do");
        assert_eq!(next(before(seconds(9)), before(seconds(8)), five), before(seconds(9)));
        assert_eq!(next(None, None, five), None);
    }

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
        assert!(note(before(9), None).is_some_and(|said| said.contains("keeps nothing for that, or too many")));
        let said = note(after(9), None).expect("it says so");
        assert!(said.contains("that is for a stored video. For a live one give a time before now"), "{said}");
    }
}
