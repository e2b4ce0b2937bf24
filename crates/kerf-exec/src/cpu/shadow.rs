//! The runtime of the shadow execution: shadow memory, values found by their bits, comparisons.
//!
//! See `kerf_pass::shadow` for what calls this. Shadow memory is a second reserved range, one entry
//! per two bytes of the arena, committed on first touch; an entry holds the double-double value and
//! a tag made of the original bits, so that a stale entry is never believed. Memory outside the
//! arena (constant and device variables) is kept in a map.
use super::mapping::{self, MemoryError};
use super::memory::Arena;
use kerf_num::{Dd, Format};
use kerf_pass::shadow::ShadowMap;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

#[derive(Debug, Clone, Copy)]
struct Entry {
    value: Dd,
    tag: u64,
}

/// An entry of shadow memory. Blocks that run in parallel may write one address where the program's own threads do without
/// order, so its words are atomic: relaxed loads and stores, which are plain instructions on x86. Words of two writers may
/// come together; that is no more than the original's race makes of its value.
#[repr(C)]
struct SharedEntry {
    hi: AtomicU64,
    lo: AtomicU64,
    tag: AtomicU64,
}

impl SharedEntry {
    fn load(&self) -> Entry {
        let float = |x: &AtomicU64| f64::from_bits(x.load(Ordering::Relaxed));
        Entry {
            value: Dd {
                hi: float(&self.hi),
                lo: float(&self.lo),
            },
            tag: self.tag.load(Ordering::Relaxed),
        }
    }

    fn store(&self, e: Entry) {
        self.hi.store(e.value.hi.to_bits(), Ordering::Relaxed);
        self.lo.store(e.value.lo.to_bits(), Ordering::Relaxed);
        self.tag.store(e.tag, Ordering::Relaxed);
    }
}

const ENTRY: usize = size_of::<SharedEntry>();

/// Bytes of shadow memory for a byte that a kernel writes a float to.
pub const BYTES_PER_BYTE: usize = ENTRY / 2;

/// Tag of bits of a width; never 0 for the widths in use and small values.
fn tag(bits: u64, width: u32) -> u64 {
    bits ^ (0xa5a5_9e37_0000_0001u64.wrapping_mul(u64::from(width)))
}

fn width(format: u32) -> u32 {
    match format {
        0 => 64,
        1 => 32,
        _ => 16,
    }
}

fn promote(bits: u64, format: u32) -> Dd {
    let f = [Format::F64, Format::F32, Format::F16, Format::Bf16][format as usize & 3];
    Dd::from_f64(f.decode(bits))
}

/// State of one shadow execution.
pub struct ShadowState {
    arena_base: usize,
    arena_size: usize,
    base: usize,
    bytes: usize,
    outside: Mutex<HashMap<usize, Entry>>,
    flips: Vec<AtomicU64>,
    /// Has a kernel run?
    used: AtomicBool,
    map: ShadowMap,
    /// Which execution this is.
    number: u64,
}

impl Drop for ShadowState {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, used by nobody any more.
        unsafe { libc::munmap(self.base as *mut _, self.bytes) };
    }
}

/// The running execution's state; compiled code has no other way to it.
static CURRENT: AtomicPtr<ShadowState> = AtomicPtr::new(std::ptr::null_mut());
/// Only one shadow execution at a time in a process.
static ONE: Mutex<()> = Mutex::new(());
/// Number of the next execution.
static EXECUTIONS: AtomicU64 = AtomicU64::new(1);
/// Number of the running one.
static RUNNING: AtomicU64 = AtomicU64::new(0);

