//! A recorded launch of an application that was counted, and what counts such launches.
use kerf_pass::count::Detail;
use kerf_run::job::ProgramCounts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A recorded launch that was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountedLaunch {
    /// Its counts.
    pub counts: ProgramCounts,
    /// Seconds on the device that times are predicted for; none where its profile does not tell.
    pub seconds: Option<f64>,
}

/// Counts the launches in the folder of a run that recorded some, by symbol, as far as that is possible.
pub type CountLaunches = dyn Fn(&Path, Detail) -> BTreeMap<String, Vec<CountedLaunch>>;
