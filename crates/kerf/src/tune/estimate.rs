//! How long kernels of an application would take on a device that is not here: a launch of each, counted and predicted.
use crate::record::workloads;
use crate::run::in_worker;
use crate::toolchain;
use kerf_device::profile::DeviceProfile;
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_predict::cost::CostModel;
use kerf_run::job::{Job, JobError};
use kerf_tune::app::Estimate;
use kerf_workload::Workload;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Counting takes longer than running; kernels that it does not get to count by their time on the processor.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seconds on the device of the one launch of a workload file.
fn launch(
    file: &Path,
    symbol: &str,
    model: &CostModel,
    limit: Duration,
) -> Result<f64, Box<dyn std::error::Error>> {
    let tools = toolchain::discover("sm_90");
    let job = Job {
        count: Some(Detail::Blocks),
        count_only: true,
        ..Job::plain(file.to_owned(), &tools)
    };
    let counts = in_worker(&job, limit)?.counts;
    let counts = counts.ok_or_else(|| JobError::Worker("the counts are missing".into()))?;
    let m = kerf_run::compile::own_program(&Workload::read(file, &[])?, &tools)?.module()?;
    let work = kerf_tune::counts::work(&counts);
    let seconds = model
        .kernel(&m, &work, symbol)?
        .device_seconds(&Plan::default())?;
    Ok(seconds)
}

/// Predicts by a profile; nothing, where the profile is not enough for it.
pub fn by(profile: &DeviceProfile) -> Option<Box<Estimate>> {
    let model = CostModel::new(profile).ok()?;
    Some(Box::new(move |folder: &Path| {
        let begun = Instant::now();
        let mut each = BTreeMap::new();
        let Ok(to) = tempfile::tempdir() else {
            return each;
        };
        for l in workloads(folder, to.path()).unwrap_or_default() {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            if let (Ok(name), false) = (l.workload, left.is_zero()) {
                let file = to.path().join(format!("{name}.toml"));
                if let Ok(seconds) = launch(&file, &l.symbol, &model, left) {
                    each.insert(l.symbol, seconds);
                }
            }
        }
        each
    }))
}
