//! What programs that the sanitizer pass instrumented call: the checks themselves.
//!
//! [`region`] keeps shadows of memory, [`bounds`] knows what an address belongs to, [`races`] and [`clocks`] find
//! accesses that nothing orders, [`inlined_checks`] is the part that is compiled into the program.
mod bounds;
pub(super) mod calls;
pub(super) mod clocks;
pub(super) mod inlined_checks;
mod meetings;
pub(super) mod races;
mod record;
pub(super) mod region;

use super::context::BlockContext;
use super::fault::FaultKind;
use super::mapping::MemoryError;
use kerf_pass::sanitize::{CheckedSite, SiteKind, SiteTable, site_of};
use races::Races;
use region::Region;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, RwLock};

/// What is checked of an instrumented program, and what is let pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SanitizeOptions {
    /// Look for races too: one block at a time, and several times slower.
    pub races: bool,
    /// Kinds of faults that are noted and do not stop the run, as a set of [`FaultKind::bit`]s.
    pub allow: u32,
}

/// A name that no kind of fault has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind of fault `{name}`; expected one of {}", kinds.join(", "))]
pub struct UnknownFaultKind {
    /// As it was given.
    pub name: String,
    /// The kinds that there are.
    pub kinds: Vec<&'static str>,
}

impl SanitizeOptions {
    /// Everything is checked, and nothing let pass.
    pub fn everything() -> SanitizeOptions {
        SanitizeOptions {
            races: true,
            allow: 0,
        }
    }

    /// Lets faults of a kind pass, by its name; an unknown one names those that there are.
    pub fn allowing(mut self, name: &str) -> Result<SanitizeOptions, UnknownFaultKind> {
        let mut all = FaultKind::CHECKED.iter();
        let Some((kind, _)) = all.find(|(_, n)| *n == name.trim()) else {
            return Err(UnknownFaultKind {
                name: name.to_owned(),
                kinds: FaultKind::CHECKED.iter().map(|(_, n)| *n).collect(),
            });
        };
        self.allow |= kind.bit();
        Ok(self)
    }
}

/// Most notes of one run.
const MOST_NOTES: usize = 20;

/// Origin of memory without a first content that is assumed to be zero.
pub(super) const ASSUMED: u32 = 0xff_ffff;

/// Places of all programs of the process, by the number of the first. They live as long as the records of accesses
/// that name them: to its end.
static PLACES: RwLock<BTreeMap<u32, &'static [CheckedSite]>> = RwLock::new(BTreeMap::new());

/// A place that no program has.
static UNKNOWN: CheckedSite = CheckedSite {
    kind: SiteKind::Load,
    location: String::new(),
    function: String::new(),
    align: 1,
    object: None,
    extent: 0,
    private: false,
    strong: None,
    skippable: false,
};

/// First epoch of the next launch, of whichever program: 0 is never.
static NEXT_EPOCH: AtomicU32 = AtomicU32::new(1);

/// The checks of one program.
pub(super) struct Sanitizer {
    first: u32,
    sites: &'static [CheckedSite],
    pub options: SanitizeOptions,
    pub region: &'static Region,
    notes: Mutex<BTreeSet<String>>,
    /// Who first stored an undefined value, by its origin: kernel, block and thread.
    stores: Mutex<BTreeMap<u32, String>>,
}

impl Sanitizer {
    pub fn new(table: SiteTable, options: SanitizeOptions) -> Result<Sanitizer, MemoryError> {
        let sites: &'static [CheckedSite] = table.sites.leak();
        let mut all = PLACES.write().unwrap_or_else(|e| e.into_inner());
        all.insert(table.first, sites);
        Ok(Sanitizer {
            first: table.first,
            sites,
            options,
            region: Region::get()?,
            notes: Mutex::default(),
            stores: Mutex::default(),
        })
    }

    pub fn note(&self, text: String) {
        let mut all = self.notes.lock().unwrap_or_else(|e| e.into_inner());
        if all.len() < MOST_NOTES {
            all.insert(text);
        }
    }

    /// An undefined value is stored by a thread.
    pub fn stored(&self, origin: u32, who: impl FnOnce() -> String) {
        let mut all = self.stores.lock().unwrap_or_else(|e| e.into_inner());
        all.entry(origin).or_insert_with(who);
    }

    /// Who first stored the value at an address, or one of the same origin.
    pub fn first_store(&self, address: usize) -> Option<String> {
        let all = self.stores.lock().unwrap_or_else(|e| e.into_inner());
        all.get(&self.region.origin_of(address)).cloned()
    }

