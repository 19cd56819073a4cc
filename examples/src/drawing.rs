//! The strokes and colours that all pictures are made of.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A part of a page.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Whether drawing worked.
pub type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// For what is read first.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// For what is read last.
pub const FAINT: RGBColor = RGBColor(110, 110, 110);
/// For lines behind the data.
pub const GRID: RGBColor = RGBColor(222, 222, 222);

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

/// A filled rectangle.
///
/// # Errors
/// When the picture cannot be written; the same holds for [`line()`] and [`text()`].
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
