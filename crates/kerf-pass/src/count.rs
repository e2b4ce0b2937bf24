//! Counting: how often each block runs, and what values each site sees, in one instrumented run.
//!
//! The pass works on a prepared module and adds operations whose results nothing else uses, so that those of
//! the program keep their bits. Each thread counts in variables of its own, which become registers, and adds them to two
//! arrays in global memory when a function returns. Loop counts are therefore real, and a run costs
//! little more than an ordinary one. The code is device code: both executors run it, and count the same.
mod accesses;
mod addresses;
mod emit;
mod fields;
mod flush;
mod lanes;
mod local;
mod record;
mod recorders;
mod sampled_values;
mod told;
mod values;
pub mod warp;

pub use accesses::{CountedAccess, MemoryKind, Root};
pub use addresses::{ADDRESSES, First, Pattern, SampledAccesses, join as join_patterns, patterns};
pub use fields::LEAST_DW32;
pub use lanes::{Noted, Spread, Together, WARPS};
pub use record::{BlockCount, CountTally, LaunchCounts, LocalError, SiteRecord};

use crate::engine::places::Places;
use crate::math;
use kerf_ir::address::slope::Strides;
use kerf_ir::kernels::{kernels, reachable};
use kerf_ir::sites::{Site, sites};
use kerf_llvm::{Block, LlvmError, Module, Value, space};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The variable with 33 64-bit numbers for each block: one a lane, and the largest of any thread.
pub const BLOCKS: &str = "__kerf_count_blocks";
/// The variable with [`FIELDS`] 64-bit numbers for each site.
pub const SITES: &str = "__kerf_count_sites";
/// What names of the functions begin with that the pass adds.
pub const FUNCTIONS: &str = "__kerf_count_";
/// Numbers of one site.
pub const FIELDS: usize = fields::FIELDS;

/// Parts of a grid of which one is run where some blocks stand for all.
const STANDS_FOR: usize = 4;

/// How much is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Executions of blocks, and nothing that a prediction needs beside them.
    Executions,
    /// Executions of blocks, and what some warps do: about as fast as the program itself.
    Blocks,
    /// Also what values each site sees in some executions: on a GPU those of some warps, of them the first and every
    /// seventeenth. Everywhere else it is [`Detail::Values`].
    SampledValues,
    /// Also what values each site sees: tens of operations for each of the program's.
    Values,
}

impl Detail {
    /// Whether values are recorded.
    pub fn has_values(self) -> bool {
        matches!(self, Detail::SampledValues | Detail::Values)
    }
}

/// What runs the instrumented program. What is counted is the same, and so are its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountDevice {
    /// The CPU executor: threads end one by one.
    Cpu,
    /// A GPU: threads of a warp end together.
    Gpu,
}

/// What is counted of one kernel.
#[derive(Debug, Clone)]
pub struct KernelCounters {
    /// Symbol.
    pub symbol: String,
    /// Name in the source.
    pub name: String,
    /// Its sites, numbered as plans number them.
    pub sites: Vec<Site>,
    /// Block of each site.
    pub site_blocks: Vec<usize>,
    /// Record of each site.
    pub site_records: Vec<usize>,
    /// Its loads, stores and atomic operations.
    pub accesses: Vec<CountedAccess>,
    /// The block it begins with, which every thread runs once.
    pub entry: usize,
}

/// What the pass counts, and where.
#[derive(Debug, Clone)]
pub struct CountTable {
    /// How much is recorded.
    pub detail: Detail,
    /// Blocks of the module, over all its functions.
    pub blocks: usize,
    /// Format of each recorded site, over all functions.
    pub formats: Vec<kerf_num::Format>,
    /// Kernels.
    pub kernels: Vec<KernelCounters>,
    /// Accesses whose addresses are looked at.
    pub sampled: SampledAccesses,
    /// How often warps run blocks, as far as it is noted.
    pub noted: Noted,
    /// Functions made for ranges of arguments.
    pub made: Vec<MadeBlocks>,
}

/// The blocks of a function made for a range that tell how many arguments it had, and how many were outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadeBlocks {
    /// Which of the plan's functions.
    pub number: usize,
    /// The block that every call runs.
    pub entry: usize,
    /// The block with the library's function.
    pub library: usize,
}

impl CountTable {
    /// Bytes of [`BLOCKS`].
    pub fn block_bytes(&self) -> usize {
        8 * fields::BLOCK_FIELDS * self.blocks.max(1)
    }
    /// Bytes of [`SITES`].
    pub fn site_bytes(&self) -> usize {
        8 * FIELDS * self.formats.len().max(1)
    }
    /// Blocks of a grid, by number, that stand for all of them: those whose addresses are looked at, and a fraction of those
    /// whose warps are. None where all blocks are hardly more.
    pub fn standing_for(&self, blocks: u64) -> Option<Vec<u64>> {
        let mut some: std::collections::BTreeSet<u64> =
            addresses::looked_at_blocks(blocks).collect();
        some.extend(self.noted.looked_at_blocks(blocks).step_by(STANDS_FOR));
        (2 * (some.len() as u64) < blocks).then(|| some.into_iter().collect())
    }
    /// The kernel with a symbol.
    pub fn kernel(&self, symbol: &str) -> Option<&KernelCounters> {
        self.kernels.iter().find(|k| k.symbol == symbol)
    }
}

/// Functions with a body, in the module's order.
fn defined(m: &Module) -> Vec<Value> {
    let all = m.functions().into_iter();
    all.filter(|f| !f.is_declaration()).collect()
}

