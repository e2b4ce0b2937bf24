//! Published experiments on GPU floating point, repeated on this device.
//!
//! A study runs kernels of its own ([`studies`]) in several number types ([`number`]) on an executor
//! ([`bench`]), compares them with 256-bit MPFR ([`reference`]), and judges the findings of the
//! publication by the rows it measured ([`finding`]). Studies of single instructions read a device
//! profile instead and put it beside the published tables ([`published`]). The result is a
//! [`report::StudyReport`].
#![warn(missing_docs)]

pub mod bench;
pub mod finding;
pub mod inputs;
pub mod measured;
pub mod number;
pub mod plot;
pub mod published;
pub mod reference;
pub mod report;
pub mod studies;
pub mod table;
pub mod tradeoff;

use kerf_device::profile::DeviceProfile;
use kerf_exec::{DeviceInfo, DeviceKind, ExecError};
use report::StudyReport;

/// Where kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyDevice {
    /// The CPU executor; no time is reported.
    Cpu,
    /// The NVIDIA GPU with this number.
    Cuda(i32),
}

/// How large a study is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Seconds, for tests.
    Tiny,
    /// Small sizes.
    Quick,
    /// Sizes of the publication as far as a 256-bit reference is feasible.
    Full,
    /// The largest references too, which take minutes on few cores.
    Large,
}

/// What a study is run with.
pub struct Setup<'a> {
    /// Where.
    pub device: StudyDevice,
    /// Architecture to compile for, `sm_90`.
    pub arch: String,
    /// libdevice's bitcode.
    pub libdevice: Vec<u8>,
    /// Profile of the device, for studies of single instructions.
    pub profile: Option<DeviceProfile>,
    /// Seed of the inputs.
    pub seed: u64,
    /// How large.
    pub scale: Scale,
    /// Told what is being done.
    pub progress: &'a dyn Fn(&str),
}

impl Setup<'_> {
    /// One of four values, by scale.
    pub fn pick<T: Copy>(&self, tiny: T, quick: T, full: T, large: T) -> T {
        match self.scale {
            Scale::Tiny => tiny,
            Scale::Quick => quick,
            Scale::Full => full,
            Scale::Large => large,
        }
    }

    /// Is time measured?
    pub fn timed(&self) -> bool {
        matches!(self.device, StudyDevice::Cuda(_))
    }
}

/// Why a study failed.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The device failed, or is not there.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// No such study.
    #[error("there is no study {0}")]
    Unknown(String),
    /// The study reads a profile and got none.
    #[error("the study {0} reads a device profile, and none was given")]
    NoProfile(&'static str),
}

type Run = fn(&Setup) -> Result<StudyReport, StudyError>;

/// One study.
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it repeats.
    pub repeats: &'static str,
    /// Does it read a profile rather than run kernels?
    pub needs_profile: bool,
    run: Run,
}

/// All studies, in the order in which they are listed.
pub const STUDIES: [Study; 11] = [
    Study {
        name: "summation",
        repeats: "sums by one thread and by many (Surineni 2017, figures 7 and 8, table VI)",
        needs_profile: false,
        run: studies::summation::run,
    },
    Study {
        name: "products",
        repeats: "chains of multiplications (Surineni 2017, figures 9 and 10)",
        needs_profile: false,
        run: studies::products::run,
    },
    Study {
        name: "do-undo",
        repeats: "multiply, then divide by the same number (Surineni 2017, figures 11 to 14)",
        needs_profile: false,
        run: studies::do_undo::run,
    },
    Study {
        name: "exponential",
        repeats: "built-in exponential and Taylor series (Surineni 2017, figures 15 to 18, tables VII and VIII)",
        needs_profile: false,
        run: studies::exponential::run,
    },
    Study {
        name: "gaussian",
        repeats: "Gaussian elimination (Surineni 2017, figures 19 and 20)",
        needs_profile: false,
        run: studies::gaussian::run,
    },
    Study {
        name: "lud",
        repeats: "LU decomposition by tiles (Surineni 2017, figures 21 and 22)",
        needs_profile: false,
        run: studies::lud::run,
    },
    Study {
        name: "lavamd",
        repeats: "particle potentials, LavaMD (Surineni 2017, figures 23 to 26)",
        needs_profile: false,
        run: studies::lavamd::run,
    },
    Study {
        name: "latency",
        repeats: "instruction latencies (Surineni 2017, tables IV and V)",
        needs_profile: true,
        run: studies::latency::run,
    },
    Study {
        name: "sfu-functions",
        repeats: "accurate and special-function-unit versions (Li et al. 2016, tables 4 and 5, figures 2 and 3)",
        needs_profile: true,
        run: studies::sfu_functions::run,
    },
    Study {
        name: "mixed-throughput",
        repeats: "single, double and mixed additions (Surineni 2017, table IX)",
        needs_profile: true,
        run: studies::mixed_throughput::run,
    },
    Study {
        name: studies::dilemma::NAME,
        repeats: "hard-to-round cases, exhaustively and by Lefevre's algorithm (Fortin, Gouicem and Graillat 2011)",
        needs_profile: false,
        run: studies::dilemma::run,
    },
];

/// Names of all studies.
pub fn names() -> [&'static str; 11] {
    STUDIES.each_ref().map(|s| s.name)
}

/// Runs a study by name.
pub fn run(name: &str, setup: &Setup) -> Result<StudyReport, StudyError> {
    let study = STUDIES
        .iter()
        .find(|s| s.name == name)
        .ok_or_else(|| StudyError::Unknown(name.into()))?;
    if study.needs_profile && setup.profile.is_none() {
        return Err(StudyError::NoProfile(study.name));
    }
    (study.run)(setup)
}

/// What reports say of a profile's device.
fn profile_device(p: &DeviceProfile) -> DeviceInfo {
    DeviceInfo {
        kind: DeviceKind::Profile,
        name: format!("{} ({})", p.gpu, p.name),
        detail: format!("compute capability {}, {} profile", p.arch, p.origin.mode),
    }
}
