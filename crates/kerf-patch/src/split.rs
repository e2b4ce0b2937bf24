//! Functions that the plan computes in one format for some of their callers and in another for others.
//!
//! Source can say that with a second function. The copies are made first, in a program that computes what the user's
//! does; it is compiled, and where its kernels have the same operations in the same order the plan is about it too.
use crate::PatchError;
use crate::ast::{self, Ast, AstNode, Via};
use crate::edits::Edits;
use crate::model::DeclarationModel;
use crate::source::SourceFile;
use crate::tries;
use kerf_clang::compile::Toolchain;
use kerf_ir::program::{self, Program};
use kerf_ir::sites;
use kerf_llvm::Module;
use kerf_num::Format;
use kerf_pass::{Plan, SiteFormat};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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

/// What is split.
pub struct Given<'g> {
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

/// A place: file, line, column.
type Place = (usize, u32, u32);

/// Places of an instruction in the user's files, the innermost first.
fn places(chain: &str, files: &BTreeMap<&PathBuf, usize>) -> Vec<Place> {
    let place = |l: &str| {
        let mut parts = l.split('\t');
        let file = *files.get(&PathBuf::from(parts.next()?))?;
        Some((
            file,
            parts.next()?.parse().ok()?,
            parts.next()?.parse().ok()?,
        ))
    };
    chain.lines().filter_map(place).collect()
}

/// A function that could be copied: its bytes.
struct Copyable<'a> {
    node: &'a AstNode,
    file: usize,
    from: usize,
    to: usize,
}

