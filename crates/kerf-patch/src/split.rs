//! Functions that the plan computes in one format for some of their callers and in another for others.
//!
//! Source can say that with a second function. The copies are made first, in a program that computes what the user's
//! does; it is compiled, and where its kernels have the same operations in the same order the plan is about it too.
use crate::PatchError;
use crate::ast::{self, Ast, AstNode, TextRange, Via};
use crate::edits::Edits;
use crate::marks::{self, Place};
use crate::model::DeclarationModel;
use crate::source::SourceFile;
use crate::tries;
use kerf_clang::compile::Toolchain;
use kerf_ir::program::{self, Program};
use kerf_ir::sites;
use kerf_llvm::Module;
use kerf_num::Format;
use kerf_pass::{Plan, SiteFormat};
use std::collections::BTreeMap;
use std::path::Path;

/// Rounds of copying: a function that a copy calls may have to be copied too.
const ROUNDS: usize = 4;

/// A program with copies of functions.
pub struct Split {
    /// Its tree.
    pub ast: Ast,
    /// Its files: paths of the user's, texts with the copies.
    pub sources: BTreeMap<usize, SourceFile>,
    /// Its code.
    pub program: Program,
    /// The copies, by name.
    pub copies: Vec<String>,
}

/// A program and the plan for which its functions are copied.
pub struct SplitRequest<'g> {
    /// Compiler.
    pub tools: &'g Toolchain,
    /// Folder that relative paths are of.
    pub folder: &'g Path,
    /// The main source, whole path.
    pub main: &'g Path,
    /// Compiler flags.
    pub flags: &'g [String],
    /// The kernels, by name and symbol.
    pub kernels: &'g [(String, String)],
    /// The plan.
    pub plan: &'g Plan,
}

/// A function that could be copied: its bytes.
struct Copyable<'a> {
    node: &'a AstNode,
    range: TextRange,
}

fn copyable<'a>(model: &DeclarationModel<'a>) -> Vec<Copyable<'a>> {
    let mut out = Vec::new();
    for f in &model.functions {
        let (Some(b), Some(e), Some(loc)) = (f.begin, f.end, f.loc) else {
            continue;
        };
        // `__device__` is a macro, and where it is written is where the function begins.
        let text = b.via != Via::Argument
            && [e, loc]
                .iter()
                .all(|s| s.via == Via::Text && s.file == b.file);
        let Some(s) = model.sources.get(&b.file) else {
            continue;
        };
        // A member belongs to its class, and a template has its own ways.
        let plain = f.kind == "FunctionDecl" && s.at(loc) == f.name && !model.is_template(f);
        if text && plain && !mentions(f, &f.name) && !model.is_kernel(f) {
            out.push(Copyable {
                node: f,
                range: TextRange {
                    to: e.after(),
                    ..b.range()
                },
            });
        }
    }
    out
}

/// Where in a text a place is; none for what the compiler made, which has no line or no column.
fn offset(text: &SourceFile, line: u32, column: u32) -> Option<usize> {
    (line > 0).then_some(())?;
    Some(text.line_start(line) + (column as usize).checked_sub(1)?)
}

/// Operations in f64 of a function as it is called at one place.
#[derive(Clone, Copy, Default)]
struct CallCount {
    /// Those that the plan narrows.
    narrowed: usize,
    operations: usize,
}

impl CallCount {
    /// Is most of what a call computes narrowed?
    fn is_narrow(&self) -> bool {
        2 * self.narrowed >= self.operations && self.narrowed > 0
    }
}

