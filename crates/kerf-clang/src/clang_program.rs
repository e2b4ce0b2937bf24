//! How clang is called: a program of the machine, or Kerf itself with clang linked into it.
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// clang 22, and the headers that it cannot find by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClangProgram {
    /// The program that is run.
    pub path: PathBuf,
    /// Arguments before all others: with them Kerf acts as clang, and finds clang's own headers.
    pub leading_args: Vec<String>,
    /// C and C++ headers for device code, as under the root of a file system; the machine's otherwise.
    ///
    /// Host code is always compiled with the machine's, since it is linked with the machine's libraries; so is the
    /// device code of applications, which shares types with it.
    pub device_sysroot: Option<PathBuf>,
}

impl From<PathBuf> for ClangProgram {
    /// A clang of the machine.
    fn from(path: PathBuf) -> ClangProgram {
        ClangProgram {
            path,
            leading_args: Vec::new(),
            device_sysroot: None,
        }
    }
}

/// Folders with headers of the machine that [`ClangProgram::device_sysroot`] does not have.
const MACHINE_HEADERS: [&str; 3] = [
    "/usr/local/include",
    "/usr/include/x86_64-linux-gnu",
    "/usr/include",
];

impl ClangProgram {
    /// A call of clang, to which arguments are added.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.leading_args);
        command
    }

    /// Arguments for CUDA device code by itself: which C and C++ headers it sees.
    pub fn device_args(&self) -> Vec<String> {
        let Some(root) = &self.device_sysroot else {
            return Vec::new();
        };
        let mut args = vec![format!("--sysroot={}", root.display())];
        // Behind all others: libraries of headers that a kernel may include.
        args.extend(
            MACHINE_HEADERS
                .iter()
                .flat_map(|folder| ["-idirafter".to_owned(), (*folder).to_owned()]),
        );
        args
    }

    /// The same clang with the machine's C and C++ headers.
    pub fn with_machine_headers(&self) -> ClangProgram {
        ClangProgram {
            device_sysroot: None,
            ..self.clone()
        }
    }

    /// Is clang a part of Kerf's own program?
    pub fn is_embedded(&self) -> bool {
        !self.leading_args.is_empty()
    }

    /// Is a file one of the headers that come with this clang?
    pub fn has_header(&self, path: &Path) -> bool {
        let resources = self
            .leading_args
            .iter()
            .filter_map(|a| a.strip_prefix("-resource-dir="));
        resources.into_iter().any(|r| path.starts_with(r))
            || self
                .device_sysroot
                .as_ref()
                .is_some_and(|r| path.starts_with(r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_code_sees_the_headers_that_are_brought() {
        let machine = ClangProgram::from(PathBuf::from("/usr/bin/clang-22"));
        assert!(machine.device_args().is_empty());
        assert!(!machine.is_embedded());
        let own = ClangProgram {
            path: "/opt/kerf/bin/kerf".into(),
            leading_args: vec!["clang".into(), "-resource-dir=/opt/kerf/share/clang".into()],
            device_sysroot: Some("/opt/kerf/share/sysroot".into()),
        };
        assert_eq!(own.device_args()[0], "--sysroot=/opt/kerf/share/sysroot");
        assert!(own.has_header(Path::new("/opt/kerf/share/clang/include/stddef.h")));
        assert!(own.has_header(Path::new("/opt/kerf/share/sysroot/usr/include/math.h")));
        assert!(!own.has_header(Path::new("/usr/include/math.h")));
        assert!(own.with_machine_headers().device_args().is_empty());
    }
}
