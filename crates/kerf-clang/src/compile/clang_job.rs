//! One run of clang on a source: what it reads before, which texts it is shown, and what it leaves behind.
use super::{
    CompileError, Compiled, Language, OPENCL_BUILTINS, Toolchain, chevrons, clang_args,
    late_macros, like_nvcc, mended_launches, precompiled, rejected,
};
use crate::clang_program::ClangProgram;
use crate::headers;
use std::path::{Path, PathBuf};
use std::process::Output;

/// What clang reads before a source.
pub(super) struct Prelude {
    /// Kerf's header, or its OpenCL builtins.
    pub own: PathBuf,
    /// Macros of the command line, which the headers before do not see.
    pub macros: Option<PathBuf>,
    /// The other flags.
    pub flags: Vec<String>,
}

impl Prelude {
    pub fn write(
        tools: &Toolchain,
        language: Language,
        dir: &Path,
        flags: &[String],
    ) -> std::io::Result<Prelude> {
        if language == Language::OpenCl {
            let own = dir.join("kerf_builtins.cl");
            std::fs::write(&own, OPENCL_BUILTINS)?;
            return Ok(Prelude {
                own,
                macros: None,
                flags: flags.to_vec(),
            });
        }
        let headers = headers::write(tools.cache.as_deref(), dir)?;
        let (flags, late) = late_macros(&like_nvcc(&headers, flags));
        let macros = (!late.is_empty()).then(|| dir.join("kerf_macros.h"));
        if let Some(file) = &macros {
            std::fs::write(file, late)?;
        }
        Ok(Prelude {
            own: headers.host,
            macros,
            flags,
        })
    }
}

/// One source to be compiled.
pub(super) struct ClangJob<'a> {
    pub tools: &'a Toolchain,
    pub clang: &'a ClangProgram,
    pub language: Language,
    pub cuda: PathBuf,
    pub source: &'a Path,
    pub prelude: Prelude,
    /// Where the module and the list of files go.
    pub dir: &'a Path,
}

impl ClangJob<'_> {
    fn module(&self) -> PathBuf {
        self.dir.join("module.bc")
    }

    fn depends(&self) -> PathBuf {
        self.dir.join("deps")
    }

    fn tool_failed(&self, why: std::io::Error) -> CompileError {
        CompileError::Tool {
            tool: self.clang.path.display().to_string(),
            why,
        }
    }

    /// Runs clang, with headers that were precompiled and with other texts in place of files', where there are any.
    fn clang(
        &self,
        precompiled: Option<&Path>,
        overlay: Option<&Path>,
    ) -> Result<Output, CompileError> {
        let mut cmd = self.clang.command();
        cmd.args(clang_args(self.language, &self.cuda, &self.tools.arch, &[]));
        if self.language == Language::Cuda {
            cmd.args(self.clang.device_args());
        }
        // Before the user's own, which may want the macros.
        match precompiled {
            Some(file) => cmd.arg("-include-pch").arg(file),
            None => cmd.arg("-include").arg(&self.prelude.own),
        };
        if let Some(macros) = &self.prelude.macros {
            cmd.arg("-include").arg(macros);
        }
        cmd.args(&self.prelude.flags);
        if let Some(o) = overlay {
            cmd.arg("-ivfsoverlay").arg(o);
        }
        cmd.arg("-MD").arg("-MF").arg(self.depends());
        cmd.arg("-o").arg(self.module()).arg(self.source);
        cmd.output().map_err(|why| self.tool_failed(why))
    }

    /// Makes the module; `own` is the source's text, where it is another than the file's.
    pub fn run(&self, own: Option<String>) -> Result<(), CompileError> {
        let written = |why| CompileError::Tool {
            tool: "write".into(),
            why,
        };
        let shown = own.clone().map(|t| vec![(self.source.to_owned(), t)]);
        let shown = shown.map(|t| chevrons::overlay(self.dir, &t));
        let mut overlay = shown.transpose().map_err(written)?;
        let headers = precompiled::Headers {
            tools: self.tools,
            clang: self.clang,
            cuda: &self.cuda,
            flags: &self.prelude.flags,
            host: &self.prelude.own,
        };
        let is_cuda = self.language == Language::Cuda;
        let pch = is_cuda.then(|| headers.find()).flatten();
        let mut result = self.clang(pch.as_deref(), overlay.as_deref())?;
        if !result.status.success()
            && is_cuda
            && let Some(mended) =
                mended_launches(self.dir, self.source, own, &result.stderr).map_err(written)?
        {
            result = self.clang(pch.as_deref(), Some(&mended))?;
            overlay = Some(mended);
        }
        if let Some(pch) = pch.filter(|_| !result.status.success()) {
            // Its headers may have changed. If not, these are the words of clang that name the headers.
            result = self.clang(None, overlay.as_deref())?;
            if result.status.success() {
                precompiled::discard(&pch);
            }
        }
        if !result.status.success() {
            let messages = String::from_utf8_lossy(&result.stderr).trim().to_owned();
            return Err(rejected(self.source, messages));
        }
        Ok(())
    }

    /// What was made.
    pub fn compiled(&self) -> Result<Compiled, CompileError> {
        let bitcode = std::fs::read(self.module()).map_err(|why| self.tool_failed(why))?;
        // In full: who looks whether they have changed may be in another folder.
        let depends = parse_depfile(&std::fs::read_to_string(self.depends()).unwrap_or_default())
            .into_iter()
            .filter(|p| !p.starts_with(self.dir))
            .map(|p| std::path::absolute(&p).unwrap_or(p))
            .collect();
        Ok(Compiled {
            bitcode,
            depends,
            unlifted: Vec::new(),
        })
    }
}

/// File names of a make-style dependency file.
fn parse_depfile(text: &str) -> Vec<PathBuf> {
    let body = text
        .split_once(": ")
        .map_or("", |(_, b)| b)
        .replace("\\\n", " ");
    let mut out = Vec::new();
    let mut word = String::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|n| *n == ' ' || *n == '#') => {
                word.extend(chars.next());
            }
            '$' if chars.peek() == Some(&'$') => {
                word.extend(chars.next());
            }
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    out.push(PathBuf::from(std::mem::take(&mut word)));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        out.push(PathBuf::from(word));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depfile_names_with_spaces_and_continuations() {
        let d = parse_depfile("m.o: /a/b.cu /x\\ y/c.h \\\n  /d$$e.h\n");
        assert_eq!(d, ["/a/b.cu", "/x y/c.h", "/d$e.h"].map(PathBuf::from));
    }
}
