//! Every evaluation in SQLite, durable before the next begins.
//!
//! One row an evaluation, found by assignment and input; a search that was killed finds what it had. The
//! description of the search is kept with it, so that evaluations of another search are never taken
//! for this one's.
use crate::criteria::OutputError;
use crate::evaluate::{Input, PlanEvaluation};
use crate::settings;
use kerf_search::Assignment;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::Path;

/// Version of the tables.
const SCHEMA: i64 = 1;

/// File in the result folder.
pub const FILE: &str = "evaluations.sqlite";

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite's own.
    #[error("{path}: {why}; help: choose another folder with --out, or mend this one")]
    Database {
        /// File.
        path: String,
        /// Why.
        why: String,
    },
    /// Another version's.
    #[error(
        "{path} has tables of version {found}, and this Kerf writes version {SCHEMA}; help: choose another folder with --out"
    )]
    Version {
        /// File.
        path: String,
        /// Its version.
        found: i64,
    },
    /// Evaluations that nobody asked to go on with.
    #[error(
        "{path} holds {count} evaluations already; help: --resume goes on with them, --out chooses another folder"
    )]
    Taken {
        /// File.
        path: String,
        /// How many.
        count: usize,
    },
    /// Of another search.
    #[error(
        "{path} is of another search: {}; help: ask for the same again, or choose another folder with --out",
        differences.join("; ")
    )]
    Other {
        /// File.
        path: String,
        /// What differs, each with both values.
        differences: Vec<String>,
    },
}

/// What is kept of the check for undefined behaviour.
pub const CHECKED: &str = "checked";

/// What an evaluation was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The program as it is.
    Baseline,
    /// Operations in wider formats, before the strategy.
    Raise,
    /// Asked for by the strategy.
    Search,
    /// Elements of threads, after the strategy.
    Layout,
    /// Asked for to explain the result.
    Probe,
    /// On other inputs.
    Validation,
    /// The result, measured once more.
    Final,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Baseline => "baseline",
            Phase::Raise => "raise",
            Phase::Search => "search",
            Phase::Layout => "layout",
            Phase::Probe => "probe",
            Phase::Validation => "validation",
            Phase::Final => "final",
        }
    }
}

/// The store.
pub struct Store {
    path: String,
    db: Connection,
}

/// SQLite's reason, with what it may mean: a full disk is often an I/O error to it.
fn why(e: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
    let about_the_disk = [CannotOpen, DiskFull, ReadOnly, SystemIoFailure];
    match e.sqlite_error_code() {
        Some(c) if about_the_disk.contains(&c) => {
            format!(
                "{e} (the disk may be full or read-only; what was stored is kept, and --resume goes on with it)"
            )
        }
        _ => e.to_string(),
    }
}

/// An assignment as text, one character a level.
fn text(a: &[u8]) -> String {
    let words: Vec<String> = a.iter().map(u8::to_string).collect();
    words.join(" ")
}

fn input_text(i: &Input) -> String {
    serde_json::to_string(i).unwrap_or_default()
}

/// Whether the description of the search in a file has a setting; not where there is no such file.
pub fn has_setting(path: &Path, what: &str) -> bool {
    let open = || -> rusqlite::Result<bool> {
        let db = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        db.query_row("SELECT count(*) FROM search WHERE what = ?1", [what], |r| {
            Ok(r.get::<_, i64>(0)? > 0)
        })
    };
    open().unwrap_or(false)
}

impl Store {
    /// Opens the file, or makes it. `search` is the description of the search, an object; with `resume` what
    /// is there must be of the same search, without it there must be nothing.
    pub fn open(path: &Path, search: &Value, resume: bool) -> Result<Store, StoreError> {
        let name = path.display().to_string();
        let fail = |e: rusqlite::Error| StoreError::Database {
            path: name.clone(),
            why: why(&e),
        };
        let db = Connection::open(path).map_err(fail)?;
        let found: i64 = db
            .query_row("PRAGMA user_version", [], |r| r.get(0))
            .map_err(fail)?;
        if found != 0 && found != SCHEMA {
            return Err(StoreError::Version { path: name, found });
        }
        // FULL: a row is on the disk when its transaction ends, also with a write-ahead log.
        db.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS search (what TEXT PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS record (what TEXT PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS evaluation (
                 id INTEGER PRIMARY KEY,
                 phase TEXT NOT NULL,
                 assignment TEXT NOT NULL,
                 input TEXT NOT NULL,
                 error REAL,
                 failure TEXT,
                 time_ratio REAL,
                 wall_s REAL NOT NULL,
                 detail TEXT NOT NULL,
                 UNIQUE (assignment, input, phase));
             PRAGMA user_version = {SCHEMA};
             COMMIT;"
        ))
        .map_err(fail)?;
        let mut store = Store { path: name, db };
        let count = store.count()?;
        if count > 0 && !resume {
            return Err(StoreError::Taken {
                path: store.path,
                count,
            });
        }
        store.same(search)?;
        Ok(store)
    }

