//! Tables of plain text.

/// A header, a rule, and the rows. The first `left` columns stand left, the others right; a row
/// without cells is a gap.
///
/// ```
/// let rows = [vec!["a".to_owned(), "7".to_owned()], vec!["bb".to_owned(), "1000".to_owned()]];
/// assert_eq!(
///     examples::table::table(&["way", "calls"], 1, &rows),
///     "way  calls\n──────────\na        7\nbb    1000\n",
/// );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let rows = [
            cells(["10", "none", "51.2 ± 0.1"]),
            Vec::new(),
            cells(["200", "decorrelated", "2616 ± 2"]),
        ];
        let text = table(&["clients", "strategy", "calls"], 2, &rows);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[3], "");
        for line in [lines[1], lines[2], lines[4]] {
            assert_eq!(line.chars().count(), lines[0].chars().count(), "{text}");
        }
        assert!(lines[2].starts_with("10       none          "), "{text}");
        assert!(lines[4].ends_with("decorrelated    2616 ± 2"), "{text}");
    }
}
