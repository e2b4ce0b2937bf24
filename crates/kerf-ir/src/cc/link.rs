//! The last step of `kerf cc`: programs and libraries out of objects.
use super::{Build, CcError, archives, io};
use std::path::Path;
use std::process::Command;

impl Build<'_> {
    /// Links a program with Kerf's runtime.
    pub(super) fn link(&mut self, items: &[String]) -> Result<(), CcError> {
        let runtime = self.runtime.ok_or(CcError::NoRuntime)?;
        let folder = runtime.parent().unwrap_or(Path::new("."));
        let out = self.o.output.clone().unwrap_or_else(|| "a.out".into());
        let mut a = vec![
            "--driver-mode=g++".to_owned(),
            "-o".into(),
            out.display().to_string(),
        ];
        let only_link = |h: &&String| {
            h.starts_with("-fsanitize") || *h == "-fPIC" || *h == "-pg" || h.starts_with("-flto")
        };
        a.extend(self.o.host.iter().filter(only_link).cloned());
        a.extend(archives::whole(items));
        if let Some(m) = &self.openmp {
            a.push("-fopenmp".into());
            if let Some(l) = &m.library {
                a.push(format!("-L{}", l.display()));
                a.push(format!("-Wl,-rpath,{}", l.display()));
            }
        }
        // By its name, not its path: the program may be moved, and LD_LIBRARY_PATH say where the library is.
        let name = runtime.file_name().unwrap_or_default().to_string_lossy();
        a.push(format!("-L{}", folder.display()));
        a.push(format!("-l:{name}"));
        a.push(format!("-Wl,-rpath,{}", folder.display()));
        a.extend(["-lpthread", "-ldl", "-lm"].map(String::from));
        let r = self.clang(&a)?;
        let text = String::from_utf8_lossy(&r.stderr).into_owned();
        if !r.status.success() {
            return Err(CcError::Linker(text.trim().to_owned()));
        }
        self.told.messages.push_str(&text);
        Ok(())
    }

    /// Makes a library of objects.
    pub(super) fn archive(&mut self, items: &[String]) -> Result<(), CcError> {
        let out = self.o.output.clone().unwrap_or_else(|| "a.a".into());
        let r = Command::new("ar")
            .arg("rcs")
            .arg(&out)
            .args(items.iter().filter(|i| !i.starts_with('-')))
            .output()
            .map_err(io(Path::new("ar")))?;
        match r.status.success() {
            true => Ok(()),
            false => Err(CcError::Linker(
                String::from_utf8_lossy(&r.stderr).into_owned(),
            )),
        }
    }
}
