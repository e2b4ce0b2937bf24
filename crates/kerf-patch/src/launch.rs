//! Blocks: `__launch_bounds__` at kernels, and launches of the host code whose block is written as a number.
use crate::ast::{AstNode, Via, strip};
use crate::edits::Edits;
use crate::model::DeclarationModel;
use crate::source::SourceFile;
use std::collections::BTreeMap;

/// Puts the bound of a kernel's blocks at its name. Gives why not, where it does not.
pub fn bound(
    m: &DeclarationModel,
    kernel: &AstNode,
    block: [u32; 3],
    cl: bool,
    edits: &mut Edits,
) -> Result<(), String> {
    let threads = block.iter().product::<u32>();
    let place = kernel.loc.filter(|l| l.via == Via::Text);
    let place = place.ok_or("its name is in the body of a macro")?;
    let s = m
        .sources
        .get(&place.file)
        .ok_or("its file is not to be changed")?;
    let begin = kernel.begin.map_or(place.offset, |b| b.offset);
    let clash = |_| "something else changes there".to_owned();
    if cl {
        let text = format!(
            "__attribute__((reqd_work_group_size({}, {}, {}))) ",
            block[0], block[1], block[2]
        );
        if s.slice(begin, place.offset)
            .contains("reqd_work_group_size")
        {
            return Err("it says its work-group size already".into());
        }
        return edits
            .before(place.file, place.offset, 0, &text)
            .map_err(clash);
    }
    let head = s.slice(begin, place.offset);
    if let Some(at) = head.find("__launch_bounds__") {
        let open = begin + at + head[at..].find('(').ok_or("its bound has another form")? + 1;
        let t = s
            .token(open, place.offset)
            .ok_or("its bound has another form")?;
        let old: u32 = s
            .word(t)
            .parse()
            .map_err(|_| "its bound is no number".to_owned())?;
        return match old >= threads {
            true => Ok(()),
            false => edits
                .replace(place.file, t.from, t.to, &threads.to_string())
                .map_err(clash),
        };
    }
    edits
        .before(
            place.file,
            place.offset,
            0,
            &format!("__launch_bounds__({threads}) "),
        )
        .map_err(clash)
}

/// A number that is written somewhere.
struct Written {
    file: usize,
    from: usize,
    to: usize,
    /// The name that stands for it.
    name: Option<String>,
}

/// Where the number of an expression is written: there, at a variable, at a macro.
fn number(m: &DeclarationModel, n: &AstNode) -> Option<Written> {
    let mut n = strip(n);
    while matches!(
        n.kind.as_str(),
        "CXXConstructExpr" | "CXXFunctionalCastExpr" | "CXXTemporaryObjectExpr"
    ) {
        n = strip(n.inner.first()?);
    }
    let b = n.begin?;
    let s = m.sources.get(&b.file)?;
    match n.kind.as_str() {
        "IntegerLiteral" if b.via == Via::Macro => {
            let name = s.at(b).to_owned();
            let (from, to) = macro_number(s, &name)?;
            Some(Written {
                file: b.file,
                from,
                to,
                name: Some(name),
            })
        }
        "IntegerLiteral" => Some(Written {
            file: b.file,
            from: b.offset,
            to: b.after(),
            name: None,
        }),
        "DeclRefExpr" => {
            let d = m.decls.get(&n.refers?)?;
            let init = strip(d.inner.iter().find(|c| !c.kind.ends_with("Attr"))?);
            let mut w = (init.kind == "IntegerLiteral")
                .then(|| number(m, init))
                .flatten()?;
            w.name = Some(d.name.clone());
            Some(w)
        }
        _ => None,
    }
}

/// The number of `#define NAME 128`.
fn macro_number(s: &SourceFile, name: &str) -> Option<(usize, usize)> {
    let mut found = None;
    let mut at = 0;
    for l in s.text.split_inclusive('\n') {
        let words: Vec<&str> = l.split_whitespace().collect();
        if let ["#define", n, v, ..] = words.as_slice()
            && *n == name
        {
            let value = v.trim_matches(['(', ')']);
            if found.is_some() || value.parse::<u32>().is_err() {
                return None;
            }
            let from = at + l.find(value)?;
            found = Some((from, from + value.len()));
        }
        at += l.len();
    }
    found
}

/// Whether an expression, or what its variables begin with, has a name in it.
fn mentions(m: &DeclarationModel, n: &AstNode, name: &str, depth: usize) -> bool {
    let mut found = false;
    n.walk(&mut |c| {
        if let Some(d) = c.refers.and_then(|r| m.decls.get(&r)) {
            found |= d.name == name;
            if depth > 0 && d.kind == "VarDecl" {
                found |= d.inner.iter().any(|i| mentions(m, i, name, depth - 1));
            }
        }
        if let (Some(b), "IntegerLiteral") = (c.begin, c.kind.as_str())
            && b.via == Via::Macro
        {
            found |= m.sources.get(&b.file).is_some_and(|s| s.at(b) == name);
        }
        !found
    });
    found
}

/// Changes launches of kernels to other blocks where the host code says them as numbers from which it also computes its
/// grids; tells of those that it leaves alone.
pub fn launches<'n>(
    m: &DeclarationModel<'n>,
    blocks: &BTreeMap<String, [u32; 3]>,
    edits: &mut Edits,
) -> Vec<String> {
    let mut notes = Vec::new();
    for top in &m.ast.top {
        top.walk(&mut |n| {
            if n.kind == "CUDAKernelCallExpr"
                && let Some((name, block)) = kernel_of(m, n, blocks)
                && let Some(place) = n.begin
                && let Some(s) = m.sources.get(&place.file)
            {
                let line = s.position(place.shown).0;
                if let Err(why) = launch(m, n, block, edits) {
                    let [x, y, z] = block;
                    notes.push(format!(
                        "line {line} launches {name}: {why}; it wants blocks of {x} x {y} x {z} threads"
                    ));
                }
            }
            true
        });
    }
    notes
}

