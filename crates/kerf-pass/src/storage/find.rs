//! The objects of a kernel that have a format: pointer parameters, shared variables, local arrays, and the program's
//! `__constant__` and `__device__` variables.
use super::refusal::StorageRefusal;
use super::steps::narrow_type;
use kerf_ir::kernels::{KernelInfo, ParamKind, ScalarKind, reachable, used_globals};
use kerf_llvm::{Module, Opcode, Type, Value, demangle, space};
use kerf_num::Format;

/// What holds numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// What a pointer parameter points to.
    Parameter(Value),
    /// A shared variable.
    Shared(Value),
    /// A local array.
    Local(Value),
    /// A `__constant__` or `__device__` variable.
    Variable(Value),
}

impl Object {
    /// The value that is its address.
    pub fn address(self) -> Value {
        match self {
            Object::Parameter(v) | Object::Shared(v) | Object::Local(v) | Object::Variable(v) => v,
        }
    }
}

/// Name of a shared variable as the source has it.
pub(super) fn shared_name(g: Value) -> String {
    let name = demangle(&g.name());
    name.rsplit("::").next().unwrap_or(&name).to_owned()
}

/// What kind of variable the plan's name of one begins with. In generic memory there are constants of functions only.
fn kind_of(space: u32) -> Option<&'static str> {
    match space {
        space::CONSTANT | space::GENERIC => Some("constant"),
        space::GLOBAL => Some("device"),
        _ => None,
    }
}

/// Variables of the program, with their address spaces.
fn variables(kernel: Value) -> Vec<(String, u32)> {
    let all = kernel.module_globals().into_iter();
    all.filter(|g| !g.is_declaration())
        .map(|g| (g.name(), g.ty().space()))
        .collect()
}

/// The symbol of the variable that a plan names, `constant NAME` or `device NAME`, among those of a program (symbol and
/// address space). NAME is without namespaces where that is enough, and the symbol otherwise.
pub fn variable<'a>(key: &str, all: impl Iterator<Item = (&'a str, u32)>) -> Option<&'a str> {
    let (kind, name) = key.split_once(' ')?;
    let mine: Vec<&str> = all
        .filter(|(_, space)| kind_of(*space) == Some(kind))
        .map(|v| v.0)
        .collect();
    if let Some(symbol) = mine.iter().copied().find(|s| *s == name) {
        return Some(symbol);
    }
    let mut hits = mine.into_iter().filter(|s| short(s) == name);
    hits.next().filter(|_| hits.next().is_none())
}

/// Whether a plan's name is one of a variable of the program.
pub fn is_variable(key: &str) -> bool {
    key.split_once(' ')
        .is_some_and(|(kind, _)| matches!(kind, "constant" | "device"))
}

/// What the source calls the table that a function's constant array is, `__const.FUNCTION.NAME` and a number behind it
/// where there are several. One that the compiler made of a `switch` has its own name.
fn table(symbol: &str) -> Option<&str> {
    if symbol.starts_with("switch.table.") {
        return Some("switch.table");
    }
    let mut parts = symbol.strip_prefix("__const.")?.rsplit('.');
    parts.find(|p| !p.bytes().all(|b| b.is_ascii_digit()))
}

fn short(symbol: &str) -> String {
    if let Some(name) = table(symbol) {
        return name.to_owned();
    }
    let name = demangle(symbol);
    name.rsplit("::").next().unwrap_or(&name).to_owned()
}

/// Variables of the program that a kernel uses, as a plan names them.
fn variables_of(kernel: Value) -> Vec<(String, Object)> {
    let all = variables(kernel);
    let mut out = Vec::new();
    for g in used_globals(kernel) {
        let symbol = g.name();
        // What the compiler made is no variable of the source, but for constant arrays of functions.
        let made = match g.ty().space() {
            space::GENERIC => table(&symbol).is_none() || !g.is_constant_global(),
            _ => [".", "llvm."].iter().any(|p| symbol.starts_with(p)) || symbol.is_empty(),
        };
        let Some(kind) = kind_of(g.ty().space()).filter(|_| !made && !g.is_declaration()) else {
            continue;
        };
        let key = format!("{kind} {}", short(&symbol));
        let pairs = || all.iter().map(|(s, space)| (s.as_str(), *space));
        let key = match variable(&key, pairs()) == Some(symbol.as_str()) {
            true => key,
            false => format!("{kind} {symbol}"),
        };
        out.push((key, Object::Variable(g)));
    }
    out
}

fn local_name(a: Value) -> String {
    a.variable_name().unwrap_or_else(|| a.name())
}

/// The functions that use a global, also through constant expressions.
fn users(g: Value) -> Vec<Value> {
    let (mut out, mut queue) = (Vec::new(), g.users());
    let mut seen: Vec<Value> = Vec::new();
    while let Some(u) = queue.pop() {
        if u.is_instruction() {
            out.push(u.block().function());
        } else if u.is_constant() && !seen.contains(&u) {
            seen.push(u);
            queue.extend(u.users());
        }
    }
    out
}

