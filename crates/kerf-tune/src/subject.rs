//! What is tuned: a workload, its prepared program, and the sites of the kernels that it launches.
use crate::formats::{LOWER, NARROW, precision, significant_bits, wider};
use crate::storage::{self, Objects, Stored};
use kerf_clang::compile::{CompileError, Toolchain};
use kerf_clang::sha256;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::program::Program;
use kerf_ir::sites::{self, Site};
use kerf_ir::variables::{self, SourceVariable};
use kerf_llvm::{Module, Opcode, Value};
use kerf_pass::storage::Object;
use kerf_pass::{FormatRefusal, MathVariant, SiteFormat, formats, math};
use kerf_run::run::WorkloadSession;
use kerf_run::storage::Touches;
use kerf_workload::Mistakes;
use kerf_workload::Workload;
use kerf_workload::workload::BufferSpec;
use std::collections::BTreeMap;
use std::path::Path;

/// A kernel that the workload launches.
pub struct Kernel {
    /// Symbol.
    pub symbol: String,
    /// Which of the prepared modules it is in.
    pub unit: usize,
    /// May it change? Kernels of an application that take little time stay, but for memory that they share with others.
    pub is_tuned: bool,
    /// As plans name it.
    pub name: String,
    /// Its sites.
    pub sites: Vec<Site>,
    /// Source variable of each.
    pub variables: Vec<Option<SourceVariable>>,
    /// Sites that each site's operands come from.
    pub operands: Vec<Vec<usize>>,
    /// Basic block of each, numbered over the kernel.
    pub blocks: Vec<u32>,
    /// Why a site cannot have a narrower or wider format, by site and format.
    pub refused: BTreeMap<(usize, SiteFormat), FormatRefusal>,
    /// Variants of math sites but for the accurate one, by site and format that it may have.
    pub math: BTreeMap<usize, BTreeMap<SiteFormat, Vec<MathVariant>>>,
    /// Calls of libdevice's functions of one number, by site: the function's name in f64.
    pub library_calls: BTreeMap<usize, String>,
    /// Atomic operations whose result depends on the order in which threads arrive.
    pub unordered: Vec<String>,
}

impl Kernel {
    /// Variants of a site in a format, but for the accurate one.
    pub fn variants(&self, site: usize, format: SiteFormat) -> &[MathVariant] {
        let known = self.math.get(&site).and_then(|by| by.get(&format));
        known.map_or(&[], Vec::as_slice)
    }
}

/// Everything that is known of a workload before it runs.
pub struct Subject {
    /// The workload.
    pub workload: Workload,
    /// Its program; none of an application.
    pub program: Program,
    /// Programs of an application, one for each of its units.
    units: Vec<Program>,
    /// Kernels that it launches.
    pub kernels: Vec<Kernel>,
    /// Memory that they touch.
    pub stored: Vec<Stored>,
    /// Threads of the blocks of each launch, by kernel symbol, each once.
    pub launched: Vec<(String, [u32; 3])>,
    digest: String,
}

/// Why there is no subject.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The workload file is wrong, or does not fit its program.
    #[error("{0}")]
    Workload(Mistakes),
    /// The program does not compile.
    #[error("{0}")]
    Compile(#[from] CompileError),
    /// There is nothing to compare.
    #[error(
        "no buffer of {0} is an output, so nothing says what has to stay accurate; help: add `output = true` to a [[buffer]]"
    )]
    NoOutput(String),
}

impl From<Mistakes> for SubjectError {
    fn from(m: Mistakes) -> SubjectError {
        SubjectError::Workload(m)
    }
}

/// A kernel's name if that finds it, its symbol where several share the name.
fn name_of(k: &KernelInfo, all: &[KernelInfo]) -> String {
    match kernels::find(all, &k.name) {
        Ok(found) if found.symbol == k.symbol => k.name.clone(),
        _ => k.symbol.clone(),
    }
}

/// Whether a function tells the time.
fn is_clock(name: &str) -> bool {
    let register = name.strip_prefix("llvm.nvvm.read.ptx.sreg.").unwrap_or("");
    register.starts_with("clock")
        || register.starts_with("globaltimer")
        || matches!(name, "llvm.readcyclecounter" | "llvm.readsteadycounter")
}

