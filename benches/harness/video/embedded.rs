//! Schemes of nestcast: a clip is coded once and cut for every receiver, whose rate may change with every frame.

use anyhow::Result;

use super::{Clip, Run, Scheme, Screen, intra::Intra, predicted::Predicted};

/// A way to code a clip once for all receivers.
pub trait Embedded {
    /// Returns the short name, the same in every table and plot.
    fn id(&self) -> &'static str;

    /// Codes for receivers of the rates `kbps` in kbit/s. Returns what receivers show whose links carry `frame_bytes`:
    /// bytes by frame, one list for each receiver. `screen` gets each shown frame.
    ///
    /// # Errors
    /// If encoder, decoder or `screen` fails.
    fn watch(&self, clip: &Clip, kbps: &[f64], frame_bytes: &[Vec<usize>], screen: Screen<'_>) -> Result<Vec<Run>>;

    /// Returns whether receivers of nearly the same rate may get different streams.
    fn has_renditions(&self) -> bool {
        false
    }
}

impl dyn Embedded + '_ {
    /// Codes for receivers of the rates `kbps` in kbit/s. Returns what receivers of the constant rates `seen` show.
    ///
    /// # Errors
    /// If encoder or decoder fails.
    pub fn at_rates(&self, clip: &Clip, kbps: &[f64], seen: &[f64]) -> Result<Vec<Run>> {
        let frame_bytes: Vec<Vec<usize>> = seen.iter().map(|&kbps| bytes_of_frames(clip, kbps)).collect();
        self.watch(clip, kbps, &frame_bytes, &mut |_, _| Ok(()))
    }
}

/// Returns all of them, in the order of tables and plots.
#[must_use]
pub fn embedded() -> Vec<Box<dyn Embedded>> {
    vec![Box::new(Predicted(1)), Box::new(Intra), Box::new(Predicted(2)), Box::new(Predicted(3))]
}

impl Scheme for Box<dyn Embedded> {
    fn id(&self) -> &'static str {
        self.as_ref().id()
    }

    fn run(&self, clip: &Clip, kbps: &[f64]) -> Result<Vec<Run>> {
        self.at_rates(clip, kbps, kbps)
    }

    fn show(&self, clip: &Clip, kbps: &[f64], screen: Screen<'_>) -> Result<Vec<Run>> {
        let frame_bytes: Vec<Vec<usize>> = kbps.iter().map(|&kbps| bytes_of_frames(clip, kbps)).collect();
        self.watch(clip, kbps, &frame_bytes, screen)
    }

    fn embedded(&self) -> Option<&dyn Embedded> {
        Some(self.as_ref())
    }
}

/// Returns whole bytes for every frame at a rate: those due by its end, less those due before.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
pub(super) fn bytes_of_frames(clip: &Clip, kbps: f64) -> Vec<usize> {
    let due = |frames: usize| (clip.frame_bytes(kbps) * frames as f64 + 1e-6) as usize;
    (0..clip.frames.len()).map(|n| due(n + 1) - due(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::clip::tests::moving, *};

    #[test]
    fn a_rate_is_used_to_the_byte() {
        let clip = moving(48, 32, 30);
        let frame_bytes = bytes_of_frames(&clip, 75.1);
        assert_eq!(frame_bytes.iter().sum::<usize>(), 9387);
        assert!(frame_bytes.iter().all(|&bytes| bytes == 312 || bytes == 313), "{frame_bytes:?}");
    }

    #[test]
    fn one_stream_gives_every_rate() {
        let clip = moving(48, 32, 30);
        for scheme in embedded() {
            let runs = Scheme::run(&scheme, &clip, &[24.0, 48.0, 96.0]).expect("codes");
            for (run, bytes) in runs.iter().zip([100.0, 200.0, 400.0]) {
                let used = run.frames.iter().map(|frame| frame.bytes).sum::<usize>() as f64 / 30.0;
                assert!(used <= bytes, "{}: {used} bytes a frame of {bytes}", scheme.as_ref().id());
            }
            let luma = |run: &Run| run.frames.iter().map(|frame| frame.luma_db).sum::<f64>();
            assert!(runs.windows(2).all(|pair| luma(&pair[0]) < luma(&pair[1])), "{}", scheme.as_ref().id());
        }
    }
}