fn shared_of(kernel: Value) -> Vec<Value> {
    let reach = reachable(kernel);
    let mut out: Vec<Value> = Vec::new();
    for f in &reach {
        for op in f.instructions().into_iter().flat_map(Value::operands) {
            let mut queue = vec![op];
            while let Some(v) = queue.pop() {
                if v.is_global_var() {
                    if v.ty().space() == space::SHARED && !out.contains(&v) {
                        out.push(v);
                    }
                } else if v.const_opcode().is_some() {
                    queue.extend(v.operands());
                }
            }
        }
    }
    out.retain(|g| users(*g).iter().any(|f| reach.contains(f)));
    out
}

/// Is a parameter a pointer, and no struct that is passed by value?
fn is_buffer(kernel: Value, k: u32, v: Value) -> bool {
    v.ty().is_ptr() && kernel.byval(k).is_none()
}

/// All objects of a kernel, with the names that a plan calls them by.
pub fn objects(kernel: Value, info: &KernelInfo) -> Vec<(String, Object)> {
    let mut out: Vec<(String, Object)> = (0u32..)
        .zip(kernel.params())
        .zip(&info.params)
        .filter(|((k, v), _)| is_buffer(kernel, *k, *v))
        .map(|((_, v), p)| (p.name.clone(), Object::Parameter(v)))
        .collect();
    out.extend(
        shared_of(kernel)
            .into_iter()
            .map(|g| (shared_name(g), Object::Shared(g))),
    );
    out.extend(
        kernel
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMAlloca))
            .map(|a| (local_name(a), Object::Local(a))),
    );
    number_twins(&mut out);
    // Last, so that numbers of twins are what they would be without.
    out.extend(variables_of(kernel));
    out
}

/// The one format of all numbers that an object is declared to hold; none if it is declared to hold anything else, or
/// nothing is known.
pub(super) fn declared(m: &Module, kernel: Value, info: &KernelInfo, o: Object) -> Option<Format> {
    let of_type = |t: Type| {
        let narrower = [(Format::F64, Format::F32), (Format::F32, Format::F16)];
        let all = narrower.into_iter();
        all.map(|(from, to)| narrow_type(m, t, from, to.into()).map(|_| from))
            .find_map(|f| f)
    };
    match o {
        Object::Parameter(p) => {
            let k = kernel.params().iter().position(|q| *q == p)?;
            let ParamKind::Pointer { element, .. } =
                &info.params.get(k).filter(|p| !p.inferred)?.kind
            else {
                return None;
            };
            let ScalarKind::Float(f) = element.first()?.kind else {
                return None;
            };
            let all = element.iter().all(|s| s.kind == ScalarKind::Float(f));
            all.then_some(f)
        }
        Object::Shared(g) | Object::Variable(g) => of_type(g.global_type()),
        Object::Local(a) => of_type(a.allocated_type()),
    }
}

/// Gives objects of the same name (a function's array, once for each place where it was inlined)
/// different ones: `v`, `v.2`, `v.3`.
fn number_twins(all: &mut [(String, Object)]) {
    for k in 0..all.len() {
        let taken = |all: &[(String, Object)], name: &str| all[..k].iter().any(|o| o.0 == name);
        if taken(all, &all[k].0) {
            let name = (2..)
                .map(|n| format!("{}.{n}", all[k].0))
                .find(|name| !taken(all, name) && !all[k..].iter().any(|o| o.0 == *name));
            all[k].0 = name.unwrap_or_default();
        }
    }
}

/// The object that a plan names: a parameter by name or number, a shared or local array by name, a variable of the program
/// as `constant NAME` or `device NAME`.
pub(super) fn find(kernel: Value, info: &KernelInfo, name: &str) -> Result<Object, StorageRefusal> {
    if let Ok(k) = name.parse::<usize>() {
        let p = kernel.params().get(k).copied();
        return p
            .filter(|p| is_buffer(kernel, k as u32, *p))
            .map(Object::Parameter)
            .ok_or(StorageRefusal::NoPointer { parameter: k });
    }
    let all = objects(kernel, info);
    if is_variable(name) {
        let pairs = variables(kernel);
        let symbol = variable(name, pairs.iter().map(|(s, space)| (s.as_str(), *space)));
        let hit = all
            .iter()
            .find(|(_, o)| matches!(o, Object::Variable(g) if Some(g.name().as_str()) == symbol));
        if let Some((_, o)) = hit {
            return Ok(*o);
        }
    }
    let symbol = |o: &Object| matches!(o, Object::Shared(g) if g.name() == name);
    let hits: Vec<&(String, Object)> = all.iter().filter(|(n, o)| n == name || symbol(o)).collect();
    match hits.as_slice() {
        [one] => Ok(one.1),
        [] => Err(StorageRefusal::Unknown {
            have: all.into_iter().map(|o| o.0).collect(),
        }),
        _ => Err(StorageRefusal::Ambiguous),
    }
}
