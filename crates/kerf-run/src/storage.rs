//! Buffers that a plan holds in narrower formats: which they are, and their bytes.
//!
//! A plan names a kernel's parameters; the workload says which buffer each of them is, launch by launch, and which are the
//! contents of `__constant__` and `__device__` variables, which a plan names too.
//! Whoever touches a buffer has to hold it in the same format. Inputs are rounded once on their way to
//! the device; outputs come back in the type that the workload gives them.
use crate::held::HeldBuffer;
use crate::run::WorkloadSession;
use kerf_ir::kernels::{GlobalInfo, Param, ParamKind, ScalarKind, find};
use kerf_num::{Format, StorageFormat};
use kerf_pass::storage::variable;
use kerf_pass::{Plan, SiteFormat};
use kerf_workload::expand::{ArgValue, ConcreteStep, expand};
use kerf_workload::mistakes::Mistakes;
use kerf_workload::workload::BufferSpec;
use std::collections::BTreeMap;

/// Who uses a buffer, and in which format; none for its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    who: String,
    format: Option<StorageFormat>,
}

/// Why a workload's buffers cannot be held as a plan, or a program, says.
#[derive(Debug, thiserror::Error)]
pub enum HoldingError {
    /// The workload's steps cannot be worked out.
    #[error(transparent)]
    Workload(#[from] Mistakes),
    /// A copy of bytes between buffers that would be held in different formats.
    #[error(
        "the workload copies `{}`, held in {}, to `{}`, held in {}",
        names[0],
        held_in(formats[0]),
        names[1],
        held_in(formats[1])
    )]
    Copied {
        /// Buffers, from and to.
        names: [String; 2],
        /// Their formats; none for a buffer's own.
        formats: [Option<StorageFormat>; 2],
    },
    /// The buffer holds more than numbers of one wider format.
    #[error("buffer `{buffer}` cannot be held in {format}: its elements are {elements}")]
    Elements {
        /// The buffer.
        buffer: String,
        /// Format asked for.
        format: StorageFormat,
        /// Type of its elements, as the workload has it.
        elements: String,
    },
    /// The workload has no such buffer.
    #[error("there is no buffer `{0}`")]
    UnknownBuffer(String),
    /// Those that touch a buffer hold it differently.
    #[error(
        "the plan holds buffer `{buffer}` in {} for {} and in {} for {}; help: give the parameter the same format in all kernels that touch the buffer",
        held_in(formats[0]),
        users[0],
        held_in(formats[1]),
        users[1]
    )]
    Conflict {
        /// The buffer.
        buffer: String,
        /// Two that touch it.
        users: [String; 2],
        /// The format of each; none for the buffer's own.
        formats: [Option<StorageFormat>; 2],
    },
}

fn held_in(format: Option<StorageFormat>) -> String {
    format.map_or_else(|| "its own format".into(), |f| f.to_string())
}

/// The format of what a pointer parameter points to, if it is one.
fn own_format(p: &Param) -> Option<Format> {
    let ParamKind::Pointer { element, .. } = &p.kind else {
        return None;
    };
    let mut formats = element.iter().map(|s| match s.kind {
        ScalarKind::Float(f) => Some(f),
        _ => None,
    });
    let first = formats.next()??;
    formats.all(|f| f == Some(first)).then_some(first)
}

/// The format of a variable's numbers, if they are of one.
fn own_of(g: &GlobalInfo) -> Option<Format> {
    let mut formats = g.scalars.iter().map(|s| match s.kind {
        ScalarKind::Float(f) => Some(f),
        _ => None,
    });
    let first = formats.next()??;
    formats.all(|f| f == Some(first)).then_some(first)
}

/// Contents of variables that a plan holds in other formats: buffer, who says so, format.
fn in_variables(
    session: &WorkloadSession,
    plan: &Plan,
) -> Vec<(usize, String, Option<StorageFormat>)> {
    let symbols = || session.globals.iter().map(|g| (g.symbol.as_str(), g.space));
    let mut out = Vec::new();
    for (kernel, k) in &plan.kernels {
        for (key, format) in &k.storage {
            let Some(symbol) = variable(key, symbols()) else {
                continue;
            };
            let own = session.globals.iter().find(|g| g.symbol == symbol);
            let own = own.and_then(own_of).map(StorageFormat::from);
            let format = Some(*format).filter(|f| own != Some(*f));
            for (n, b) in session.workload.buffers.iter().enumerate() {
                if session.symbol_of(b) == Some(symbol) {
                    out.push((n, format!("kernel {kernel} ({key})"), format));
                }
            }
        }
    }
    out
}