    fn fail(&self, e: rusqlite::Error) -> StoreError {
        StoreError::Database {
            path: self.path.clone(),
            why: why(&e),
        }
    }

    /// Checks the description, and writes it where there is none.
    fn same(&mut self, search: &Value) -> Result<(), StoreError> {
        let is = search.as_object().cloned().unwrap_or_default();
        let was = self.description()?;
        if self.count()? > 0 {
            let differences = settings::differences(&was, &is);
            return match differences.is_empty() {
                true => Ok(()),
                false => Err(StoreError::Other {
                    path: self.path.clone(),
                    differences,
                }),
            };
        }
        let write = |db: &mut Connection| -> rusqlite::Result<()> {
            let t = db.transaction()?;
            t.execute("DELETE FROM search", [])?;
            for (what, value) in &is {
                t.execute(
                    "INSERT INTO search (what, value) VALUES (?1, ?2)",
                    params![what, value.to_string()],
                )?;
            }
            t.commit()
        };
        write(&mut self.db).map_err(|e| self.fail(e))
    }

    /// The description that is there.
    fn description(&self) -> Result<Map<String, Value>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut s = self.db.prepare("SELECT what, value FROM search")?;
            s.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect()
        };
        let all = read().map_err(|e| self.fail(e))?;
        let parsed = all.into_iter().map(|(what, text)| {
            let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            (what, value)
        });
        Ok(parsed.collect())
    }

    /// Keeps what came of one step of the search.
    pub fn keep(&self, what: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let damaged = |e: serde_json::Error| StoreError::Database {
            path: self.path.clone(),
            why: e.to_string(),
        };
        let text = serde_json::to_string(value).map_err(damaged)?;
        self.db
            .execute(
                "INSERT OR REPLACE INTO record (what, value) VALUES (?1, ?2)",
                params![what, text],
            )
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// What was kept of a step.
    pub fn kept<T: DeserializeOwned>(&self, what: &str) -> Result<Option<T>, StoreError> {
        let text: Option<String> = self
            .db
            .query_row("SELECT value FROM record WHERE what = ?1", [what], |r| {
                r.get(0)
            })
            .optional()
            .map_err(|e| self.fail(e))?;
        let parsed = text.map(|t| serde_json::from_str(&t)).transpose();
        parsed.map_err(|e| StoreError::Database {
            path: self.path.clone(),
            why: format!("the record of {what} is damaged: {e}"),
        })
    }

    /// Evaluations in it.
    pub fn count(&self) -> Result<usize, StoreError> {
        let n: i64 = self
            .db
            .query_row("SELECT count(*) FROM evaluation", [], |r| r.get(0))
            .map_err(|e| self.fail(e))?;
        Ok(n as usize)
    }

    /// An evaluation, if it was made.
    pub fn get(
        &self,
        phase: Phase,
        a: &[u8],
        input: &Input,
    ) -> Result<Option<PlanEvaluation>, StoreError> {
        let detail: Option<String> = self
            .db
            .query_row(
                "SELECT detail FROM evaluation WHERE phase = ?1 AND assignment = ?2 AND input = ?3",
                params![phase.name(), text(a), input_text(input)],
                |r| r.get(0),
            )
            .optional()
            .map_err(|e| self.fail(e))?;
        detail.map(|d| self.parse(&d)).transpose()
    }

    fn parse(&self, detail: &str) -> Result<PlanEvaluation, StoreError> {
        serde_json::from_str(detail).map_err(|e| StoreError::Database {
            path: self.path.clone(),
            why: format!("an evaluation is damaged: {e}"),
        })
    }

    /// Keeps an evaluation; when this returns, it is on the disk. None is made twice, but for final measurements: of
    /// one that goes on, the new state takes the place of the old.
    pub fn put(
        &mut self,
        phase: Phase,
        a: &[u8],
        input: &Input,
        e: &PlanEvaluation,
        time_ratio: Option<f64>,
    ) -> Result<(), StoreError> {
        let again = match phase {
            Phase::Final => {
                " ON CONFLICT (assignment, input, phase) DO UPDATE SET error = excluded.error,
                 failure = excluded.failure, time_ratio = excluded.time_ratio,
                 wall_s = excluded.wall_s, detail = excluded.detail"
            }
            _ => "",
        };
        let detail = serde_json::to_string(e).map_err(|e| StoreError::Database {
            path: self.path.clone(),
            why: e.to_string(),
        })?;
        self.db
            .execute(
                &format!(
                    "INSERT INTO evaluation
                     (phase, assignment, input, error, failure, time_ratio, wall_s, detail)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8){again}"
                ),
                params![
                    phase.name(),
                    text(a),
                    input_text(input),
                    e.error,
                    e.failure,
                    time_ratio,
                    e.wall_s,
                    detail
                ],
            )
            .map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// All evaluations of a phase, in the order in which they were made.
    pub fn all(&self, phase: Phase) -> Result<Vec<(Assignment, PlanEvaluation)>, StoreError> {
        let mut s = self
            .db
            .prepare("SELECT assignment, detail FROM evaluation WHERE phase = ?1 ORDER BY id")
            .map_err(|e| self.fail(e))?;
        let rows = s
            .query_map([phase.name()], |r| {
                Ok((r.get::<_, String>(0)?, r.get::<_, String>(1)?))
            })
            .map_err(|e| self.fail(e))?;
        let mut all = Vec::new();
        for row in rows {
            let (a, detail) = row.map_err(|e| self.fail(e))?;
            let a = a.split(' ').filter_map(|w| w.parse().ok()).collect();
            all.push((a, self.parse(&detail)?));
        }
        Ok(all)
    }
}

