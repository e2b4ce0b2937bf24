//! Tables: as text, as CSV, as JSON.
use crate::measured::{StudyMetric, StudyRow};
use serde::{Serialize, Serializer};

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum TableCell {
    /// Words.
    Text(String),
    /// A count.
    Integer(u64),
    /// A number.
    Real(f64),
    /// Not measured.
    Missing,
}

impl TableCell {
    /// A number, if there is one.
    pub fn maybe(x: Option<f64>) -> TableCell {
        x.map_or(TableCell::Missing, TableCell::Real)
    }

    fn text(&self) -> String {
        match self {
            TableCell::Text(t) => t.clone(),
            TableCell::Integer(n) => n.to_string(),
            TableCell::Real(x) if !x.is_finite() => "inf".into(),
            TableCell::Real(x) if *x == 0.0 => "0".into(),
            TableCell::Real(x) if (0.01..1e5).contains(&x.abs()) => {
                let digits = 3 - x.abs().log10().floor().clamp(0.0, 3.0) as usize;
                let t = format!("{x:.digits$}");
                match t.contains('.') {
                    true => t.trim_end_matches('0').trim_end_matches('.').to_owned(),
                    false => t,
                }
            }
            TableCell::Real(x) => format!("{x:.3e}"),
            TableCell::Missing => "-".into(),
        }
    }

    fn csv(&self) -> String {
        match self {
            TableCell::Text(t) if t.contains([',', '"', '\n']) => {
                format!("\"{}\"", t.replace('"', "\"\""))
            }
            TableCell::Text(t) => t.clone(),
            TableCell::Integer(n) => n.to_string(),
            TableCell::Real(x) if !x.is_finite() => "inf".into(),
            TableCell::Real(x) => format!("{x:e}"),
            TableCell::Missing => String::new(),
        }
    }
}

impl Serialize for TableCell {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            TableCell::Text(t) => s.serialize_str(t),
            TableCell::Integer(n) => s.serialize_u64(*n),
            // JSON has no infinity.
            TableCell::Real(x) if !x.is_finite() => s.serialize_str("inf"),
            TableCell::Real(x) => s.serialize_f64(*x),
            TableCell::Missing => s.serialize_none(),
        }
    }
}

impl From<&str> for TableCell {
    fn from(t: &str) -> TableCell {
        TableCell::Text(t.into())
    }
}

/// A table with a name that a file can have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Name in file names.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Column headings.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<TableCell>>,
}

impl Table {
    /// A table without rows yet.
    pub fn new(name: &str, title: &str, columns: &[&str]) -> Table {
        Table {
            name: name.into(),
            title: title.into(),
            columns: columns.iter().map(|c| (*c).into()).collect(),
            rows: Vec::new(),
        }
    }

    /// The rows of a study, with the error that the publication uses as `error`.
    pub fn of_measured(
        name: &str,
        title: &str,
        (case, size): (&str, &str),
        error: StudyMetric,
        rows: &[StudyRow],
    ) -> Table {
        let heading = error.name().replace(' ', "_");
        let mut t = Table::new(
            name,
            title,
            &[
                case,
                size,
                "number",
                &heading,
                "max_rel",
                "not_finite",
                "time_s",
                "registers",
                "shared_bytes",
            ],
        );
        for r in rows {
            let count =
                |n: Option<u32>| n.map_or(TableCell::Missing, |n| TableCell::Integer(n.into()));
            t.rows.push(vec![
                TableCell::Text(r.case.clone()),
                TableCell::Integer(r.size as u64),
                r.label.into(),
                TableCell::maybe(error.value(r)),
                TableCell::maybe((r.errors.relative > 0).then_some(r.errors.max_rel)),
                TableCell::Integer(r.errors.not_finite as u64),
                TableCell::maybe(r.time_s),
                count(r.registers),
                count(r.shared_bytes),
            ]);
        }
        t
    }

    /// For people: aligned columns, numbers to the right.
    pub fn text(&self) -> String {
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|r| r.iter().map(TableCell::text).collect())
            .collect();
        let width = |i: usize| {
            let heading = self.columns[i].chars().count();
            cells
                .iter()
                .fold(heading, |w, r| w.max(r[i].chars().count()))
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let left = |i: usize| {
            let text = |r: &Vec<TableCell>| matches!(r[i], TableCell::Text(_));
            self.rows.iter().any(text)
        };
        let lefts: Vec<bool> = (0..self.columns.len()).map(left).collect();
        let line = |r: &[String]| {
            let mut l = String::from(" ");
            for (i, c) in r.iter().enumerate() {
                let w = widths[i];
                l += &match lefts[i] {
                    true => format!(" {c:<w$}"),
                    false => format!(" {c:>w$}"),
                };
            }
            l.trim_end().to_owned() + "\n"
        };
        let mut out = format!("{}\n{}", self.title, line(&self.columns));
        for r in &cells {
            out += &line(r);
        }
        out
    }

    /// For programs: a heading line and one line a row; what was not measured is empty.
    pub fn csv(&self) -> String {
        let mut out = self.columns.join(",") + "\n";
        for r in &self.rows {
            let cells: Vec<String> = r.iter().map(TableCell::csv).collect();
            out += &(cells.join(",") + "\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_all_three_forms() {
        let mut t = Table::new("t", "T", &["a", "b", "c", "d"]);
        t.rows.push(vec![
            TableCell::Text("x, \"y\"".into()),
            TableCell::Integer(7),
            TableCell::Real(1.25e-9),
            TableCell::Missing,
        ]);
        assert_eq!(t.csv(), "a,b,c,d\n\"x, \"\"y\"\"\",7,1.25e-9,\n");
        assert!(t.text().contains("1.250e-9"));
        let json = serde_json::to_string(&t.rows).expect("serialises");
        assert_eq!(json, r#"[["x, \"y\"",7,1.25e-9,null]]"#);
        assert_eq!(TableCell::Real(12.5).text(), "12.5");
        assert_eq!(TableCell::Real(128.0).text(), "128");
        assert_eq!(TableCell::Real(f64::INFINITY).text(), "inf");
    }
}
