//! Crowds of different sizes as a picture: calls and time against the number of tasks.

use examples::axis::{Axis, Range, Scale};
use examples::drawing::{
    Area, BLUE, Drawn, FAINT, GREEN, GRID, INK, LEADER, ORANGE, PAGE, SMALL, VERMILLION, adapting,
    apart, line, mark, text,
};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::Error;
use crate::crowd::{Curve, Point};
use crate::way::Way;

const WIDTH: i32 = PAGE;
const LEFT: i32 = 70;
const RIGHT: i32 = WIDTH - 236;
const HEAD: i32 = 94;
const PANEL: i32 = 330;
/// Above a panel's axes: the name of its y axis.
const AXIS_NAME: i32 = 34;
const AXIS: i32 = 62;
/// Where the frame of a panel ends, and where its highest and lowest values are drawn.
const BOTTOM: i32 = PANEL - AXIS;
const LOWEST: i32 = BOTTOM - INSET;
const HIGHEST: i32 = AXIS_NAME + INSET;
/// A line of remarks below all panels.
const FOOT: i32 = 22;
/// Marks and rings keep so far from the frame's upper and lower edge.
const INSET: i32 = 12;
const NAME_ROOM: i32 = 24;

const TITLE: &str = "Many tasks change one IAM policy at the same time";
const X: Axis = Axis::new("tasks", Scale::Logarithmic);
const CALLS: Axis = Axis::new("calls of all tasks: reads and writes", Scale::Logarithmic);
const TIME: Axis = Axis::new(
    "milliseconds until the last task is done",
    Scale::Logarithmic,
);

/// What a panel shows of a point.
type Value = fn(&Point) -> f64;

/// Gives the text of the SVG.
pub(crate) fn draw(curves: &[Curve], circumstances: &str) -> Result<String, Error> {
    let remarks = who_gave_up(curves);
    let height = HEAD + 2 * PANEL + FOOT * remarks.len() as i32 + 10;
    let mut svg = String::new();
    {
        let page =
            SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
        page.fill(&WHITE)?;
        text(&page, TITLE, (20, 28), 24, INK, HPos::Left)?;
        text(&page, circumstances, (20, 58), 16, FAINT, HPos::Left)?;
        let panels = [(CALLS, Point::calls as Value), (TIME, Point::milliseconds)];
        for (index, (y, value)) in panels.into_iter().enumerate() {
            let top = HEAD + PANEL * index as i32;
            let area = page.clone().shrink((0, top), (WIDTH as u32, PANEL as u32));
            Panel::new(area, y, curves, value).draw()?;
        }
        for (index, remark) in remarks.iter().enumerate() {
            let at = (20, HEAD + 2 * PANEL + FOOT * index as i32 + 8);
            text(&page, remark, at, SMALL, INK, HPos::Left)?;
        }
        page.present()?;
    }
    Ok(adapting(&svg))
}

/// Which points are ringed, and how many tasks gave up there: a line for each way.
fn who_gave_up(curves: &[Curve]) -> Vec<String> {
    let of_way = |curve: &Curve| {
        let ringed = curve.points.iter().filter(|point| point.gave_up > 0.0);
        let told: Vec<_> = ringed
            .map(|point| format!("{} of {}", tenths(point.gave_up), point.tasks))
            .collect();
        let name = name(curve.way).0;
        (!told.is_empty())
            .then(|| format!("Ringed: tasks gave up with {name}: {}.", told.join(", ")))
    };
    curves.iter().filter_map(of_way).collect()
}

/// `3`, `22.5`.
fn tenths(value: f64) -> String {
    ((value * 10.0).round() / 10.0).to_string()
}

/// The name of a line, what else is to be said of it, and its colour.
fn name(way: Way) -> (&'static str, &'static str, RGBColor) {
    match way {
        Way::Documented => ("the guide's loop", "IAM's documented jitter", VERMILLION),
        Way::ReadModifyWrite => ("full jitter", "iam::READ_MODIFY_WRITE", ORANGE),
        Way::Paced => ("paced", ".update(..).version(..)", BLUE),
        Way::Combined => ("combined", "iam::Members", GREEN),
        Way::NoRetry | Way::WriteAlone | Way::WithoutJitter | Way::WithBackon => {
            (way.title(), "", INK)
        }
    }
}

/// One pair of axes, and where its values lie.
struct Panel<'a> {
    area: Area<'a>,
    y_name: String,
    x: Range,
    y: Range,
    lines: Vec<Line>,
}

struct Line {
    way: Way,
    points: Vec<Shown>,
}

#[derive(Clone, Copy)]
struct Shown {
    x: f64,
    y: f64,
    /// Somebody gave up.
    is_ringed: bool,
}

impl<'a> Panel<'a> {
    fn new(area: Area<'a>, y: Axis, curves: &[Curve], value: Value) -> Self {
        let lines: Vec<_> = curves
            .iter()
            .map(|curve| {
                let shown = |point: &Point| Shown {
                    x: point.tasks,
                    y: value(point),
                    is_ringed: point.gave_up > 0.0,
                };
                let points = curve.points.iter().map(shown).collect();
                Line {
                    way: curve.way,
                    points,
                }
            })
            .collect();
        let all = || lines.iter().flat_map(|line: &Line| &line.points);
        let x = Range::new(X, all().map(|point| point.x), (LEFT, RIGHT));
        let y_range = Range::new(y, all().map(|point| point.y), (LOWEST, HIGHEST));
        Self {
            area,
            y_name: y.label(),
            x,
            y: y_range,
            lines,
        }
    }

