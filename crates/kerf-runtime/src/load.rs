//! Device code from bitcode to something that can be launched, when it is first needed.
use crate::cache;
use crate::error::{CallFailure, code};
use crate::planned_launch::PlannedLaunch;
use crate::registered::{LoadedUnit, RegisteredUnit};
use crate::state::State;
use kerf_ir::blob;
use kerf_ir::finish;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::prepare;
use kerf_ir::unit as device_code;
use kerf_llvm::Module;
use kerf_num::StorageFormat;
use kerf_pass::Plan;
use std::collections::{BTreeMap, BTreeSet};

fn bad(what: &str, why: impl std::fmt::Display) -> CallFailure {
    CallFailure::new(code::INVALID_IMAGE, format!("{what}: {why}"))
}

/// The prepared module of a unit; parts that were compiled apart are linked first.
fn prepared(u: &RegisteredUnit) -> Result<Module, CallFailure> {
    let first = &u.meta[0];
    let e = |e: kerf_llvm::LlvmError| bad(&first.source, e.0);
    let m = Module::parse(&u.bitcode[0], &first.source).map_err(e)?;
    for (meta, bytes) in u.meta.iter().zip(&u.bitcode).skip(1) {
        m.link(bytes, &meta.source)
            .map_err(|e| bad(&meta.source, e.0))?;
    }
    if first.prepared {
        return Ok(m);
    }
    prepare::prepare(&m, &first.arch).map_err(e)?;
    // Arrays are called by the first of their names in debug information, and its order is another after reading: a plan
    // that was made for what a trace wrote has to find the same names here.
    Module::parse(&m.bitcode(), &first.source).map_err(e)
}

/// Functions that are called and defined nowhere: what NVIDIA's device linker would refuse.
fn undefined(m: &Module) -> Vec<String> {
    let provided = |n: &str| {
        n.starts_with("llvm.") || n.starts_with("__nv") || kerf_ir::obstacles::is_provided(n)
    };
    m.functions()
        .iter()
        .filter(|f| f.is_declaration() && !f.users().is_empty() && !provided(&f.name()))
        .map(|f| kerf_llvm::demangle(&f.name()))
        .collect()
}

/// The part of a plan that is for these kernels.
fn part(plan: &Plan, infos: &[KernelInfo]) -> Plan {
    let mut p = plan.clone();
    p.kernels
        .retain(|name, _| kernels::find(infos, name).is_ok());
    p
}

/// Symbols of the kernels that a plan names.
fn named(plan: &Plan, infos: &[KernelInfo]) -> BTreeSet<String> {
    let found = plan
        .kernels
        .keys()
        .filter_map(|n| kernels::find(infos, n).ok());
    found.map(|k| k.symbol.clone()).collect()
}

/// What the device has of a unit after a plan was applied.
struct Compiled {
    program: usize,
    lambda: BTreeMap<String, f32>,
    planned: BTreeMap<String, PlannedLaunch>,
    storage: BTreeMap<String, BTreeMap<String, StorageFormat>>,
}

/// Applies a plan to a prepared module, and compiles it for the device.
fn compile(
    s: &mut State,
    unit: usize,
    m: &Module,
    plan: &Plan,
    infos: &[KernelInfo],
) -> Result<Compiled, CallFailure> {
    let meta = &s.units[unit].meta[0];
    let (source, arch, reflect) = (meta.source.clone(), meta.arch.clone(), meta.reflect());
    let recorded = meta.libdevice.clone().map(std::path::PathBuf::from);
    let path = s.config()?.libdevice.clone();
    let path = path.or(recorded.filter(|p| p.is_file()));
    let of = |n: &str| kernels::find(infos, n).ok().map(|k| k.symbol.clone());
    let storage = plan
        .kernels
        .iter()
        .filter_map(|(n, k)| Some((of(n)?, k.storage.clone())))
        .collect();
    let lambda = plan
        .kernels
        .iter()
        .filter_map(|(n, k)| Some((of(n)?, k.partition.as_ref()?.lambda as f32)))
        .collect();
    let planned = plan
        .kernels
        .iter()
        .filter_map(|(n, k)| Some((of(n)?, PlannedLaunch::from_plan(k)?)))
        .collect();
    let done = |program| Compiled {
        program,
        lambda,
        planned,
        storage,
    };
    let symbols: Vec<String> = m.kernel_functions().iter().map(|f| f.name()).collect();
    let entry = cache::entry(s, unit, plan, &symbols, path.as_deref())?;
    if let Some((image, bytes)) = entry.as_deref().and_then(cache::get)
        && let Ok(Some(program)) = s.on_device(|d| d.load_kept(&image, &bytes))
    {
        return Ok(done(program));
    }
    let checked = s.config()?.memcheck.is_some();
    plan.apply(m).map_err(|e| bad("KERF_PLAN", e))?;
    if checked {
        kerf_pass::sanitize::instrument(m).map_err(|e| bad(&source, e.0))?;
    }
    let library = match &path {
        Some(p) => std::fs::read(p).map_err(|e| bad(&p.display().to_string(), e))?,
        None if finish::needed(m).is_empty() => Vec::new(),
        None => {
            return Err(bad(
                "libdevice.10.bc",
                "not found; put it beside libkerfrt.so or set KERF_LIBDEVICE",
            ));
        }
    };
    finish::finish(m, &library, &arch, reflect).map_err(|e| bad(&source, e.0))?;
    if let Some(entry) = entry
        && let Some((image, bytes)) = s.on_device(|d| d.image(m, &arch))?
        && let Some(program) = s.on_device(|d| d.load_kept(&image, &bytes))?
    {
        cache::put(&entry, &image, &bytes);
        return Ok(done(program));
    }
    Ok(done(s.on_device(|d| d.load(m, &arch))?))
}

