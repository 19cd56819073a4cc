//! Lines of a chart that lie on each other: which parts and which marks of each are drawn, so that all can be seen.

/// A place on a page, in pixels.
pub(super) type Point = (i32, i32);

/// Paths that are nearer to each other are drawn in turn, each for a stretch of so many pixels.
const TOUCH: f64 = 1.6;
const STRETCH: i32 = 8;
/// Marks that are nearer to each other stand side by side, so far apart.
const MARK: i32 = 10;

/// The parts of the path with this index that are drawn.
pub(super) fn parts(index: usize, paths: &[Vec<Point>]) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    for piece in paths[index].windows(2) {
        // The ends of stretches are rounded, so only the ends of a part become points of it.
        let mut is_begun = false;
        for (number, from, to) in stretches(piece[0], piece[1]) {
            let is_here = |&other: &usize| {
                other == index || passes(&paths[other], from) && passes(&paths[other], to)
            };
            let here: Vec<_> = (0..paths.len()).filter(is_here).collect();
            if here[number % here.len()] != index {
                is_begun = false;
                continue;
            }
            match parts.last_mut() {
                Some(part) if part.last() == Some(&from) => {
                    if is_begun {
                        part.pop();
                    }
                    part.push(to);
                }
                _ => parts.push(vec![from, to]),
            }
            is_begun = true;
        }
    }
    parts
}

/// Cuts a straight piece of a path into stretches. Stretches of two paths at the same place have the same number.
fn stretches(from: Point, to: Point) -> Vec<(usize, Point, Point)> {
    let is_steep = (to.1 - from.1).abs() > (to.0 - from.0).abs();
    let along = |at: Point| if is_steep { at.1 } else { at.0 };
    let (least, most) = (along(from).min(along(to)), along(from).max(along(to)));
    let mut ends = vec![least];
    ends.extend((least + 1..most).filter(|at| at % STRETCH == 0));
    ends.push(most);
    let cut = |ends: &[i32]| {
        let place = |at| {
            between(
                from,
                to,
                f64::from(at - along(from)) / f64::from(along(to) - along(from)),
            )
        };
        ((ends[0] / STRETCH) as usize, place(ends[0]), place(ends[1]))
    };
    let mut stretches: Vec<_> = ends.windows(2).map(cut).collect();
    if along(from) > along(to) {
        stretches.reverse();
        for (_, from, to) in &mut stretches {
            core::mem::swap(from, to);
        }
    }
    stretches
}

/// Whether the path comes near this place.
fn passes(path: &[Point], (x, y): Point) -> bool {
    path.windows(2).any(|piece| {
        let across = f64::from(piece[1].0 - piece[0].0);
        let down = f64::from(piece[1].1 - piece[0].1);
        let (right, below) = (f64::from(x - piece[0].0), f64::from(y - piece[0].1));
        let length = across * across + down * down;
        let share = ((right * across + below * down) / length.max(1.0)).clamp(0.0, 1.0);
        (right - share * across).hypot(below - share * down) < TOUCH
    })
}

/// The places of the marks of the path with this index: every so many points, and other ones than those of the other
/// paths. Where every point has a mark, marks that are near are moved along their paths.
pub(super) fn marks(index: usize, paths: &[Vec<Point>], every: usize) -> Vec<Point> {
    let path = &paths[index];
    if every > 1 {
        let marked = path.iter().skip(index * every / paths.len());
        return marked.step_by(every).copied().collect();
    }
    let place = |(number, &(x, y)): (usize, &Point)| {
        let is_near = |&other: &usize| {
            let mark = paths[other].get(number);
            mark.is_some_and(|mark| (mark.0 - x).abs() < MARK && (mark.1 - y).abs() < MARK)
        };
        let near: Vec<_> = (0..paths.len()).filter(is_near).collect();
        let room = (near.len() as i32 - 1) * MARK;
        if room == 0 {
            return (x, y);
        }
        let before = near.iter().filter(|&&other| other < index).count() as i32;
        let begin = (x - room / 2)
            .min(path[path.len() - 1].0 - room)
            .max(path[0].0);
        on(path, begin + before * MARK)
    };
    path.iter().enumerate().map(place).collect()
}

/// The point of a path that is so far to the right, or its last one.
fn on(path: &[Point], x: i32) -> Point {
    let piece = path
        .windows(2)
        .find(|piece| (piece[0].0..=piece[1].0).contains(&x));
    piece.map_or(path[path.len() - 1], |piece| {
        let share = f64::from(x - piece[0].0) / f64::from((piece[1].0 - piece[0].0).max(1));
        between(piece[0], piece[1], share)
    })
}

fn between(from: Point, to: Point, share: f64) -> Point {
    let between = |from: i32, to: i32| from + (f64::from(to - from) * share).round() as i32;
    (between(from.0, to.0), between(from.1, to.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_are_drawn_in_turn() {
        let paths = vec![vec![(0, 50), (24, 50), (24, 0)]; 2];
        let first = [
            vec![(0, 50), (8, 50)],
            vec![(16, 50), (24, 50), (24, 48)],
            vec![(24, 40), (24, 32)],
        ];
        assert_eq!(parts(0, &paths)[..3], first);
        let second = [vec![(8, 50), (16, 50)], vec![(24, 48), (24, 40)]];
        assert_eq!(parts(1, &paths)[..2], second);
    }

    #[test]
    fn a_path_alone_is_drawn_whole() {
        let paths = [vec![(0, 0), (100, 37), (90, 80)], vec![(0, 10), (100, 90)]];
        for index in [0, 1] {
            let crossing = parts(index, &paths);
            assert!(crossing.len() <= 2, "{crossing:?}");
            assert_eq!(parts(0, &paths[index..=index]), [paths[index].clone()]);
        }
    }

    #[test]
    fn marks_of_equal_points_stand_side_by_side_on_their_paths() {
        let paths = [
            vec![(0, 0), (50, 50), (100, 0)],
            vec![(0, 5), (50, 50), (100, 30)],
        ];
        assert_eq!(marks(0, &paths, 1), [(0, 0), (45, 45), (100, 0)]);
        assert_eq!(marks(1, &paths, 1), [(10, 14), (55, 48), (100, 30)]);
        assert_eq!(marks(1, &paths, 2), [(50, 50)]);
    }

    #[test]
    fn a_path_without_length_has_its_mark() {
        let paths = [vec![(5, 5)], vec![(5, 5), (5, 5)], vec![]];
        assert_eq!(marks(0, &paths, 1), [(5, 5)]);
        assert_eq!(parts(2, &paths), [[]; 0]);
        parts(1, &paths);
    }
}