    fn draw(&self) -> Drawn {
        self.axes()?;
        for (number, line) in self.lines.iter().enumerate() {
            let colour = name(line.way).2;
            let places: Vec<_> = line.points.iter().map(|point| self.place(point)).collect();
            let path = PathElement::new(places.clone(), colour.stroke_width(2));
            self.area.draw(&path)?;
            for (place, point) in places.into_iter().zip(&line.points) {
                mark(&self.area, place, number, colour)?;
                if point.is_ringed {
                    let ring = Circle::new(place, 9, colour.stroke_width(1));
                    self.area.draw(&ring)?;
                }
            }
        }
        self.names()
    }

    fn place(&self, point: &Shown) -> (i32, i32) {
        (self.x.at(point.x), self.y.at(point.y))
    }

    fn axes(&self) -> Drawn {
        let (bottom, top) = (BOTTOM, AXIS_NAME);
        for (tick, label) in self.x.ticks(30) {
            let x = self.x.at(tick);
            line(&self.area, (x, top), (x, bottom + 5), GRID, 1)?;
            let under = (x, bottom + 17);
            text(&self.area, &label, under, SMALL, FAINT, HPos::Center)?;
        }
        for (tick, label) in self.y.ticks(24) {
            let y = self.y.at(tick);
            line(&self.area, (LEFT - 5, y), (RIGHT, y), GRID, 1)?;
            let beside = (LEFT - 10, y);
            text(&self.area, &label, beside, SMALL, FAINT, HPos::Right)?;
        }
        line(&self.area, (LEFT, bottom), (RIGHT, bottom), FAINT, 1)?;
        let under = ((LEFT + RIGHT) / 2, bottom + 39);
        text(&self.area, &X.label(), under, SMALL, INK, HPos::Center)?;
        let above = (20, top - 18);
        text(&self.area, &self.y_name, above, 16, INK, HPos::Left)
    }

    /// Each line's name to the right of its end, moved apart where two would touch.
    fn names(&self) -> Drawn {
        let mut ends: Vec<_> = self
            .lines
            .iter()
            .enumerate()
            .filter_map(|(number, line)| Some((number, line.way, self.place(line.points.last()?))))
            .collect();
        ends.sort_by_key(|(.., (_, y))| *y);
        let wanted: Vec<_> = ends.iter().map(|(.., (_, y))| *y).collect();
        let room = 2 * NAME_ROOM - 6;
        for ((number, way, end), y) in ends
            .into_iter()
            .zip(apart(&wanted, (HIGHEST, LOWEST), room))
        {
            let (short, long, colour) = name(way);
            let x = RIGHT + 44;
            line(&self.area, (end.0 + 11, end.1), (x - 17, y), LEADER, 1)?;
            mark(&self.area, (x - 9, y), number, colour)?;
            text(&self.area, short, (x, y), 16, INK, HPos::Left)?;
            text(&self.area, long, (x, y + 17), SMALL, FAINT, HPos::Left)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(gave_up: f64) -> Vec<Curve> {
        let point = |tasks: f64, factor: f64, gave_up| Point {
            tasks,
            reads: tasks * factor,
            writes: tasks * factor,
            conflicts: tasks * (factor - 1.0),
            seconds: tasks * factor / 100.0,
            gave_up,
        };
        let curve = |(index, way): (usize, Way)| Curve {
            way,
            points: vec![
                point(1.0, 1.0, 0.0),
                point(100.0, 10.0 / (index + 1) as f64, gave_up),
            ],
        };
        Way::CROWD.into_iter().enumerate().map(curve).collect()
    }

    #[test]
    fn says_everything() {
        let svg = draw(&curves(0.0), "The circumstances").unwrap();
        let all = "The circumstances; s loop; full jitter; .version(..); iam::Members; 1,000";
        let labels = [CALLS.label(), TIME.label(), X.label()];
        let labels = labels.iter().map(String::as_str);
        for words in all.split("; ").chain([TITLE]).chain(labels) {
            assert!(svg.contains(words), "{words} is missing");
        }
        assert!(!svg.contains("Ringed"));
    }

    #[test]
    fn says_who_gave_up_and_no_letter_is_too_low() {
        let svg = draw(&curves(2.5), "The circumstances").unwrap();
        assert!(svg.contains("Ringed: tasks gave up with full jitter: 2.5 of 100."));
        assert!(svg.contains(r#"width="830""#));
        let sizes = svg.split("font-size=\"").skip(1);
        let sizes: Vec<f64> = sizes
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(sizes.len() > 20 && sizes.iter().all(|&size| size >= 12.0));
    }

    #[test]
    fn draws_whatever_was_measured() {
        let (way, points) = (Way::Paced, vec![Point::default()]);
        for curves in [vec![], vec![Curve { way, points }]] {
            draw(&curves, "").unwrap();
        }
    }
}