/// What in a kernel gives other results in another run: atomic operations by their order, the clock.
fn unordered(f: Value) -> Vec<String> {
    let mut found = Vec::new();
    for g in kernels::reachable(f) {
        for i in g.instructions() {
            let what = match i.opcode() {
                Some(Opcode::LLVMAtomicRMW) if i.ty().element().is_float() => {
                    "floating-point atomic"
                }
                Some(Opcode::LLVMAtomicCmpXchg) => "compare-and-swap",
                Some(Opcode::LLVMCall) if i.callee_name().is_some_and(|n| is_clock(&n)) => "clock",
                _ => continue,
            };
            if !found.iter().any(|w| w == what) {
                found.push(what.to_owned());
            }
        }
    }
    found
}

fn kernel(m: &Module, f: Value, info: &KernelInfo, all: &[KernelInfo]) -> (Kernel, Objects) {
    let map = sites::sites(m, f);
    let mut refused = BTreeMap::new();
    for (s, i) in map.sites.iter().zip(&map.instructions) {
        let lower = LOWER.into_iter();
        let lower = lower.filter(|to| significant_bits(*to) < precision(s.format));
        for to in lower.chain(wider(s.format).iter().copied()) {
            if let Err(why) = formats::check(*i, to) {
                refused.insert((s.id, to), why);
            }
        }
    }
    let mut variants = BTreeMap::new();
    for (s, i) in map.sites.iter().zip(&map.instructions) {
        let own = SiteFormat::from(s.format);
        let lower = NARROW.into_iter().filter(|f| {
            precision(f.word()) < precision(s.format) && !refused.contains_key(&(s.id, *f))
        });
        let all: BTreeMap<SiteFormat, Vec<MathVariant>> = std::iter::once(own)
            .chain(lower)
            .map(|f| (f, math::variants(*i, f)))
            .filter(|(_, all)| !all.is_empty())
            .collect();
        if !all.is_empty() {
            variants.insert(s.id, all);
        }
    }
    let calls = map.sites.iter().zip(&map.instructions);
    let library_calls = calls
        .filter_map(|(s, i)| Some((s.id, math::library_call(*i)?.name)))
        .collect();
    let mut numbers: BTreeMap<kerf_llvm::Block, u32> = BTreeMap::new();
    let blocks = map.instructions.iter().map(|i| {
        let next = numbers.len() as u32;
        *numbers.entry(i.block()).or_insert(next)
    });
    let name = name_of(info, all);
    let objects = storage::objects(m, f, info, &name, &map.instructions);
    let k = Kernel {
        symbol: info.symbol.clone(),
        unit: 0,
        is_tuned: true,
        name,
        variables: variables::of_sites(&map),
        operands: variables::operands(&map),
        blocks: blocks.collect(),
        refused,
        math: variants,
        library_calls,
        unordered: unordered(f),
        sites: map.sites,
    };
    (k, objects)
}

/// Shared variables, and variables of the program, of kernels that the workload does not launch.
fn used_elsewhere(m: &Module, infos: &[KernelInfo], launched: &[String]) -> Vec<String> {
    let idle = infos.iter().filter(|k| !launched.contains(&k.symbol));
    let objects = idle.filter_map(|k| Some(kerf_pass::storage::objects(m.function(&k.symbol)?, k)));
    let shared = objects.flatten().filter_map(|(_, o)| match o {
        Object::Shared(g) | Object::Variable(g) => Some(g.name()),
        _ => None,
    });
    shared.collect()
}

