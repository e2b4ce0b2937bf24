//! The program as clang understood it: declarations of the user's files, with every expression's place.
//!
//! clang prints the whole translation unit, headers included, which is half a gigabyte for CUDA: it is read as it
//! comes, and only declarations of files that are the user's are kept.
use crate::PatchError;
use crate::json::{self, Json};
use kerf_clang::compile::{self, Language, Toolchain};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where a token is, in the file that the user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// File, by position in [`Ast::files`].
    pub file: usize,
    /// Byte.
    pub offset: usize,
    /// Bytes of the token there.
    pub len: usize,
    /// How the token came there.
    pub via: Via,
    /// Byte of the place that debug info names: that of the macro's name, or its own.
    pub shown: usize,
}

impl Spot {
    /// The byte after its token.
    pub fn after(self) -> usize {
        self.offset + self.len
    }
}

/// How a token came to be where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// It is written there.
    Text,
    /// It is written there, as an argument of a macro.
    Argument,
    /// A macro is written there, and the token is in its body.
    Macro,
}

/// A node of the tree.
#[derive(Debug, Clone, Default)]
pub struct AstNode {
    /// clang's number of it.
    pub id: u64,
    /// Kind, e.g. `BinaryOperator`.
    pub kind: String,
    /// Place of the name that it declares.
    pub loc: Option<Spot>,
    /// First token.
    pub begin: Option<Spot>,
    /// Last token.
    pub end: Option<Spot>,
    /// Name.
    pub name: String,
    /// Type as written.
    pub ty: String,
    /// Type without typedefs.
    pub plain: String,
    /// Operator.
    pub opcode: String,
    /// Kind of a cast.
    pub cast: String,
    /// What a literal says.
    pub value: String,
    /// Linker name of a function.
    pub mangled: String,
    /// Declaration that it refers to.
    pub refers: Option<u64>,
    /// Name of that declaration.
    pub refers_name: String,
    /// Kind of that declaration.
    pub refers_kind: String,
    /// Made by the compiler.
    pub implicit: bool,
    /// Children.
    pub inner: Vec<AstNode>,
}

impl AstNode {
    /// Calls `f` with it and everything below it, until `f` says not to go on.
    pub fn walk<'n>(&'n self, f: &mut dyn FnMut(&'n AstNode) -> bool) {
        if f(self) {
            for n in &self.inner {
                n.walk(f);
            }
        }
    }
    /// The body of a function.
    pub fn body(&self) -> Option<&AstNode> {
        self.inner.iter().find(|n| n.kind == "CompoundStmt")
    }
    /// Parameters of a function.
    pub fn params(&self) -> impl Iterator<Item = &AstNode> {
        self.inner.iter().filter(|n| n.kind == "ParmVarDecl")
    }
    /// Is it a function?
    pub fn is_function(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "FunctionDecl" | "CXXMethodDecl" | "CXXConstructorDecl" | "CXXConversionDecl"
        )
    }
}

/// The tree of a source.
#[derive(Debug, Default)]
pub struct Ast {
    /// Files that locations name, whole paths.
    pub files: Vec<PathBuf>,
    /// Declarations of the user's files, in order.
    pub top: Vec<AstNode>,
}

/// The state of clang's printer: what it leaves out is as it was before.
struct Places {
    folder: PathBuf,
    known: BTreeMap<String, usize>,
    files: Vec<PathBuf>,
    last: usize,
}

impl Places {
    fn file(&mut self, name: &str) -> usize {
        if let Some(k) = self.known.get(name) {
            return *k;
        }
        let path = clean(&self.folder.join(name));
        let k = match self.files.iter().position(|f| *f == path) {
            Some(k) => k,
            None => {
                self.files.push(path);
                self.files.len() - 1
            }
        };
        self.known.insert(name.to_owned(), k);
        k
    }

    /// One location.
    fn bare(&mut self, j: &Json) -> Option<(usize, usize, usize)> {
        if let Some(f) = j.text("file") {
            self.last = self.file(f);
        }
        Some((
            self.last,
            j.number("offset")?,
            j.number("tokLen").unwrap_or(0),
        ))
    }

