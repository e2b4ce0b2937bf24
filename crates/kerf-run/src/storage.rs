//! Buffers that a plan holds in narrower formats, or whose records it lays out otherwise: which they are, and their bytes.
//!
//! A plan names a kernel's parameters; the workload says which buffer each of them is, launch by launch, and which are the
//! contents of `__constant__` and `__device__` variables, which a plan names too.
//! Whoever touches a buffer has to hold it in the same format. Inputs are rounded once on their way to
//! the device; outputs come back in the type that the workload gives them.
use crate::held::HeldBuffer;
use crate::record_fit::{self, RecordMisfit};
use crate::run::WorkloadSession;
use kerf_ir::kernels::{GlobalInfo, Param, ParamKind, ScalarKind, find};
use kerf_num::{Format, StorageFormat};
use kerf_pass::records::Records;
use kerf_pass::storage::variable;
use kerf_pass::{KernelPlan, Plan, RecordPlan, SiteFormat};
use kerf_workload::expand::{ArgValue, ConcreteStep, expand};
use kerf_workload::mistakes::Mistakes;
use kerf_workload::workload::BufferSpec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who uses a buffer, in which format (none for its own), and how records are stored where not as the program has them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    who: String,
    format: Option<StorageFormat>,
    records: Option<RecordPlan>,
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
    /// A copy of bytes between buffers whose records would be laid out differently.
    #[error("the workload copies `{}` to `{}`, and the plan stores the records of one of them otherwise", names[0], names[1])]
    CopiedRecords {
        /// Buffers, from and to.
        names: [String; 2],
    },
    /// Those that touch a buffer lay its records out differently.
    #[error(
        "the plan stores the records of buffer `{buffer}` as {} for {} and as {} for {}; help: give the parameter the same layout in all kernels that touch the buffer",
        stored_as(&layouts[0]),
        users[0],
        stored_as(&layouts[1]),
        users[1]
    )]
    RecordConflict {
        /// The buffer.
        buffer: String,
        /// Two that touch it.
        users: [String; 2],
        /// What each says; none where records stay as they are.
        layouts: Box<[Option<RecordPlan>; 2]>,
    },
    /// The buffer does not consist of such records.
    #[error("buffer `{buffer}`: {why}")]
    Records {
        /// The buffer.
        buffer: String,
        /// Why.
        why: RecordMisfit,
    },
}

fn stored_as(r: &Option<RecordPlan>) -> String {
    r.as_ref()
        .map_or_else(|| "they are".into(), |r| r.to_string())
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
    let mut add = |buffer: usize, new: Use| {
        let list = all.entry(buffer).or_default();
        let alike = |u: &Use| (u.format, &u.records) == (new.format, &new.records);
        if !list.iter().any(alike) {
            list.push(new);
        }
    };
    for (buffer, who, format) in in_variables(session, plan) {
        let records = None;
        add(
            buffer,
            Use {
                who,
                format,
                records,
            },
        );
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
            let format = mine.and_then(|(_, p)| by_parameter(&p.storage, name, n).copied());
            let records = mine.and_then(|(_, p)| by_parameter(&p.records, name, n).cloned());
            let own = k.params.get(n).and_then(own_format);
            // To ask for the format that a buffer has anyway is to ask for nothing.
            let format = format.filter(|f| own.map(StorageFormat::from) != Some(*f));
            let touching = |format, records| Use {
                who: format!("kernel {} (parameter {name})", k.name),
                format,
                records,
            };
            match arg {
                ArgValue::Buffer { index, .. } => add(*index, touching(format, records)),
                ArgValue::Struct(fields) => {
                    for f in fields {
                        if let ArgValue::Buffer { index, .. } = f {
                            add(*index, touching(None, None));
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
        let records = [from, to].map(|b| all.get(&b).and_then(|u| u.first()?.records.as_ref()));
        if records[0] != records[1] {
            let names = [from, to].map(|b| session.workload.buffers[b].name.clone());
            return Err(HoldingError::CopiedRecords { names });
        }
    }
    Ok(all)
}

/// What a plan says of a parameter, by name or number.
fn by_parameter<'p, T>(all: &'p BTreeMap<String, T>, name: &str, number: usize) -> Option<&'p T> {
    all.get(name).or_else(|| all.get(&number.to_string()))
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
        Some(f) if f.bytes() > to.bytes() => Ok(HeldBuffer::in_format(f, to)),
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
    let as_they_are = |k: &KernelPlan| k.storage.is_empty() && k.records.is_empty();
    if plan.kernels.values().all(as_they_are) {
        return Ok(out);
    }
    for (b, list) in uses(session, plan)? {
        if let [first, second, ..] = list.as_slice() {
            return Err(conflict(&buffers[b].name, first, second));
        }
        if let Some(u) = list.first() {
            out[b] = held(&buffers[b], u)?;
        }
    }
    Ok(out)
}

/// Two that want different things of a buffer.
fn conflict(buffer: &str, first: &Use, second: &Use) -> HoldingError {
    let buffer = buffer.to_owned();
    let users = [first.who.clone(), second.who.clone()];
    match first.format == second.format {
        true => HoldingError::RecordConflict {
            buffer,
            users,
            layouts: Box::new([first.records.clone(), second.records.clone()]),
        },
        false => HoldingError::Conflict {
            buffer,
            users,
            formats: [first.format, second.format],
        },
    }
}

/// How a buffer is held for those that use it.
fn held(b: &BufferSpec, u: &Use) -> Result<Option<HeldBuffer>, HoldingError> {
    let numbers = match u.format {
        Some(to) => content(b, to)?.numbers,
        None => None,
    };
    let refuse = |why| HoldingError::Records {
        buffer: b.name.clone(),
        why,
    };
    let records = match &u.records {
        Some(r) => {
            record_fit::fits(b, r).map_err(refuse)?;
            let records = Records::new(r, u.format).map_err(|e| refuse(e.into()))?;
            Some(Arc::new(records))
        }
        None => None,
    };
    let any = numbers.is_some() || records.is_some();
    Ok(any.then_some(HeldBuffer { numbers, records }))
}