impl Subject {
    /// Reads and compiles a workload.
    pub fn load(
        path: &Path,
        overrides: &[(String, i64)],
        tools: &Toolchain,
    ) -> Result<Subject, SubjectError> {
        let workload = Workload::read(path, overrides)?;
        if !workload.buffers.iter().any(|b| b.output) {
            return Err(SubjectError::NoOutput(path.display().to_string()));
        }
        let program = kerf_run::compile::own_program(&workload, tools)?;
        let m = program.module()?;
        let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
        let session = WorkloadSession::plain(&workload, &infos, &globals);
        let used = session.check()?;
        let (mut found, mut objects) = (Vec::new(), Vec::new());
        // In the order of the launches.
        for symbol in &used {
            let info = infos.iter().find(|k| k.symbol == *symbol);
            if let (Some(info), Some(f)) = (info, m.function(symbol)) {
                let (k, o) = kernel(&m, f, info, &infos);
                found.push(k);
                objects.push(o);
            }
        }
        let others = used_elsewhere(&m, &infos, &used);
        let stored = storage::stored(&session, &objects, &others)?;
        let mut launched = Vec::new();
        for step in kerf_workload::expand::expand(&workload, &session.params)? {
            if let kerf_workload::expand::ConcreteStep::Launch(l) = step?
                && let Ok(k) = kernels::find(&infos, &l.kernel)
            {
                let one = (k.symbol.clone(), l.block);
                if !launched.contains(&one) {
                    launched.push(one);
                }
            }
        }
        drop(objects);
        m.strip_debug();
        let text = m.print();
        let named = |l: &&str| l.starts_with("; ModuleID") || l.starts_with("source_filename");
        let said: Vec<&str> = text.lines().filter(|l| !named(l)).collect();
        Ok(Subject {
            digest: sha256(said.join("\n").as_bytes()),
            workload,
            program,
            units: Vec::new(),
            kernels: found,
            stored,
            launched,
        })
    }

    /// Kernels of an application, which is run as a whole, by prepared module with the symbols that it launches of each:
    /// `buffers` stand for its allocations, `touches` says which kernels get them, `launched` with which blocks they run.
    pub fn from_application(
        units: Vec<(Program, Vec<String>)>,
        buffers: Vec<BufferSpec>,
        touches: &Touches,
        launched: Vec<(String, [u32; 3])>,
    ) -> Result<Subject, CompileError> {
        let workload = Workload {
            buffers,
            ..Workload::default()
        };
        let (mut found, mut objects, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let modules: Result<Vec<Module>, CompileError> =
            units.iter().map(|(p, _)| p.module()).collect();
        let modules = modules?;
        for (unit, (m, (_, wanted))) in modules.iter().zip(&units).enumerate() {
            let infos = kernels::kernels(m);
            for symbol in wanted {
                let info = infos.iter().find(|k| k.symbol == *symbol);
                if let (Some(info), Some(f)) = (info, m.function(symbol)) {
                    let (k, o) = kernel(m, f, info, &infos);
                    found.push(Kernel { unit, ..k });
                    objects.push(o);
                }
            }
            others.extend(used_elsewhere(m, &infos, wanted));
        }
        Ok(Subject {
            stored: storage::stored_from_touches(&workload, touches, &objects, &others),
            workload,
            program: Program {
                source: Default::default(),
                bitcode: Vec::new(),
                unlifted: Vec::new(),
                cached: false,
            },
            kernels: found,
            units: units.into_iter().map(|u| u.0).collect(),
            launched,
            digest: String::new(),
        })
    }

    /// The prepared modules, each with the positions of the kernels in it that may change.
    pub fn modules(&self) -> Result<Vec<(Module, Vec<usize>)>, CompileError> {
        let of_unit = |(unit, p): (usize, &Program)| {
            let kernels = self.kernels.iter().enumerate();
            let mine = kernels.filter(|(_, k)| k.unit == unit && k.is_tuned);
            let mine: Vec<usize> = mine.map(|k| k.0).collect();
            (!mine.is_empty()).then(|| Ok((p.module()?, mine)))
        };
        self.programs()
            .iter()
            .enumerate()
            .filter_map(of_unit)
            .collect()
    }

    /// The prepared programs, by unit: one of a workload.
    pub fn programs(&self) -> &[Program] {
        match self.units.is_empty() {
            true => std::slice::from_ref(&self.program),
            false => &self.units,
        }
    }

    /// Launches of some kernels, by position: symbol and threads of a block.
    pub fn blocks(&self, kernels: &[usize]) -> Vec<(&str, u32)> {
        let mine = |s: &str| kernels.iter().any(|k| self.kernels[*k].symbol == s);
        let all = self.launched.iter().filter(|l| mine(&l.0));
        all.map(|l| (l.0.as_str(), l.1.iter().product())).collect()
    }

    /// Digest of what the prepared program computes: where its source lies, and from which folder it was
    /// compiled, does not count.
    pub fn digest(&self) -> String {
        self.digest.clone()
    }
}