/// The name that says which block of the prepared module a block is.
pub(crate) const LABEL: &str = "kerf.block.";

/// Numbers of the blocks of a function of a module that came out of a labelled one. A block that a plan
/// put in has the number of the last block that every way to it goes through.
pub fn numbers(f: Value) -> BTreeMap<Block, usize> {
    let places = Places::from_function(f);
    let mut of: Vec<Option<usize>> = Vec::new();
    for (k, b) in places.blocks.iter().enumerate() {
        let name = b.name();
        // A copy of a function may number names that occur twice: kerf.block.12.i
        let digits = name.strip_prefix(LABEL).and_then(|n| n.split('.').next());
        let own = digits.and_then(|n| n.parse().ok());
        let inherited = || of.get(places.dominator[k]).copied().flatten();
        let number = own.or_else(inherited);
        of.push(number);
    }
    let numbered = places.blocks.iter().zip(of);
    numbered.filter_map(|(b, n)| Some((*b, n?))).collect()
}

/// The blocks of functions made for ranges.
fn made_blocks(m: &Module, numbers: &BTreeMap<Block, usize>) -> Vec<MadeBlocks> {
    let of = |f: Value| {
        let calls_library = |i: &Value| {
            let name = i.callee_name();
            name.is_some_and(|n| n.starts_with("__nv_"))
        };
        let blocks = f.blocks();
        let library = blocks
            .iter()
            .find(|b| b.instructions().iter().any(calls_library))?;
        Some(MadeBlocks {
            number: math::made_number(f)?,
            entry: numbers[blocks.first()?],
            library: numbers[library],
        })
    };
    defined(m).into_iter().filter_map(of).collect()
}

/// Looks at what instructions load and store.
pub struct Accesses<'m> {
    m: &'m Module,
    strides: Strides<'m>,
}

impl<'m> Accesses<'m> {
    /// Of a module's kernels.
    pub fn new(m: &'m Module) -> Accesses<'m> {
        Accesses {
            m,
            strides: Strides::new(m),
        }
    }
    /// The accesses of an instruction of a kernel, or of a function that it calls.
    pub fn made_by(&mut self, kernel: Value, i: Value, block: usize) -> Vec<CountedAccess> {
        accesses::made_by(self.m, &mut self.strides, kernel, i, block)
    }
}

/// Names every block of a prepared module by its number, so that it is found again after a plan was
/// carried out on a copy.
pub fn label(m: &Module) {
    let blocks = defined(m).into_iter().flat_map(Value::blocks);
    for (number, b) in blocks.enumerate() {
        b.set_name(&format!("{LABEL}{number}"));
    }
}

/// What would be counted of a prepared module, which stays as it is. Blocks have the numbers that
/// [`label`] gives them.
pub fn describe(m: &Module, detail: Detail) -> CountTable {
    let mut blocks = BTreeMap::new();
    let mut records = BTreeMap::new();
    let mut formats = Vec::new();
    for f in defined(m) {
        for b in f.blocks() {
            let number = blocks.len();
            blocks.insert(b, number);
            for i in b.instructions() {
                if let Some((_, format, _)) = kerf_ir::sites::classify(i) {
                    records.insert(i, formats.len());
                    formats.push(format);
                }
            }
        }
    }
    let mut out = CountTable {
        detail,
        blocks: blocks.len(),
        formats,
        kernels: Vec::new(),
        sampled: SampledAccesses::in_blocks(
            m,
            defined(m).into_iter().flat_map(Value::blocks),
            detail,
        ),
        noted: Noted::in_functions(&defined(m), &blocks),
        made: made_blocks(m, &blocks),
    };
    for info in kernels(m) {
        let Some(f) = m.function(&info.symbol) else {
            continue;
        };
        let Some(entry) = f.blocks().first().map(|b| blocks[b]) else {
            continue;
        };
        let map = sites(m, f);
        let mut found = Vec::new();
        let mut look = Accesses::new(m);
        for g in reachable(f) {
            for i in g.instructions() {
                found.extend(look.made_by(f, i, blocks[&i.block()]));
            }
        }
        out.kernels.push(KernelCounters {
            symbol: info.symbol,
            name: info.name,
            site_blocks: map
                .instructions
                .iter()
                .map(|i| blocks[&i.block()])
                .collect(),
            site_records: map.instructions.iter().map(|i| records[i]).collect(),
            sites: map.sites,
            accesses: found,
            entry,
        });
    }
    out
}

/// Instruments a prepared module. All records of sites stay empty where a detail has no values.
pub fn instrument(
    m: &Module,
    detail: Detail,
    device: CountDevice,
) -> Result<CountTable, LlvmError> {
    let counters = describe(m, detail);
    let functions = defined(m);
    let array = |name: &str, bytes: usize| {
        let t = m.int_ty(64).array(bytes as u64 / 8);
        let g = m.add_global(t, name, space::GLOBAL);
        g.set_initializer(t.zero());
        g.set_align(8);
        g
    };
    let mut pass = emit::Pass::new(
        m,
        array(BLOCKS, counters.block_bytes()),
        array(SITES, counters.site_bytes()),
        (
            array(ADDRESSES, counters.sampled.bytes()),
            &counters.sampled,
        ),
        (array(WARPS, counters.noted.bytes()), &counters.noted),
        (detail, device),
    );
    let kernels: Vec<Value> = m.kernel_functions();
    for f in &functions {
        pass.function(*f, kernels.contains(f));
    }
    for f in &functions {
        f.forget_effects();
    }
    m.verify()?;
    Ok(counters)
}
