//! Times: the plan and the program as it is in turn, each sample long enough to be one.
//!
//! Where the device can replay launches, a sample is as many replays as last long enough, each from the
//! first contents; elsewhere it is one run.
use super::JobError;
use crate::run::{Contents, Loaded, Session};
use kerf_exec::Executor;

/// Replays of one sample, at most.
const REPLAYS: f64 = 2000.0;

/// A program on a device.
pub(super) struct Runner {
    /// Where it runs.
    pub exec: Box<dyn Executor>,
    /// Its buffers.
    pub loaded: Loaded,
    /// Buffers have their first contents.
    fresh: bool,
    /// Replays of a sample; none where runs are not recorded.
    pub batch: Option<u32>,
}

impl Runner {
    /// With its buffers filled.
    pub fn new(exec: Box<dyn Executor>, session: &Session) -> Result<Runner, JobError> {
        Runner::with(exec, session, None)
    }

    /// With its buffers filled from contents that were made before.
    pub fn with(
        mut exec: Box<dyn Executor>,
        session: &Session,
        contents: Option<Contents>,
    ) -> Result<Runner, JobError> {
        let loaded = session.load_with(exec.as_mut(), contents)?;
        Ok(Runner {
            exec,
            loaded,
            fresh: true,
            batch: None,
        })
    }

    fn refresh(&mut self, session: &Session) -> Result<(), JobError> {
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
    pub fn run(&mut self, session: &Session) -> Result<f64, JobError> {
        self.refresh(session)?;
        self.fresh = false;
        Ok(session.run(self.exec.as_mut(), &mut self.loaded)?)
    }

    /// Records the run, and finds how many replays last as long as a sample should.
    pub fn record(&mut self, session: &Session, sample_s: f64) -> Result<(), JobError> {
        self.refresh(session)?;
        if session.record(self.exec.as_mut(), &mut self.loaded)? {
            let once = self.exec.replay(2)?.max(1e-7);
            self.fresh = false;
            self.batch = Some((sample_s / once).ceil().clamp(1.0, REPLAYS) as u32);
        }
        Ok(())
    }

    /// One sample, in seconds of a run.
    pub fn sample(&mut self, session: &Session) -> Result<f64, JobError> {
        match self.batch {
            Some(n) => {
                self.fresh = false;
                Ok(self.exec.replay(n)?)
            }
            None => self.run(session),
        }
    }
}