/// Calls of each function, by place.
fn calls(
    model: &DeclarationModel,
    module: &Module,
    request: &SplitRequest,
    functions: &[Copyable],
) -> Vec<BTreeMap<Place, CallCount>> {
    let files = model.ast.file_numbers();
    let mut counts = vec![BTreeMap::<Place, CallCount>::new(); functions.len()];
    for (name, symbol) in request.kernels {
        let Some(kernel) = module.function(symbol) else {
            continue;
        };
        let plan = request.plan.kernels.get(name);
        let map = sites::sites(module, kernel);
        for (site, instruction) in map.sites.iter().zip(&map.instructions) {
            if site.format != Format::F64 || marks::is_memory(&site.op) {
                continue;
            }
            let narrow = matches!(
                plan.and_then(|p| p.sites.get(&site.id)),
                Some(SiteFormat::F32 | SiteFormat::F16 | SiteFormat::Bf16)
            );
            let chain = instruction.location_chain().unwrap_or_default();
            for pair in marks::places(&chain, &files).windows(2) {
                let (file, line, column) = pair[0];
                let text = model.sources.get(&file);
                let Some(at) = text.and_then(|t| offset(t, line, column)) else {
                    continue;
                };
                let is_around =
                    |TextRange {
                         file: own,
                         from,
                         to,
                     }: TextRange| { own == file && (from..to).contains(&at) };
                if let Some(k) = functions.iter().position(|f| is_around(f.range)) {
                    let count = counts[k].entry(pair[1]).or_default();
                    count.narrowed += usize::from(narrow);
                    count.operations += 1;
                }
            }
        }
    }
    counts
}

/// The name of a copy.
fn fresh(name: &str, sources: &BTreeMap<usize, SourceFile>) -> String {
    let mut new = format!("{name}_f32");
    while sources.values().any(|s| s.text.contains(&new)) {
        new.push('_');
    }
    new
}

/// Does a function refer to another by its name?
fn mentions(function: &AstNode, name: &str) -> bool {
    let mut found = false;
    function.walk(&mut |n| {
        found |= n.refers_name == name;
        !found
    });
    found
}

/// One round: texts with copies, and their names; none where nothing is to be copied.
fn round(
    model: &DeclarationModel,
    module: &Module,
    request: &SplitRequest,
) -> Option<(BTreeMap<usize, String>, Vec<String>)> {
    let functions = copyable(model);
    let counts = calls(model, module, request, &functions);
    let mixed: Vec<(&Copyable, &BTreeMap<Place, CallCount>)> = functions
        .iter()
        .zip(&counts)
        .filter(|(_, calls)| {
            let mut narrow = calls.values().map(CallCount::is_narrow);
            narrow.clone().any(|n| n) && !narrow.all(|n| n)
        })
        .collect();
    let mut edits = Edits::default();
    let mut copies = Vec::new();
    for (function, calls) in &mixed {
        let name = function.node.name.as_str();
        // Those that others of them call wait for the next round.
        let is_mixed = |f: &Copyable| {
            mixed
                .iter()
                .any(|(other, _)| other.node.name == f.node.name)
        };
        let mut callers = functions.iter().filter(|f| mentions(f.node, name));
        if callers.any(is_mixed) {
            continue;
        }
        let new = fresh(name, model.sources);
        let narrow = calls.iter().filter(|c| c.1.is_narrow()).map(|c| *c.0);
        let mut tried = edits.clone();
        let renamed = narrow.filter(|call| rename_call(model, *call, name, &new, &mut tried));
        if renamed.count() > 0 && copy(model, function, &new, &mut tried).is_some() {
            edits = tried;
            copies.push(new);
        }
    }
    (!copies.is_empty()).then(|| (crate::edits::patched(&edits, model.sources), copies))
}

/// Calls the copy where a call of the function is written.
fn rename_call(
    model: &DeclarationModel,
    (file, line, column): Place,
    name: &str,
    new: &str,
    edits: &mut Edits,
) -> bool {
    let Some(text) = model.sources.get(&file) else {
        return false;
    };
    let Some(from) = offset(text, line, column) else {
        return false;
    };
    let to = from + name.len();
    let rest = text.slice(to, to + 1);
    let whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let written = text.slice(from, to) == name && whole;
    written && edits.replace(TextRange { file, from, to }, new).is_ok()
}

