//! A search under way: what is done, and how far it is.
use super::done::Done;
use super::engine::Engine;
use super::journal::Journal;
use super::{SearchArgs, show, threads};
use crate::DeviceArg;
use crate::fail::Failure;
use crate::progress;
use kerf_hardround::certificate::{Header, UnitRecord};
use kerf_hardround::leaf::Query;
use kerf_hardround::units::Units;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between two lines of progress.
pub const PROGRESS_AFTER: Duration = Duration::from_secs(5);
/// The same on a terminal, where the line is overwritten.
const PROGRESS_LIVE: Duration = Duration::from_millis(500);

/// A search under way.
pub struct Running<'a> {
    /// What was asked.
    pub header: &'a Header,
    /// The units.
    pub units: &'a Units,
    /// The certificate.
    pub journal: Option<Journal>,
    /// Units that are done.
    pub done: Done,
    /// Those that were done before.
    pub resumed: u64,
    /// When it began.
    pub began: Instant,
    said: Instant,
    arguments: u64,
    /// Seconds until the GPU was ready.
    pub opened: Option<f64>,
}

impl<'a> Running<'a> {
    /// Begins, with what an earlier search left.
    pub fn new(
        header: &'a Header,
        units: &'a Units,
        journal: Option<Journal>,
        done: Done,
    ) -> Running<'a> {
        Running {
            header,
            units,
            journal,
            resumed: done.numbers.len() as u64,
            done,
            began: Instant::now(),
            said: Instant::now(),
            arguments: 0,
            opened: None,
        }
    }

    /// Searches in this process alone.
    pub fn search(&mut self, a: &SearchArgs, q: &Query) -> Result<(), Failure> {
        let there = self.done.numbers.clone();
        let (units, header) = (self.units, self.header);
        let mut failure = None;
        let wanted = |i| !there.contains(&i);
        let sink = |unit, text: String| match self.keep_unit(unit, &text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failure = Some(e);
                ControlFlow::Break(())
            }
        };
        let gpu = (a.device == DeviceArg::Cuda).then_some(a.gpu);
        let mut engine = Engine::new(gpu, threads(a.threads))?;
        engine.search(q, units, 0..units.len(), header, wanted, sink)?;
        self.opened = engine.opened;
        failure.map_or(Ok(()), Err)
    }

    /// A unit is done: it is written before it counts.
    pub fn keep_unit(&mut self, unit: UnitRecord, text: &str) -> Result<(), Failure> {
        if let Some(j) = &mut self.journal {
            j.line(text)?;
        }
        self.arguments += unit.length;
        let after = match progress::live() {
            true => PROGRESS_LIVE,
            false => PROGRESS_AFTER,
        };
        let said = self.said.elapsed() >= after;
        let at = said.then(|| unit.first.clone());
        self.done.add(unit);
        if let Some(at) = at {
            self.said = Instant::now();
            progress::status(&self.progress(&at));
        }
        Ok(())
    }

    fn progress(&self, at: &str) -> String {
        let seconds = self.began.elapsed().as_secs_f64();
        let (done, all) = (self.done.numbers.len() as u64, self.units.len());
        let cases = self.done.cases.len();
        let each = seconds / (done - self.resumed).max(1) as f64;
        format!(
            "{}{:5.1} %, near {at}: {cases} cases, {:.2e} arguments/s, about {} left",
            match progress::live() {
                true => progress::bar(done as f64 / all as f64),
                false => String::new(),
            },
            100.0 * done as f64 / all as f64,
            self.arguments as f64 / seconds,
            show::duration(each * (all - done) as f64)
        )
    }
}
