//! The device profile: latency, throughput, accuracy and energy of each operation, and the
//! device's limits.
//!
//! A profile is a JSON file, described in `docs/reference/profile.md`. Every figure in it names its source.
mod check;
mod layout;
#[cfg(test)]
mod tests;

pub use check::figures;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the `schema` field of a profile says.
pub const SCHEMA: &str = "kerf-device-profile";
/// The version that this Kerf writes.
pub const VERSION: u32 = 1;

/// Where a figure comes from. In JSON: `"measured"`, `"unknown"`, or `"published: KEY"` where KEY is
/// listed under `sources`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FigureSource {
    /// Measured by Kerf on this device.
    Measured,
    /// Taken from a publication; the key is listed in [`DeviceProfile::sources`].
    Published(String),
    /// Nobody said.
    #[default]
    Unknown,
}

impl Serialize for FigureSource {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            FigureSource::Measured => s.serialize_str("measured"),
            FigureSource::Published(key) => s.serialize_str(&format!("published: {key}")),
            FigureSource::Unknown => s.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for FigureSource {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<FigureSource, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            "measured" => Ok(FigureSource::Measured),
            "unknown" => Ok(FigureSource::Unknown),
            _ => match text.strip_prefix("published: ") {
                Some(key) if !key.trim().is_empty() => {
                    Ok(FigureSource::Published(key.trim().into()))
                }
                _ => Err(serde::de::Error::custom(format!(
                    "source is {text:?}; expected \"measured\", \"unknown\" or \"published: KEY\""
                ))),
            },
        }
    }
}

/// One number with its source.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number; absent when unknown or not resolvable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Where it comes from.
    pub source: FigureSource,
    /// Smallest and largest of the repeats, or the interval that the note names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// What a reader must know: unstable, not resolvable, how it was derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Figure {
    /// A measured number.
    pub fn measured(value: f64) -> Figure {
        Figure {
            value: Some(value),
            source: FigureSource::Measured,
            ..Figure::default()
        }
    }
    /// A measured number with the range of its repeats.
    pub fn measured_in(value: f64, low: f64, high: f64) -> Figure {
        Figure {
            range: Some([low, high]),
            ..Figure::measured(value)
        }
    }
    /// A published number; `key` is listed in the profile's sources.
    pub fn published(value: f64, key: &str) -> Figure {
        Figure {
            value: Some(value),
            source: FigureSource::Published(key.into()),
            ..Figure::default()
        }
    }
    /// The same figure with a note.
    pub fn with_note(mut self, note: impl Into<String>) -> Figure {
        self.note = Some(note.into());
        self
    }
    /// Nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.value.is_none()
    }
}

/// A publication that figures were taken from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// Author, title, table.
    pub title: String,
    /// Where to find it, if it has an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// SASS instructions of one operation, by the unit that runs them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sass {
    /// Special-function unit (MUFU).
    pub sfu: f64,
    /// Single-precision and integer units.
    pub sp: f64,
    /// Double-precision unit.
    pub dp: f64,
    /// Half-precision instructions (HADD2, HFMA2, ...).
    #[serde(default)]
    pub half: f64,
    /// Conversions, memory, branches and everything else.
    #[serde(default)]
    pub other: f64,
    /// How often each opcode occurs for one operation. Slow paths that are calls count once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub opcodes: BTreeMap<String, f64>,
}

/// How arguments were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Every argument of the format.
    Exhaustive,
    /// A stratified sample with adversarial and known hard cases.
    Stratified,
    /// As published; the source says.
    Published,
}

/// The argument on which an operation is worst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorstArgument {
    /// Arguments, as hexadecimal floats.
    pub arguments: Vec<String>,
    /// What the device gave.
    pub got: String,
    /// What is right, rounded to about 30 decimal digits.
    pub exact: String,
}

/// Error within the arguments of one binade (2^e <= |x| < 2^(e+1)). In JSON an array, since there are
/// thousands: `[exponent, negative, count, max_ulp, max_abs, max_rel]`, errors to four digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct BinadeError {
    /// The exponent e; subnormal arguments have that of their leading bit.
    pub exponent: i32,
    /// The arguments are negative.
    pub negative: bool,
    /// Arguments looked at.
    pub count: u64,
    /// Largest error in ulps of the exact value.
    pub max_ulp: f64,
    /// Largest absolute error.
    pub max_abs: f64,
    /// Largest relative error.
    pub max_rel: f64,
}