impl ShadowState {
    /// Reserves shadow memory for an arena.
    pub fn new(arena: &Arena, map: ShadowMap) -> Result<ShadowState, MemoryError> {
        let bytes = arena.size() / 2 * ENTRY;
        let base = mapping::map(bytes)?;
        Ok(ShadowState {
            arena_base: arena.base(),
            arena_size: arena.size(),
            base,
            bytes,
            outside: Mutex::default(),
            flips: (0..map.comparisons.len())
                .map(|_| AtomicU64::new(0))
                .collect(),
            used: AtomicBool::new(false),
            map,
            number: EXECUTIONS.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Runs `f` with this state current.
    pub fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        self.used.store(true, Ordering::Release);
        RUNNING.store(self.number, Ordering::Release);
        CURRENT.store(std::ptr::from_ref(self).cast_mut(), Ordering::Release);
        let r = f();
        CURRENT.store(std::ptr::null_mut(), Ordering::Release);
        r
    }

    fn slot(&self, address: usize) -> Option<&SharedEntry> {
        let at = address.wrapping_sub(self.arena_base);
        // SAFETY: inside the reserved range, which is mapped until this is dropped, and begins with zeros. Pages begin at
        // multiples of an entry's alignment, and nothing but entries is ever there.
        (at < self.arena_size)
            .then(|| unsafe { &*((self.base + at / 2 * ENTRY) as *const SharedEntry) })
    }

    fn read(&self, address: usize) -> Option<Entry> {
        match self.slot(address) {
            Some(p) => Some(p.load()),
            None => self
                .outside
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .get(&address)
                .copied(),
        }
    }

    fn write(&self, address: usize, e: Entry) {
        match self.slot(address) {
            Some(p) => p.store(e),
            None => {
                self.outside
                    .lock()
                    .unwrap_or_else(|e| e.into_inner())
                    .insert(address, e);
            }
        }
    }

    /// The shadow of a scalar in memory, or its own value where there is none.
    pub fn value(&self, address: usize, bits: u64, format: Format) -> Dd {
        let f = kerf_pass::shadow::format_number(format);
        match self.read(address) {
            Some(e) if e.tag == tag(bits, width(f)) => e.value,
            _ => promote(bits, f),
        }
    }

    /// Bytes that were copied between launches: their shadows go along.
    pub fn copied(&self, to: usize, from: usize, bytes: usize) {
        // Entries that are not there travel too, lest an old one at the target be believed.
        let one = |k: usize| self.replace(to + k, self.read(from + k).filter(|e| e.tag != 0));
        // The ranges may overlap: what is still to be read must not be written before.
        if to <= from {
            (0..bytes).step_by(2).for_each(one);
        } else {
            (0..bytes).step_by(2).rev().for_each(one);
        }
    }

    /// Bytes that were written from outside: what they stand for is their own value.
    pub fn written(&self, address: usize, bytes: usize) {
        // Before the first launch there is nothing to forget, and buffers are large.
        if self.used.load(Ordering::Acquire) {
            (0..bytes)
                .step_by(2)
                .for_each(|k| self.replace(address + k, None));
        }
    }

    fn replace(&self, address: usize, e: Option<Entry>) {
        match e {
            Some(e) => self.write(address, e),
            // Reading does not commit shadow memory, writing does: most inputs never need any.
            None if self.read(address).is_some_and(|old| old.tag != 0) => self.write(
                address,
                Entry {
                    value: Dd::ZERO,
                    tag: 0,
                },
            ),
            None => {}
        }
    }

    /// How often each comparison went the other way in the shadow.
    pub fn flip_counts(&self) -> Vec<u64> {
        let counts = self.flips.iter();
        counts.map(|n| n.load(Ordering::Relaxed)).collect()
    }

    /// Comparisons that went the other way in the shadow: number of times and place.
    pub fn flips(&self) -> Vec<(u64, Option<kerf_ir::sites::Location>)> {
        self.flip_counts()
            .into_iter()
            .zip(self.map.comparisons.iter().cloned())
            .filter(|(n, _)| *n > 0)
            .collect()
    }

    /// Operations without a shadow of their own.
    pub fn untracked(&self) -> &[String] {
        &self.map.untracked
    }
}

/// Sets of the table of values by their bits, and places in a set, newest first. A block of 1024
/// threads remembers as many values before the first is asked for again; with one place for each
/// hash, three in a hundred would be gone by then.
const SETS: usize = 1 << 12;
const WAYS: usize = 8;

/// What a thread knows of values in one execution.
struct Local {
    execution: u64,
    /// Values by their bits.
    table: Vec<[Entry; WAYS]>,
    args: [Entry; 64],
    ret: Entry,
}

impl Local {
    fn of_execution(execution: u64) -> Local {
        let none = Entry {
            value: Dd::from_f64(0.0),
            tag: 0,
        };
        Local {
            execution,
            table: vec![[none; WAYS]; SETS],
            args: [none; 64],
            ret: none,
        }
    }
}

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::new(Local::of_execution(0));
}

/// What this thread knows in the running execution. Threads live on from one execution to the next, where the same bits
/// stand for other values.
fn with_local<R>(f: impl FnOnce(&mut Local) -> R) -> R {
    let running = RUNNING.load(Ordering::Acquire);
    LOCAL.with_borrow_mut(|l| {
        if l.execution != running {
            *l = Local::of_execution(running);
        }
        f(l)
    })
}

fn state() -> &'static ShadowState {
    // SAFETY: set by `with` for as long as compiled code runs.
    unsafe { &*CURRENT.load(Ordering::Acquire) }
}

