//! Tables of plain text.

/// A header, a rule, and the rows. The first `left` columns stand left, the others right; a row
/// without cells is a gap.
///
/// ```
/// let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
/// let rows = [
///     cells(["10", "none", "51.2 ± 0.1"]),
///     Vec::new(),
///     cells(["200", "equal", "2616 ± 2"]),
/// ];
/// let table = examples::table::table(&["clients", "waits", "calls"], 2, &rows);
/// let lines: Vec<_> = table.lines().collect();
/// assert_eq!(lines[0], "clients  waits       calls");
/// assert_eq!(lines[1], "──────────────────────────");
/// assert_eq!(lines[2], "10       none   51.2 ± 0.1");
/// assert_eq!(lines[3], "");
/// assert_eq!(lines[4], "200      equal    2616 ± 2");
/// ```
pub fn table(header: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    let mut widths: Vec<_> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let header: Vec<_> = header.iter().map(|&cell| cell.to_owned()).collect();
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
    let mut text = format!("{}\n{rule}\n", line(&header, left, &widths));
    for row in rows {
        text += &line(row, left, &widths);
        text.push('\n');
    }
    text
}

fn line(row: &[String], left: usize, widths: &[usize]) -> String {
    let cells: Vec<_> = row
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(column, (cell, width))| {
            if column < left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        })
        .collect();
    cells.join("  ")
}
