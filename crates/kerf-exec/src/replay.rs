//! Replaying a recorded application in a worker process: what the tuner and Kerf's runtime tell each other.
//!
//! The runtime that the application is linked with (libkerfrt.so) records and replays, so that a replay goes the way of
//! the program itself. The worker loads that library when it runs, and passes jobs and answers on as JSON.
use crate::worker;
use kerf_num::Metric;
use kerf_num::metrics::{Bound, ErrorReport, Integers, Judgement, NanPairs, judge};
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};

/// The runtime's function that takes a job and gives an answer.
pub const ENTRY: &str = "kerf_replay";

/// What the numbers of an application have to satisfy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct AppCriterion {
    /// Measure.
    pub metric: Metric,
    /// Largest error.
    pub tolerance: f64,
    /// Least divisor of relative errors.
    pub floor: Option<f64>,
    /// Whether numbers may be NaN where those of the original program are.
    pub allow_nan: bool,
}

impl AppCriterion {
    /// The quantile of relative errors that [`Metric::Quantile`] bounds in applications.
    const QUANTILE: f64 = 0.999;

    /// Quantiles that a report has to have for the decision.
    pub fn quantiles(&self) -> &'static [f64] {
        match self.metric {
            Metric::Quantile => &[Self::QUANTILE],
            _ => &[],
        }
    }

    /// The decision on arrays by their errors: the worst of them counts.
    pub fn judge(&self, arrays: &[ErrorReport], integers: Integers) -> Judgement {
        let bound = Bound {
            metric: self.metric,
            quantile: Self::QUANTILE,
            tolerance: self.tolerance,
        };
        let nan_pairs = match self.allow_nan {
            true => NanPairs::Allowed,
            false => NanPairs::Rejected,
        };
        judge(arrays, integers, Some(&bound), nan_pairs)
    }
}

/// The number of an application's output that is furthest off by its own size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstNumber {
    /// Which, and what it is instead of what, in words; empty where no number is off.
    pub words: String,
    /// Is it small beside the others of its array?
    pub is_small: bool,
}

/// What a replay left, against what the recorded run left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgedReplay {
    /// The decision.
    pub judgement: Judgement,
    /// The number that is furthest off.
    pub worst: WorstNumber,
}

/// One replay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplayJob {
    /// Folder of the record; the same in every job of a worker.
    pub record: PathBuf,
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// The plan's file, with `buffers.json` beside it; none for the program as it is.
    pub plan: Option<PathBuf>,
    /// Folder for what the replay did, in the form of a run's trace.
    pub trace: PathBuf,
    /// Are kernels timed one by one?
    pub times_kernels: bool,
    /// A file by whose lock programs take turns on a GPU.
    pub turn: Option<PathBuf>,
    /// What comes back is compared on the device with what came back in the recorded run, by this. Without it, all bytes
    /// that come back are kept in the trace.
    pub criterion: Option<AppCriterion>,
}

/// What became of a replay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplayAnswer {
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// Is the worker of no more use?
    pub is_fatal: bool,
    /// Seconds of the replay itself, without compiling.
    pub wall_s: f64,
    /// What it came to by the job's criterion.
    pub judged: Option<JudgedReplay>,
}

impl ReplayAnswer {
    /// A replay that failed.
    pub fn failed(why: impl Into<String>, is_fatal: bool) -> ReplayAnswer {
        ReplayAnswer {
            failure: Some(why.into()),
            is_fatal,
            wall_s: 0.0,
            judged: None,
        }
    }
}

/// Why a worker cannot replay.
#[derive(Debug, Clone, thiserror::Error)]
enum ReplayError {
    /// The runtime that recorded cannot be loaded.
    #[error("the runtime cannot be loaded: {0}")]
    Library(String),
    /// A job or an answer cannot be passed on.
    #[error("the runtime cannot be asked: {0}")]
    Message(String),
}

/// A job and its answer as C strings; the answer is the runtime's, and stays.
type Entry = unsafe extern "C" fn(*const c_char) -> *const c_char;

/// Why there is no runtime to replay with.
fn last_error() -> String {
    // SAFETY: the C library's own text, copied at once.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "unknown error".into(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

fn entry(library: &Path) -> Result<Entry, ReplayError> {
    let name = |text: &str| CString::new(text).map_err(|e| ReplayError::Library(e.to_string()));
    let path = name(&library.to_string_lossy())?;
    let symbol = name(ENTRY)?;
    // SAFETY: Kerf's own library, which stays open.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(ReplayError::Library(last_error()));
    }
    // SAFETY: the handle is open.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    match found.is_null() {
        true => Err(ReplayError::Library(last_error())),
        // SAFETY: the library has this name for a function of this type alone.
        false => Ok(unsafe { std::mem::transmute::<*mut c_void, Entry>(found) }),
    }
}

fn replay(entry: Entry, job: &ReplayJob) -> Result<ReplayAnswer, ReplayError> {
    let text = serde_json::to_string(job).map_err(|e| ReplayError::Message(e.to_string()))?;
    let text = CString::new(text).map_err(|e| ReplayError::Message(e.to_string()))?;
    // SAFETY: a C string, and an answer that is one and stays.
    let answer = unsafe { CStr::from_ptr(entry(text.as_ptr())) };
    serde_json::from_str(&answer.to_string_lossy()).map_err(|e| ReplayError::Message(e.to_string()))
}

/// The worker's side: replays with a runtime until there are no more jobs.
pub fn serve(library: &Path) {
    let found = entry(library);
    worker::serve(|job: ReplayJob| {
        let answer = found.clone().and_then(|e| replay(e, &job));
        answer.unwrap_or_else(|why| ReplayAnswer::failed(why.to_string(), true))
    });
}