/// Whether the source launches one of the kernels itself.
pub fn any_launch(m: &DeclarationModel, blocks: &BTreeMap<String, [u32; 3]>) -> bool {
    let mut found = false;
    for top in &m.ast.top {
        top.walk(&mut |n| {
            found |= n.kind == "CUDAKernelCallExpr" && kernel_of(m, n, blocks).is_some();
            !found
        });
    }
    found
}

fn kernel_of(
    m: &DeclarationModel,
    call: &AstNode,
    blocks: &BTreeMap<String, [u32; 3]>,
) -> Option<(String, [u32; 3])> {
    let c = strip(call.inner.first()?);
    let d = m.decls.get(&c.refers?)?;
    let found = blocks.get(&d.mangled).or_else(|| blocks.get(&d.name))?;
    Some((d.name.clone(), *found))
}

/// A shape of threads or blocks as it is written.
#[derive(Default)]
struct Shape<'n> {
    /// The variable that has it.
    name: Option<&'n str>,
    /// By dimension; those that are left out are 1.
    parts: Vec<&'n AstNode>,
}

/// `128`, `n`, `dim3(32, 8)`, or a variable with one of these.
fn shape<'n>(m: &DeclarationModel<'n>, n: &'n AstNode) -> Shape<'n> {
    let mut name = None;
    let mut n = strip(n);
    for _ in 0..8 {
        let made = matches!(
            n.kind.as_str(),
            "CXXConstructExpr"
                | "CXXFunctionalCastExpr"
                | "CXXTemporaryObjectExpr"
                | "InitListExpr"
        );
        let init = match n.kind.as_str() {
            "DeclRefExpr" if is_dim3(n) => n.refers.and_then(|r| m.decls.get(&r)),
            _ => None,
        };
        match (made, init) {
            (true, _) if n.inner.len() != 1 || !is_dim3(&n.inner[0]) => {
                let parts = n.inner.iter().filter(|a| a.kind != "CXXDefaultArgExpr");
                return Shape {
                    name,
                    parts: parts.collect(),
                };
            }
            (true, _) => n = strip(&n.inner[0]),
            (_, Some(d)) => {
                name = Some(d.name.as_str());
                match d.inner.iter().find(|c| !c.kind.ends_with("Attr")) {
                    Some(i) => n = strip(i),
                    None => return Shape::default(),
                }
            }
            _ => break,
        }
    }
    Shape {
        name,
        parts: vec![n],
    }
}

fn is_dim3(n: &AstNode) -> bool {
    n.plain.ends_with("dim3")
}

/// The expression that an integer variable begins with, or the expression itself.
fn begun<'n>(m: &DeclarationModel<'n>, n: &'n AstNode) -> &'n AstNode {
    let s = strip(n);
    let d = s
        .refers
        .and_then(|r| m.decls.get(&r))
        .filter(|d| d.kind == "VarDecl");
    let init = d.and_then(|d| d.inner.iter().find(|c| !c.kind.ends_with("Attr")));
    init.map_or(s, strip)
}

fn launch<'n>(
    m: &DeclarationModel<'n>,
    call: &'n AstNode,
    block: [u32; 3],
    edits: &mut Edits,
) -> Result<(), String> {
    let by_hand = || "its block is not written in numbers".to_owned();
    let config = call
        .inner
        .iter()
        .skip(1)
        .find(|c| c.kind == "CallExpr")
        .ok_or_else(by_hand)?;
    let [_, grid, threads, ..] = config.inner.as_slice() else {
        return Err(by_hand());
    };
    let (grid_shape, threads) = (shape(m, grid), shape(m, threads));
    let mut tried = edits.clone();
    for (d, new) in block.into_iter().enumerate() {
        let Some(written) = threads.parts.get(d) else {
            match new {
                1 => continue,
                _ => return Err(by_hand()),
            }
        };
        let w = number(m, written).ok_or_else(by_hand)?;
        let s = m.sources.get(&w.file).ok_or_else(by_hand)?;
        let clash = |_| "something else changes there".to_owned();
        let old: u32 = s.slice(w.from, w.to).parse().map_err(|_| by_hand())?;
        if old == new {
            continue;
        }
        tried
            .replace(w.file, w.from, w.to, &new.to_string())
            .map_err(clash)?;
        let Some(blocks) = grid_shape.parts.get(d) else {
            return Err("its grid has fewer dimensions than its block".into());
        };
        // The grid may be computed from the block, or from the name of its number.
        let names = [threads.name, w.name.as_deref()];
        if names.iter().flatten().any(|n| mentions(m, blocks, n, 2)) {
            continue;
        }
        if let Some(name) = &w.name {
            return Err(format!("its grid does not follow from {name}"));
        }
        // `<<<(n + 127) / 128, 128>>>`
        let mut found = Vec::new();
        begun(m, blocks).walk(&mut |n| {
            if let (Some(b), "IntegerLiteral", Ok(v)) =
                (n.begin, n.kind.as_str(), n.value.parse::<u32>())
                && b.via == Via::Text
            {
                found.push((b, v));
            }
            true
        });
        if !found.iter().any(|f| f.1 == old) {
            return Err("its grid does not follow from its block".into());
        }
        for (b, v) in found {
            let text = match v {
                v if v == old => new,
                v if v + 1 == old => new - 1,
                _ => continue,
            };
            tried
                .replace(b.file, b.offset, b.after(), &text.to_string())
                .map_err(clash)?;
        }
    }
    *edits = tried;
    Ok(())
}