fn copyable<'a>(
    m: &DeclarationModel<'a>,
    sources: &BTreeMap<usize, SourceFile>,
) -> Vec<Copyable<'a>> {
    let mut out = Vec::new();
    for f in &m.functions {
        let (Some(b), Some(e), Some(loc)) = (f.begin, f.end, f.loc) else {
            continue;
        };
        // `__device__` is a macro, and where it is written is where the function begins.
        let text = b.via != Via::Argument
            && [e, loc]
                .iter()
                .all(|s| s.via == Via::Text && s.file == b.file);
        let Some(s) = sources.get(&b.file) else {
            continue;
        };
        // A member belongs to its class, and a template has its own ways.
        let plain = f.kind == "FunctionDecl" && s.at(loc) == f.name && !m.is_template(f);
        let mut recursive = false;
        f.walk(&mut |n| {
            recursive |= n.refers_name == f.name;
            !recursive
        });
        if text && plain && !recursive && !m.is_kernel(f) {
            out.push(Copyable {
                node: f,
                file: b.file,
                from: b.offset,
                to: e.after(),
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

/// Calls of each function, by place: how many of its operations the plan narrows there, and how many there are.
fn calls(
    module: &Module,
    ast: &Ast,
    sources: &BTreeMap<usize, SourceFile>,
    given: &Given,
    all: &[Copyable],
) -> Vec<BTreeMap<Place, (usize, usize)>> {
    let files: BTreeMap<&PathBuf, usize> =
        ast.files.iter().enumerate().map(|(k, f)| (f, k)).collect();
    let mut out: Vec<BTreeMap<Place, (usize, usize)>> = vec![BTreeMap::new(); all.len()];
    for (name, symbol) in given.kernels {
        let Some(f) = module.function(symbol) else {
            continue;
        };
        let plan = given.plan.kernels.get(name);
        let map = sites::sites(module, f);
        for (s, i) in map.sites.iter().zip(&map.instructions) {
            if s.format != Format::F64 || crate::marks::is_memory(&s.op) {
                continue;
            }
            let to = plan.and_then(|p| p.sites.get(&s.id));
            let narrow = matches!(
                to,
                Some(SiteFormat::F32 | SiteFormat::F16 | SiteFormat::Bf16)
            );
            let chain = places(&i.location_chain().unwrap_or_default(), &files);
            for pair in chain.windows(2) {
                let (file, line, column) = pair[0];
                let Some(text) = sources.get(&file) else {
                    continue;
                };
                let Some(at) = offset(text, line, column) else {
                    continue;
                };
                let inside = |c: &Copyable| c.file == file && (c.from..c.to).contains(&at);
                if let Some(k) = all.iter().position(inside) {
                    let (some, of) = out[k].entry(pair[1]).or_default();
                    *some += usize::from(narrow);
                    *of += 1;
                }
            }
        }
    }
    out
}

/// Is most of what a call computes narrowed?
fn is_narrow((some, of): &(usize, usize)) -> bool {
    2 * some >= *of && *some > 0
}

/// The name of a copy.
fn fresh(name: &str, sources: &BTreeMap<usize, SourceFile>) -> String {
    let mut new = format!("{name}_f32");
    while sources.values().any(|s| s.text.contains(&new)) {
        new.push('_');
    }
    new
}

/// One round: texts with copies, and their names; none where nothing is to be copied.
fn round(
    m: &DeclarationModel,
    module: &Module,
    ast: &Ast,
    sources: &BTreeMap<usize, SourceFile>,
    given: &Given,
) -> Option<(BTreeMap<usize, String>, Vec<String>)> {
    let all = copyable(m, sources);
    let wanted = calls(module, ast, sources, given, &all);
    let mixed: Vec<usize> = (0..all.len())
        .filter(|k| wanted[*k].values().any(is_narrow) && !wanted[*k].values().all(is_narrow))
        .collect();
    let names: BTreeSet<&str> = mixed.iter().map(|k| all[*k].node.name.as_str()).collect();
    let mut edits = Edits::default();
    let mut copies = Vec::new();
    for k in mixed {
        let c = &all[k];
        // Those that others of them call wait for the next round.
        let called = |o: &&Copyable| {
            let mut found = false;
            o.node.walk(&mut |n| {
                found |= n.refers_name == c.node.name;
                !found
            });
            found && names.contains(o.node.name.as_str())
        };
        if all.iter().find(called).is_some() {
            continue;
        }
        let (s, loc) = (sources.get(&c.file)?, c.node.loc?);
        let new = fresh(&c.node.name, sources);
        let mut tried = edits.clone();
        let mut done = 0;
        for ((file, line, column), _) in wanted[k].iter().filter(|w| is_narrow(w.1)) {
            let Some(text) = sources.get(file) else {
                continue;
            };
            let Some(at) = offset(text, *line, *column) else {
                continue;
            };
            let end = at + c.node.name.len();
            let whole = !text
                .slice(end, end + 1)
                .starts_with(|c: char| c.is_alphanumeric() || c == '_');
            if text.slice(at, end) == c.node.name && whole {
                done += usize::from(tried.replace(*file, at, end, &new).is_ok());
            }
        }
        let copy = format!(
            "\n\n{}{new}{}",
            s.slice(c.from, loc.offset),
            s.slice(loc.after(), c.to)
        );
        if done > 0 && tried.after(c.file, c.to, 0, &copy).is_ok() {
            edits = tried;
            copies.push(new);
        }
    }
    if copies.is_empty() {
        return None;
    }
    Some((crate::edits::patched(&edits, sources), copies))
}

/// Operations of the kernels in order: what has to be the same for a plan to be about both.
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
    given: &Given,
    ast: &Ast,
    sources: &BTreeMap<usize, SourceFile>,
    module: &Module,
) -> Result<Option<Split>, PatchError> {
    let symbols: Vec<String> = given.kernels.iter().map(|k| k.1.clone()).collect();
    let before = signature(module, given.kernels);
    let mut found: Option<Split> = None;
    for _ in 0..ROUNDS {
        let next = {
            let (ast, sources) = match &found {
                Some(f) => (&f.ast, &f.sources),
                None => (ast, sources),
            };
            let own = match &found {
                Some(f) => Some(
                    f.program
                        .module()
                        .map_err(|e| PatchError::Clang(e.to_string()))?,
                ),
                None => None,
            };
            let m = DeclarationModel::new(ast, sources, &symbols);
            round(&m, own.as_ref().unwrap_or(module), ast, sources, given)
        };
        let Some((texts, copies)) = next else { break };
        let sources = found.as_ref().map_or(sources, |f| &f.sources);
        let dir = tempfile::tempdir().map_err(PatchError::Temporary)?;
        let root = std::fs::canonicalize(dir.path()).map_err(PatchError::Temporary)?;
        let main =
            tries::mirror(&root, given.main, sources, &texts).map_err(PatchError::Temporary)?;
        let mut flags = given.flags.to_vec();
        if let Some(d) = given.main.parent() {
            flags.extend(["-iquote".to_owned(), d.display().to_string()]);
        }
        let Ok(program) = program::load(given.tools, &main, &flags) else {
            break;
        };
        let Ok(new) = program.module() else { break };
        if signature(&new, given.kernels) != before {
            break;
        }
        let ast = ast::parse(given.tools, given.folder, &main, &flags)?;
        let mut mine: BTreeMap<usize, SourceFile> = BTreeMap::new();
        for (k, s) in sources {
            let place = tries::place(&root, given.main, sources, &s.path);
            if let Some(number) = ast.files.iter().position(|f| *f == place) {
                let mut new = SourceFile::new(&s.path, texts.get(k).unwrap_or(&s.text).clone());
                new.was.clone_from(&s.was);
                mine.insert(number, new);
            }
        }
        let mut names = found.take().map_or_else(Vec::new, |f| f.copies);
        names.extend(copies);
        drop(new);
        found = Some(Split {
            ast,
            sources: mine,
            program,
            copies: names,
        });
    }
    Ok(found)
}
