//! Device code from bitcode to something that can be launched, when it is first needed.
use crate::error::{Failed, code};
use crate::state::{State, Unit};
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::llvm::{Builder, Linkage, Module};
use kerf_ir::obstacles::{GRID_SYNC, Scope, obstacles};
use kerf_ir::{finish, prepare};
use kerf_pass::{Plan, SiteFormat};
use std::collections::BTreeMap;

/// A unit that is ready.
#[derive(Clone)]
pub struct Loaded {
    /// Its number on the device.
    pub program: usize,
    /// Its kernels, as the source has them.
    pub kernels: Vec<KernelInfo>,
    /// Last argument of kernels that run in two versions.
    pub lambda: BTreeMap<String, f32>,
    /// Why the CPU cannot run some kernels.
    pub refused: BTreeMap<String, String>,
    /// Formats that the plan holds parameters in, by kernel.
    pub storage: BTreeMap<String, BTreeMap<String, SiteFormat>>,
}

fn bad(what: &str, why: impl std::fmt::Display) -> Failed {
    Failed::new(code::INVALID_IMAGE, format!("{what}: {why}"))
}

/// The prepared module of a unit; parts that were compiled apart are linked first.
fn prepared(u: &Unit) -> Result<Module, Failed> {
    let first = &u.meta[0];
    let e = |e: kerf_ir::llvm::LlvmError| bad(&first.source, e.0);
    let m = Module::parse(u.bitcode[0], &first.source).map_err(e)?;
    for (meta, bytes) in u.meta.iter().zip(&u.bitcode).skip(1) {
        m.link(bytes, &meta.source)
            .map_err(|e| bad(&meta.source, e.0))?;
    }
    if !first.prepared {
        prepare::prepare(&m, &first.arch).map_err(e)?;
    }
    Ok(m)
}

/// Functions that are called and defined nowhere: what NVIDIA's device linker would refuse.
fn undefined(m: &Module) -> Vec<String> {
    let provided = |n: &str| {
        n.starts_with("llvm.") || n.starts_with("__nv") || kerf_ir::obstacles::is_provided(n)
    };
    m.functions()
        .iter()
        .filter(|f| f.is_declaration() && !f.users().is_empty() && !provided(&f.name()))
        .map(|f| kerf_ir::llvm::demangle(&f.name()))
        .collect()
}

/// What tables of virtual functions have in place of those without a body: NVIDIA's compiler has it, a GPU's driver
/// does not.
fn provide(m: &Module) {
    let missing = m.function("__cxa_pure_virtual");
    if let Some(f) = missing.filter(|f| f.is_declaration()) {
        let b = Builder::at_end(m.append_block(f, "entry"));
        b.intrinsic("llvm.trap", &[], &[]);
        b.unreachable();
        f.set_linkage(Linkage::LLVMInternalLinkage);
    }
}

/// The part of a plan that is for these kernels.
fn part(plan: &Plan, infos: &[KernelInfo]) -> Plan {
    let mut p = plan.clone();
    p.kernels
        .retain(|name, _| kernels::find(infos, name).is_ok());
    p
}

fn load(s: &mut State, unit: usize) -> Result<Loaded, Failed> {
    let config = s.config()?.clone();
    let u = &s.units[unit];
    let source = u.meta[0].source.clone();
    let arch = u.meta[0].arch.clone();
    let reflect = u.meta[0].reflect();
    let recorded = u.meta[0].libdevice.clone().map(std::path::PathBuf::from);
    let m = prepared(u)?;
    if !u.meta[0].prepared {
        let open = undefined(&m);
        if open.iter().any(|n| n.starts_with("__cudaCDP")) {
            return Err(bad(
                &source,
                "kernels that launch kernels (dynamic parallelism) are not supported",
            ));
        }
        if !open.is_empty() {
            return Err(bad(
                "device code",
                format!("undefined: {}", open.join(", ")),
            ));
        }
    }
    provide(&m);
    let unlifted: Vec<_> = u.meta.iter().flat_map(|x| x.unlifted.clone()).collect();
    let infos = kernels::kernels(&m);
    let mut refused = BTreeMap::new();
    for k in &infos {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        let why: Vec<String> = obstacles(&m, f, &unlifted)
            .into_iter()
            .filter(|o| o.scope == Scope::CpuRun && o.what != GRID_SYNC)
            .map(|o| format!("{}: {}", o.what, o.why))
            .collect();
        if !why.is_empty() {
            refused.insert(k.symbol.clone(), why.join("; "));
        }
    }
    if let Some(t) = &mut s.trace {
        t.module(unit, &source, &m, &infos)?;
    }
    let plan = part(&config.plan, &infos);
    let storage = plan
        .kernels
        .iter()
        .filter_map(|(n, k)| {
            let info = kernels::find(&infos, n).ok()?;
            Some((info.symbol.clone(), k.storage.clone()))
        })
        .collect();
    let mut held = plan.kernels.values().flat_map(|k| k.storage.keys());
    if let Some(v) = held.find(|n| kerf_pass::storage::is_variable(n)) {
        let why = format!(
            "{v} cannot be held in another format: an application fills its variables itself"
        );
        return Err(bad("KERF_PLAN", why));
    }
    plan.apply(&m).map_err(|e| bad("KERF_PLAN", e))?;
    let lambda = plan
        .kernels
        .iter()
        .filter_map(|(n, k)| {
            let info = kernels::find(&infos, n).ok()?;
            Some((info.symbol.clone(), k.partition.as_ref()?.lambda as f32))
        })
        .collect();
    let path = config.libdevice.or(recorded.filter(|p| p.is_file()));
    let library = match &path {
        Some(p) => std::fs::read(p).map_err(|e| bad(&p.display().to_string(), e))?,
        None if finish::needed(&m).is_empty() => Vec::new(),
        None => {
            return Err(bad(
                "libdevice.10.bc",
                "not found; put it beside libkerfrt.so or set KERF_LIBDEVICE",
            ));
        }
    };
    finish::finish(&m, &library, &arch, reflect).map_err(|e| bad(&source, e.0))?;
    let program = s.on_device(|d| d.load(&m, &arch))?;
    Ok(Loaded {
        program,
        kernels: infos,
        lambda,
        refused,
        storage,
    })
}

impl State {
    /// A unit, loaded if it is not yet.
    pub fn unit(&mut self, unit: usize) -> Result<&Loaded, Failed> {
        if self.units.get(unit).is_none() {
            return Err(code::INVALID_IMAGE.into());
        }
        if self.units[unit].loaded.is_none() {
            let l = load(self, unit);
            self.units[unit].loaded = Some(l);
        }
        match &self.units[unit].loaded {
            Some(Ok(l)) => Ok(l),
            Some(Err(e)) => Err(e.clone()),
            None => Err(code::INVALID_IMAGE.into()),
        }
    }
}
