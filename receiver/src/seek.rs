//! Lets a receiver go elsewhere in a broadcast: to where all others are, or some time back or on from where it is.

use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nestcast_proto::Start;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How far a step goes that says nothing else.
const STEP_TIME: Duration = Duration::from_secs(30);
/// A receiver that would be nearer to where all others are goes there.
const NEAR_LIVE_TIME: Duration = Duration::from_secs(1);

/// Where a viewer wants to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// To where all others are.
    Live,
    /// This much earlier than what is shown now.
    Back(Duration),
    /// This much later.
    Forward(Duration),
}

/// The text is no goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give nothing, -, + or a number of seconds with its sign, as in -90")]
pub struct GoalError;

impl FromStr for Goal {
    type Err = GoalError;

    /// Reads what a viewer types: nothing for [`Goal::Live`], `-` or `+` for 30 s back or on, or `-90` and `+90`.
    fn from_str(text: &str) -> Result<Self, GoalError> {
        let text = text.trim();
        let step = |seconds: &str| match seconds.trim() {
            "" => Ok(STEP_TIME),
            seconds => seconds.parse().map(Duration::from_secs).map_err(|_| GoalError),
        };
        match (text.strip_prefix('-'), text.strip_prefix('+')) {
            _ if text.is_empty() => Ok(Self::Live),
            (Some(seconds), _) => step(seconds).map(Self::Back),
            (_, Some(seconds)) => step(seconds).map(Self::Forward),
            _ => Err(GoalError),
        }
    }
}

/// Asks a receiver to go elsewhere, at any moment: a clone of [`ReceiverConfig::seek`](crate::ReceiverConfig::seek). The receiver connects
/// again, unless it is there already. After [`Goal::Live`] all its connections begin where all others are.
#[derive(Debug, Clone, Default)]
pub struct Seek(Arc<Requests>);

#[derive(Debug, Default)]
struct Requests {
    goals: Mutex<Goals>,
    told: Notify,
}

#[derive(Debug, Default)]
struct Goals {
    /// Those that the receiver does not follow yet.
    waiting: Vec<Goal>,
    /// Whether the viewer wanted to be where all others are, and nothing earlier since then.
    stays_live: bool,
}

impl Seek {
    /// Asks for it. Requests before the receiver follows count together.
    pub fn request(&self, goal: Goal) {
        let mut goals = self.goals();
        match goal {
            Goal::Live => *goals = Goals { stays_live: true, ..Goals::default() },
            Goal::Back(_) => goals.stays_live = false,
            Goal::Forward(_) => {}
        }
        goals.waiting.push(goal);
        drop(goals);
        self.0.told.notify_one();
    }

    /// Returns whether all connections begin where all others are.
    pub(crate) fn stays_live(&self) -> bool {
        self.goals().stays_live
    }

    /// Returns where a receiver at `place` goes because of requests that nobody waited for.
    pub(crate) fn take(&self, place: &Place) -> Option<Option<Start>> {
        let goals = std::mem::take(&mut self.goals().waiting);
        (!goals.is_empty()).then(|| goals.into_iter().fold(place.now(), step))
    }

    /// Waits for a request that moves a receiver at `place`, and returns where it goes; `None` is where all others are.
    pub(crate) async fn requested(&self, place: &Place) -> Option<Start> {
        loop {
            self.0.told.notified().await;
            let (before, after) = (place.now(), self.take(place));
            if let Some(after) = after.filter(|after| *after != before) {
                return after;
            }
        }
    }

    fn goals(&self) -> MutexGuard<'_, Goals> {
        self.0.goals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns where a receiver is after one more step.
fn step(from: Option<Start>, goal: Goal) -> Option<Start> {
    match (from, goal) {
        (_, Goal::Live) | (None, Goal::Forward(_)) => None,
        (None, Goal::Back(by)) => Some(Start::BeforeNow(by)),
        (Some(Start::BeforeNow(time)), Goal::Back(by)) => Some(Start::BeforeNow(time.saturating_add(by))),
        (Some(Start::BeforeNow(time)), Goal::Forward(by)) => {
            time.checked_sub(by).filter(|left| *left >= NEAR_LIVE_TIME).map(Start::BeforeNow)
        }
        (Some(Start::AfterBeginning(time)), Goal::Back(by)) => Some(Start::AfterBeginning(time.saturating_sub(by))),
        (Some(Start::AfterBeginning(time)), Goal::Forward(by)) => Some(Start::AfterBeginning(time.saturating_add(by))),
    }
}

/// Where a receiver is on a connection.
#[derive(Debug)]
pub(crate) struct Place(Mutex<State>);

#[derive(Debug, Clone, Copy)]
struct State {
    /// Where it began; `None` where all others are.
    began: Option<Start>,
    /// When the first and the last frame were handed over.
    frames: Option<(Instant, Instant)>,
}

impl Place {
    /// Begins at a place that the sender may not grant.
    pub(crate) const fn new(asked: Option<Start>) -> Self {
        Self(Mutex::new(State { began: asked, frames: None }))
    }