/// A unit by the code that the compiler made of it: the kernels that a plan changes are compiled, the others are not.
/// None if nothing is kept for this device, or kernels cannot be apart from each other.
fn from_kept(s: &mut State, unit: usize) -> Result<Option<LoadedUnit>, CallFailure> {
    let config = s.config()?.clone();
    if config.memcheck.is_some() || config.compile {
        return Ok(None);
    }
    let Some((kept, images)) = blob::read_kept(s.units[unit].kept) else {
        return Ok(None);
    };
    let plan = part(&config.plan, &kept.kernels);
    let changed = named(&plan, &kept.kernels);
    let mut module = None;
    let kept_too = s.trace.as_ref().is_some_and(|t| t.keeps_kernels());
    if !changed.is_empty() || kept_too {
        let m = prepared(&s.units[unit])?;
        if !changed.is_empty() && !device_code::separable(&m) {
            return Ok(None);
        }
        module = Some(m);
    }
    s.device()?;
    let mut taken = kept.images.iter().zip(images).filter_map(|(image, bytes)| {
        // An image that the device refuses is no failure: the next may do, and there is the bitcode.
        s.on_device(|d| d.load_kept(image, bytes)).ok().flatten()
    });
    let Some(program) = taken.next() else {
        return Ok(None);
    };
    drop(taken);
    if let (Some(t), Some(m)) = (&mut s.trace, &module) {
        let source = &s.units[unit].meta[0].source;
        t.module(unit, source, m, &kept.kernels)?;
    }
    let mut loaded = LoadedUnit {
        program,
        apart: None,
        kernels: kept.kernels,
        lambda: BTreeMap::new(),
        planned: BTreeMap::new(),
        refused: kept.refused,
        storage: BTreeMap::new(),
    };
    if let (Some(m), false) = (module, changed.is_empty()) {
        m.drop_used();
        kernels::retain(&m, |k| changed.contains(&k.name()));
        device_code::provide(&m);
        let c = compile(s, unit, &m, &plan, &loaded.kernels)?;
        (loaded.lambda, loaded.planned) = (c.lambda, c.planned);
        loaded.storage = c.storage;
        loaded.apart = Some((c.program, changed));
    }
    Ok(Some(loaded))
}

fn load(s: &mut State, unit: usize) -> Result<LoadedUnit, CallFailure> {
    if let Some(l) = from_kept(s, unit)? {
        return Ok(l);
    }
    let config = s.config()?.clone();
    let u = &s.units[unit];
    let source = u.meta[0].source.clone();
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
    device_code::provide(&m);
    let unlifted: Vec<_> = u.meta.iter().flat_map(|x| x.unlifted.clone()).collect();
    let infos = kernels::kernels(&m);
    let refused = device_code::refused(&m, &infos, &unlifted);
    if let Some(t) = &mut s.trace {
        t.module(unit, &source, &m, &infos)?;
    }
    let plan = part(&config.plan, &infos);
    let mut held = plan.kernels.values().flat_map(|k| k.storage.keys());
    if let Some(v) = held.find(|n| kerf_pass::storage::is_variable(n)) {
        let why = format!(
            "{v} cannot be held in another format: an application fills its variables itself"
        );
        return Err(bad("KERF_PLAN", why));
    }
    let mut formats = plan.kernels.values().flat_map(|k| &k.storage);
    if let Some((name, f)) = formats.find(|(_, f)| f.scaled().is_some()) {
        let why = format!(
            "`{name}` cannot be held in {f}: buffers of applications are held in f32, f16 and bf16, and losses of scaled formats are not counted there"
        );
        return Err(bad("KERF_PLAN", why));
    }
    let mut laid_out = plan.kernels.values().flat_map(|k| k.records.keys());
    if let Some(name) = laid_out.next() {
        let why = format!(
            "the records of `{name}` cannot be stored otherwise: an application fills and reads its buffers itself"
        );
        return Err(bad("KERF_PLAN", why));
    }
    let c = compile(s, unit, &m, &plan, &infos)?;
    Ok(LoadedUnit {
        program: c.program,
        apart: None,
        kernels: infos,
        lambda: c.lambda,
        planned: c.planned,
        refused,
        storage: c.storage,
    })
}

impl State {
    /// A unit, loaded if it is not yet.
    pub fn unit(&mut self, unit: usize) -> Result<&LoadedUnit, CallFailure> {
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
