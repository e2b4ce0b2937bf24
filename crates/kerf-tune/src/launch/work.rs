//! Work of every shape of a workload's launches, counted on the CPU: what the workload tuner knows, as a table for
//! comparisons.
use super::prepare::{has_barrier, work_of};
use super::space;
use kerf_ir::kernels;
use kerf_pass::count::Detail;
use kerf_run::job::{Job, JobError, execute, kinds};
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};

/// One shape of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedShape {
    /// Workload.
    pub workload: String,
    /// Kernel.
    pub kernel: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Basic blocks that all threads run through.
    pub work: f64,
}

/// Counts the shapes of kernels with barriers, in this process.
pub fn work(job: &Job, sink: &mut dyn FnMut(&CountedShape)) -> Result<(), JobError> {
    let w = Workload::read(&job.workload, &job.overrides)?;
    let m = kerf_run::compile::own_program(&w, &job.toolchain())?.module()?;
    let infos = kernels::kernels(&m);
    let name = job.workload.file_stem().unwrap_or_default();
    for c in space::components(&w) {
        let mine: Vec<(&String, String)> = c
            .kernels
            .iter()
            .filter_map(|k| Some((k, kernels::find(&infos, k).ok()?.symbol.clone())))
            .filter(|(_, s)| has_barrier(&m, s))
            .collect();
        let Some(points) = space::points(&w, &c).filter(|_| !mine.is_empty()) else {
            continue;
        };
        for p in points {
            let Ok(all) = kinds(&w, &infos, &p) else {
                continue;
            };
            let overrides = job.overrides.iter().cloned();
            let counting = Job {
                overrides: overrides
                    .chain(p.iter().map(|(n, v)| (n.clone(), *v)))
                    .collect(),
                count: Some(Detail::Executions),
                count_only: true,
                reference: false,
                ..job.clone()
            };
            let Some(counts) = execute(&counting).ok().and_then(|r| r.counts) else {
                continue;
            };
            for (k, s) in &mine {
                if let Some(kind) = all.iter().find(|x| x.symbol == *s) {
                    sink(&CountedShape {
                        workload: name.to_string_lossy().into_owned(),
                        kernel: (*k).clone(),
                        block: kind.launch.block,
                        work: work_of(&counts, s),
                    });
                }
            }
        }
    }
    Ok(())
}
