//! The parts of a curve inside a rectangle.

/// x and y.
pub(super) type Point = (f64, f64);

/// Returns the polylines of a curve inside ranges of x and y; a point that is no number breaks the curve.
pub(super) fn clip(points: &[Point], x: (f64, f64), y: (f64, f64)) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    for pair in points.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1], x, y) else { continue };
        match parts.last_mut() {
            Some(part) if part.last() == Some(&from) => part.push(to),
            _ => parts.push(vec![from, to]),
        }
    }
    parts
}

/// Returns the part of a segment inside (Liang and Barsky, 1984).
fn segment(from: Point, to: Point, x: (f64, f64), y: (f64, f64)) -> Option<(Point, Point)> {
    let dx = to.0 - from.0;
    let dy = to.1 - from.1;
    if !(dx.is_finite() && dy.is_finite()) {
        return None;
    }
    let mut enter = 0.0_f64;
    let mut leave = 1.0_f64;
    for (start, change, (low, high)) in [(from.0, dx, x), (from.1, dy, y)] {
        if change == 0.0 {
            if start < low || start > high {
                return None;
            }
            continue;
        }
        let a = (low - start) / change;
        let b = (high - start) / change;
        (enter, leave) = (enter.max(a.min(b)), leave.min(a.max(b)));
    }
    let at = |share: f64| if share == 1.0 { to } else { (from.0 + dx * share, from.1 + dy * share) };
    (enter < leave).then(|| (at(enter), at(leave)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_cut_at_the_borders() {
        let curve = [(0.0, 0.0), (2.0, 2.0), (3.0, 2.0), (5.0, 4.0), (f64::NAN, 1.0), (6.0, 1.0), (7.0, 1.0)];
        let inside = |x, y| clip(&curve, x, y);
        assert_eq!(inside((1.0, 4.0), (0.0, 9.0)), [vec![(1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (4.0, 3.0)]]);
        assert_eq!(inside((0.0, 9.0), (-1.0, 1.0)), [vec![(0.0, 0.0), (1.0, 1.0)], vec![(6.0, 1.0), (7.0, 1.0)]]);
        assert!(inside((0.0, 9.0), (5.0, 6.0)).is_empty());
    }
}
