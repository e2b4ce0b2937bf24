//! The static score of AMPT-GA for a recorded space: tables of before it was recorded get it from the program.
use crate::models::{CostModel, published_score};
use crate::problem::{Grouping, Tunable, Wish, of_wish};
use crate::subject::Subject;
use kerf_pass::SiteFormat;
use kerf_search::Problem;
use kerf_search::recorded::Recorded;

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

/// Whether the groups are the space's variables.
fn fits(tunable: &Tunable, problem: &Problem) -> bool {
    tunable.groups.len() == problem.variables.len()
        && tunable.groups.iter().zip(&problem.variables).all(|(g, v)| {
            let levels = g.formats.iter().zip(&v.levels);
            g.name == v.name
                && g.formats.len() == v.levels.len()
                && levels.into_iter().all(|(f, l)| f.to_string() == l.name)
        })
}

/// The space with the published static score of each of its outcomes. Which grouping it has, and whether memory is
/// held narrower in it, is found by the names of its variables.
pub fn rescore(subject: &Subject, space: Recorded) -> Result<Recorded, RescoreError> {
    let formats = formats(&space.problem)?;
    for by in GROUPINGS {
        for storage in [true, false] {
            let wish = Wish {
                formats: &formats,
                by,
                storage,
                approx: None,
            };
            let Ok(tunable) = of_wish(subject, &wish) else {
                continue;
            };
            if fits(&tunable, &space.problem) {
                let score = published_score(subject, &tunable);
                return Ok(space.scored_by(|a| score.predict(&a.to_vec())));
            }
        }
    }
    let names: Vec<&str> = space
        .problem
        .variables
        .iter()
        .map(|v| v.name.as_str())
        .collect();
    Err(RescoreError::Other(names.join(", ")))
}
