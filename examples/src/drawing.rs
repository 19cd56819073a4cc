//! The strokes and colours that all pictures are made of.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A part of a page.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Whether drawing worked.
pub type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;
/// The text of an SVG.
pub type Picture = Result<String, Box<dyn std::error::Error + Send + Sync>>;

/// For what is read first.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// For what is read last.
pub const FAINT: RGBColor = RGBColor(110, 110, 110);
/// For lines behind the data.
pub const GRID: RGBColor = RGBColor(222, 222, 222);

/// For every second row, behind the data.
pub const BAND: RGBColor = RGBColor(246, 246, 246);
/// For a part of a chart that stands out, behind the data.
pub const SHADE: RGBColor = RGBColor(238, 238, 238);
/// For single values, behind the lines.
pub const DOTS: RGBColor = RGBColor(140, 140, 140);
/// For lines that lead from one thing to another.
pub const LEADER: RGBColor = RGBColor(170, 170, 170);

/// The smallest size of text: plotters writes a size of 15 as 12.1 px.
pub const SMALL: i32 = 15;
/// As wide as a page of GitHub shows a picture. What is drawn so wide is shown as large as it is drawn.
pub const PAGE: i32 = 830;

// The colours of Okabe and Ito, which differ for colour-blind eyes as well.
/// A light blue.
pub const SKY: RGBColor = RGBColor(86, 180, 233);
/// A dark blue.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// A bluish green.
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
/// A red.
pub const VERMILLION: RGBColor = RGBColor(213, 94, 0);
/// An orange.
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
/// A purple, darker than theirs.
pub const PURPLE: RGBColor = RGBColor(160, 70, 140);
/// A dark brown, which is not theirs.
pub const BROWN: RGBColor = RGBColor(122, 72, 38);
/// A grey blue, which is not theirs.
pub const SLATE: RGBColor = RGBColor(88, 99, 130);

/// A page of this width and height with what `draw` puts on it. The page [adapts](adapting) to a dark
/// screen.
///
/// # Errors
/// See [`fill`].
pub fn page((width, height): (i32, i32), draw: impl FnOnce(&Area) -> Drawn) -> Picture {
    let mut svg = String::new();
    {
        let size = (width as u32, height as u32);
        let page = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        page.fill(&WHITE)?;
        draw(&page)?;
        page.present()?;
    }
    Ok(adapting(&svg))
}

