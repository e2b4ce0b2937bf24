//! The static score of AMPT-GA and predicted times for a recorded space: tables of before either was recorded, or of a model that
//! was another, get them from the program.
use crate::group::Grouping;
use crate::models::published_score;
use crate::prediction::TimePredictor;
use crate::problem::{TuningScope, for_scope};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_pass::SiteFormat;
use kerf_search::Problem;
use kerf_search::recorded::RecordedSpace;

/// Why a space cannot be scored.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RescoreError {
    /// Levels that are no formats.
    #[error(
        "variable `{0}` has the level `{1}`, which is no format; only precisions have a static score"
    )]
    Level(String, String),
    /// Another program.
    #[error(
        "no grouping of the workload gives the variables of the space ({0}); it was recorded of another program"
    )]
    Other(String),
}

const GROUPINGS: [Grouping; 4] = [
    Grouping::Variable,
    Grouping::Chain,
    Grouping::Line,
    Grouping::Site,
];

/// Formats below the first that any variable can have, in their order.
fn formats(problem: &Problem) -> Result<Vec<SiteFormat>, RescoreError> {
    let mut all: Vec<SiteFormat> = Vec::new();
    for v in &problem.variables {
        for l in v.levels.iter().skip(1) {
            let parsed = l.name.parse();
            let f = parsed.map_err(|_| RescoreError::Level(v.name.clone(), l.name.clone()))?;
            if !all.contains(&f) {
                all.push(f);
            }
        }
    }
    Ok(all)
}

/// A recorded space as a subject has it: its groups, and which of them each variable is. Groups that the space lacks stay as
/// they are.
pub struct MatchedSpace {
    /// The groups.
    pub tunable: Tunable,
    of: Vec<usize>,
}

impl MatchedSpace {
    /// The assignment of all groups.
    pub fn whole(&self, a: &[u8]) -> Vec<u8> {
        let mut out = vec![0; self.tunable.groups.len()];
        for (g, l) in self.of.iter().zip(a) {
            out[*g] = *l;
        }
        out
    }
}

/// The groups that are the space's variables.
fn groups(tunable: &Tunable, problem: &Problem) -> Option<Vec<usize>> {
    let one = |v: &kerf_search::Variable| {
        tunable.groups.iter().position(|g| {
            let mut levels = g.formats.iter().zip(&v.levels);
            g.name == v.name
                && g.formats.len() == v.levels.len()
                && levels.all(|(f, l)| f.to_string() == l.name)
        })
    };
    problem.variables.iter().map(one).collect()
}

/// Finds a space in a subject. Which grouping it has, and whether memory is held narrower in it, is found by the names of its
/// variables.
pub fn find(subject: &Subject, problem: &Problem) -> Result<MatchedSpace, RescoreError> {
    let formats = formats(problem)?;
    let mut best: Option<MatchedSpace> = None;
    for by in GROUPINGS {
        for storage in [true, false] {
            let scope = TuningScope {
                formats: &formats,
                raise: false,
                by,
                storage,
                scaled: None,
                approx: None,
                layout: false,
                records: false,
                blocks: false,
                code: false,
                algebra: None,
                made: None,
            };
            let Ok(tunable) = for_scope(subject, &scope) else {
                continue;
            };
            let Some(of) = groups(&tunable, problem) else {
                continue;
            };
            // The one with the fewest groups beside the space's.
            let fewer = |b: &MatchedSpace| tunable.groups.len() < b.tunable.groups.len();
            if best.as_ref().is_none_or(fewer) {
                best = Some(MatchedSpace { tunable, of });
            }
        }
    }
    best.ok_or_else(|| {
        let names = problem.variables.iter().map(|v| v.name.as_str());
        RescoreError::Other(names.collect::<Vec<_>>().join(", "))
    })
}

/// The space with the published static score of each of its outcomes.
pub fn rescore(subject: &Subject, space: RecordedSpace) -> Result<RecordedSpace, RescoreError> {
    let found = find(subject, &space.problem)?;
    let score = published_score(subject, &found.tunable);
    Ok(space.scored_by(|a| score.predict(&found.whole(a))))
}
