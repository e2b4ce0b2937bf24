//! What a variable of the search can be at one of its levels.
use kerf_num::StorageFormat;
use kerf_num::scaled::ScaledFormat;
use kerf_pass::records::RecordLayout;
use kerf_pass::{MathVariant, SiteFormat};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Degrees of approximation are counted in this many parts of the warps.
pub const PARTS: u8 = 64;

/// The level of a kernel's code that the compilers choose.
pub const AUTO: &str = "auto";

/// The level of math calls that the library computes.
pub const LIBRARY: &str = "library";

/// Before the error, in the name of a level of math calls by a made function.
pub const MADE: &str = "made-";

/// A level of a group: one word in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// A format, of operations or memory.
    Format(SiteFormat),
    /// A scaled format of memory: `i16*2^-12`.
    Scaled(ScaledFormat),
    /// How a math function or division is computed.
    Math(MathVariant),
    /// How many of [`PARTS`] warps run the fully approximate version: `13/64`.
    Warps(u8),
    /// How a cluster of expressions is written: `source`, or `rewrite-` and the identifier of a rewriting.
    Rewrite(&'static str),
    /// How math calls are computed: `library`, or `made-` and the error that a made function may have.
    Made(&'static str),
    /// A launch shape: `bx=32,by=4`; `dynamic` or `fixed`, the way a block's size is known to a kernel; `auto`, what the compilers choose.
    Shape(&'static str),
}

/// One copy of each text for the life of the process: settings are small values that are passed around, and
/// there are as many shapes as a launch space lists.
pub fn intern(text: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(t) = known.get(text) {
        return t;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    known.insert(new);
    new
}

/// `name=value` pairs, or one of three words.
/// Before the layout of records, in the name of a level.
pub(crate) const RECORDS: &str = "records=";

/// Records as the program has them.
pub(crate) const OWN_RECORDS: &str = "own";

fn is_of_records(text: &str) -> bool {
    let word = text.strip_prefix(RECORDS);
    word.is_some_and(|w| w == OWN_RECORDS || w.parse::<RecordLayout>().is_ok())
}

fn is_shape(text: &str) -> bool {
    let pair = |p: &str| {
        let parts = p.split_once('=');
        parts.is_some_and(|(n, v)| !n.is_empty() && v.parse::<i64>().is_ok())
    };
    let word = [AUTO, "dynamic", "fixed"].contains(&text) || is_of_records(text);
    word || !text.is_empty() && text.split(',').all(pair)
}

/// `source`, or `rewrite-` and eight hexadecimal digits.
fn is_rewrite(text: &str) -> bool {
    let id = text.strip_prefix("rewrite-");
    let is_id = |id: &str| id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit());
    text == "source" || id.is_some_and(is_id)
}

/// `library`, or `made-` and a number.
fn is_made(text: &str) -> bool {
    let error = text.strip_prefix(MADE);
    let positive = |e: &str| e.parse().is_ok_and(|e: f64| e.is_finite() && e > 0.0);
    text == LIBRARY || error.is_some_and(positive)
}

impl Setting {
    /// The format, of a setting that is one.
    pub fn format(self) -> Option<SiteFormat> {
        match self {
            Setting::Format(f) => Some(f),
            _ => None,
        }
    }

    /// The format of elements in memory, of a setting that is one.
    pub fn storage(self) -> Option<StorageFormat> {
        match self {
            Setting::Format(f) => f.storage(),
            Setting::Scaled(f) => Some(f.into()),
            _ => None,
        }
    }
}

impl From<SiteFormat> for Setting {
    fn from(f: SiteFormat) -> Setting {
        Setting::Format(f)
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Format(s) => f.pad(s.name()),
            Setting::Scaled(s) => s.fmt(f),
            Setting::Math(v) => f.pad(v.name()),
            Setting::Warps(n) => f.pad(&format!("{n}/{PARTS}")),
            Setting::Shape(t) | Setting::Rewrite(t) | Setting::Made(t) => f.pad(t),
        }
    }
}

/// A word of a user or of a file that is no setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` is no format, no variant, no rewriting, no made function, no shape and no fraction of {PARTS} warps"
)]
pub struct UnknownSetting {
    /// The word.
    pub word: String,
}

impl std::str::FromStr for Setting {
    type Err = UnknownSetting;

    fn from_str(text: &str) -> Result<Setting, UnknownSetting> {
        if let Ok(f) = text.parse() {
            return Ok(Setting::Format(f));
        }
        if let Ok(f) = text.parse() {
            return Ok(Setting::Scaled(f));
        }
        if let Ok(v) = text.parse() {
            return Ok(Setting::Math(v));
        }
        if is_rewrite(text) {
            return Ok(Setting::Rewrite(intern(text)));
        }
        if is_made(text) {
            return Ok(Setting::Made(intern(text)));
        }
        if is_shape(text) {
            return Ok(Setting::Shape(intern(text)));
        }
        let warps = text.split_once('/').and_then(|(n, of)| {
            let n: u8 = n.parse().ok()?;
            (of == PARTS.to_string() && n <= PARTS).then_some(n)
        });
        warps.map(Setting::Warps).ok_or_else(|| UnknownSetting {
            word: text.to_owned(),
        })
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Setting, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_each_and_back() {
        for word in [
            "f32",
            "dw64",
            "accurate",
            "approx.ftz",
            "newton1",
            "0/64",
            "64/64",
            "bx=32,by=4",
            "fixed",
            "source",
            "rewrite-0a1b2c3d",
            "library",
            "made-3.9e-12",
            "i16*2^-12",
            "e4m3",
        ] {
            let s: Setting = word.parse().expect("a setting");
            assert_eq!(s.to_string(), word);
            let json = serde_json::to_string(&s).expect("serialises");
            assert_eq!(serde_json::from_str::<Setting>(&json).expect("parses"), s);
        }
        for word in [
            "f31", "i16*2^", "65/64", "1/63", "", "fast", "bx=", "=3", "bx=1,", "made-", "made-0",
        ] {
            assert!(word.parse::<Setting>().is_err(), "{word}");
        }
    }
}
