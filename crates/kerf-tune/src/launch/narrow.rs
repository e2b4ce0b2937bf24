//! On a GPU: the shapes that the tuners left, compared by samples, so that only the best of them run whole.
use super::choice::LaunchChoice;
use super::sample::{Ask, LaunchSamples, STILL};
use super::space::LaunchParams;
use crate::request::TuneRequest;
use kerf_exec::worker::WorkerProcess;
use kerf_run::job::JobError;

/// Shapes of a component that run whole after sampling, at most.
const WHOLE: usize = 2;

/// Those within this factor of the best estimate.
const NEAR: f64 = 1.03;

fn ask(request: &TuneRequest, points: Vec<LaunchParams>) -> Result<Vec<LaunchSamples>, JobError> {
    let died = |e: kerf_exec::worker::WorkerError| JobError::Worker(e.to_string());
    let mut w = WorkerProcess::start(&request.program.path, &["sample-worker"]).map_err(died)?;
    let ask = Ask {
        job: request.job.clone(),
        points,
        check: false,
    };
    w.ask(&ask, request.limit).map_err(died)?
}

/// Seconds of a component's kernels by samples; none if one of them did not run.
fn estimate(s: &LaunchSamples, kernels: &[String]) -> Option<f64> {
    let mine = s.launches.iter().filter(|l| kernels.contains(&l.kernel));
    let each = mine.map(|l| Some(l.whole? * l.repeats as f64));
    let all: Option<Vec<f64>> = each.collect();
    all.filter(|a| !a.is_empty()).map(|a| a.iter().sum())
}

/// Leaves of each component's shapes those that samples call the fastest; gives what was done.
pub fn narrow(request: &TuneRequest, l: &mut LaunchChoice) -> Vec<String> {
    let mut notes = Vec::new();
    for v in &mut l.variables {
        let (plain, grouped): (Vec<usize>, Vec<usize>) = v
            .funnel
            .sampled()
            .into_iter()
            .partition(|i| v.shapes[*i].regroup.is_none());
        if plain.len() <= 1 {
            continue;
        }
        let name = v.component.params.join(", ");
        if let Some(unseen) = v.funnel.unseen.filter(|_| v.funnel.waves < STILL) {
            notes.push(format!(
                "{name}: launches of {:.1} waves are too short to be sampled; of {} shapes the one that loads the busiest multiprocessor least runs (--strategy exhaustive or guided run more)",
                v.funnel.waves,
                plain.len()
            ));
            v.funnel.levels = std::iter::once(unseen).chain(grouped).collect();
            continue;
        }
        let points = plain.iter().map(|i| v.shapes[*i].params.clone()).collect();
        let all = match ask(request, points) {
            Ok(a) => a,
            Err(e) => {
                notes.push(format!(
                    "{name}: shapes could not be sampled, so all of them run whole: {e}"
                ));
                continue;
            }
        };
        let spent: f64 = all.iter().map(|s| s.sampled_s).sum();
        let mut timed: Vec<(f64, usize)> = plain
            .iter()
            .zip(&all)
            .filter_map(|(i, s)| Some((estimate(s, &v.component.kernels)?, *i)))
            .collect();
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(best) = timed.first().map(|t| t.0) else {
            continue;
        };
        timed.retain(|t| t.0 <= NEAR * best);
        timed.truncate(WHOLE);
        notes.push(format!(
            "{name}: {} shapes sampled in {:.3} ms of the GPU, {} run whole",
            plain.len(),
            1e3 * spent,
            timed.len()
        ));
        v.funnel.levels = timed.into_iter().map(|t| t.1).chain(grouped).collect();
    }
    notes
}
