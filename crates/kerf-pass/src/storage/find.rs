//! The objects of a kernel that have a format: pointer parameters, shared variables, local arrays.
use kerf_ir::kernels::{KernelInfo, reachable};
use kerf_ir::llvm::{Opcode, Value, demangle, space};

/// What holds numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// What a pointer parameter points to.
    Parameter(Value),
    /// A shared variable.
    Shared(Value),
    /// A local array.
    Local(Value),
}

impl Object {
    /// The value that is its address.
    pub fn address(self) -> Value {
        match self {
            Object::Parameter(v) | Object::Shared(v) | Object::Local(v) => v,
        }
    }
}

/// Name of a shared variable as the source has it.
pub(super) fn shared_name(g: Value) -> String {
    let name = demangle(&g.name());
    name.rsplit("::").next().unwrap_or(&name).to_owned()
}

fn local_name(a: Value) -> String {
    a.variable_name().unwrap_or_else(|| a.name())
}

/// The functions that use a global, also through constant expressions.
fn users(g: Value) -> Vec<Value> {
    let (mut out, mut queue) = (Vec::new(), g.users());
    while let Some(u) = queue.pop() {
        if u.is_instruction() {
            out.push(u.block().function());
        } else if u.is_constant() {
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
    out
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

/// The object that a plan names: a parameter by name or number, a shared or local array by name.
pub(super) fn find(kernel: Value, info: &KernelInfo, name: &str) -> Result<Object, String> {
    if let Ok(k) = name.parse::<usize>() {
        let p = kernel.params().get(k).copied();
        return p
            .filter(|p| is_buffer(kernel, k as u32, *p))
            .map(Object::Parameter)
            .ok_or_else(|| format!("parameter {k} is no pointer"));
    }
    let all = objects(kernel, info);
    let symbol = |o: &Object| matches!(o, Object::Shared(g) if g.name() == name);
    let hits: Vec<&(String, Object)> = all.iter().filter(|(n, o)| n == name || symbol(o)).collect();
    match hits.as_slice() {
        [one] => Ok(one.1),
        [] => Err(format!(
            "the kernel has no such parameter or array; it has {}",
            all.iter()
                .map(|o| o.0.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        )),
        _ => Err(
            "several parameters or arrays have this name; name a parameter by its number".into(),
        ),
    }
}
