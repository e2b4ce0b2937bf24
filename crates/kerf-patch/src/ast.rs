//! The program as clang understood it: declarations of the user's files, with every expression's place.
//!
//! clang prints the whole translation unit, headers included, which is half a gigabyte for CUDA: it is read as it
//! comes, and only declarations of files that are the user's are kept.
mod read;

pub(crate) use read::read;

use crate::PatchError;
use kerf_clang::compile::{self, Language, Toolchain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

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
    /// Its token.
    pub fn range(self) -> TextRange {
        TextRange {
            file: self.file,
            from: self.offset,
            to: self.after(),
        }
    }
}

/// Bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// File, by position in [`Ast::files`].
    pub file: usize,
    /// First byte.
    pub from: usize,
    /// Byte after the last.
    pub to: usize,
}

impl TextRange {
    /// Number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "no range of tokens is empty")]
    pub fn len(self) -> usize {
        self.to - self.from
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
    /// Fields of a record.
    pub fn fields(&self) -> impl Iterator<Item = &AstNode> {
        self.inner.iter().filter(|n| n.kind == "FieldDecl")
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

impl Ast {
    /// Numbers of files, by path.
    pub fn file_numbers(&self) -> BTreeMap<&Path, usize> {
        let files = self.files.iter().enumerate();
        files
            .map(|(number, path)| (path.as_path(), number))
            .collect()
    }
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
    let brought_by_clang = tools.clang.as_ref().is_some_and(|c| c.has_header(p));
    let brought = tools.cache.as_ref().is_some_and(|c| p.starts_with(c));
    let own = p.components().any(|c| c.as_os_str() == "clang");
    system
        || cuda
        || brought
        || brought_by_clang
        || (own && p.components().any(|c| c.as_os_str() == "lib"))
}

/// Asks clang for the tree of a source. `folder` is what relative paths are of.
pub fn parse(
    tools: &Toolchain,
    folder: &Path,
    source: &Path,
    flags: &[String],
) -> Result<Ast, PatchError> {
    let failed = |what: String| PatchError::Clang(what);
    let language = Language::from_path(source).filter(|l| !l.is_compiled());
    let language = language.ok_or_else(|| PatchError::NoSource(source.to_owned()))?;
    let clang = tools.clang.as_ref();
    let clang = clang.ok_or_else(|| failed("clang 22 was not found".into()))?;
    let dir = tempfile::tempdir().map_err(|e| failed(e.to_string()))?;
    let args = compile::syntax_args(tools, language, dir.path(), source, flags)
        .map_err(|e| failed(e.to_string()))?;
    let mut child = clang
        .command()
        .args(args)
        .args(["-fsyntax-only", "-Xclang", "-ast-dump=json"])
        .arg(source)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| failed(format!("could not run {}: {e}", clang.path.display())))?;
    let own = dir.path().to_owned();
    let is_users = |p: &Path| p.is_absolute() && !p.starts_with(&own) && !is_system(p, tools);
    let ast = match child.stdout.take() {
        Some(output) => read(output, folder, is_users).map_err(|e| failed(e.to_string()))?,
        None => Ast::default(),
    };
    let status = child.wait().map_err(|e| failed(e.to_string()))?;
    match ast.top.is_empty() {
        true => Err(failed(format!(
            "clang told nothing of {} ({status})",
            source.display()
        ))),
        false => Ok(ast),
    }
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
