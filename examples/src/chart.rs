//! Charts of means: lines with error bars, each named where it ends.

pub use crate::drawing::PAGE;
use crate::drawing::{
    Area, BLUE, BROWN, DOTS, Drawn, FAINT, GREEN, GRID, INK, LEADER, ORANGE, PURPLE, Picture,
    SHADE, SKY, SLATE, SMALL, VERMILLION, apart, fill, line, mark, page, text, wrapped,
};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::axis::{Range, Scale};
use crate::stats::Mean;

/// A place on a page, in pixels.
type Point = (i32, i32);

/// A page of panels, one beneath the other.
pub struct Chart {
    /// What is to be seen.
    pub title: String,
    /// Under which circumstances. What is longer than a line is wrapped.
    pub subtitle: String,
    /// In pixels: [`PAGE`], or [`PHONE`].
    pub width: i32,
    /// One beneath the other, all with the same x axis.
    pub panels: Vec<Panel>,
}

/// The name of an axis with its unit, and how values are spread along it.
pub type Axis = (&'static str, Scale);

/// Lines over a pair of axes.
pub struct Panel {
    /// What tells this panel from the others; may be empty.
    pub title: String,
    /// The axis from left to right, the same in all panels.
    pub x: Axis,
    /// The axis from bottom to top.
    pub y: Axis,
    /// What is drawn. Their order gives the places of the names where a line does not end at the right.
    pub lines: Vec<Line>,
    /// A part of the x axis that stands out, and its name.
    pub band: Option<(f64, f64, &'static str)>,
    /// Single values, which stand behind the lines.
    pub dots: Vec<(f64, f64)>,
}

impl Panel {
    /// Without a title, a band and dots.
    pub fn new(x: Axis, y: Axis, lines: Vec<Line>) -> Self {
        Self {
            title: String::new(),
            x,
            y,
            lines,
            band: None,
            dots: Vec::new(),
        }
    }
}

/// What was measured along the x axis, or a bound that was computed.
#[derive(Clone)]
pub struct Line {
    /// Written at the right end.
    pub name: String,
    /// `None` for a bound.
    number: Option<usize>,
    /// From left to right.
    pub points: Vec<(f64, Mean)>,
}

impl Line {
    /// The number gives colour and mark.
    pub fn measured(name: &str, number: usize, points: Vec<(f64, Mean)>) -> Self {
        Self {
            name: name.to_owned(),
            number: Some(number),
            points,
        }
    }

    /// A line of exact values.
    pub fn bound(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let exact = |(x, mean)| (x, Mean { mean, error: 0.0 });
        Self {
            name: name.to_owned(),
            number: None,
            points: points.into_iter().map(exact).collect(),
        }
    }

    fn colour(&self) -> RGBColor {
        const COLOURS: [RGBColor; 9] = [
            VERMILLION, ORANGE, BLUE, GREEN, PURPLE, SKY, INK, BROWN, SLATE,
        ];
        self.number
            .map_or(FAINT, |number| COLOURS[number % COLOURS.len()])
    }
}

/// As wide as a picture may be that is read on a phone.
pub const PHONE: i32 = 480;
const LEFT: i32 = 70;
/// A line of the title and of the subtitle: its height, and how wide a letter is at most.
const TITLE: (i32, i32) = (28, 9);
const SUBTITLE: (i32, i32) = (21, 7);
/// Above a panel's axes: its title, if it has one, and the name of its y axis.
const PANEL_TITLE: i32 = 30;
const AXIS_NAME: i32 = 34;
const AXIS: i32 = 60;
/// Marks keep so far from the frame of a panel.
const INSET: i32 = 9;
/// A line has a mark at every point, or, if it has many, about so many marks.
const MARKS: usize = 12;
/// Where every line of a panel ends so near to the names, each is led to its name.
const NEAR: i32 = 60;
/// Names of lines are at least so far apart.
const NAME_ROOM: i32 = 20;
/// Beside its name a line is shown so far from the axes.
const SAMPLE: (i32, i32) = (26, 50);

/// Gives the text of the SVG.
///
/// # Errors
/// When the picture cannot be written.
pub fn draw(chart: &Chart) -> Picture {
    let letters = |width| ((chart.width - 20) / width) as usize;
    let titles = wrapped(&chart.title, letters(TITLE.1));
    let subtitles = wrapped(&chart.subtitle, letters(SUBTITLE.1));
    let under_title = 2 + TITLE.0 * titles.len() as i32;
    let head = under_title + 34 + SUBTITLE.0 * subtitles.len() as i32;
    // One panel may be high; many are not to fill a wall.
    let panel = match chart.panels.len() {
        _ if chart.width == PHONE => 260,
        1 => 540,
        2 | 3 => 390,
        _ => 300,
    };
    let height = head + panel * chart.panels.len() as i32;
    page((chart.width, height), |page| {
        for (row, title) in titles.iter().enumerate() {
            let y = 30 + TITLE.0 * row as i32;
            text(page, title, (20, y), 21, INK, HPos::Left)?;
        }
        for (row, subtitle) in subtitles.iter().enumerate() {
            let y = under_title + 28 + SUBTITLE.0 * row as i32;
            text(page, subtitle, (20, y), SMALL, FAINT, HPos::Left)?;
        }
        let lines = chart.panels.iter().flat_map(|panel| &panel.lines);
        let points = lines.flat_map(|line| &line.points);
        let dots = chart.panels.iter().flat_map(|panel| &panel.dots);
        let across = points.map(|point| point.0).chain(dots.map(|dot| dot.0));
        let across: Vec<_> = across.collect();
        for (index, shown) in chart.panels.iter().enumerate() {
            let top = head + panel * index as i32;
            let area = page
                .clone()
                .shrink((0, top), (chart.width as u32, panel as u32));
            Frame::new(area, shown, &across, (chart.width, panel)).draw()?;
        }
        Ok(())
    })
}

/// The name, and whether the axis is logarithmic.
fn label((name, scale): Axis) -> String {
    match scale {
        Scale::Linear => name.to_owned(),
        Scale::Logarithmic => format!("{name} (logarithmic)"),
    }
}

/// A panel and where its values lie.
struct Frame<'a, 'svg> {
    area: Area<'svg>,
    panel: &'a Panel,
    x: Range,
    y: Range,
    /// Where the axes end.
    right: i32,
    top: i32,
    bottom: i32,
}

impl<'a, 'svg> Frame<'a, 'svg> {
    /// `across` are the values along the x axis in all panels, which have that axis in common.
    fn new(
        area: Area<'svg>,
        panel: &'a Panel,
        across: &[f64],
        (width, height): (i32, i32),
    ) -> Self {
        let titled = !panel.title.is_empty();
        let top = AXIS_NAME + if titled { PANEL_TITLE } else { 0 };
        let bottom = height - AXIS;
        // The names of the lines are beside the axes.
        let right = width - if width == PHONE { 130 } else { 240 };
        let points = panel.lines.iter().flat_map(|line| &line.points);
        let x = Range::new(
            panel.x.1,
            across.iter().copied(),
            (LEFT + INSET, right - INSET),
        );
        let y = Range::new(
            panel.y.1,
            points
                .flat_map(|(_, y)| [y.mean - y.error, y.mean + y.error])
                .chain(panel.dots.iter().map(|dot| dot.1)),
            (bottom - INSET, top + INSET),
        );
        Self {
            area,
            panel,
            x,
            y,
            right,
            top,
            bottom,
        }
    }

    fn draw(&self) -> Drawn {
        let title = &self.panel.title;
        // A text without words is an empty line, and ends the picture on a page of Markdown.
        if !title.is_empty() {
            text(&self.area, title, (20, 12), 18, INK, HPos::Left)?;
        }
        self.band()?;
        self.axes()?;
        for &(x, y) in &self.panel.dots {
            let at = (self.x.at(x), self.y.at(y));
            self.area.draw(&Circle::new(at, 2, DOTS.filled()))?;
        }
        let lines = self.panel.lines.iter();
        let (measured, bounds): (Vec<_>, Vec<_>) = lines.partition(|line| line.number.is_some());
        for bound in bounds {
            self.dashes(self.points(bound), bound.colour())?;
        }
        for (index, line) in measured.iter().enumerate() {
            self.line(line, index as f64 / measured.len() as f64)?;
        }
        self.names()
    }

    fn band(&self) -> Drawn {
        let Some((from, to, name)) = self.panel.band else {
            return Ok(());
        };
        let (from, to) = (self.x.at(from), self.x.at(to));
        let (bottom, top) = (self.bottom, self.top);
        fill(&self.area, (from, top), (to, bottom), SHADE)?;
        // Above most points of the lines.
        let place = ((from + to) / 2, top + 6);
        text(&self.area, name, place, SMALL, INK, HPos::Center)
    }

    fn axes(&self) -> Drawn {
        let (bottom, top) = (self.bottom, self.top);
        for (tick, label) in self.x.ticks(50) {
            let x = self.x.at(tick);
            line(&self.area, (x, top), (x, bottom + 5), GRID, 1)?;
            let under = (x, bottom + 17);
            text(&self.area, &label, under, SMALL, FAINT, HPos::Center)?;
        }
        for (tick, label) in self.y.ticks(26) {
            let y = self.y.at(tick);
            line(&self.area, (LEFT - 5, y), (self.right, y), GRID, 1)?;
            let beside = (LEFT - 10, y);
            text(&self.area, &label, beside, SMALL, FAINT, HPos::Right)?;
        }
        line(&self.area, (LEFT, bottom), (self.right, bottom), FAINT, 1)?;
        let (across, up) = (label(self.panel.x), label(self.panel.y));
        let under = ((LEFT + self.right) / 2, bottom + 39);
        text(&self.area, &across, under, SMALL, INK, HPos::Center)?;
        text(&self.area, &up, (20, top - 16), SMALL, INK, HPos::Left)
    }

    fn points(&self, line: &Line) -> Vec<Point> {
        let at = |&(x, y): &(f64, Mean)| (self.x.at(x), self.y.at(y.mean));
        line.points.iter().map(at).collect()
    }

    /// A line with marks and error bars. Where only some of the points have marks, those of a line begin later than those
    /// of the lines before, by this share of their distance.
    fn line(&self, line: &Line, later: f64) -> Drawn {
        let colour = line.colour();
        let points = self.points(line);
        let every = points.len().div_ceil(MARKS).max(1);
        let marked = points.iter().skip((later * every as f64) as usize);
        for &at in marked.step_by(every) {
            mark(&self.area, at, line.number.unwrap_or_default(), colour)?;
        }
        let path = PathElement::new(points, colour.stroke_width(2));
        self.area.draw(&path)?;
        for point in &line.points {
            self.error_bar(point, colour)?;
        }
        Ok(())
    }

    fn dashes(&self, points: Vec<Point>, colour: RGBColor) -> Drawn {
        let dashes = DashedPathElement::new(points, 6, 4, colour.stroke_width(2));
        Ok(self.area.draw(&dashes)?)
    }

    fn error_bar(&self, &(x, y): &(f64, Mean), colour: RGBColor) -> Drawn {
        let x = self.x.at(x);
        let ends = [self.y.at(y.mean - y.error), self.y.at(y.mean + y.error)];
        if ends[0] == ends[1] {
            return Ok(());
        }
        line(&self.area, (x, ends[0]), (x, ends[1]), colour, 1)?;
        for end in ends {
            line(&self.area, (x - 4, end), (x + 4, end), colour, 1)?;
        }
        Ok(())
    }

    /// The names of the lines, to the right. Where all lines end there, each is led to its name, and the
    /// names are moved apart where they would touch. Otherwise the names are a legend, in the order of
    /// the lines.
    fn names(&self) -> Drawn {
        let mut ends: Vec<_> = self
            .panel
            .lines
            .iter()
            .filter_map(|line| {
                let &(x, y) = line.points.last()?;
                Some((line, (self.x.at(x), self.y.at(y.mean))))
            })
            .collect();
        let are_led = ends.iter().all(|(_, (x, _))| *x >= self.right - NEAR);
        let wanted: Vec<_> = if are_led {
            ends.sort_by_key(|(_, (_, y))| *y);
            ends.iter().map(|(_, (_, y))| *y).collect()
        } else {
            vec![self.top; ends.len()]
        };
        let within = (self.top + INSET, self.bottom - INSET);
        for ((ended, end), y) in ends.into_iter().zip(apart(&wanted, within, NAME_ROOM)) {
            if are_led {
                let to = (self.right + SAMPLE.0 - 4, y);
                line(&self.area, (end.0 + 8, end.1), to, LEADER, 1)?;
            }
            self.name(ended, y)?;
        }
        Ok(())
    }

    /// A name beside a piece of its line.
    fn name(&self, named: &Line, y: i32) -> Drawn {
        let colour = named.colour();
        let (from, to) = (self.right + SAMPLE.0, self.right + SAMPLE.1);
        match named.number {
            Some(number) => {
                line(&self.area, (from, y), (to, y), colour, 2)?;
                mark(&self.area, ((from + to) / 2, y), number, colour)?;
            }
            None => self.dashes(vec![(from, y), (to, y)], colour)?,
        }
        text(&self.area, &named.name, (to + 8, y), SMALL, INK, HPos::Left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[f64]) -> Chart {
        let point = |(index, &mean): (usize, &f64)| {
            let error = mean / 10.0;
            (index as f64 * 10.0 + 10.0, Mean { mean, error })
        };
        let points = points.iter().enumerate().map(point).collect();
        let lines = vec![
            Line::measured("full", 2, points),
            Line::bound("least", [(10.0, 1.0), (50.0, 5_000.0)]),
        ];
        Chart {
            title: "The finding".to_owned(),
            subtitle: "One line\nand another".to_owned(),
            width: PAGE,
            panels: vec![Panel {
                title: "A panel".to_owned(),
                band: Some((10.0, 20.0, "down")),
                dots: vec![(30.0, 20_000.0)],
                ..Panel::new(
                    ("clients", Scale::Logarithmic),
                    ("calls", Scale::Linear),
                    lines,
                )
            }],
        }
    }

    #[test]
    fn says_everything() {
        let svg = draw(&chart(&[100.0, 2_000.0, 3_000.0])).unwrap();
        let all = "The finding; One line; and another; A panel; clients; clients (logarithmic); \
                   calls; full; least; down; 20,000; r=\"2\"";
        for words in all.split("; ") {
            assert!(svg.contains(words), "{words} is missing");
        }
    }

    #[test]
    fn no_letter_is_too_low_and_no_line_is_empty() {
        let mut chart = chart(&[100.0, 2_000.0, 3_000.0]);
        chart.panels[0].title.clear();
        let svg = draw(&chart).unwrap();
        assert!(svg.contains(r#"width="830""#));
        assert!(svg.lines().all(|line| !line.is_empty()));
        let sizes = svg.split("font-size=\"").skip(1);
        let sizes: Vec<f64> = sizes
            .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
            .collect();
        assert!(sizes.len() > 10 && sizes.iter().all(|&size| size >= 12.0));
    }

    #[test]
    fn draws_whatever_was_measured() {
        for points in [&[][..], &[0.0], &[5.0; 100], &[1e-9, 1e9]] {
            draw(&chart(points)).unwrap();
        }
    }
}