fn hash(t: u64) -> usize {
    (t.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (SETS - 1)
}

fn keep(t: u64, value: Dd) {
    with_local(|l| {
        let set = &mut l.table[hash(t)];
        // In place of an older value of the same bits, or of the oldest.
        let at = set.iter().position(|e| e.tag == t).unwrap_or(WAYS - 1);
        set[..=at].rotate_right(1);
        set[0] = Entry { value, tag: t };
    });
}

fn find(t: u64) -> Option<Dd> {
    with_local(|l| {
        l.table[hash(t)]
            .iter()
            .find(|e| e.tag == t)
            .map(|e| e.value)
    })
}

extern "C" fn remember(bits: u64, format: u32, hi: f64, lo: f64) {
    keep(tag(bits, width(format)), Dd { hi, lo });
}

extern "C" fn recall(bits: u64, format: u32) -> Dd {
    find(tag(bits, width(format))).unwrap_or_else(|| promote(bits, format))
}

extern "C" fn load(address: usize, bits: u64, format: u32) -> Dd {
    let t = tag(bits, width(format));
    match state().read(address) {
        Some(e) if e.tag == t => e.value,
        // There was a float here, or half of one, and other bits have come in a way that nothing saw.
        Some(e) if e.tag != 0 => recall(bits, format),
        // An input: not to be taken for a computed value that happens to have the same bits.
        _ => promote(bits, format),
    }
}

extern "C" fn store(address: usize, bits: u64, format: u32, hi: f64, lo: f64) {
    // Device code keeps a tag in the three lowest bits of low words in memory; both give the same bits.
    let lo = f64::from_bits(lo.to_bits() & !7);
    state().write(
        address,
        Entry {
            value: Dd { hi, lo },
            tag: tag(bits, width(format)),
        },
    );
}

/// An integer load: what its bits stand for, if memory has a shadow for them.
extern "C" fn note(address: usize, bits: u64, width: u32) {
    let t = tag(bits, width);
    if let Some(e) = state().read(address)
        && e.tag == t
    {
        keep(t, e.value);
    }
}

/// An integer store of bits that stand for a value.
extern "C" fn adopt(address: usize, bits: u64, width: u32) {
    let t = tag(bits, width);
    if let Some(value) = find(t) {
        state().write(address, Entry { value, tag: t });
    }
}

/// Half of a double is stored here; see [`load`] for what that means.
extern "C" fn part(address: usize) {
    state().write(
        address,
        Entry {
            value: Dd::ZERO,
            tag: u64::MAX,
        },
    );
}

/// Bytes that are no computed value.
extern "C" fn clear(address: usize, bytes: u64) {
    state().written(address, bytes as usize);
}

/// A compare-and-swap on the bits of a float: gives the shadow of what was there.
extern "C" fn cas(
    address: usize,
    old: u64,
    new: u64,
    done: u32,
    format: u32,
    hi: f64,
    lo: f64,
) -> Dd {
    let before = load(address, old, format);
    if done & 1 != 0 {
        store(address, new, format, hi, lo);
    }
    before
}

/// A compare-and-swap on bits that may stand for a value.
extern "C" fn swap(address: usize, old: u64, new: u64, done: u32, width: u32) {
    note(address, old, width);
    if done & 1 != 0 {
        adopt(address, new, width);
    }
}

extern "C" fn copy(to: usize, from: usize, bytes: u64) {
    state().copied(to, from, bytes as usize);
}

extern "C" fn set_arg(i: u32, bits: u64, hi: f64, lo: f64) {
    with_local(|l| {
        if let Some(a) = l.args.get_mut(i as usize) {
            *a = Entry {
                value: Dd { hi, lo },
                tag: bits,
            };
        }
    });
}

extern "C" fn arg(i: u32, bits: u64, format: u32) -> Dd {
    let known = with_local(|l| {
        l.args
            .get(i as usize)
            .filter(|a| a.tag == bits)
            .map(|a| a.value)
    });
    known.unwrap_or_else(|| recall(bits, format))
}

/// A struct passed by value: this copy is of what lies at the address in the slot.
extern "C" fn byval(i: u32, to: usize, bytes: u64) {
    if let Some(from) = with_local(|l| l.args.get(i as usize).map(|a| a.tag)) {
        state().copied(to, from as usize, bytes as usize);
    }
}

extern "C" fn set_ret(bits: u64, hi: f64, lo: f64) {
    with_local(|l| {
        l.ret = Entry {
            value: Dd { hi, lo },
            tag: bits,
        }
    });
}

extern "C" fn ret(bits: u64, format: u32) -> Dd {
    let known = with_local(|l| (l.ret.tag == bits).then_some(l.ret.value));
    known.unwrap_or_else(|| recall(bits, format))
}

/// Truth of an LLVM fcmp predicate on shadows.
fn holds(predicate: u32, a: Dd, b: Dd) -> bool {
    // LLVM numbers predicates by bits: 1 equal, 2 greater, 4 less, 8 unordered.
    let bit = match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Equal) => 1,
        Some(std::cmp::Ordering::Greater) => 2,
        Some(std::cmp::Ordering::Less) => 4,
        None => 8,
    };
    predicate & bit != 0
}

