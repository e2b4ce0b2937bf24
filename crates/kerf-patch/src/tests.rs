//! Small programs as clang reads them, what a plan wants of them, and what becomes of them.
use crate::ast::{self, Ast};
use crate::edits;
use crate::marks::{Marks, SourceMark};
use crate::model::{DeclarationModel, Entity, Thing};
use crate::solve::{Solved, solve};
use crate::source::SourceFile;
use kerf_num::Format;
use kerf_pass::MathVariant;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program of one file, in C++ without headers. Its kernel is called `kernel`.
pub(crate) struct Example {
    pub(crate) ast: Ast,
    pub(crate) sources: BTreeMap<usize, SourceFile>,
    kernel: String,
}

/// What a plan wants of an operation: the last place in the text that begins with its operator or its call, and the operation.
pub(crate) struct Planned {
    pub(crate) at: &'static str,
    pub(crate) op: &'static str,
    pub(crate) to: Format,
    pub(crate) variant: Option<MathVariant>,
}

/// An operation in f32.
pub(crate) fn narrowed(at: &'static str, op: &'static str) -> Planned {
    Planned {
        at,
        op,
        to: Format::F32,
        variant: None,
    }
}

/// An operation that stays f64.
pub(crate) fn kept(at: &'static str, op: &'static str) -> Planned {
    let to = Format::F64;
    Planned {
        to,
        ..narrowed(at, op)
    }
}

impl Example {
    pub(crate) fn new(text: &str) -> Example {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("kernel.cpp");
        std::fs::write(&path, text).expect("the source");
        let prefix = option_env!("LLVM_SYS_221_PREFIX").unwrap_or("/usr/lib/llvm-22");
        let mut clang = Command::new(Path::new(prefix).join("bin/clang"))
            .args(["-fsyntax-only", "-w", "-Xclang", "-ast-dump=json"])
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("clang runs");
        let output = clang.stdout.take().expect("its output");
        let ast = ast::read(output, dir.path(), |p| p.starts_with(dir.path())).expect("a tree");
        assert!(clang.wait().expect("an end").success(), "{text}");
        let sources = ast.files.iter().enumerate().filter(|f| *f.1 == path);
        let sources = sources.map(|(k, f)| (k, SourceFile::new(f, text.to_owned())));
        let kernel = ast.top.iter().find(|n| n.name == "kernel");
        Example {
            sources: sources.collect(),
            kernel: kernel.expect("a kernel").mangled.clone(),
            ast,
        }
    }

    pub(crate) fn model(&self) -> DeclarationModel<'_> {
        DeclarationModel::new(&self.ast, &self.sources, std::slice::from_ref(&self.kernel))
    }

    pub(crate) fn marks(&self, planned: &[Planned]) -> Marks {
        let mut marks = Marks::default();
        let (file, source) = self.sources.first_key_value().expect("a source");
        for p in planned {
            let offset = source.text.rfind(p.at).expect(p.at);
            let (line, column) = source.position(offset);
            let mark = SourceMark {
                op: p.op.to_owned(),
                from: Format::F64,
                to: p.to,
                half: false,
                variant: p.variant,
                made: None,
            };
            marks.add((*file, line, column), mark);
        }
        marks
    }

    /// The text of the source after a plan, and what the source does not say of it.
    pub(crate) fn patched(&self, solved: &Solved) -> (String, Vec<String>) {
        let texts = edits::patched(&solved.edits, &self.sources);
        let old = self.sources.values().next().expect("a source");
        let text = texts.into_values().next();
        let unsaid = solved.unsaid.iter();
        (
            text.unwrap_or_else(|| old.text.clone()),
            unsaid.map(|u| format!("{}: {}", u.line, u.why)).collect(),
        )
    }

    /// Solves a plan with the formats of some parameters or arrays of the kernel.
    pub(crate) fn solve(&self, planned: &[Planned], held: &[(&str, Format)], cl: bool) -> Solved {
        let mut model = self.model();
        for (name, format) in held {
            model.hold(&self.kernel, name, Some(*format));
        }
        solve(&model, &self.marks(planned), cl)
    }
}

/// The entity of a name.
pub(crate) fn entity(m: &DeclarationModel, name: &str) -> Entity {
    let is_named = |t: &Thing| t.name == name;
    m.things.iter().position(is_named).expect(name)
}
