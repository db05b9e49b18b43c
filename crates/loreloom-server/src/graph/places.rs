//! Positions of the nodes of a graph.
//!
//! Every node has a home that depends on ids alone: around a focus, on the ring of its distance;
//! on the map, within its community, whose home depends on its best connected node. Then each node
//! moves towards the mean of its neighbours, and nodes that are too close move apart. A node keeps
//! a fixed share of its home, so the pull fades with every step: the same graph gives the same
//! picture, and a new node moves only the nodes near it. Springs would draw a better picture, but
//! a different one after every change.

use loreloom_core::digest::Hasher;

use super::communities::Tie;

/// The distance between nodes, in units of the picture.
const APART: f64 = 60.0;
/// How much of the way from its home to its neighbours a node goes.
const PULL: f64 = 0.55;
/// Rounds of pulling: by then less than a millionth is left.
const PULLS: usize = 24;
/// Rounds of pushing apart.
const PUSHES: usize = 40;

/// A place in the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    /// A place on the unit disc that follows from a name.
    fn of(name: &str) -> Self {
        let digest = Hasher::new("graph place").field(name.as_bytes()).finish();
        let [turn, far] = [0, 8].map(|at: usize| {
            let bytes = digest.0.get(at..at + 4).unwrap_or_default();
            let number = bytes.iter().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte));
            f64::from(number) / f64::from(u32::MAX)
        });
        Self::at(turn * std::f64::consts::TAU, far.sqrt())
    }

    fn at(angle: f64, radius: f64) -> Self {
        Self { x: angle.cos() * radius, y: angle.sin() * radius }
    }

    fn plus(self, other: Self, times: f64) -> Self {
        Self { x: self.x + other.x * times, y: self.y + other.y * times }
    }

    fn length(self) -> f64 {
        self.x.hypot(self.y)
    }
}

/// The places of nodes around the first one: `distances` are their steps from it.
pub(super) fn around(ids: &[&str], distances: &[usize], ties: &[Tie]) -> Vec<Point> {
    let mut ring = vec![0_usize; distances.iter().max().map_or(1, |most| most + 1)];
    for distance in distances {
        ring[*distance] += 1;
    }
    // A ring has room for all its nodes.
    let mut radii = vec![0.0];
    for (distance, count) in ring.iter().enumerate().skip(1) {
        let room = exact(*count) * APART / std::f64::consts::TAU;
        let before: f64 = radii[distance - 1];
        radii.push((before + 1.5 * APART).max(room));
    }
    let homes: Vec<Point> = ids
        .iter()
        .zip(distances)
        .map(|(id, distance)| {
            let home = Point::of(id);
            let turn = home.y.atan2(home.x);
            Point::at(turn, radii[*distance])
        })
        .collect();
    let mut places = pulled(&homes, ties);
    // The rings say how far everything is away: the pull only turns them.
    for (place, distance) in places.iter_mut().zip(distances) {
        let length = place.length();
        *place = if length > 0.0 {
            Point::default().plus(*place, radii[*distance] / length)
        } else {
            Point::default()
        };
    }
    pushed(places, &vec![APART / 2.0; ids.len()], distances.iter().position(|one| *one == 0))
}

/// The places of nodes on the map of all; `communities` has a node of each one's community.
pub(super) fn map(ids: &[&str], communities: &[&str], ties: &[Tie]) -> Vec<Point> {
    let mut names: Vec<&str> = communities.to_vec();
    names.sort_unstable();
    names.dedup();
    let of: Vec<usize> =
        communities.iter().map(|name| names.binary_search(name).unwrap_or_default()).collect();
    let mut sizes = vec![0_usize; names.len()];
    for community in &of {
        sizes[*community] += 1;
    }
    let radii: Vec<f64> = sizes.iter().map(|size| exact(*size).sqrt() * APART * 0.75).collect();
    let whole = exact(ids.len()).sqrt() * APART;
    let homes: Vec<Point> =
        names.iter().map(|name| Point::default().plus(Point::of(name), whole)).collect();
    let between: Vec<Tie> = ties
        .iter()
        .map(|&(from, to, weight)| (of[from], of[to], weight))
        .filter(|(from, to, _)| from != to)
        .collect();
    let centres = pushed(pulled(&homes, &between), &radii, None);
    let homes: Vec<Point> = ids
        .iter()
        .zip(&of)
        .map(|(id, community)| centres[*community].plus(Point::of(id), radii[*community]))
        .collect();
    let inside: Vec<Tie> =
        ties.iter().copied().filter(|(from, to, _)| of[*from] == of[*to]).collect();
    pushed(pulled(&homes, &inside), &vec![APART / 2.0; ids.len()], None)
}

/// Each place drawn from its home towards the mean of its neighbours.
fn pulled(homes: &[Point], ties: &[Tie]) -> Vec<Point> {
    let mut places = homes.to_vec();
    for _ in 0..PULLS {
        let mut sums = vec![(Point::default(), 0.0); homes.len()];
        for &(from, to, weight) in ties {
            for (at, other) in [(from, to), (to, from)] {
                let (sum, all) = &mut sums[at];
                *sum = sum.plus(places[other], weight);
                *all += weight;
            }
        }
        for ((place, home), (sum, all)) in places.iter_mut().zip(homes).zip(sums) {
            if all > 0.0 {
                let mean = Point::default().plus(sum, 1.0 / all);
                *place = Point::default().plus(*home, 1.0 - PULL).plus(mean, PULL);
            }
        }
    }
    places
}

