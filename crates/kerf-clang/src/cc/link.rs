//! The last step of `kerf cc`: programs and libraries out of objects.
use super::{Build, CcError, archives, io, library_calls};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a program is linked to, before it is renamed: a program that is there stays whole if the disk is full. What
/// is no file, /dev/null for example, is written to.
fn beside(out: &Path) -> PathBuf {
    if std::fs::metadata(out).is_ok_and(|m| !m.is_file()) {
        return out.to_owned();
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

impl Build<'_> {
    /// Links a program with Kerf's runtime.
    pub(super) fn link(&mut self, items: &[String]) -> Result<(), CcError> {
        let runtime = self.runtime.ok_or(CcError::NoRuntime)?;
        let folder = runtime.parent().unwrap_or(Path::new("."));
        let out = self.o.output.clone().unwrap_or_else(|| "a.out".into());
        let part = beside(&out);
        let mut a = vec![
            "--driver-mode=g++".to_owned(),
            "-o".into(),
            part.display().to_string(),
        ];
        let only_link = |h: &&String| {
            h.starts_with("-fsanitize") || *h == "-fPIC" || *h == "-pg" || h.starts_with("-flto")
        };
        a.extend(self.o.host.iter().filter(only_link).cloned());
        let calls = self.library_calls(items)?;
        let own: Vec<String> = items
            .iter()
            .filter(|i| !library_calls::is_library(i))
            .cloned()
            .collect();
        a.extend(archives::whole(&own));
        a.extend(calls.map(|c| c.display().to_string()));
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
            if part != out {
                // Best effort: the linker's error is the one worth reporting.
                let _ = std::fs::remove_file(&part);
            }
            let text = text.replace(&part.display().to_string(), &out.display().to_string());
            let text = format!("linking {}:\n{}", out.display(), text.trim());
            return Err(CcError::Linker(text));
        }
        if part != out {
            std::fs::rename(&part, &out).map_err(io(&out))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_linked_beside_their_place_and_devices_are_not() {
        let part = beside(Path::new("bin/app"));
        assert_eq!(part.parent(), Some(Path::new("bin")));
        assert_ne!(part, Path::new("bin/app"));
        assert_eq!(beside(Path::new("/dev/null")), Path::new("/dev/null"));
    }
}