    pub fn take_notes(&self) -> Vec<String> {
        let mut all = self.notes.lock().unwrap_or_else(|e| e.into_inner());
        std::mem::take(&mut *all).into_iter().collect()
    }

    pub fn allows(&self, kind: FaultKind) -> bool {
        self.options.allow & kind.bit() != 0
    }

    /// A place of this program, as an index.
    pub fn index(&self, site: u32) -> usize {
        (site - self.first) as usize
    }

    /// A place, of this program or of another that ran before.
    pub fn find(&self, site: u32) -> Option<&'static CheckedSite> {
        let own = site.checked_sub(self.first);
        if let Some(s) = own.and_then(|k| self.sites.get(k as usize)) {
            return Some(s);
        }
        let all = PLACES.read().unwrap_or_else(|e| e.into_inner());
        let (first, sites) = all.range(..=site).next_back()?;
        sites.get((site - first) as usize)
    }

    /// A place that compiled code, or a record of it, names.
    pub fn site(&self, site: u32) -> &'static CheckedSite {
        self.find(site).unwrap_or(&UNKNOWN)
    }

    /// Where a place is: ` at file:line:column`.
    pub fn place(&self, site: u32) -> String {
        match self.site(site).location.as_str() {
            "" => String::new(),
            l => format!(" at {l}"),
        }
    }

    /// Where an undefined value comes from, and what kind of fault its use is.
    pub fn cause(&self, origin: u32) -> (FaultKind, String) {
        let Some((number, lane)) = site_of(origin).filter(|(s, _)| self.find(*s).is_some()) else {
            let text = "it was never written";
            return (FaultKind::Uninitialised, text.into());
        };
        let (site, place) = (self.site(number), self.place(number));
        let object = site.object.as_deref();
        match site.kind {
            SiteKind::Local => {
                let name = object
                    .filter(|n| !n.is_empty())
                    .unwrap_or("a local variable");
                let text = format!("{name} has no value when its life begins{place}");
                (FaultKind::Uninitialised, text)
            }
            SiteKind::Shuffle => {
                let text = format!("the shuffle{place} reads lane {lane}, which takes no part");
                (FaultKind::Lane, text)
            }
            SiteKind::Integer => {
                let text = format!("the signed integer operation{place} overflowed");
                (FaultKind::Overflow, text)
            }
            _ => {
                let what = object.map_or_else(String::new, |o| format!(" {o}"));
                let text = format!("the load{place} reads memory{what} that was never written");
                (FaultKind::Uninitialised, text)
            }
        }
    }

    /// The first value in a range that a kernel computed from undefined ones: byte, kind of fault, cause.
    pub fn undefined_in(&self, address: usize, bytes: usize) -> Option<(usize, FaultKind, String)> {
        let mut from = 0;
        while from < bytes {
            let (at, origin) = self.region.first_undefined(address + from, bytes - from)?;
            let at = from + at;
            if origin != ASSUMED && site_of(origin).is_some() {
                let (kind, cause) = self.cause(origin);
                if kind != FaultKind::Overflow {
                    return Some((at, kind, cause));
                }
            }
            // The next word: origins are of four bytes.
            from = ((address + at + 4) & !3) - address;
        }
        None
    }
}

/// What one worker of a launch keeps.
pub(super) struct Checks {
    /// By place: the object that it accessed last.
    objects: Vec<bounds::Object>,
    pub races: Option<Races>,
}

impl Checks {
    pub fn new(s: &Sanitizer) -> Checks {
        let first = NEXT_EPOCH.load(Ordering::Relaxed);
        Checks {
            objects: vec![bounds::Object::default(); s.sites.len()],
            races: s.options.races.then(|| Races::new(s.region, first)),
        }
    }

    /// Shared memory has no value when a block begins, and no thread of it knows of another.
    pub fn begin_block(&mut self, s: &Sanitizer, ctx: &BlockContext) {
        s.region
            .fill(ctx.shared as usize, ctx.shared_bytes as usize, true, 0);
        if let Some(r) = &mut self.races {
            let [gx, gy, _] = ctx.nctaid;
            let [x, y, z] = ctx.ctaid;
            let block = x.wrapping_add(gx.wrapping_mul(y.wrapping_add(gy.wrapping_mul(z))));
            let threads = ctx.ntid.iter().product::<u32>() as usize;
            let fresh = r.new_block(block, threads);
            let old = std::mem::replace(&mut r.clocks, fresh);
            r.retire(&old);
        }
    }

    /// Later launches come after this one.
    pub fn end_launch(&self) {
        if let Some(r) = &self.races {
            NEXT_EPOCH.fetch_max(r.next_launch(), Ordering::Relaxed);
        }
    }
}