/// A filled rectangle.
///
/// # Errors
/// When the picture cannot be written; the same holds for [`line()`], [`text()`] and [`mark`].
pub fn fill(area: &Area, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Drawn {
    Ok(area.draw(&Rectangle::new([from, to], colour.filled()))?)
}

/// A straight line.
///
/// # Errors
/// See [`fill`].
pub fn line(area: &Area, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) -> Drawn {
    Ok(area.draw(&PathElement::new([from, to], colour.stroke_width(width)))?)
}

/// Words, centred on the height of `at`; `side` says which end of them is there.
///
/// # Errors
/// See [`fill`].
pub fn text(
    area: &Area,
    words: &str,
    at: (i32, i32),
    size: i32,
    colour: RGBColor,
    side: HPos,
) -> Drawn {
    let style = ("sans-serif", size)
        .into_font()
        .color(&colour)
        .pos(Pos::new(side, VPos::Center));
    Ok(area.draw(&Text::new(words, at, style))?)
}

/// A shape of its own for each number, so that the colour is not needed.
///
/// # Errors
/// See [`fill`].
pub fn mark(area: &Area, (x, y): (i32, i32), number: usize, colour: RGBColor) -> Drawn {
    let filled = colour.filled();
    match number % 9 {
        0 => area.draw(&Cross::new((x, y), 4, colour.stroke_width(2)))?,
        1 => area.draw(&TriangleMarker::new((x, y), 5, filled))?,
        2 => area.draw(&Circle::new((x, y), 4, filled))?,
        3 => fill(area, (x - 4, y - 4), (x + 4, y + 4), colour)?,
        4 => {
            let diamond = [(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)];
            area.draw(&Polygon::new(diamond, filled))?;
        }
        5 => area.draw(&Circle::new((x, y), 4, colour.stroke_width(2)))?,
        6 => {
            line(area, (x - 5, y), (x + 5, y), colour, 2)?;
            line(area, (x, y - 5), (x, y + 5), colour, 2)?;
        }
        7 => {
            let corners = [(x - 4, y - 4), (x + 4, y + 4)];
            area.draw(&Rectangle::new(corners, colour.stroke_width(2)))?;
        }
        _ => {
            let triangle = [(x - 5, y - 4), (x + 5, y - 4), (x, y + 5)];
            area.draw(&Polygon::new(triangle, filled))?;
        }
    }
    Ok(())
}

/// Lines of so many letters at most, unless a word is longer.
///
/// ```
/// use examples::drawing::wrapped;
///
/// assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
/// assert_eq!(wrapped("one\ntwo", 7), ["one", "two"]);
/// assert_eq!(wrapped("one-two-three four", 7), ["one-two-three", "four"]);
/// assert_eq!(wrapped("bars: ± 1", 7), ["bars:", "±\u{a0}1"]);
/// assert!(wrapped("", 7).is_empty());
/// ```
pub fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A sign stays with its number.
    for paragraph in text.replace("± ", "±\u{a0}").lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let room = letters.saturating_sub(word.chars().count() + 1);
            if !line.is_empty() && line.chars().count() > room {
                lines.push(core::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines
}

/// Places near those wanted, which are sorted, each with so much room to the next.
///
/// ```
/// use examples::drawing::apart;
///
/// assert_eq!(apart(&[10, 100], (0, 200), 18), [10, 100]);
/// assert_eq!(apart(&[10, 12, 14], (0, 200), 18), [10, 28, 46]);
/// assert_eq!(apart(&[190, 195, 200], (0, 200), 18), [164, 182, 200]);
/// ```
pub fn apart(wanted: &[i32], (first, last): (i32, i32), room: i32) -> Vec<i32> {
    let mut places = wanted.to_vec();
    let mut free = first;
    for place in &mut places {
        *place = (*place).max(free);
        free = *place + room;
    }
    let mut free = last;
    for place in places.iter_mut().rev() {
        *place = (*place).min(free);
        free = *place - room;
    }
    places
}

/// A picture with a dark page where the reader's screen is dark: paper and ink change places, the
/// colours of the data stay, but for some that are too dark or too light there. Where the picture is
/// part of a page of rustdoc, the light theme keeps it light. A narrow page shows the whole
/// picture smaller, without empty bands above and below.
pub fn adapting(svg: &str) -> String {
    const DARK: [(RGBColor, &str); 10] = [
        (WHITE, "#0d1117"),
        (INK, "#e6e6e6"),
        (FAINT, "#a0a0a0"),
        (GRID, "#30363d"),
        (BAND, "#161b22"),
        (SHADE, "#21262d"),
        (BLUE, "#2f81f7"),
        (PURPLE, "#c77ab4"),
        (BROWN, "#b98a5e"),
        (SLATE, "#97a6d1"),
    ];
    let mut rules = String::new();
    for (RGBColor(red, green, blue), dark) in DARK {
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        for property in ["fill", "stroke"] {
            rules += &format!(
                ":root:not([data-theme=\"light\"]) svg [{property}=\"{light}\"], \
                 svg:root [{property}=\"{light}\"] {{ {property}: {dark} }}\n"
            );
        }
    }
    let style = format!("<style>\n@media (prefers-color-scheme: dark) {{\n{rules}}}\n</style>");
    let svg = svg.replacen("<svg ", "<svg style=\"max-width: 100%; height: auto\" ", 1);
    match svg.split_once('\n') {
        Some((head, rest)) => format!("{head}\n{style}\n{rest}"),
        None => svg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_and_ink_change_places() {
        let both = page((100, 100), |page| {
            text(page, "title", (20, 28), 24, INK, HPos::Left)
        })
        .unwrap();
        for colour in [r##"fill="#FFFFFF""##, r##"fill="#222222""##] {
            assert!(both.contains(&format!(" {colour}")), "{both}");
            assert!(both.contains(&format!("[{colour}] {{ fill: #")), "{both}");
        }
        assert!(
            both.starts_with("<svg ") && both.ends_with("</svg>\n"),
            "{both}"
        );
    }
}