extern "C" fn compare(
    site: u32,
    predicate: u32,
    original: u32,
    ah: f64,
    al: f64,
    bh: f64,
    bl: f64,
) {
    let shadow = holds(predicate, Dd { hi: ah, lo: al }, Dd { hi: bh, lo: bl });
    if shadow != (original & 1 != 0)
        && let Some(n) = state().flips.get(site as usize)
    {
        n.fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn atomic(
    op: u32,
    address: usize,
    old: u64,
    new: u64,
    format: u32,
    hi: f64,
    lo: f64,
) -> Dd {
    let before = load(address, old, format);
    let v = Dd { hi, lo };
    let after = match op {
        0 => before.add(v),
        1 => before.sub(v),
        2 => before.max(v),
        3 => before.min(v),
        _ => v,
    };
    store(address, new, format, after.hi, after.lo);
    before
}

/// What compiled code calls.
pub fn symbols() -> Vec<(&'static str, usize)> {
    macro_rules! table {
        ($($n:literal => $f:expr),* $(,)?) => { vec![$(($n, $f as *const () as usize)),*] };
    }
    table![
        "kerf_shadow_remember" => remember, "kerf_shadow_recall" => recall, "kerf_shadow_load" => load,
        "kerf_shadow_store" => store, "kerf_shadow_note" => note, "kerf_shadow_adopt" => adopt,
        "kerf_shadow_part" => part, "kerf_shadow_clear" => clear, "kerf_shadow_cas" => cas, "kerf_shadow_swap" => swap,
        "kerf_shadow_copy" => copy, "kerf_shadow_byval" => byval, "kerf_shadow_set_arg" => set_arg, "kerf_shadow_arg" => arg,
        "kerf_shadow_set_ret" => set_ret, "kerf_shadow_ret" => ret, "kerf_shadow_compare" => compare,
        "kerf_shadow_atomic" => atomic,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `f` in an execution of its own.
    fn in_execution(f: impl FnOnce()) {
        let arena = Arena::new().expect("memory");
        let s = ShadowState::new(&arena, ShadowMap::default()).expect("memory");
        s.with(f);
    }

    #[test]
    fn a_block_full_of_values_is_remembered() {
        // Equal exponents and runs of mantissas, as the sums of a block have.
        let bits: Vec<u64> = (0..1024u64)
            .map(|i| (1.0 + i as f64 / 7.0).to_bits())
            .collect();
        in_execution(|| {
            for (i, b) in bits.iter().enumerate() {
                remember(*b, 0, f64::from_bits(*b), i as f64 * 1e-20);
            }
            for (i, b) in bits.iter().enumerate() {
                assert_eq!(recall(*b, 0).lo, i as f64 * 1e-20);
            }
            remember(bits[5], 0, 1.0, 2e-20);
            assert_eq!(recall(bits[5], 0).lo, 2e-20);
        });
    }

    /// A worker computes one reference after another, on the same threads.
    #[test]
    fn values_of_another_execution_are_forgotten() {
        let bits = 1.5f64.to_bits();
        in_execution(|| {
            remember(bits, 0, 1.5, 1e-20);
            set_ret(bits, 1.5, 1e-20);
            assert_eq!([recall(bits, 0).lo, ret(bits, 0).lo], [1e-20, 1e-20]);
        });
        in_execution(|| assert_eq!([recall(bits, 0).lo, ret(bits, 0).lo], [0.0, 0.0]));
    }

    #[test]
    fn shadows_travel_with_copies() {
        let arena = Arena::new().expect("memory");
        let p = arena.alloc(64).expect("memory") as usize;
        let s = ShadowState::new(&arena, ShadowMap::default()).expect("memory");
        s.used.store(true, Ordering::Release);
        let at = |k: usize| s.value(p + 8 * k, 1.5f64.to_bits(), Format::F64).lo;
        let entry = |lo| Entry {
            value: Dd { hi: 1.5, lo },
            tag: tag(1.5f64.to_bits(), 64),
        };
        s.write(p, entry(1e-20));
        s.write(p + 8, entry(2e-20));
        s.write(p + 16, entry(3e-20));
        s.copied(p + 8, p, 16); // overlapping, upwards
        assert_eq!([at(0), at(1), at(2)], [1e-20, 1e-20, 2e-20]);
        s.copied(p, p + 8, 16); // and downwards
        assert_eq!([at(0), at(1), at(2)], [1e-20, 2e-20, 2e-20]);
        s.copied(p, p + 40, 8); // nothing there: the old shadow must go
        assert_eq!(at(0), 0.0);
        s.written(p + 8, 8);
        assert_eq!([at(1), at(2)], [0.0, 2e-20]);
    }

    #[test]
    fn predicates_follow_llvm() {
        let (one, two, nan) = (Dd::from_f64(1.0), Dd::from_f64(2.0), Dd::from_f64(f64::NAN));
        assert!(holds(4, one, two) && !holds(2, one, two)); // olt, ogt
        assert!(holds(8, one, nan) && !holds(6, one, nan)); // uno, one
        assert!(holds(12, one, nan) && holds(3, two, one)); // ult, oge
    }
}