/// Discs that overlap pushed apart; the one at `held` stays.
fn pushed(mut places: Vec<Point>, radii: &[f64], held: Option<usize>) -> Vec<Point> {
    for _ in 0..PUSHES {
        let mut moves = vec![Point::default(); places.len()];
        let mut is_still = true;
        for one in 0..places.len() {
            for other in one + 1..places.len() {
                let apart = places[one].plus(places[other], -1.0);
                let room = radii[one] + radii[other];
                if apart.x.abs() >= room || apart.y.abs() >= room {
                    continue;
                }
                let length = apart.length();
                if length >= room {
                    continue;
                }
                is_still = false;
                // Two on one spot part in some direction, each time the same.
                let way = if length > 0.0 {
                    Point::default().plus(apart, 1.0 / length)
                } else {
                    Point::at(exact(one) + 2.4 * exact(other), 1.0)
                };
                let by = (room - length) / 2.0;
                moves[one] = moves[one].plus(way, by);
                moves[other] = moves[other].plus(way, -by);
            }
        }
        for (at, (place, by)) in places.iter_mut().zip(moves).enumerate() {
            if held != Some(at) {
                // What is pushed from many sides must not fly off.
                let length = by.length();
                let most = radii[at].min(length * 0.6);
                *place = if length > 0.0 { place.plus(by, most / length) } else { *place };
            }
        }
        if is_still {
            break;
        }
    }
    places
}

#[expect(clippy::cast_precision_loss, reason = "a view has at most a thousand nodes")]
fn exact(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rings of twelve, each tied to the next at one node.
    fn rings() -> (Vec<String>, Vec<String>, Vec<Tie>) {
        let ids: Vec<String> = (0..48).map(|at| format!("b/{at}")).collect();
        let communities = (0..48).map(|at| format!("b/{}", at / 12 * 12)).collect();
        let mut ties: Vec<Tie> = Vec::new();
        for at in 0..48 {
            let first = at / 12 * 12;
            ties.push((at, first + (at + 1 - first) % 12, 1.0));
            if at == first && first > 0 {
                ties.push((at, first - 12, 1.0));
            }
        }
        (ids, communities, ties)
    }

    fn texts(list: &[String]) -> Vec<&str> {
        list.iter().map(String::as_str).collect()
    }

    fn least_distance(places: &[Point]) -> f64 {
        let pairs = places.iter().enumerate();
        let apart = pairs.flat_map(|(at, one)| {
            places[at + 1..].iter().map(move |other| one.plus(*other, -1.0).length())
        });
        apart.fold(f64::MAX, f64::min)
    }

    fn moved(before: &[Point], after: &[Point]) -> Vec<f64> {
        let pairs = before.iter().zip(after);
        pairs.map(|(one, other)| one.plus(*other, -1.0).length()).collect()
    }

    #[test]
    fn a_map_is_the_same_each_time_and_nothing_covers_another() {
        let (ids, communities, ties) = rings();
        let places = map(&texts(&ids), &texts(&communities), &ties);
        assert_eq!(places, map(&texts(&ids), &texts(&communities), &ties));
        assert!(least_distance(&places) > 0.6 * APART, "{}", least_distance(&places));
    }

    #[test]
    fn what_belongs_together_stands_together() {
        let (ids, communities, ties) = rings();
        let places = map(&texts(&ids), &texts(&communities), &ties);
        let centre = |of: usize| {
            let members = &places[of * 12..of * 12 + 12];
            members.iter().fold(Point::default(), |sum, one| sum.plus(*one, 1.0 / 12.0))
        };
        for of in 0..4 {
            for place in &places[of * 12..of * 12 + 12] {
                let far = |other: usize| place.plus(centre(other), -1.0).length();
                let nearest = (0..4).min_by(|a, b| far(*a).total_cmp(&far(*b)));
                assert_eq!(nearest, Some(of), "{place:?}");
            }
        }
    }

    #[test]
    fn one_node_more_hardly_moves_the_others() {
        let (mut ids, mut communities, mut ties) = rings();
        let before = map(&texts(&ids), &texts(&communities), &ties);
        ids.push("b/new".to_owned());
        communities.push("b/12".to_owned());
        ties.push((48, 17, 1.0));
        let after = map(&texts(&ids), &texts(&communities), &ties);
        let far = moved(&before, &after);
        let mean = far.iter().sum::<f64>() / 48.0;
        assert!(mean < APART / 4.0, "{mean}");
        assert!(far.iter().all(|one| *one < 2.0 * APART), "{far:?}");
    }

    #[test]
    fn around_a_focus_the_rings_tell_the_distance() {
        let ids: Vec<String> = (0..20).map(|at| format!("n/{at}")).collect();
        let mut distances = vec![1; 6];
        distances.insert(0, 0);
        distances.resize(20, 2);
        let mut ties: Vec<Tie> = (1..7).map(|at| (0, at, 1.0)).collect();
        ties.extend((7..20).map(|at| (at, 1 + at % 6, 2.0)));
        let before = around(&texts(&ids), &distances, &ties);
        assert_eq!(before[0], Point::default());
        for (place, distance) in before.iter().zip(&distances) {
            let far = place.length() / APART;
            let ring = [0.0..0.1, 0.9..2.2, 2.2..4.5][*distance].clone();
            assert!(ring.contains(&far), "{distance}: {far}");
        }
        assert!(least_distance(&before) > 0.6 * APART, "{}", least_distance(&before));
        let (mut more, mut further) = (ids.clone(), distances.clone());
        more.push("n/new".to_owned());
        further.push(2);
        ties.push((20, 3, 1.0));
        let far = moved(&before, &around(&texts(&more), &further, &ties));
        let mean = far.iter().sum::<f64>() / 20.0;
        assert!(mean < APART / 4.0, "{mean}");
    }
}
