//! kubectl's tables: upper-case headers, three spaces between columns, no borders, no trailing blanks.

use std::fmt::Write as _;

/// Rows of text under headers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    headers: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// Narrowest column, as kubectl's printer has it.
const MIN_WIDTH: usize = 6;
const GAP: usize = 3;

impl Table {
    /// An empty table.
    pub fn new(headers: Vec<&'static str>) -> Self {
        Self {
            headers,
            rows: Vec::new(),
        }
    }

    /// Adds a row; empty cells show as `<none>`, a cell ends at its first line break.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text; nothing at all without rows.
    pub fn render(&self, headers: bool) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let mut widths: Vec<usize> = self.headers.iter().map(|h| h.len().max(MIN_WIDTH)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(width_of(cell));
            }
        }
        let mut out = String::new();
        if headers {
            let titles: Vec<String> = self.headers.iter().map(|h| (*h).to_owned()).collect();
            push_row(&mut out, &titles, &widths);
        }
        for row in &self.rows {
            push_row(&mut out, row, &widths);
        }
        out
    }
}

fn push_row(out: &mut String, cells: &[String], widths: &[usize]) {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let pad = width.saturating_sub(width_of(cell)) + GAP;
        let _ = write!(line, "{cell}{}", " ".repeat(pad));
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

fn cell(text: String) -> String {
    if text.is_empty() {
        return "<none>".to_owned();
    }
    match text.split_once(['\n', '\r']) {
        Some((first, _)) => super::text::clean(&format!("{first}...")),
        None => super::text::clean(&text),
    }
}

/// Columns a text takes: wide East Asian characters and emoji take two, combining marks none.
fn width_of(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn looks_like_kubectl() {
        let mut table = Table::new(vec!["NAME", "READY"]);
        table.row(vec!["database-credentials".to_owned(), "True".to_owned()]);
        table.row(vec!["a\nb".to_owned(), String::new()]);
        assert_eq!(
            table.render(true),
            "NAME                   READY\ndatabase-credentials   True\na...                   <none>\n"
        );
        assert_eq!(Table::new(vec!["NAME"]).render(true), "");
    }
}
