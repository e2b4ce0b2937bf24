//! Every evaluation of a result folder as a table: CSV, or JSON with a column each.
use crate::ReportError;
use kerf_tune::result;
use kerf_tune::store::{self, StoredRow};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "kerf.evaluations/1";

/// Columns before those of the groups.
const COLUMNS: [&str; 9] = [
    "number",
    "phase",
    "seed",
    "perturbed",
    "error",
    "time",
    "within",
    "failure",
    "wall_s",
];

/// Evaluations in their order, those on other inputs too.
#[derive(Debug)]
pub struct Evaluations {
    workload: Value,
    tolerance: f64,
    /// Names of the groups, and what their levels are called.
    groups: Vec<(String, Vec<String>)>,
    rows: Vec<StoredRow>,
}

/// Reads a folder.
pub fn read(dir: &Path) -> Result<Evaluations, ReportError> {
    let (r, _) = result::read(dir)?;
    let groups = r.groups.iter().map(|g| {
        let levels = g.group.formats.iter().map(ToString::to_string);
        (g.group.name.clone(), levels.collect())
    });
    Ok(Evaluations {
        workload: json!(r.workload),
        tolerance: r.criteria.tolerance,
        groups: groups.collect(),
        rows: store::history(&dir.join(store::FILE))?,
    })
}

/// A field of CSV: quoted where it has to be.
fn field(v: &Value) -> String {
    let text = match v {
        Value::Null => return String::new(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

impl Evaluations {
    fn columns(&self) -> Vec<&str> {
        let groups = self.groups.iter().map(|g| g.0.as_str());
        COLUMNS.into_iter().chain(groups).collect()
    }

    /// The values of a row, in the order of the columns.
    fn values(&self, number: usize, r: &StoredRow) -> Vec<Value> {
        let within = r.failure.is_none() && r.error.is_some_and(|e| e <= self.tolerance);
        let own = [
            json!(number),
            json!(r.phase),
            json!(r.input.as_ref().map(|i| i.seed)),
            json!(r.input.as_ref().is_some_and(|i| i.perturb.is_some())),
            json!(r.error),
            json!(r.time_ratio),
            json!(within),
            json!(r.failure),
            json!(r.wall_s),
        ];
        let level = |i: usize| match r.phase.as_str() {
            // There the number of the run stands in place of levels.
            "baseline" => 0,
            _ => r.assignment.get(i).map_or(0, |l| usize::from(*l)),
        };
        let groups = self.groups.iter().enumerate();
        let named = groups.map(|(i, g)| json!(g.1.get(level(i))));
        own.into_iter().chain(named).collect()
    }

    /// Lines of values, the names of the columns first.
    pub fn csv(&self) -> String {
        let head: Vec<String> = self.columns().iter().map(|c| field(&json!(c))).collect();
        let mut out = head.join(",") + "\n";
        for (i, r) in self.rows.iter().enumerate() {
            let line: Vec<String> = self.values(i + 1, r).iter().map(field).collect();
            out += &(line.join(",") + "\n");
        }
        out
    }

    /// One object for each evaluation.
    pub fn json(&self) -> Value {
        let names = self.columns();
        let one = |(i, r): (usize, &StoredRow)| {
            let named = names.iter().map(|n| (*n).to_owned());
            Value::Object(named.zip(self.values(i + 1, r)).collect::<Map<_, _>>())
        };
        let groups: Vec<Value> = self
            .groups
            .iter()
            .map(|(n, l)| json!({ "name": n, "levels": l }))
            .collect();
        json!({
            "schema": SCHEMA,
            "workload": self.workload,
            "tolerance": self.tolerance,
            "groups": groups,
            "evaluations": self.rows.iter().enumerate().map(one).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(phase: &str, assignment: Vec<u8>, error: Option<f64>) -> StoredRow {
        StoredRow {
            phase: phase.into(),
            assignment,
            error,
            failure: error.is_none().then(|| "it said \"no\", twice".into()),
            time_ratio: error.map(|_| 0.5),
            wall_s: 0.25,
            worst: None,
            input: serde_json::from_str(r#"{"seed": 3}"#).ok(),
        }
    }

    fn some() -> Evaluations {
        let levels = vec!["f64".to_owned(), "f32".to_owned()];
        Evaluations {
            workload: json!("w.toml"),
            tolerance: 1e-6,
            groups: vec![("k: a, b".into(), levels.clone()), ("k: c".into(), levels)],
            rows: vec![
                row("baseline", vec![1], Some(1e-9)),
                row("search", vec![0, 1], Some(1e-3)),
                row("search", vec![1, 1], None),
            ],
        }
    }

    #[test]
    fn levels_have_their_names_and_quotes_survive() {
        let expected = "number,phase,seed,perturbed,error,time,within,failure,wall_s,\"k: a, b\",k: c\n\
             1,baseline,3,false,1e-9,0.5,true,,0.25,f64,f64\n\
             2,search,3,false,0.001,0.5,false,,0.25,f64,f32\n\
             3,search,3,false,,,false,\"it said \"\"no\"\", twice\",0.25,f32,f32\n";
        assert_eq!(some().csv(), expected);
    }

    #[test]
    fn json_has_the_same() {
        let v = some().json();
        assert_eq!(v["schema"], SCHEMA);
        assert_eq!(v["evaluations"][1]["k: c"], "f32");
        assert_eq!(v["evaluations"][0]["k: a, b"], "f64");
        assert!(v["evaluations"][2]["error"].is_null());
    }
}
