//! Tables of text: columns as wide as their widest cell.
use crate::output::Style;

/// A table. The first columns are set to the left, the others to the right.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// A table with headings, of which the first `left` columns hold words.
    pub fn new<S: Into<String>>(left: usize, head: impl IntoIterator<Item = S>) -> Table {
        Table {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            left,
        }
    }

    /// One more row; missing cells are empty.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether there are rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Lines of text, each indented by two blanks.
    pub fn render(&self, style: Style) -> String {
        let columns = self.head.len();
        let width = |i: usize| {
            let cells = std::iter::once(&self.head).chain(&self.rows);
            let widths = cells.filter_map(|r| r.get(i)).map(|c| c.chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (i, w) in widths.iter().enumerate() {
                let cell = cells.get(i).map_or("", String::as_str);
                text += "  ";
                text += &match i < self.left {
                    true => format!("{cell:<w$}"),
                    false => format!("{cell:>w$}"),
                };
            }
            text.trim_end().to_owned()
        };
        let mut out = format!("{}\n", style.bold(&line(&self.head)));
        for r in &self.rows {
            out += &line(r);
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Color;

    #[test]
    fn columns_align() {
        let mut t = Table::new(1, ["op", "rate"]);
        t.row(["add", "128 p"]);
        t.row(["convert", "2"]);
        t.row(["x"]);
        assert_eq!(
            t.render(Style::new(Color::Never)),
            "  op        rate\n  add      128 p\n  convert      2\n  x\n"
        );
    }
}
