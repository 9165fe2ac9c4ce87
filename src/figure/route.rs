//! Paths of arrows between nodes that avoid other nodes.

use super::canvas::At;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Room {
    pub at: At,
    /// Half the width and half the height of the box.
    pub half: (f64, f64),
}

impl Room {
    /// True if a position is inside the box or within `air` of it.
    fn holds(&self, p: At, air: f64) -> bool {
        (p.0 - self.at.0).abs() < self.half.0 + air && (p.1 - self.at.1).abs() < self.half.1 + air
    }
}

/// Returns points along the arrow between the two boxes. The arrow stays between two page edges, and bends if a straight one would come
/// within `air` of another box. It is straight if no bend helps, and empty if the boxes touch.
pub(crate) fn course(from: &Room, to: &Room, others: &[Room], (air, edges): (f64, (f64, f64))) -> Vec<At> {
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
    let bends = [0.0, -0.2, 0.2, -0.35, 0.35, -0.5, 0.5];
    let free = |line: &Vec<At>| is_free(line, others, (air, edges));
    bends.into_iter().map(bent).find(free).unwrap_or_else(|| bent(0.0))
}

/// True if an arrow avoids these boxes and stays between the edges.
pub(crate) fn is_free(line: &[At], others: &[Room], (air, (left, right)): (f64, (f64, f64))) -> bool {
    let bad = |p: &At| !(left..=right).contains(&p.0) || others.iter().any(|n| n.holds(*p, air));
    !line.iter().any(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_goes_around_a_node_in_its_way() {
        let room = |x: f64| Room { at: (x, 0.0), half: (5.0, 3.0) };
        let page = (1.0, (-10.0, 110.0));
        let straight = course(&room(0.0), &room(100.0), &[], page);
        assert!(straight.iter().all(|p| p.1 == 0.0 && p.0 >= 5.0 && p.0 <= 95.0));
        let around = course(&room(0.0), &room(100.0), &[room(50.0)], page);
        assert!(around.iter().all(|p| !room(50.0).holds(*p, 1.0)));
        assert!(course(&room(0.0), &room(1.0), &[], page).is_empty());
    }

    #[test]
    fn an_arrow_stays_on_the_page() {
        let room = |y: f64| Room { at: (0.0, y), half: (5.0, 3.0) };
        let at = |edges| course(&room(0.0), &room(100.0), &[room(50.0)], (1.0, edges));
        let (left, right) = (at((-90.0, 5.0)), at((-5.0, 90.0)));
        assert!(left.iter().all(|p| p.0 <= 5.0) && left.iter().any(|p| p.0 < -6.0), "{left:?}");
        assert!(right.iter().all(|p| p.0 >= -5.0) && right.iter().any(|p| p.0 > 6.0), "{right:?}");
    }
}