type Row = (i32, u8, u64, f64, f64, f64);

impl From<Row> for BinadeError {
    fn from((exponent, negative, count, max_ulp, max_abs, max_rel): Row) -> BinadeError {
        BinadeError {
            exponent,
            negative: negative != 0,
            count,
            max_ulp,
            max_abs,
            max_rel,
        }
    }
}

impl From<BinadeError> for Row {
    fn from(b: BinadeError) -> Row {
        let short = |x: f64| format!("{x:.3e}").parse().unwrap_or(x);
        (
            b.exponent,
            u8::from(b.negative),
            b.count,
            short(b.max_ulp),
            short(b.max_abs),
            short(b.max_rel),
        )
    }
}

/// A bound that the vendor documents, and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundCheck {
    /// The bound in words: `2 ulp`, `2^-20.5 absolute for |x| <= 2 pi`.
    pub bound: String,
    /// Key of the publication, in [`DeviceProfile::sources`].
    pub published: String,
    /// Largest error seen in the bound's own measure, and within its domain.
    pub seen: f64,
    /// The bound as a number.
    pub limit: f64,
    /// Did it hold?
    pub holds: bool,
    /// Arguments that broke it.
    #[serde(default)]
    pub violations: u64,
    /// The worst of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstArgument>,
}

/// How accurate an operation is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Where it comes from.
    pub source: FigureSource,
    /// How arguments were chosen.
    pub coverage: Coverage,
    /// Number of arguments.
    pub arguments: u64,
    /// Largest distance from the correctly rounded result, in ulps (NVIDIA's meaning).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ulp_rounded: Option<f64>,
    /// Largest distance from the exact value, in ulps of the exact value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ulp_real: Option<f64>,
    /// Mean distance from the exact value, in ulps, over finite results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ulp_real: Option<f64>,
    /// Mean distance from the correctly rounded result, in ulps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ulp_rounded: Option<f64>,
    /// Largest relative error over normal results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rel: Option<f64>,
    /// Mean relative error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_rel: Option<f64>,
    /// Largest absolute error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_abs: Option<f64>,
    /// Results that are not the correctly rounded ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misrounded: Option<u64>,
    /// NaN or infinity where the exact result has none, or the reverse.
    #[serde(default)]
    pub special_mismatches: u64,
    /// The argument with the largest error in ulps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstArgument>,
    /// Error by binade of the (first) argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub binades: Vec<BinadeError>,
    /// Documented bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<BoundCheck>,
    /// What a reader must know (restricted domain, flushed subnormals).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Everything known of one operation. The keys of [`DeviceProfile::operations`] are those of
/// [`crate::operation`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperationProfile {
    /// Cycles from one operation to the next of the same kind that needs its result.
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub latency: Figure,
    /// Cycles from the operation to a cheap consumer of another kind.
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub latency_to_consumer: Figure,
    /// Results per clock per multiprocessor (a packed operation gives two).
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub throughput: Figure,
    /// Registers of the smallest kernel around the operation.
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub registers: Figure,
    /// Energy of one result above that of a kernel that only waits, in picojoules.
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub energy_pj: Figure,
    /// Instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sass: Option<Sass>,
    /// Accuracy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// Why a probe was rejected or a figure is unstable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Limits of a device and of its multiprocessors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Multiprocessors.
    pub sms: Figure,
    /// SM clock under load, in MHz.
    pub clock_mhz: Figure,
    /// Warps per SM.
    pub warps_per_sm: Figure,
    /// Blocks per SM.
    pub blocks_per_sm: Figure,
    /// Threads per block.
    pub threads_per_block: Figure,
    /// 32-bit registers per SM.
    pub registers_per_sm: Figure,
    /// Registers per thread.
    pub registers_per_thread: Figure,
    /// Registers are given to a warp in units of this many.
    pub register_unit: Figure,
    /// Schedulers (sub-partitions) per SM.
    pub schedulers_per_sm: Figure,
    /// Shared memory per SM in bytes.
    pub shared_per_sm: Figure,
    /// Shared memory per block in bytes, opted in.
    pub shared_per_block: Figure,
    /// Shared memory is given to a block in units of this many bytes.
    pub shared_unit: Figure,
    /// Bytes of shared memory that the system takes of each block.
    pub shared_reserved: Figure,
    /// L2 cache in bytes.
    pub l2_bytes: Figure,
    /// Device memory in bytes.
    pub memory_bytes: Figure,
    /// Bytes per second of a copy in device memory, read and write counted.
    pub copy_bandwidth: Figure,
    /// Bytes per second of reads that hit L2.
    pub l2_bandwidth: Figure,
    /// Seconds from one empty launch to the next, back to back.
    pub launch_overhead: Figure,
    /// Memory transactions of 128 bytes that a multiprocessor has under way when it can take no more: P of Dao.
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub memory_overlap: Figure,
    /// Part of the time that memory takes from where on more warps were slower, since they evict each other's
    /// lines: lambda_0 of Dao; 1 if they never were.
    #[serde(skip_serializing_if = "Figure::is_unknown")]
    pub contention_lambda: Figure,
    /// Watts at rest.
    pub idle_power: Figure,
    /// Watts that the board may draw.
    pub power_limit: Figure,
}

