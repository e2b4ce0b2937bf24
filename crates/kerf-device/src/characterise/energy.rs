//! Energy of the operations whose best shape is known.
use super::{Campaign, CampaignMode};
use crate::energy::{PowerWindow, per_result, window};
use crate::limits;
use crate::probe::measure::ProbeBench;
use crate::profile::Figure;
use kerf_exec::cuda::watch::Watch;
use kerf_exec::{ExecError, Executor};
use std::collections::BTreeMap;
use std::time::Duration;

/// Length of a window.
const SECONDS: f64 = 5.0;

fn at_rest(watch: &Watch) -> Result<Figure, ExecError> {
    let rest = window(watch, 3.0, || {
        std::thread::sleep(Duration::from_millis(5));
        Ok(())
    })?;
    Ok(rest.map_or_else(Figure::default, |w| {
        Figure::measured(w.watts()).with_note("context open, nothing running")
    }))
}

fn waiting(
    watch: &Watch,
    device: &mut limits::LimitsBench,
    warps: u32,
) -> Result<Option<PowerWindow>, ExecError> {
    window(watch, SECONDS, || {
        device.wait(warps, 10_000_000)?;
        device.executor().start_clock()?;
        device.executor().stop_clock().map(|_| ())
    })
}

impl Campaign<'_> {
    /// Energy of every operation of the list.
    pub(super) fn energies(&mut self, device: &mut limits::LimitsBench) -> Result<(), ExecError> {
        let mut order = self.powered();
        if order.is_empty() {
            return Ok(());
        }
        let Some(watch) = self.watch.take() else {
            let why = "energy was not measured: NVML is not there";
            self.p.origin.remarks.push(why.into());
            return Ok(());
        };
        if self.p.limits.idle_power.is_unknown() {
            self.p.limits.idle_power = at_rest(&watch)?;
        }
        // A fixed shuffle: neighbours in the list would warm each other in the same order every time.
        order.sort_by_key(|k| {
            k.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
                (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
            })
        });
        let mut bases: BTreeMap<u32, PowerWindow> = BTreeMap::new();
        for key in order {
            self.step(&format!("energy of {key}"), "energy");
            let done = self.p.operations.get(key).is_some_and(|s| {
                let e = &s.energy_pj;
                e.value.is_some() || e.note.is_some()
            });
            let Some(best) = self.bests.get(key).copied().filter(|_| !done) else {
                continue;
            };
            if !bases.contains_key(&best.warps)
                && let Some(w) = waiting(&watch, device, best.warps)?
            {
                bases.insert(best.warps, w);
            }
            let base: Vec<PowerWindow> = bases.get(&best.warps).copied().into_iter().collect();
            let figure = self.energy_of(key, &watch, &base)?;
            self.p
                .operations
                .entry(key.to_owned())
                .or_default()
                .energy_pj = figure;
            self.keep()?;
        }
        self.watch = Some(watch);
        Ok(())
    }

    fn energy_of(
        &self,
        key: &str,
        watch: &Watch,
        base: &[PowerWindow],
    ) -> Result<Figure, ExecError> {
        let (Some(Ok(r)), Some(best)) = (self.compiled.get(key), self.bests.get(key)) else {
            return Ok(Figure::default());
        };
        let sms = self.attributes.sms;
        let ring = super::speed::ring(key, CampaignMode::Full);
        let mut bench = ProbeBench::new(r.probe.clone(), &r.binary, self.o.ordinal, sms, ring)?;
        // About 5 ms a launch.
        let iterations = (f64::from(best.iterations) * 8e6 / 6e4) as u32;
        let mut windows = Vec::new();
        for _ in 0..2 {
            let w = window(watch, SECONDS, || {
                bench.start(best.shape, sms, best.warps, iterations)?;
                bench.executor().start_clock()?;
                bench.executor().stop_clock().map(|_| ())
            })?;
            windows.extend(w);
        }
        let results = (best.shape.streams * best.shape.unroll) as f64
            * f64::from(iterations)
            * f64::from(32 * best.warps)
            * f64::from(sms)
            * r.probe.results();
        Ok(per_result(&windows, base, results))
    }
}