    fn spot(&mut self, j: &Json) -> Option<Spot> {
        let Some(spelled) = j.get("spellingLoc") else {
            let (file, offset, len) = self.bare(j)?;
            return Some(Spot {
                file,
                offset,
                len,
                via: Via::Text,
                shown: offset,
            });
        };
        let spelled = self.bare(spelled);
        let expansion = j.get("expansionLoc")?;
        let (file, offset, len) = self.bare(expansion)?;
        let shown = offset;
        let of = |(file, offset, len), via| Spot {
            file,
            offset,
            len,
            via,
            shown,
        };
        match (expansion.text("isMacroArgExpansion"), spelled) {
            (Some("true"), Some(s)) => Some(of(s, Via::Argument)),
            _ => Some(of((file, offset, len), Via::Macro)),
        }
    }

    fn node(&mut self, j: &Json) -> AstNode {
        let mut n = AstNode::default();
        let Json::Object(all) = j else { return n };
        for (key, v) in all {
            let text = || match v {
                Json::Text(t) | Json::Plain(t) => t.clone(),
                _ => String::new(),
            };
            match key.as_str() {
                "id" => n.id = number(&text()),
                "kind" => n.kind = text(),
                "loc" => n.loc = self.spot(v),
                "range" => {
                    n.begin = v.get("begin").and_then(|b| self.spot(b));
                    n.end = v.get("end").and_then(|b| self.spot(b));
                }
                "name" => n.name = text(),
                "mangledName" => n.mangled = text(),
                "opcode" => n.opcode = text(),
                "castKind" => n.cast = text(),
                "value" => n.value = text(),
                "isImplicit" => n.implicit = true,
                "type" => {
                    n.ty = v.text("qualType").unwrap_or_default().to_owned();
                    let plain = v.text("desugaredQualType");
                    n.plain = plain.unwrap_or(&n.ty).to_owned();
                }
                "referencedDecl" => {
                    n.refers = v.text("id").map(number);
                    n.refers_name = v.text("name").unwrap_or_default().to_owned();
                    n.refers_kind = v.text("kind").unwrap_or_default().to_owned();
                }
                "referencedMemberDecl" => n.refers = Some(number(&text())),
                "inner" => {
                    if let Json::List(l) = v {
                        n.inner = l.iter().map(|c| self.node(c)).collect();
                    }
                }
                _ => {}
            }
        }
        n
    }
}

fn number(hex: &str) -> u64 {
    u64::from_str_radix(hex.trim_start_matches("0x"), 16).unwrap_or(0)
}