/// Two streams of operations issued together, against each alone (as Surineni 2017 did with f32 and f64).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoIssue {
    /// First operation.
    pub first: String,
    /// Second operation, one for each of the first.
    pub second: String,
    /// Results of both per clock per SM when interleaved one to one.
    pub together: Figure,
    /// 1 when the time is the sum of both alone, 0 when the shorter one is free.
    pub serialisation: Figure,
}

/// What made the profile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileOrigin {
    /// Kerf's version.
    pub kerf: String,
    /// Date, `YYYY-MM-DD`.
    pub date: String,
    /// Driver's version, and the CUDA version it implements.
    pub driver: String,
    /// `quick`, `full` or `published`.
    pub mode: String,
    /// Disassembler used, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disassembler: Option<String>,
    /// Seconds that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What a reader must know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// The profile of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceProfile {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Short name: `h200`, `sm_86`.
    pub name: String,
    /// The GPU.
    pub gpu: String,
    /// Compute capability, `9.0`.
    pub arch: String,
    /// What made it.
    pub origin: ProfileOrigin,
    /// Publications by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, Publication>,
    /// Limits.
    pub limits: Limits,
    /// Operations by key.
    pub operations: BTreeMap<String, OperationProfile>,
    /// Pairs of streams issued together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub co_issue: Vec<CoIssue>,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not JSON, or not of this shape.
    #[error("not a device profile: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Another kind of file.
    #[error("its schema is {0:?}, not {SCHEMA:?}")]
    Schema(String),
    /// A version that this Kerf does not read.
    #[error(
        "profile version {found} is not known; this Kerf reads version {VERSION} (make it anew with `kerf device --out FILE`)"
    )]
    Version {
        /// The file's version.
        found: u64,
    },
    /// A figure that contradicts itself.
    #[error("{field}: {why}")]
    Field {
        /// Which field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What says whether a file can be read.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: serde_json::Value,
    #[serde(default)]
    version: serde_json::Value,
}

impl DeviceProfile {
    /// Parses and checks a profile.
    pub fn parse(text: &str) -> Result<DeviceProfile, ProfileError> {
        // Schema and version come first: a later version may have any other shape.
        let head: Head = serde_json::from_str(text)?;
        let schema = head.schema.as_str().unwrap_or("");
        if schema != SCHEMA {
            return Err(ProfileError::Schema(schema.into()));
        }
        let found = head.version.as_u64().unwrap_or(0);
        if found != u64::from(VERSION) {
            return Err(ProfileError::Version { found });
        }
        // From the text again, so that a mistake is reported with its line.
        let profile: DeviceProfile = serde_json::from_str(text)?;
        profile.check()?;
        Ok(profile)
    }

    /// JSON, objects indented and arrays in one line.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        let mut s = serde_json::Serializer::with_formatter(&mut out, layout::Layout::default());
        match self.serialize(&mut s) {
            Ok(()) => String::from_utf8(out).unwrap_or_default(),
            Err(_) => String::new(),
        }
    }
}