/// All kinds of use of each buffer, one of each.
fn uses(session: &WorkloadSession, plan: &Plan) -> Result<BTreeMap<usize, Vec<Use>>, HoldingError> {
    let mut all: BTreeMap<usize, Vec<Use>> = BTreeMap::new();
    let mut add = |buffer: usize, who: String, format: Option<StorageFormat>| {
        let list = all.entry(buffer).or_default();
        if !list.iter().any(|u| u.format == format) {
            list.push(Use { who, format });
        }
    };
    for (buffer, who, format) in in_variables(session, plan) {
        add(buffer, who, format);
    }
    let mut copies = Vec::new();
    for step in expand(session.workload, &session.params)? {
        let l = match step? {
            ConcreteStep::Copy { from, to, .. } => {
                if !copies.contains(&(from, to)) {
                    copies.push((from, to));
                }
                continue;
            }
            ConcreteStep::Launch(l) => l,
        };
        let Ok(k) = find(session.kernels, &l.kernel) else {
            continue; // reported where launches are checked
        };
        let mine = plan
            .kernels
            .iter()
            .find(|(n, _)| find(session.kernels, n).is_ok_and(|i| i.symbol == k.symbol));
        for (n, arg) in l.args.iter().enumerate() {
            // A kernel that is handed a buffer and leaves it alone does not mind.
            if k.params.get(n).is_some_and(|p| !p.used) {
                continue;
            }
            let name = k.params.get(n).map_or("", |p| p.name.as_str());
            let format = mine.and_then(|(_, p)| {
                let s = &p.storage;
                s.get(name).or_else(|| s.get(&n.to_string())).copied()
            });
            let own = k.params.get(n).and_then(own_format);
            // To ask for the format that a buffer has anyway is to ask for nothing.
            let format = format.filter(|f| own.map(StorageFormat::from) != Some(*f));
            let who = || format!("kernel {} (parameter {name})", k.name);
            match arg {
                ArgValue::Buffer { index, .. } => add(*index, who(), format),
                ArgValue::Struct(fields) => {
                    for f in fields {
                        if let ArgValue::Buffer { index, .. } = f {
                            add(*index, who(), None);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    // Bytes are copied as they are, so both ends have to be alike.
    for (from, to) in copies {
        let formats = [from, to].map(|b| all.get(&b).and_then(|u| u.first()?.format));
        if formats[0] != formats[1] {
            let names = [from, to].map(|b| session.workload.buffers[b].name.clone());
            return Err(HoldingError::Copied { names, formats });
        }
    }
    Ok(all)
}

/// Which buffers the launches give to which parameters, whatever the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touches {
    /// Symbol of a kernel, number of a parameter, buffer; one of each.
    pub parameters: Vec<(String, usize, usize)>,
    /// Buffers whose address is a field of a struct.
    pub in_structs: Vec<usize>,
    /// Buffers that are copied, from and to.
    pub copies: Vec<(usize, usize)>,
    /// Symbol of a variable of the program, and the buffer that is its content.
    pub variables: Vec<(String, usize)>,
    /// They are those of an application, whose variables Kerf does not fill.
    pub application: bool,
}

/// Who touches which buffer.
pub fn touches(session: &WorkloadSession) -> Result<Touches, Mistakes> {
    let mut t = Touches::default();
    fn add<T: PartialEq>(list: &mut Vec<T>, x: T) {
        if !list.contains(&x) {
            list.push(x);
        }
    }
    for (n, b) in session.workload.buffers.iter().enumerate() {
        if let Some(symbol) = session.symbol_of(b) {
            t.variables.push((symbol.to_owned(), n));
        }
    }
    for step in expand(session.workload, &session.params)? {
        let l = match step? {
            ConcreteStep::Copy { from, to, .. } => {
                add(&mut t.copies, (from, to));
                continue;
            }
            ConcreteStep::Launch(l) => l,
        };
        let Ok(k) = find(session.kernels, &l.kernel) else {
            continue; // reported where launches are checked
        };
        for (n, arg) in l.args.iter().enumerate() {
            match arg {
                ArgValue::Buffer { index, .. } => {
                    add(&mut t.parameters, (k.symbol.clone(), n, *index));
                }
                ArgValue::Struct(fields) => {
                    for f in fields {
                        if let ArgValue::Buffer { index, .. } = f {
                            add(&mut t.in_structs, *index);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Ok(t)
}

/// Why a buffer's content cannot be held in a format.
pub fn unfit(b: &BufferSpec, to: StorageFormat) -> Option<HoldingError> {
    content(b, to).err()
}

fn content(b: &BufferSpec, to: StorageFormat) -> Result<HeldBuffer, HoldingError> {
    let scalars = b.elem.scalars();
    let refuse = || {
        Err(HoldingError::Elements {
            buffer: b.name.clone(),
            format: to,
            elements: b.elem.to_string(),
        })
    };
    let mut from = None;
    for (_, s) in &scalars {
        match crate::bind::kind_of(*s) {
            ScalarKind::Float(f) if from.is_none_or(|g| g == f) => from = Some(f),
            _ => return refuse(),
        }
    }
    match from {
        Some(f) if f.bytes() > to.bytes() => Ok(HeldBuffer { from: f, to }),
        _ => refuse(),
    }
}

/// How a program holds buffers that it declares in narrower formats, by name, and those buffers as it declares them.
pub fn declared(
    buffers: &[BufferSpec],
    held: &[(String, SiteFormat)],
) -> Result<(Vec<Option<HeldBuffer>>, Vec<BufferSpec>), HoldingError> {
    let mut all = vec![None; buffers.len()];
    let mut specs = buffers.to_vec();
    for (name, format) in held {
        let k = buffers.iter().position(|b| b.name == *name);
        let k = k.ok_or_else(|| HoldingError::UnknownBuffer(name.clone()))?;
        let h = content(&buffers[k], format.word().into())?;
        specs[k].elem = specs[k].elem.with_floats(format.word());
        all[k] = Some(h);
    }
    Ok((all, specs))
}

/// How each buffer of a workload is held under a plan; none for its own format.
pub fn assign(
    session: &WorkloadSession,
    plan: &Plan,
) -> Result<Vec<Option<HeldBuffer>>, HoldingError> {
    let buffers = &session.workload.buffers;
    let mut out = vec![None; buffers.len()];
    if plan.kernels.values().all(|k| k.storage.is_empty()) {
        return Ok(out);
    }
    for (b, list) in uses(session, plan)? {
        if let [a, b2, ..] = list.as_slice() {
            return Err(HoldingError::Conflict {
                buffer: buffers[b].name.clone(),
                users: [a.who.clone(), b2.who.clone()],
                formats: [a.format, b2.format],
            });
        }
        if let Some(to) = list.first().and_then(|u| u.format) {
            out[b] = Some(content(&buffers[b], to)?);
        }
    }
    Ok(out)
}