/// A path without `.` and `..`.
pub fn clean(p: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for c in p.components() {
        match c {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                out.pop();
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a file is part of a compiler, of CUDA or of the system.
pub fn is_system(p: &Path, tools: &Toolchain) -> bool {
    let system = ["/usr", "/opt", "/lib"].iter().any(|d| p.starts_with(d));
    let cuda = tools.cuda.as_ref().is_some_and(|c| {
        p.starts_with(c) || std::fs::canonicalize(c).is_ok_and(|c| p.starts_with(c))
    });
    let brought = tools.cache.as_ref().is_some_and(|c| p.starts_with(c));
    let own = p.components().any(|c| c.as_os_str() == "clang");
    system || cuda || brought || (own && p.components().any(|c| c.as_os_str() == "lib"))
}

/// Keeps the objects of the outermost list whose name is in one of the user's files.
fn kept(
    out: impl Read,
    places: &mut Places,
    users: impl Fn(&Path) -> bool,
) -> std::io::Result<Vec<AstNode>> {
    let mut lines = BufReader::with_capacity(1 << 20, out);
    let mut line = Vec::new();
    let (mut object, mut top) = (Vec::new(), Vec::new());
    let (mut inside, mut keep, mut begun, mut included) = (false, false, None, false);
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(top);
        }
        if line == b"    {\n" {
            (inside, keep, begun) = (true, false, None);
            object.clear();
        }
        if !inside {
            continue;
        }
        let word = line.trim_ascii_start();
        let started = places.last;
        if word.starts_with(b"\"includedFrom\"") {
            included = true;
        } else if word.starts_with(b"\"file\": \"") {
            if !included {
                let end = word.iter().rposition(|c| *c == b'"').unwrap_or(9);
                let name = String::from_utf8_lossy(&word[9..end.max(9)]).into_owned();
                places.last = places.file(&name.replace("\\\\", "\\"));
            }
            included = false;
        }
        if begun.is_none() && word.starts_with(b"\"range\"") {
            keep = users(&places.files[places.last]);
            begun = Some(());
        }
        // Before it is known whose it is, an object is kept; that is a few lines.
        if keep || begun.is_none() {
            if object.is_empty() {
                object.extend_from_slice(format!("{started}\n").as_bytes());
            }
            object.extend_from_slice(&line);
        }
        if line.starts_with(b"    }") {
            inside = false;
            if keep {
                let end = object.iter().position(|c| *c == b'\n').unwrap_or(0);
                let before = String::from_utf8_lossy(&object[..end]).parse().unwrap_or(0);
                let trimmed = object[end..].trim_ascii_end();
                let trimmed = trimmed.strip_suffix(b",").unwrap_or(trimmed);
                if let Some(j) = json::read(trimmed) {
                    let after = places.last;
                    places.last = before;
                    top.push(places.node(&j));
                    places.last = after;
                }
            }
        }
    }
}

/// Asks clang for the tree of a source. `folder` is what relative paths are of.
pub fn parse(
    tools: &Toolchain,
    folder: &Path,
    source: &Path,
    flags: &[String],
) -> Result<Ast, PatchError> {
    let failed = |what: String| PatchError::Clang(what);
    let language = Language::from_path(source).filter(|l| *l != Language::Ir);
    let language = language.ok_or_else(|| PatchError::NoSource(source.to_owned()))?;
    let clang = tools.clang.as_ref();
    let clang = clang.ok_or_else(|| failed("clang 22 was not found".into()))?;
    let dir = tempfile::tempdir().map_err(|e| failed(e.to_string()))?;
    let args = compile::syntax_args(tools, language, dir.path(), source, flags)
        .map_err(|e| failed(e.to_string()))?;
    let mut child = Command::new(clang)
        .args(args)
        .args(["-fsyntax-only", "-Xclang", "-ast-dump=json"])
        .arg(source)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| failed(format!("could not run {}: {e}", clang.display())))?;
    let mut places = Places {
        folder: folder.to_owned(),
        known: BTreeMap::new(),
        files: vec![PathBuf::new()],
        last: 0,
    };
    let own = dir.path().to_owned();
    let users = |p: &Path| p.is_absolute() && !p.starts_with(&own) && !is_system(p, tools);
    let top = match child.stdout.take() {
        Some(out) => kept(out, &mut places, users).map_err(|e| failed(e.to_string()))?,
        None => Vec::new(),
    };
    let status = child.wait().map_err(|e| failed(e.to_string()))?;
    if top.is_empty() {
        return Err(failed(format!(
            "clang told nothing of {} ({status})",
            source.display()
        )));
    }
    Ok(Ast {
        files: places.files,
        top,
    })
}

/// Through casts that clang made and parentheses.
pub fn strip(n: &AstNode) -> &AstNode {
    let mut n = n;
    loop {
        let through = matches!(
            n.kind.as_str(),
            "ImplicitCastExpr"
                | "ParenExpr"
                | "ExprWithCleanups"
                | "MaterializeTemporaryExpr"
                | "CXXBindTemporaryExpr"
                | "ConstantExpr"
                | "SubstNonTypeTemplateParmExpr"
        );
        match n.inner.last().filter(|_| through) {
            Some(c) => n = c,
            None => return n,
        }
    }
}
