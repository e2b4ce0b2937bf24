//! Energy of an operation by NVML's counter.
//!
//! The counter moves about every 100 ms, so a window is seconds long and begins and ends with a
//! movement of the counter. What a kernel of sleeping warps at the same occupancy draws is taken off:
//! the figure is the energy of doing the operation rather than nothing. Kernels are launched one after
//! another for the whole window.
use crate::profile::Figure;
use kerf_exec::ExecError;
use kerf_exec::cuda::watch::Watch;
use std::time::{Duration, Instant};

/// Power over a window.
#[derive(Debug, Clone, Copy)]
pub struct PowerWindow {
    /// Seconds.
    pub seconds: f64,
    /// Joules.
    pub joules: f64,
    /// Batches of work done in it.
    pub batches: f64,
}

impl PowerWindow {
    /// Watts.
    pub fn watts(&self) -> f64 {
        self.joules / self.seconds
    }
}

/// The moment at which the counter next moves, and its value then. Work goes on meanwhile.
fn edge(
    watch: &Watch,
    mut busy: impl FnMut() -> Result<(), ExecError>,
) -> Result<Option<(Instant, f64)>, ExecError> {
    let Some(first) = watch.energy() else {
        return Ok(None);
    };
    let give_up = Instant::now() + Duration::from_secs(2);
    while Instant::now() < give_up {
        busy()?;
        if let Some(now) = watch.energy()
            && now != first
        {
            return Ok(Some((Instant::now(), now)));
        }
    }
    Ok(None)
}

/// Draws power for at least `seconds`; `batch` does one piece of work (a few milliseconds) and waits
/// for it.
pub fn window(
    watch: &Watch,
    seconds: f64,
    mut batch: impl FnMut() -> Result<(), ExecError>,
) -> Result<Option<PowerWindow>, ExecError> {
    // Clocks, voltage and the counter's filter settle first.
    let settled = Instant::now() + Duration::from_millis(400);
    while Instant::now() < settled {
        batch()?;
    }
    let mut batches = 0.0;
    let Some((start, first)) = edge(watch, &mut batch)? else {
        return Ok(None);
    };
    while start.elapsed().as_secs_f64() < seconds {
        batch()?;
        batches += 1.0;
    }
    let Some((stop, last)) = edge(watch, || {
        batches += 1.0;
        batch()
    })?
    else {
        return Ok(None);
    };
    Ok(Some(PowerWindow {
        seconds: (stop - start).as_secs_f64(),
        joules: last - first,
        batches,
    }))
}

/// Energy of one result in picojoules, from windows of the operation and of waiting.
pub fn per_result(work: &[PowerWindow], waiting: &[PowerWindow], results_per_batch: f64) -> Figure {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let each: Vec<f64> = work.iter().map(PowerWindow::watts).collect();
    let base: Vec<f64> = waiting.iter().map(PowerWindow::watts).collect();
    if each.is_empty() || base.is_empty() {
        return Figure::default().with_note("not resolvable: NVML's counter does not move");
    }
    let rate = mean(
        &work
            .iter()
            .map(|w| w.batches * results_per_batch / w.seconds)
            .collect::<Vec<_>>(),
    );
    let spread = |v: &[f64]| {
        let (low, high) = v
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
        high - low
    };
    let watts = mean(&each) - mean(&base);
    // The counter's last step may belong to either side of an edge: 100 ms at each end.
    let edge = work
        .iter()
        .map(|w| 0.2 * mean(&each) / w.seconds)
        .fold(0.0, f64::max);
    let doubt = (spread(&each) / 2.0 + spread(&base) / 2.0).hypot(edge);
    let pj = watts / rate * 1e12;
    let error = doubt / rate * 1e12;
    if watts <= doubt {
        return Figure::default().with_note(format!(
            "not resolvable: {watts:.1} W above waiting, uncertainty {doubt:.1} W"
        ));
    }
    Figure::measured_in(pj, pj - error, pj + error)
        .with_note("above a kernel that waits; interval from repeats and the counter's step")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_power_above_waiting() {
        let w = |watts: f64, batches: f64| PowerWindow {
            seconds: 5.0,
            joules: 5.0 * watts,
            batches,
        };
        // 300 W above waiting, 1e13 results a second: 30 pJ.
        let f = per_result(&[w(400.0, 50.0)], &[w(100.0, 1.0)], 1e12);
        assert!((f.value.expect("resolved") - 30.0).abs() < 1e-9);
        let [low, high] = f.range.expect("has an interval");
        assert!(low < 30.0 && high > 30.0);
        let f = per_result(&[w(101.0, 50.0)], &[w(100.0, 1.0)], 1e12);
        assert!(f.value.is_none() && f.note.is_some_and(|n| n.contains("not resolvable")));
    }
}
