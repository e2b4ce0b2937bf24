//! What Kerf does with a file of each kind, as far as the file alone decides.
use clap::ValueEnum;
use kerf_device::profile::DeviceProfile;
use kerf_llvm::Module;
use kerf_pass::Plan;
use kerf_report::gather::gather;
use kerf_report::{explain, markdown, page};
use kerf_run::memory::MemoryNeed;
use kerf_workload::Workload;
use std::path::{Path, PathBuf};

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileKind {
    /// A workload (.toml).
    Workload,
    /// A plan (.json), carried out on the program that `--program` names.
    Plan,
    /// The profile of a device (.json).
    Profile,
    /// A file of a result folder.
    Result,
    /// A NumPy array.
    Npy,
    /// LLVM's IR as text.
    Ll,
    /// LLVM's bitcode.
    Bc,
    /// The certificate of a search for hard-to-round cases.
    Certificate,
}

/// What a reader needs beside the file.
pub struct Reader {
    kind: FileKind,
    /// Where the file is written, for readers that open it; where a workload is said to be, since its source is beside it.
    path: PathBuf,
    /// Bitcode of a prepared program, for plans.
    program: Option<Vec<u8>>,
}

impl Reader {
    /// `path` is where the file is written, for kinds that are read from a path, or where it could be.
    pub fn new(kind: FileKind, path: &Path, program: Option<Vec<u8>>) -> Reader {
        Reader {
            kind,
            path: path.to_owned(),
            program,
        }
    }

    /// Reads a file; says whether it was accepted.
    pub fn read(&self, bytes: &[u8]) -> Result<bool, std::io::Error> {
        let text = || String::from_utf8_lossy(bytes).into_owned();
        Ok(match self.kind {
            FileKind::Workload => workload(&text(), &self.path),
            FileKind::Plan => self.plan(&text()),
            FileKind::Profile => DeviceProfile::parse(&text()).is_ok(),
            FileKind::Certificate => {
                kerf_hardround::certificate::CertificateRecord::parse(&text()).is_ok()
            }
            FileKind::Ll | FileKind::Bc => module(bytes),
            FileKind::Npy => {
                std::fs::write(&self.path, bytes)?;
                kerf_workload::npy::read(&self.path).is_ok()
            }
            FileKind::Result => {
                std::fs::write(&self.path, bytes)?;
                self.path.parent().is_some_and(result)
            }
        })
    }

    fn plan(&self, text: &str) -> bool {
        let Ok(plan) = Plan::parse(text) else {
            return false;
        };
        let Some(program) = &self.program else {
            return true;
        };
        Module::parse(program, "program").is_ok_and(|m| plan.apply(&m).is_ok())
    }
}

fn workload(text: &str, path: &Path) -> bool {
    let Ok(w) = Workload::parse(text, path, &[]) else {
        return false;
    };
    let need = MemoryNeed::for_workload(&w, true);
    kerf_run::memory::refusal(&w, &need, true, 1 << 33).is_none()
}

fn module(bytes: &[u8]) -> bool {
    let Ok(m) = Module::parse(bytes, "fuzzed") else {
        return false;
    };
    kerf_ir::prepare::prepare(&m, "sm_90").is_ok()
}

fn result(folder: &Path) -> bool {
    let Ok(g) = gather(folder) else {
        return false;
    };
    let text = explain::explain(&g) + &markdown::markdown(&g);
    page::page(&g).is_ok() && !text.is_empty()
}
