//! A PTX file as an LLVM module.
use super::file_parser::parse_file;
use super::file_syntax::PtxFile;
use super::function::{FileContext, RefusedStatement, define};
use super::lexer::Place;
use super::lifter::Symbols;
use super::refusal::Refusal;
use super::signature::{Signatures, declare};
use super::source_lines::SourceLines;
use super::{Unlifted, call_graph, element_types, pointers, variables};
use kerf_llvm::{Builder, LlvmError, Module, PassOptions, TargetMachine, Value};

/// Why a PTX file did not become a module.
#[derive(Debug, thiserror::Error)]
pub enum PtxError {
    /// The text is not PTX, or declares what is not supported.
    #[error("line {line}, column {column}: {why}")]
    Text {
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What is wrong.
        why: String,
    },
    /// LLVM refused what was made of it: a fault of this program.
    #[error("the module that was made of it is not valid: {0}")]
    Module(#[from] LlvmError),
}

fn at(place: Place, why: Refusal) -> PtxError {
    PtxError::Text {
        line: place.line,
        column: place.column,
        why: why.0,
    }
}

/// A file as a module, and the statements that were refused. A function with such a statement has no other body than
/// these, as inline assembly: whoever looks at it refuses it by their names and lines.
pub fn translate(text: &str, path: &str) -> Result<(Module, Vec<Unlifted>), PtxError> {
    let file = parse_file(text).map_err(|(place, why)| at(place, why))?;
    let quoted = path.replace('\\', "\\5C").replace('"', "\\22");
    let head = format!("source_filename = \"{quoted}\"\ntarget triple = \"nvptx64-nvidia-cuda\"\n");
    let m = Module::parse(head.as_bytes(), path)?;
    let machine = TargetMachine::nvptx("sm_90")?;
    machine.adopt(&m);
    let symbols = module_variables(&m, &file)?;
    let signatures = functions(&m, &file)?;
    let unlifted = bodies(&m, &file, path, &symbols, &signatures)?;
    m.verify()?;
    call_graph::inline_everywhere(&m);
    let ssa = "always-inline,globaldce,function(sroa,early-cse,adce)";
    machine.run_passes(&m, ssa, PassOptions::default())?;
    // Pointers that were kept in local memory are seen once its addresses are.
    for _ in 0..2 {
        for f in file.functions.iter().filter(|f| f.entry) {
            if let Some(kernel) = m.function(&f.name) {
                pointers::recover(f, kernel);
            }
        }
        machine.run_passes(
            &m,
            "function(adce,sroa,early-cse,adce)",
            PassOptions::default(),
        )?;
    }
    for f in &file.functions {
        // Nothing is known of the parameters of a kernel that was refused.
        let refused = unlifted.iter().any(|u| u.function == f.name);
        if let Some(kernel) = m.function(&f.name).filter(|_| f.entry && !refused) {
            pointers::settle_parameters(&m, f, kernel);
        }
        if let Some(kernel) = m.function(&f.name).filter(|_| f.entry) {
            element_types::settle_buffers(&m, kernel);
        }
    }
    machine.run_passes(&m, "function(adce)", PassOptions::default())?;
    element_types::settle_objects(&m);
    m.verify()?;
    Ok((m, unlifted))
}

fn module_variables(m: &Module, file: &PtxFile) -> Result<Symbols, PtxError> {
    let mut symbols = Symbols::new();
    for v in &file.variables {
        // A declaration may come before or after the definition.
        if symbols.contains_key(&v.name) && v.visibility == super::file_syntax::Visibility::Extern {
            continue;
        }
        let g = variables::define(m, v, &v.name).map_err(|why| at(v.place, why))?;
        if let Some(old) = symbols.insert(v.name.clone(), g) {
            if !old.is_declaration() {
                let why = Refusal(format!("{} is defined twice", v.name));
                return Err(at(v.place, why));
            }
            old.delete_global();
            g.set_name(&v.name);
        }
    }
    for v in &file.variables {
        if let Some(g) = symbols.get(&v.name).filter(|g| !g.is_declaration()) {
            let find = |n: &str| symbols.get(n).copied();
            variables::fill(m, v, *g, find).map_err(|why| at(v.place, why))?;
        }
    }
    Ok(symbols)
}

fn functions(m: &Module, file: &PtxFile) -> Result<Signatures, PtxError> {
    let mut out = Signatures::default();
    for f in &file.functions {
        match out.all.get(&f.name) {
            Some(old) if old.text.body.is_some() && f.body.is_some() => {
                let why = Refusal(format!("{} is defined twice", f.name));
                return Err(at(f.place, why));
            }
            Some(_) if f.body.is_none() => continue,
            Some(old) => old.f.delete_function(),
            None => {}
        }
        let declared = declare(m, f).map_err(|why| at(f.place, why))?;
        out.all.insert(f.name.clone(), declared);
    }
    Ok(out)
}

fn bodies(
    m: &Module,
    file: &PtxFile,
    path: &str,
    symbols: &Symbols,
    signatures: &Signatures,
) -> Result<Vec<Unlifted>, PtxError> {
    let mut lines = SourceLines::new(m, path, &file.files);
    let context = FileContext {
        m,
        symbols,
        signatures,
    };
    let mut unlifted = Vec::new();
    for text in file.functions.iter().filter(|f| f.body.is_some()) {
        let Some(declared) = signatures.all.get(&text.name) else {
            continue;
        };
        let Err(refused) = define(&context, text, declared.f, &mut lines) else {
            continue;
        };
        refuse_body(m, declared.f, &refused, &mut lines);
        unlifted.extend(refused.into_iter().map(|r| Unlifted {
            function: text.name.clone(),
            text: refused_text(&r.text),
            reason: r.why,
            location: Some(lines.shown(r.at.place)),
            whole_function: true,
        }));
    }
    Ok(unlifted)
}

/// The inline assembly that stands for a refused statement.
fn refused_text(statement: &str) -> String {
    format!("{}{statement}", super::REFUSED)
}

/// Makes the refused statements all that a function does.
fn refuse_body(m: &Module, f: Value, refused: &[RefusedStatement], lines: &mut SourceLines) {
    f.delete_body();
    lines.attach_again(f);
    let end = Builder::at_end(m.append_block(f, "")).unreachable();
    for r in refused {
        lines.locate(end, r.at.place, None);
        Builder::before(end).asm_effect(&refused_text(&r.text));
    }
    Builder::before(end).intrinsic("llvm.trap", &[], &[]);
}