/// Puts a copy of a function after it.
fn copy(model: &DeclarationModel, function: &Copyable, new: &str, edits: &mut Edits) -> Option<()> {
    let TextRange { file, from, to } = function.range;
    let (source, name) = (model.sources.get(&file)?, function.node.loc?);
    let head = source.slice(from, name.offset);
    let rest = source.slice(name.after(), to);
    edits
        .after(file, to, 0, &format!("\n\n{head}{new}{rest}"))
        .ok()
}

/// Operations of the kernels in order: a plan is about two programs for which they are the same.
fn signature(module: &Module, kernels: &[(String, String)]) -> Option<Vec<(String, Format)>> {
    let mut out = Vec::new();
    for (_, symbol) in kernels {
        let map = sites::sites(module, module.function(symbol)?);
        out.extend(map.sites.iter().map(|s| (s.op.clone(), s.format)));
    }
    Some(out)
}

/// Copies functions that the plan computes in two formats; none where there are none or it cannot be done.
pub fn split(
    request: &SplitRequest,
    ast: &Ast,
    sources: &BTreeMap<usize, SourceFile>,
    module: &Module,
) -> Result<Option<Split>, PatchError> {
    let symbols: Vec<String> = request.kernels.iter().map(|k| k.1.clone()).collect();
    let before = signature(module, request.kernels);
    let mut found: Option<Split> = None;
    for _ in 0..ROUNDS {
        let (sources, next) = match &found {
            Some(f) => {
                let module = f.program.module();
                let module = module.map_err(|e| PatchError::Clang(e.to_string()))?;
                let model = DeclarationModel::new(&f.ast, &f.sources, &symbols);
                (&f.sources, round(&model, &module, request))
            }
            None => {
                let model = DeclarationModel::new(ast, sources, &symbols);
                (sources, round(&model, module, request))
            }
        };
        let Some((texts, copies)) = next else { break };
        let Some(mut split) = compile(request, sources, &texts, before.as_ref())? else {
            break;
        };
        split.copies = found.take().map_or_else(Vec::new, |f| f.copies);
        split.copies.extend(copies);
        found = Some(split);
    }
    Ok(found)
}

/// Compiles files with copies; none where they do not compile or have other operations than `before`.
fn compile(
    request: &SplitRequest,
    sources: &BTreeMap<usize, SourceFile>,
    texts: &BTreeMap<usize, String>,
    before: Option<&Vec<(String, Format)>>,
) -> Result<Option<Split>, PatchError> {
    let dir = tempfile::tempdir().map_err(PatchError::Temporary)?;
    let root = std::fs::canonicalize(dir.path()).map_err(PatchError::Temporary)?;
    let main = tries::mirror(&root, request.main, sources, texts).map_err(PatchError::Temporary)?;
    let mut flags = request.flags.to_vec();
    if let Some(d) = request.main.parent() {
        flags.extend(["-iquote".to_owned(), d.display().to_string()]);
    }
    let Ok(program) = program::load(request.tools, &main, &flags) else {
        return Ok(None);
    };
    let module = program.module();
    if !module.is_ok_and(|m| signature(&m, request.kernels).as_ref() == before) {
        return Ok(None);
    }
    let ast = ast::parse(request.tools, request.folder, &main, &flags)?;
    let mut own: BTreeMap<usize, SourceFile> = BTreeMap::new();
    for (k, s) in sources {
        let place = tries::place(&root, request.main, sources, &s.path);
        if let Some(number) = ast.files.iter().position(|f| *f == place) {
            let mut new = SourceFile::new(&s.path, texts.get(k).unwrap_or(&s.text).clone());
            new.was.clone_from(&s.was);
            own.insert(number, new);
        }
    }
    Ok(Some(Split {
        ast,
        sources: own,
        program,
        copies: Vec::new(),
    }))
}
