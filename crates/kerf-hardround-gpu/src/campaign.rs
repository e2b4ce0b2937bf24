//! A search under way: what is finished, written to the certificate before it counts.
use crate::GpuError;
use crate::engine::SearchEngine;
use kerf_cluster::ClusterError;
use kerf_hardround::certificate::{Header, UnitRecord};
use kerf_hardround::cost::{CoreSeconds, SearchMachine, TimeLeft};
use kerf_hardround::finished::FinishedUnits;
use kerf_hardround::group::GroupRecord;
use kerf_hardround::journal::{Journal, JournalError};
use kerf_hardround::leaf::Query;
use kerf_hardround::units::Units;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

/// Why a search ended early.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The certificate.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The other processes.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// No connections can be taken.
    #[error("cannot listen: {0}")]
    Listen(std::io::Error),
    /// A line of another process is no unit.
    #[error("a process sent nonsense: {0}")]
    NotAUnit(serde_json::Error),
    /// The time that was given is over; what is finished is kept.
    #[error("the time is over")]
    TimeOver,
    /// A unit of another process was damaged on its way.
    #[error("a process sent a unit with a wrong hash")]
    WrongHash,
}

/// How far a search is.
pub struct CampaignProgress<'a> {
    /// The first argument of the unit that was finished last.
    pub near: &'a str,
    /// Units that are finished, those of earlier runs among them.
    pub finished_units: u64,
    /// Units that earlier runs finished.
    pub resumed_units: u64,
    /// Units of the search.
    pub units: u64,
    /// Hard cases.
    pub cases: usize,
    /// Arguments that this run searched.
    pub arguments: u64,
    /// Seconds since this run began.
    pub elapsed_s: f64,
    /// The part of this run's work that is done, by what its units take, from 0 to 1.
    pub share: f64,
    /// Seconds until the end, about.
    pub left_s: f64,
}

/// A search under way.
pub struct Campaign<'a> {
    pub(crate) header: &'a Header,
    pub(crate) units: &'a Units,
    journal: Option<Journal>,
    /// Units that are finished.
    pub finished: FinishedUnits,
    /// Number of those that were finished before.
    pub resumed_units: u64,
    /// When it began.
    pub began: Instant,
    arguments: u64,
    /// Units of groups that are not whole yet, by the group's first and their own number.
    waiting: BTreeMap<u64, BTreeMap<u64, UnitRecord>>,
    waiting_units: u64,
    waiting_cases: usize,
    /// When to stop, if not at the end.
    pub until: Option<Instant>,
    time_left: TimeLeft,
    done: CoreSeconds,
    /// Seconds until the GPU was ready.
    pub opened: Option<f64>,
    tell: &'a mut (dyn FnMut(&CampaignProgress) + Send),
}

impl<'a> Campaign<'a> {
    /// Begins on a machine, with what an earlier search left; `tell` is called after each unit.
    pub fn new(
        header: &'a Header,
        units: &'a Units,
        machine: SearchMachine,
        (journal, finished): (Option<Journal>, FinishedUnits),
        tell: &'a mut (dyn FnMut(&CampaignProgress) + Send),
    ) -> Campaign<'a> {
        let there = finished.units.ranges().flatten();
        let there = there.map(|i| units.cost_of(i));
        let there = there.fold(CoreSeconds::default(), CoreSeconds::plus);
        Campaign {
            header,
            units,
            journal,
            resumed_units: finished.units.len(),
            finished,
            began: Instant::now(),
            arguments: 0,
            waiting: BTreeMap::new(),
            waiting_units: 0,
            waiting_cases: 0,
            until: None,
            time_left: TimeLeft {
                machine,
                whole: units.cost().less(there),
            },
            done: CoreSeconds::default(),
            opened: None,
            tell,
        }
    }

    /// Seconds that this run takes, about.
    pub fn estimate_s(&self) -> f64 {
        self.time_left.seconds(CoreSeconds::default(), 0.0)
    }

    /// Searches in this process alone, on the GPU of a number or on the processor.
    pub fn search(
        &mut self,
        q: &Query,
        gpu: Option<i32>,
        threads: usize,
    ) -> Result<(), CampaignError> {
        let there = self.finished.units.clone();
        let (units, header) = (self.units, self.header);
        let mut failure = None;
        let wanted = |i| !there.contains(i);
        let sink = |unit, _| match self.keep_unit(unit) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failure = Some(e);
                ControlFlow::Break(())
            }
        };
        let mut engine = SearchEngine::new(gpu, threads)?;
        engine.search(q, units, 0..units.len(), header, wanted, sink)?;
        self.opened = engine.opened;
        failure.map_or(Ok(()), Err)
    }

    /// A unit is finished: it is written with the others of its group, before it counts.
    pub(crate) fn keep_unit(&mut self, unit: UnitRecord) -> Result<(), CampaignError> {
        let number = unit.unit;
        let group = self.units.group(number);
        let there = self.finished.units.count_in(&group);
        let waiting = self.waiting.entry(group.start).or_default();
        // One that another process had too, which was thought to be lost.
        if self.finished.units.contains(number) || waiting.contains_key(&number) {
            return Ok(());
        }
        self.arguments += unit.length;
        self.waiting_units += 1;
        self.waiting_cases += unit.cases.len();
        self.done = self.done.plus(self.units.cost_of(number));
        let near = unit.first.clone();
        waiting.insert(number, unit);
        if there + waiting.len() as u64 == group.end - group.start {
            self.write_group(group.start)?;
        }
        let elapsed_s = self.began.elapsed().as_secs_f64();
        (self.tell)(&CampaignProgress {
            near: &near,
            finished_units: self.finished.units.len() + self.waiting_units,
            resumed_units: self.resumed_units,
            units: self.units.len(),
            cases: self.finished.cases.len() + self.waiting_cases,
            arguments: self.arguments,
            elapsed_s,
            share: self.time_left.share(self.done),
            left_s: self.time_left.seconds(self.done, elapsed_s),
        });
        match self.until.is_some_and(|t| Instant::now() >= t) {
            true => Err(CampaignError::TimeOver),
            false => Ok(()),
        }
    }

    /// Writes the units of a group that are there, those that follow each other as one line.
    fn write_group(&mut self, start: u64) -> Result<(), JournalError> {
        let units = self.waiting.remove(&start).unwrap_or_default();
        let units: Vec<UnitRecord> = units.into_values().collect();
        for run in units.chunk_by(|a, b| a.unit + 1 == b.unit) {
            let Some(group) = GroupRecord::new(self.header, run) else {
                continue;
            };
            if let Some(j) = &mut self.journal {
                j.line(&serde_json::to_string(&group).unwrap_or_default())?;
            }
            self.waiting_units -= run.len() as u64;
            self.waiting_cases -= run.iter().map(|u| u.cases.len()).sum::<usize>();
            self.finished.add(group);
        }
        Ok(())
    }

    /// Writes what is finished of groups that are not whole, and makes the certificate durable.
    pub fn close(&mut self) -> Result<(), JournalError> {
        while let Some((&start, _)) = self.waiting.first_key_value() {
            self.write_group(start)?;
        }
        self.journal.as_mut().map_or(Ok(()), Journal::close)
    }
}