    /// Notes where the sender begins.
    pub(crate) fn handle_start(&self, granted: Option<Start>) {
        self.state().began = granted;
    }

    /// Notes that a frame is handed over.
    pub(crate) fn handle_frame(&self) {
        let (mut state, now) = (self.state(), Instant::now());
        state.frames = Some((state.frames.map_or(now, |(first, _)| first), now));
    }

    /// Returns the time from the first frame to the last; `None` if there was none.
    pub(crate) fn handed_over(&self) -> Option<Duration> {
        self.state().frames.map(|(first, last)| last - first)
    }

    /// Returns where the receiver is now: in a stored video as much later as it has played.
    fn now(&self) -> Option<Start> {
        match *self.state() {
            State { began: Some(Start::AfterBeginning(time)), frames: Some((first, _)) } => {
                Some(Start::AfterBeginning(time.saturating_add(first.elapsed())))
            }
            State { began, .. } => began,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(time: u64) -> Duration {
        Duration::from_secs(time)
    }

    const fn before(time: u64) -> Option<Start> {
        Some(Start::BeforeNow(seconds(time)))
    }

    const fn after(time: u64) -> Option<Start> {
        Some(Start::AfterBeginning(seconds(time)))
    }

    #[test]
    fn what_a_viewer_types_is_a_goal() {
        let (back, forward) = (|time| Ok(Goal::Back(seconds(time))), |time| Ok(Goal::Forward(seconds(time))));
        assert_eq!(["\n", "-", " + \n"].map(str::parse), [Ok(Goal::Live), back(30), forward(30)]);
        assert_eq!(["-90", "+ 5\n"].map(str::parse), [back(90), forward(5)]);
        for wrong in ["90", "q", "--", "-1m", "+-3"] {
            assert_eq!(wrong.parse::<Goal>(), Err(GoalError), "{wrong}");
        }
    }

    #[test]
    fn requests_while_nobody_waits_are_taken_together_and_once() {
        let (seek, place) = (Seek::default(), Place::new(before(60)));
        assert_eq!(seek.take(&place), None);
        seek.request(Goal::Back(seconds(30)));
        seek.request(Goal::Back(seconds(30)));
        assert_eq!(seek.take(&place), Some(before(120)));
        assert_eq!(seek.take(&place), None);
        seek.request(Goal::Back(seconds(30)));
        seek.request(Goal::Live);
        assert_eq!(seek.take(&place), Some(None));
    }

    #[test]
    fn steps_end_at_the_beginning_and_where_all_others_are() {
        let [back, forward] = [Goal::Back(seconds(30)), Goal::Forward(seconds(30))];
        assert_eq!([None, before(60)].map(|from| step(from, back)), [before(30), before(90)]);
        assert_eq!(
            [None, before(60), before(30), before(9)].map(|from| step(from, forward)),
            [None, before(30), None, None]
        );
        assert_eq!([after(60), after(9)].map(|from| step(from, back)), [after(30), after(0)]);
        assert_eq!((step(after(60), forward), step(after(60), Goal::Live)), (after(90), None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_in_a_stored_video_counts_from_what_is_shown_and_one_behind_stays_behind() {
        let seek = Seek::default();
        let [stored, behind] = [after(60), before(60)].map(Place::new);
        for place in [&stored, &behind] {
            place.handle_frame();
        }
        tokio::time::advance(seconds(40)).await;
        stored.handle_frame();
        assert_eq!(stored.handed_over(), Some(seconds(40)));
        seek.request(Goal::Back(seconds(30)));
        assert_eq!(seek.requested(&stored).await, after(70));
        seek.request(Goal::Back(seconds(30)));
        assert_eq!(seek.requested(&behind).await, before(90));
    }

    #[tokio::test]
    async fn a_live_receiver_stays_connected_and_remembers_the_request() {
        let (seek, place) = (Seek::default(), Place::new(None));
        seek.request(Goal::Live);
        let mut waits = Box::pin(seek.requested(&place));
        assert!(is_pending(waits.as_mut()).await && seek.stays_live());
        place.handle_start(before(9));
        seek.request(Goal::Live);
        assert_eq!(waits.await, None);
        seek.request(Goal::Forward(seconds(9)));
        assert!(seek.stays_live());
        seek.request(Goal::Back(seconds(9)));
        assert!(!seek.stays_live());
    }

    /// Polls once; returns whether the future is not ready.
    async fn is_pending(mut future: std::pin::Pin<&mut impl Future<Output = Option<Start>>>) -> bool {
        std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }
}
