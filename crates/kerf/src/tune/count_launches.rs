//! Recorded launches of an application, counted, with the time that each would take on a device that is not here.
use crate::record::{Launch, workloads};
use crate::run::in_worker;
use crate::toolchain;
use kerf_device::profile::DeviceProfile;
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_predict::cost::CostModel;
use kerf_run::job::{Device, Job, JobError};
use kerf_tune::app::{CountLaunches, CountedLaunch};
use kerf_workload::Workload;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Counting takes longer than running; kernels that it does not get to count by their time on the processor.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where times are measured the counts decide little, and a launch on a GPU is counted there.
const PATIENCE_ON_GPU: Duration = Duration::from_secs(15);

/// Counts the one launch of a workload file, and predicts its time.
fn launch(
    file: &Path,
    symbol: &str,
    detail: Detail,
    (model, gpu): (Option<&CostModel>, Option<i32>),
    limit: Duration,
) -> Result<CountedLaunch, Box<dyn std::error::Error>> {
    let tools = toolchain::discover("sm_90");
    let job = Job {
        count: Some(detail),
        count_only: true,
        device: if gpu.is_some() {
            Device::Cuda
        } else {
            Device::Cpu
        },
        ordinal: gpu.unwrap_or_default(),
        ..Job::plain(file.to_owned(), &tools)
    };
    let counts = in_worker(&job, limit)?.counts;
    let counts = counts.ok_or_else(|| JobError::Worker("the counts are missing".into()))?;
    let m = kerf_run::compile::own_program(&Workload::read(file, &[])?, &tools)?.module()?;
    let work = kerf_tune::counts::work(&counts);
    let seconds = |model: &CostModel| {
        let kernel = model.kernel(&m, &work, symbol).ok()?;
        kernel.device_seconds(&Plan::default()).ok()
    };
    Ok(CountedLaunch {
        seconds: model.and_then(seconds),
        counts,
    })
}

/// The first launch of each kernel, then the second of each: there may not be time for all.
fn in_rounds(launches: Vec<Launch>) -> Vec<(String, String)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let named = launches.into_iter().filter_map(|l| {
        let round = seen.entry(l.symbol.clone()).or_default();
        *round += 1;
        Some((*round, l.symbol, l.workload.ok()?))
    });
    let mut all: Vec<(usize, String, String)> = named.collect();
    all.sort_by_key(|l| l.0);
    all.into_iter()
        .map(|(_, symbol, name)| (symbol, name))
        .collect()
}

/// Counts launches, on a GPU where one is given, and predicts their times by a profile where that is enough for it.
pub fn by(profile: &DeviceProfile, gpu: Option<i32>) -> Box<CountLaunches> {
    let model = CostModel::new(profile).ok();
    let patience = match gpu {
        Some(_) => PATIENCE_ON_GPU,
        None => PATIENCE,
    };
    Box::new(move |folder: &Path, detail: Detail| {
        let begun = Instant::now();
        let mut each: BTreeMap<String, Vec<CountedLaunch>> = BTreeMap::new();
        let Ok(to) = tempfile::tempdir() else {
            return each;
        };
        for (symbol, name) in in_rounds(workloads(folder, to.path()).unwrap_or_default()) {
            let left = patience.saturating_sub(begun.elapsed());
            let file = to.path().join(format!("{name}.toml"));
            if !left.is_zero()
                && let Ok(counted) = launch(&file, &symbol, detail, (model.as_ref(), gpu), left)
            {
                each.entry(symbol).or_default().push(counted);
            }
        }
        each
    })
}
