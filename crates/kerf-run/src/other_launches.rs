//! Launches of a program that takes the place of a workload's: by the workload's own steps, with kernels and arguments found
//! by name, or by a workload file of that program's own.
//!
//! Inputs, outputs and acceptance stay those of the workload; buffers are found by name. A program may have buffers of its own
//! beside them, as scratch memory, which nobody compares.
use kerf_ir::kernels::{KernelInfo, find};
use kerf_workload::mistakes::Mistakes;
use kerf_workload::workload::{ArgSpec, BufferSpec, LaunchSpec, Workload, WorkloadStep};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How a program in place of a workload's is launched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherLaunches {
    /// Its own workload file; without one, the workload's steps.
    pub workload: Option<PathBuf>,
    /// Names of kernels and parameters of the workload's program, each with the name that the other has for it.
    pub map: Vec<(String, String)>,
}

/// Why a program cannot be launched in place of a workload's.
#[derive(Debug, thiserror::Error)]
pub enum LaunchesError {
    /// Its own workload file is wrong.
    #[error("{0}")]
    File(Mistakes),
    /// Its own workload file does not go with the workload.
    #[error("{}: {what}; help: {help}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What does not go.
        what: String,
        /// What to do.
        help: String,
    },
    /// A name that is mapped is nobody's.
    #[error(
        "--map {from}={to}: the {side} has no kernel or parameter `{name}`; help: it has {have}"
    )]
    UnknownName {
        /// Name in the original.
        from: String,
        /// Name in the candidate.
        to: String,
        /// Whose it should be.
        side: &'static str,
        /// The one that is unknown.
        name: String,
        /// Kernels with their parameters.
        have: String,
    },
    /// There is no kernel in place of one.
    #[error(
        "the candidate has no kernel `{name}`, only {have}; help: --map {original}=NAME says which one takes its place"
    )]
    NoKernel {
        /// The name that was looked for.
        name: String,
        /// The original's.
        original: String,
        /// Kernels of the candidate.
        have: String,
    },
    /// Nothing tells which argument is which.
    #[error(
        "{own} and {other} have other parameters; help: --map NAME={missing} says which argument that is, or --candidate-workload gives the candidate's own launch"
    )]
    Parameters {
        /// The original's kernel with its parameters.
        own: String,
        /// The candidate's.
        other: String,
        /// A parameter of the candidate's without an argument.
        missing: String,
    },
}

impl From<Mistakes> for LaunchesError {
    fn from(m: Mistakes) -> LaunchesError {
        LaunchesError::File(m)
    }
}

/// A workload whose steps are another program's.
#[derive(Debug, Clone)]
pub struct LaunchedWorkload {
    /// Steps of the program, buffers of the workload.
    pub workload: Workload,
    /// Buffers as the program's own file declares them, where it has one.
    pub declared: Option<Vec<BufferSpec>>,
}

impl OtherLaunches {
    /// The steps of `original` for the kernels of another program.
    pub fn launched(
        &self,
        original: &Workload,
        own: &[KernelInfo],
        other: &[KernelInfo],
    ) -> Result<LaunchedWorkload, LaunchesError> {
        if let Some(file) = &self.workload {
            return from_file(original, file);
        }
        let names = NameMap {
            map: &self.map,
            own,
            other,
        };
        names.check()?;
        Ok(LaunchedWorkload {
            workload: Workload {
                steps: names.steps(&original.steps)?,
                ..original.clone()
            },
            declared: None,
        })
    }
}

/// The workload of a program's own file, at the sizes of the original and on its buffers.
fn from_file(original: &Workload, file: &Path) -> Result<LaunchedWorkload, LaunchesError> {
    let plain = Workload::read(file, &[])?;
    let shared = original
        .sizes
        .iter()
        .filter(|(n, _)| plain.size(n).is_some());
    let overrides: Vec<(String, i64)> = shared.cloned().collect();
    let mut workload = Workload::read(file, &overrides)?;
    let wrong = |what: String, help: &str| {
        Err(LaunchesError::Unfit {
            path: file.to_owned(),
            what,
            help: help.to_owned(),
        })
    };
    let (mut buffers, mut declared) = (Vec::new(), Vec::new());
    for b in &original.buffers {
        let Some(at) = workload.buffer(&b.name) else {
            if b.output {
                let help = format!("declare it as {} does", original.path.display());
                return wrong(format!("there is no buffer `{}`, an output", b.name), &help);
            }
            buffers.push(b.clone());
            declared.push(b.clone());
            continue;
        };
        let theirs = &workload.buffers[at];
        if theirs.bytes() != b.bytes() {
            let bytes = |b: &BufferSpec| b.bytes().map_or("too many".into(), |n| n.to_string());
            let what = format!(
                "buffer `{}` has {} bytes, and {} in {}",
                b.name,
                bytes(theirs),
                bytes(b),
                original.path.display()
            );
            return wrong(what, "buffers of one name have one size in both files");
        }
        buffers.push(BufferSpec {
            symbol: theirs.symbol.clone(),
            ..b.clone()
        });
        declared.push(theirs.clone());
    }
    for b in &workload.buffers {
        if original.buffer(&b.name).is_none() {
            let scratch = BufferSpec {
                output: false,
                ..b.clone()
            };
            buffers.push(scratch.clone());
            declared.push(scratch);
        }
    }
    let more = original
        .sizes
        .iter()
        .filter(|(n, _)| plain.size(n).is_none());
    workload.sizes.extend(more.cloned());
    workload.buffers = buffers;
    workload.seed = original.seed;
    workload.accept = original.accept.clone();
    workload.warnings = original.warnings.clone();
    Ok(LaunchedWorkload {
        workload,
        declared: Some(declared),
    })
}

