//! The profiles that come with Kerf.
//!
//! Each is a file under `profiles/`. A profile is found by its name, by the name of a card, or by a
//! compute capability (`9.0`, `90`, `sm_90`).
use crate::profile::{DeviceProfile, ProfileError};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A profile that is part of the program.
#[derive(Debug)]
pub struct Bundled {
    /// Its name, and the name of its file.
    pub name: &'static str,
    /// Names of the card whose size, clock and memory the profile gives.
    pub cards: &'static [&'static str],
    /// Names of other cards of the same architecture: figures per multiprocessor hold for them,
    /// those of the whole card do not.
    pub relatives: &'static [&'static str],
    /// The file's text.
    pub text: &'static str,
}

macro_rules! bundled {
    ($($name:literal: $cards:expr, $relatives:expr;)*) => {
        &[$(Bundled {
            name: $name,
            cards: &$cards,
            relatives: &$relatives,
            text: include_str!(concat!("../profiles/", $name, ".json")),
        }),*]
    };
}

/// All of them, oldest architecture first. A measured profile of a card is one more line.
pub const BUNDLED: &[Bundled] = bundled! {
    "fermi": ["c2070"], [];
    "fermi-gtx570": ["gtx570"], [];
    "kepler": ["k40c", "k40"], [];
    "kepler-titanz": ["titanz"], [];
    "maxwell": ["titanx"], [];
    "maxwell-gtx750ti": ["gtx750ti"], [];
    "pascal": ["titanxp"], [];
    "sm_70": ["v100"], ["titanv"];
    "sm_75": ["t4"], ["rtx2080ti", "titanrtx"];
    "sm_80": ["a100"], ["a30"];
    "sm_86": ["rtx3090"], ["a10", "a40", "rtx3080"];
    "sm_89": ["rtx4090"], ["l40", "l40s", "l4"];
    "sm_90": ["h100"], ["gh200"];
    "h200": [], [];
    "sm_100": ["b200"], [];
    "sm_103": ["b300"], ["gb300"];
    "sm_120": ["rtx5090"], ["rtx5080", "rtx5070"];
};

/// How a name led to a profile.
#[derive(Debug, Clone, Copy)]
pub struct FoundProfile {
    /// The profile.
    pub bundled: &'static Bundled,
    /// The name is that of another card of the same architecture.
    pub relative: bool,
}

impl Bundled {
    /// Parses and checks it. A process does that once: measured profiles have megabytes.
    pub fn load(&self) -> Result<DeviceProfile, ProfileError> {
        static LOADED: Mutex<BTreeMap<&str, DeviceProfile>> = Mutex::new(BTreeMap::new());
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = loaded.get(self.name) {
            return Ok(profile.clone());
        }
        let profile = DeviceProfile::parse(self.text)?;
        loaded.insert(self.name, profile.clone());
        Ok(profile)
    }
}

/// `9.0`, `90`, `sm_90`, `sm90` and `sm_90a` as `sm_90`; other words in small letters.
pub fn canonical(word: &str) -> String {
    let lower = word.trim().to_ascii_lowercase();
    let digits = lower
        .strip_prefix("sm_")
        .or_else(|| lower.strip_prefix("sm"))
        .unwrap_or(&lower);
    let number = match digits.split_once('.') {
        Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}"),
        // The suffixes of targets with features of their own name the same hardware.
        _ => digits.trim_end_matches(['a', 'f']).to_owned(),
    };
    match number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit()) {
        true => format!("sm_{number}"),
        false => lower,
    }
}

/// The profile that a word names.
pub fn find(word: &str) -> Option<FoundProfile> {
    let word = canonical(word);
    let with = |relative| move |bundled| FoundProfile { bundled, relative };
    let named = |b: &&Bundled| b.name == word || b.cards.contains(&word.as_str());
    let related = |b: &&Bundled| b.relatives.contains(&word.as_str());
    let own = BUNDLED.iter().find(named).map(with(false));
    own.or_else(|| BUNDLED.iter().find(related).map(with(true)))
}

/// Every word that [`find`] knows, for suggestions.
pub fn words() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().flat_map(|b| {
        std::iter::once(b.name)
            .chain(b.cards.iter().copied())
            .chain(b.relatives.iter().copied())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Coverage, FigureSource, figures};

    #[test]
    fn all_parse_and_are_published() {
        for b in BUNDLED {
            let p = b.load().unwrap_or_else(|e| panic!("{}: {e}", b.name));
            assert_eq!(p.name, b.name);
            assert!(p.arch.contains('.'), "{}", p.arch);
            if p.origin.mode != "published" {
                continue;
            }
            let mut used = std::collections::BTreeSet::new();
            for (field, f) in figures(&p) {
                match &f.source {
                    FigureSource::Published(key) => {
                        assert!(p.sources.contains_key(key), "{}: {field}", b.name);
                        assert!(f.value.is_some(), "{}: {field}", b.name);
                        used.insert(key.clone());
                    }
                    FigureSource::Unknown => assert!(f.value.is_none(), "{}: {field}", b.name),
                    FigureSource::Measured => panic!("{}: {field} says measured", b.name),
                }
            }
            for (key, o) in &p.operations {
                let Some(a) = &o.accuracy else { continue };
                assert_eq!(a.coverage, Coverage::Published, "{}: {key}", b.name);
                match &a.source {
                    FigureSource::Published(key) => used.insert(key.clone()),
                    s => panic!("{}: accuracy of {key} is {s:?}", b.name),
                };
            }
            let listed: Vec<_> = p.sources.keys().cloned().collect();
            assert_eq!(
                used.into_iter().collect::<Vec<_>>(),
                listed,
                "{}: sources used, and listed",
                b.name
            );
            // What Kerf would write is what is there, so that a change shows as one line.
            assert_eq!(
                p.to_json(),
                b.text.trim_end(),
                "{} is not as written",
                b.name
            );
        }
    }

    #[test]
    fn words_are_unique_and_found() {
        let mut all: Vec<_> = words().collect();
        for w in &all {
            assert!(find(w).is_some(), "{w}");
        }
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }

    #[test]
    fn names_in_all_spellings() {
        let name = |w| find(w).map(|f| (f.bundled.name, f.relative));
        for w in ["9.0", "90", "sm_90", "SM90", "sm_90a", " h100 ", "H100"] {
            assert_eq!(name(w), Some(("sm_90", false)), "{w}");
        }
        assert_eq!(name("12.0"), Some(("sm_120", false)));
        assert_eq!(name("a10"), Some(("sm_86", true)));
        for w in ["", "9", "9.00", "sm_", "91", "9.1", "hopper200", "."] {
            assert_eq!(name(w), None, "{w}");
        }
    }
}