/// One row, for who looks at the evaluations afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRow {
    /// `baseline`, `search`, `probe`, `validation`, `final`.
    pub phase: String,
    /// Levels of the groups.
    pub assignment: Assignment,
    /// Error; none if it is infinite or there was a failure.
    pub error: Option<f64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Time over that of the program as it is.
    pub time_ratio: Option<f64>,
    /// Seconds of the evaluation.
    pub wall_s: f64,
    /// The output and the element that pay most.
    pub worst: Option<(String, u64)>,
    /// The inputs, where the folder says them.
    pub input: Option<Input>,
}

/// The output with the largest error, in units of its tolerance, and its worst element.
fn worst(detail: &str) -> Option<(String, u64)> {
    let e: PlanEvaluation = serde_json::from_str(detail).ok()?;
    let part = |o: &OutputError| o.error.unwrap_or(f64::INFINITY) / o.tolerance;
    let all = e.outputs.iter();
    let most = all.max_by(|a, b| part(a).total_cmp(&part(b)))?;
    Some((most.name.clone(), most.worst.as_ref()?.index))
}

/// Every row of a folder's evaluations, in their order, without changing the folder.
pub fn history(path: &Path) -> Result<Vec<StoredRow>, StoreError> {
    let fail = |e: rusqlite::Error| StoreError::Database {
        path: path.display().to_string(),
        why: e.to_string(),
    };
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(fail)?;
    let mut s = db
        .prepare(
            "SELECT phase, assignment, error, failure, time_ratio, wall_s, detail, input FROM evaluation ORDER BY id",
        )
        .map_err(fail)?;
    let rows = s
        .query_map([], |r| {
            let levels: String = r.get(1)?;
            Ok(StoredRow {
                phase: r.get(0)?,
                assignment: levels.split(' ').filter_map(|w| w.parse().ok()).collect(),
                error: r.get(2)?,
                failure: r.get(3)?,
                time_ratio: r.get(4)?,
                wall_s: r.get(5)?,
                worst: worst(&r.get::<_, String>(6)?),
                input: serde_json::from_str(&r.get::<_, String>(7)?).ok(),
            })
        })
        .map_err(fail)?;
    rows.collect::<Result<_, _>>().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_num::metrics::ComparedCounts;
    use serde_json::json;

    fn evaluated(error: Option<f64>) -> PlanEvaluation {
        PlanEvaluation {
            error,
            outputs: Vec::new(),
            failure: error.is_none().then(|| "it hung".into()),
            timing: None,
            predicted: None,
            inputs: Some("d".into()),
            digests: Vec::new(),
            kernels: Vec::new(),
            energy: None,
            counts: ComparedCounts {
                values: 4,
                compared: 4,
                ..ComparedCounts::default()
            },
            losses: Vec::new(),
            warnings: Vec::new(),
            device: "CPU".into(),
            wall_s: 0.5,
            spent: Default::default(),
        }
    }

    const INPUT: Input = Input {
        seed: 7,
        perturb: None,
    };

    #[test]
    fn what_was_put_is_there_after_opening_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join(FILE);
        let search = json!({"tolerance": 1e-6, "seed": 1});
        let exact = 0.1 + 0.2;
        {
            let mut s = Store::open(&path, &search, false).expect("opens");
            let put = |s: &mut Store, a: &[u8], e| {
                s.put(Phase::Search, a, &INPUT, &evaluated(e), Some(0.5))
            };
            put(&mut s, &[0, 12], Some(exact)).expect("kept");
            put(&mut s, &[1, 0], None).expect("kept");
            assert!(put(&mut s, &[1, 0], None).is_err(), "twice");
            // A race measures its finalists again, and adds to what there is.
            for (lap, ratio) in [(1.0, 0.5), (2.0, 0.51)] {
                let mut e = evaluated(Some(exact));
                e.wall_s = lap;
                s.put(Phase::Final, &[1, 1], &INPUT, &e, Some(ratio))
                    .expect("kept");
            }
            let last = s.get(Phase::Final, &[1, 1], &INPUT).expect("reads");
            assert_eq!(last.map(|e| e.wall_s), Some(2.0));
            assert_eq!(s.count().expect("counts"), 3);
        }
        let s = Store::open(&path, &search, true).expect("opens");
        let all = s.all(Phase::Search).expect("reads");
        assert_eq!(all[0], (vec![0, 12], evaluated(Some(exact))));
        assert_eq!(all[1], (vec![1, 0], evaluated(None)));
        let other = Input { seed: 8, ..INPUT };
        assert!(
            s.get(Phase::Search, &[1, 0], &INPUT)
                .expect("reads")
                .is_some()
        );
        assert!(
            s.get(Phase::Search, &[1, 0], &other)
                .expect("reads")
                .is_none()
        );
        assert!(
            s.get(Phase::Probe, &[1, 0], &INPUT)
                .expect("reads")
                .is_none()
        );
    }

    #[test]
    fn another_search_and_a_used_folder_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join(FILE);
        let open = |t: f64, resume| Store::open(&path, &json!({"tolerance": t}), resume);
        let mut s = open(1e-6, false).expect("opens");
        // Nothing is in it yet, so nothing can be mistaken.
        drop(open(1e-5, false).expect("opens"));
        drop(open(1e-6, false).expect("opens"));
        s.put(Phase::Baseline, &[0], &INPUT, &evaluated(Some(0.0)), None)
            .expect("kept");
        assert!(matches!(open(1e-6, false), Err(StoreError::Taken { .. })));
        assert!(matches!(open(1e-5, true), Err(StoreError::Other { .. })));
        assert!(open(1e-6, true).is_ok());
    }

    #[test]
    fn other_files_and_versions_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join(FILE);
        std::fs::write(
            &path,
            "not a database, whatever its name says, and long enough",
        )
        .expect("w");
        assert!(matches!(
            Store::open(&path, &json!({}), true),
            Err(StoreError::Database { .. })
        ));
        let path = dir.path().join("other.sqlite");
        let db = Connection::open(&path).expect("opens");
        db.execute_batch("PRAGMA user_version = 9").expect("set");
        drop(db);
        assert!(matches!(
            Store::open(&path, &json!({}), true),
            Err(StoreError::Version { found: 9, .. })
        ));
    }
}