/// Names of one program in another.
struct NameMap<'a> {
    map: &'a [(String, String)],
    own: &'a [KernelInfo],
    other: &'a [KernelInfo],
}

impl NameMap<'_> {
    fn mapped<'n>(&'n self, name: &'n str) -> &'n str {
        let hit = self.map.iter().find(|(from, _)| from == name);
        hit.map_or(name, |(_, to)| to)
    }

    /// Refuses names that neither a kernel nor a parameter has.
    fn check(&self) -> Result<(), LaunchesError> {
        let known = |all: &[KernelInfo], name: &str| {
            find(all, name).is_ok() || all.iter().any(|k| k.params.iter().any(|p| p.name == name))
        };
        for (from, to) in self.map {
            let (side, name, all) = match known(self.own, from) {
                false => ("original", from, self.own),
                true if !known(self.other, to) => ("candidate", to, self.other),
                true => continue,
            };
            let have: Vec<&str> = all.iter().map(|k| k.signature.as_str()).collect();
            return Err(LaunchesError::UnknownName {
                from: from.clone(),
                to: to.clone(),
                side,
                name: name.clone(),
                have: have.join("; "),
            });
        }
        Ok(())
    }

    fn steps(&self, steps: &[WorkloadStep]) -> Result<Vec<WorkloadStep>, LaunchesError> {
        let one = |s: &WorkloadStep| {
            Ok(match s {
                WorkloadStep::Launch(l) => WorkloadStep::Launch(self.launch(l)?),
                WorkloadStep::Loop {
                    var,
                    from,
                    to,
                    inclusive,
                    step,
                    body,
                    line,
                } => WorkloadStep::Loop {
                    var: var.clone(),
                    from: from.clone(),
                    to: to.clone(),
                    inclusive: *inclusive,
                    step: step.clone(),
                    body: self.steps(body)?,
                    line: *line,
                },
                other => other.clone(),
            })
        };
        steps.iter().map(one).collect()
    }

    /// The kernel in place of one: that of the same or the mapped name, or the only one where both programs have one.
    fn kernel(&self, own: &KernelInfo) -> Result<&KernelInfo, LaunchesError> {
        let name = self.mapped(&own.name);
        match (find(self.other, name), self.own, self.other) {
            (Ok(k), _, _) => Ok(k),
            (Err(_), [_], [only]) if name == own.name => Ok(only),
            (Err(have), _, _) => Err(LaunchesError::NoKernel {
                name: name.to_owned(),
                original: own.name.clone(),
                have: have.join(", "),
            }),
        }
    }

    fn launch(&self, l: &LaunchSpec) -> Result<LaunchSpec, LaunchesError> {
        let Ok(own) = find(self.own, &l.kernel) else {
            // Said with its line by who checks the original's launches.
            return Ok(l.clone());
        };
        let other = self.kernel(own)?;
        Ok(LaunchSpec {
            kernel: other.symbol.clone(),
            args: self.arguments(l, own, other)?,
            ..l.clone()
        })
    }

    /// Arguments by the names of parameters; by position where the names differ and there are as many.
    fn arguments(
        &self,
        l: &LaunchSpec,
        own: &KernelInfo,
        other: &KernelInfo,
    ) -> Result<Vec<ArgSpec>, LaunchesError> {
        if l.args.len() != own.params.len() {
            return Ok(l.args.clone());
        }
        let position = |name: &str| own.params.iter().position(|p| self.mapped(&p.name) == name);
        let found: Vec<Option<usize>> = other.params.iter().map(|p| position(&p.name)).collect();
        if let Some(all) = found.iter().copied().collect::<Option<Vec<usize>>>() {
            return Ok(all.into_iter().map(|i| l.args[i].clone()).collect());
        }
        let in_place = found
            .iter()
            .enumerate()
            .all(|(i, f)| f.is_none_or(|f| f == i));
        if in_place && own.params.len() == other.params.len() {
            return Ok(l.args.clone());
        }
        let words = |k: &KernelInfo| {
            let all: Vec<&str> = k.params.iter().map(|p| p.name.as_str()).collect();
            format!("{} ({})", k.name, all.join(", "))
        };
        let missing = found.iter().position(Option::is_none).unwrap_or(0);
        let missing = other.params.get(missing).map(|p| p.name.clone());
        Err(LaunchesError::Parameters {
            own: words(own),
            other: words(other),
            missing: missing.unwrap_or_default(),
        })
    }
}
