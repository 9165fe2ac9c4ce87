//! The course of an arrow from node to node, around the nodes in between.

use super::canvas::At;

/// The box of a node: its middle, and half its width and height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Room {
    /// Middle.
    pub at: At,
    /// Half the width and half the height.
    pub half: (f64, f64),
}

impl Room {
    /// True if a position is inside the box, or as near as `air`.
    fn holds(&self, p: At, air: f64) -> bool {
        (p.0 - self.at.0).abs() < self.half.0 + air && (p.1 - self.at.1).abs() < self.half.1 + air
    }
}

/// Places along the arrow, between the two boxes. It is bent where a straight one would come within `air` of another box;
/// empty if the boxes touch.
pub(crate) fn course(from: &Room, to: &Room, others: &[Room], air: f64) -> Vec<At> {
    const STEPS: u32 = 80;
    let (a, b) = (from.at, to.at);
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let bent = |bend: f64| -> Vec<At> {
        let control = ((a.0 + b.0) / 2.0 - dy * bend, (a.1 + b.1) / 2.0 + dx * bend);
        let place = |k| {
            let t = f64::from(k) / f64::from(STEPS);
            let mix = |p: f64, c: f64, q: f64| (1.0 - t).powi(2) * p + 2.0 * t * (1.0 - t) * c + t * t * q;
            (mix(a.0, control.0, b.0), mix(a.1, control.1, b.1))
        };
        let outside = |p: &At| !from.holds(*p, 0.0) && !to.holds(*p, 0.0);
        (0..=STEPS).map(place).filter(outside).collect()
    };
    let free = |line: &Vec<At>| !line.iter().any(|p| others.iter().any(|n| n.holds(*p, air)));
    let bends = [0.0, -0.2, 0.2, -0.35, 0.35, -0.5, 0.5];
    bends.into_iter().map(bent).find(free).unwrap_or_else(|| bent(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_goes_around_a_node_in_its_way() {
        let room = |x: f64| Room { at: (x, 0.0), half: (5.0, 3.0) };
        let straight = course(&room(0.0), &room(100.0), &[], 1.0);
        assert!(straight.iter().all(|p| p.1 == 0.0 && p.0 >= 5.0 && p.0 <= 95.0));
        let around = course(&room(0.0), &room(100.0), &[room(50.0)], 1.0);
        assert!(around.iter().all(|p| !room(50.0).holds(*p, 1.0)));
        assert!(course(&room(0.0), &room(1.0), &[], 1.0).is_empty());
    }
}
