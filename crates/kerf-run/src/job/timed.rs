//! Times: the plan and the program as it is in turn, each sample long enough to be one.
//!
//! Where the device can replay launches, a sample is as many replays as last long enough, each from the
//! first contents; elsewhere it is one run.
use super::JobError;
use super::report::Energy;
use crate::run::{FirstContents, LoadedBuffers, WorkloadSession};
use kerf_exec::Executor;
use kerf_exec::cuda::watch::Watch;
use std::time::{Duration, Instant};

/// Runs that last as long together have warmed the device up.
const WARM_S: f64 = 5e-3;

/// Replays of one sample, at most.
const REPLAYS: f64 = 2000.0;

/// Seconds of runs between two readings of the energy counter.
const BETWEEN_S: f64 = 0.04;

/// Seconds of work before an energy window.
const SETTLE_S: f64 = 0.3;

/// A program on a device.
pub struct TimedProgram {
    /// Where it runs.
    pub exec: Box<dyn Executor>,
    /// Its buffers.
    pub loaded: LoadedBuffers,
    /// Buffers have their first contents.
    fresh: bool,
    /// Replays of a sample; none where runs are not recorded.
    pub batch: Option<u32>,
    /// Seconds of the last run by itself.
    last_run_s: f64,
}

impl TimedProgram {
    /// With its buffers filled, from contents that were made before where there are some.
    pub fn with(
        mut exec: Box<dyn Executor>,
        session: &WorkloadSession,
        contents: Option<FirstContents>,
    ) -> Result<TimedProgram, JobError> {
        let loaded = session.load_with(exec.as_mut(), contents)?;
        Ok(TimedProgram {
            exec,
            loaded,
            fresh: true,
            batch: None,
            last_run_s: 0.0,
        })
    }

    fn refresh(&mut self, session: &WorkloadSession) -> Result<(), JobError> {
        if !std::mem::replace(&mut self.fresh, true) {
            // What a recording kept on the device is nearer than the host's copy.
            if !self.exec.rewind()? {
                session.reset(self.exec.as_mut(), &mut self.loaded)?;
            }
            let _ = self.exec.printed();
        }
        Ok(())
    }

    /// One run from the first contents; its seconds.
    pub fn run(&mut self, session: &WorkloadSession) -> Result<f64, JobError> {
        self.refresh(session)?;
        self.fresh = false;
        self.last_run_s = session.run(self.exec.as_mut(), &mut self.loaded)?;
        Ok(self.last_run_s)
    }

    /// Runs that are not timed: as many, or fewer that last long.
    pub fn warm_up(&mut self, session: &WorkloadSession, runs: u32) -> Result<(), JobError> {
        let mut warm_s = 0.0;
        for _ in 0..runs {
            warm_s += self.run(session)?;
            if warm_s >= WARM_S {
                break;
            }
        }
        Ok(())
    }

    /// Records the run, and finds how many replays last as long as a sample should.
    pub fn record(&mut self, session: &WorkloadSession, sample_s: f64) -> Result<(), JobError> {
        self.refresh(session)?;
        if session.record(self.exec.as_mut(), &mut self.loaded)? {
            // The first replay is slower than the others.
            let replays = if self.last_run_s < sample_s { 2 } else { 1 };
            let once = self.exec.replay(replays)?.max(1e-7);
            self.fresh = false;
            self.batch = Some((sample_s / once).ceil().clamp(1.0, REPLAYS) as u32);
        }
        Ok(())
    }

    /// One sample, in seconds of a run.
    pub fn sample(&mut self, session: &WorkloadSession) -> Result<f64, JobError> {
        match self.batch {
            Some(n) => {
                self.fresh = false;
                Ok(self.exec.replay(n)?)
            }
            None => self.run(session),
        }
    }

    /// Energy by NVML, from one movement of its counter to another; the recorded run is replayed. The inputs are
    /// put back before every run, and that is in it.
    pub fn energy(&mut self, watch: &Watch, seconds: f64) -> Result<Option<Energy>, JobError> {
        let Some(batch) = self.batch else {
            return Ok(None);
        };
        self.fresh = false;
        // Asking NVML takes milliseconds, in which the device would idle: so many runs between two questions.
        let once = self.exec.replay(batch)?.max(1e-7);
        let batch = (BETWEEN_S / once).ceil().clamp(1.0, REPLAYS) as u32;
        let settled = Instant::now() + Duration::from_secs_f64(SETTLE_S);
        while Instant::now() < settled {
            self.exec.replay(batch)?;
        }
        let mut runs = 0u64;
        let exec = &mut self.exec;
        let mut edge = || -> Result<Option<(Instant, f64, u64)>, JobError> {
            let first = watch.energy();
            let give_up = Instant::now() + Duration::from_secs(1);
            while Instant::now() < give_up {
                exec.replay(batch)?;
                runs += u64::from(batch);
                let now = watch.energy();
                if let (Some(joules), true) = (now, now != first) {
                    return Ok(Some((Instant::now(), joules, runs)));
                }
            }
            Ok(None)
        };
        let Some((start, from, before)) = edge()? else {
            return Ok(None);
        };
        let mut last = (start, from, before);
        while last.0.duration_since(start).as_secs_f64() < seconds {
            match edge()? {
                Some(e) => last = e,
                None => return Ok(None),
            }
        }
        let window_s = last.0.duration_since(start).as_secs_f64();
        let (joules, runs) = (last.1 - from, last.2 - before);
        Ok(Some(Energy {
            per_run_j: joules / runs.max(1) as f64,
            mean_w: joules / window_s,
            window_s,
            runs,
        }))
    }
}
