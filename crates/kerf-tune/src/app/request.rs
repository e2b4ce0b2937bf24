//! What is asked of the tuner of applications.
use super::counted_launch::CountLaunches;
use super::error::AppError;
use super::run::AppDevice;
use super::run::Ran;
use super::values::ValueSource;
use crate::approx::Approx;
use crate::coded::Assembler;
use crate::group::Grouping;
use kerf_device::profile::DeviceProfile;
use kerf_exec::replay::AppCriterion;
use kerf_num::Metric;
use kerf_pass::SiteFormat;
use kerf_search::StrategyName;
use regex_lite::Regex;
use std::path::PathBuf;
use std::time::Duration;

/// How time is told.
#[derive(Debug, Clone)]
pub enum TimeBy {
    /// Predicted by the static score, kernel by kernel, weighted by their part of the run time.
    Predicted,
    /// Kernel times together, measured.
    Kernels,
    /// The application's own figure: the first number that a pattern finds.
    Pattern(Regex),
    /// From start to end, measured.
    Wall,
}

impl TimeBy {
    /// As the description of a search has it.
    pub(crate) fn name(&self) -> String {
        match self {
            TimeBy::Predicted => "predicted".into(),
            TimeBy::Kernels => "kernels".into(),
            TimeBy::Wall => "wall".into(),
            TimeBy::Pattern(p) => format!("the pattern `{}`", p.as_str()),
        }
    }

    /// Do evaluations need the times of single kernels?
    pub(super) fn times_kernels(&self) -> bool {
        matches!(self, TimeBy::Kernels)
    }

    /// The time of a run; none where times are predicted.
    pub(super) fn seconds(&self, ran: &Ran) -> Result<Option<f64>, AppError> {
        Ok(match self {
            TimeBy::Predicted => None,
            TimeBy::Kernels => Some(ran.trace.kernels.iter().map(|k| k.seconds).sum()),
            TimeBy::Wall => Some(ran.wall_s),
            TimeBy::Pattern(r) => {
                let hit = r.captures(&ran.stdout);
                let text =
                    hit.and_then(|c| Some(c.get(usize::from(c.len() > 1))?.as_str().to_owned()));
                let number = text.and_then(|t| {
                    let words = t.split(|c: char| c.is_whitespace() || ":=,".contains(c));
                    words.filter_map(|w| w.parse::<f64>().ok()).next()
                });
                Some(number.ok_or_else(|| AppError::NoTime(r.as_str().to_owned()))?)
            }
        })
    }
}

/// A request to tune an application.
pub struct AppRequest {
    /// Kinds of faults that the check before the search lets pass.
    pub allow: Vec<String>,
    /// Shell command that runs the application.
    pub command: String,
    /// Where it runs.
    pub device: AppDevice,
    /// Largest error.
    pub tolerance: f64,
    /// Its measure.
    pub metric: Metric,
    /// Least divisor of relative errors.
    pub floor: Option<f64>,
    /// Whether numbers may be NaN where those of the original program are.
    pub allow_nan: bool,
    /// What is compared.
    pub source: ValueSource,
    /// How time is told.
    pub time: TimeBy,
    /// Runs for a measured time.
    pub repeats: usize,
    /// Kernels to tune; empty: by run time.
    pub kernels: Vec<String>,
    /// Formats that operations may have; none: they keep theirs.
    pub formats: Vec<SiteFormat>,
    /// What changes together.
    pub grouping: Grouping,
    /// Hold allocations and arrays in narrower formats too.
    pub storage: bool,
    /// Math calls and parts of the warps, where they may change.
    pub approx: Option<Approx>,
    /// Elements that a thread computes may change.
    pub layout: bool,
    /// How the code of kernels is laid out may change.
    pub code: bool,
    /// Expressions may be written differently.
    pub algebra: bool,
    /// Blocks of launches may change.
    pub launch: bool,
    /// Strategy.
    pub strategy: StrategyName,
    /// Evaluations, at most.
    pub budget: usize,
    /// Seed of the search.
    pub seed: u64,
    /// Device that times are predicted for.
    pub profile: DeviceProfile,
    /// What counts recorded launches. Where times are predicted, kernels are chosen by their counts; without it by their times
    /// in the run.
    pub count: Option<Box<CountLaunches>>,
    /// With it, times are predicted from machine code.
    pub assembler: Option<Assembler>,
    /// Result folder.
    pub out: PathBuf,
    /// Go on with what is in the folder.
    pub resume: bool,
    /// Start it even if it is estimated to take hours.
    pub confirmed: bool,
    /// Time limit of the program itself.
    pub limit: Duration,
    /// Tune each kernel alone too, and compare.
    pub local: bool,
    /// What standard output has to have for a run to count.
    pub require: Option<regex_lite::Regex>,
    /// This program, which replays are workers of.
    pub program: PathBuf,
    /// May candidates be replayed instead of restarting the application?
    pub replay: bool,
    /// Bytes of a recorded run.
    pub record_limit: u64,
    /// Other commands of the application, on which the plan has to be accepted too.
    pub validate_with: Vec<String>,
    /// After this, what ran decides, and nothing more is evaluated.
    pub most: Option<Duration>,
}

impl AppRequest {
    /// What the numbers have to satisfy.
    pub(super) fn criterion(&self) -> AppCriterion {
        AppCriterion {
            metric: self.metric,
            tolerance: self.tolerance,
            floor: self.floor,
            allow_nan: self.allow_nan,
        }
    }

    /// Does only the program itself say whether a plan is accepted?
    pub(super) fn program_decides(&self) -> bool {
        self.require.is_some() || !matches!(self.source, ValueSource::Copies)
    }

    /// What may change, as `--what` names it.
    pub(super) fn what(&self) -> Vec<String> {
        let all = [
            ("precision", !self.formats.is_empty()),
            ("approx", self.approx.is_some()),
            ("launch", self.searches_blocks()),
            ("layout", self.layout),
            ("code", self.code),
            ("algebra", self.algebra),
        ];
        let asked = all.iter().filter(|w| w.1);
        asked.map(|w| w.0.to_owned()).collect()
    }

    /// Are other blocks of launches searched? Only measured times tell what they gain.
    pub(super) fn searches_blocks(&self) -> bool {
        self.launch && !matches!(self.time, TimeBy::Predicted)
    }

    /// May math calls be computed by functions made for their arguments?
    pub(super) fn makes_functions(&self) -> bool {
        self.approx.is_some_and(|a| a.calls) && self.tolerance > 0.0 && self.count.is_some()
    }

    /// How often an evaluation runs the application.
    pub(super) fn runs(&self) -> usize {
        match self.time {
            TimeBy::Predicted => 1,
            _ => self.repeats.max(1),
        }
    }
}
