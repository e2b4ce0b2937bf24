//! Error statistics of an operation: records of the device and cases of the host, added up.
use super::errors::{JudgingRules, ResultVerdict};
use super::exact::Exact;
use super::records::{Segment, SegmentRecord};
use super::strata::Stratum;
use std::collections::BTreeMap;

/// Arguments and the result that a device gave, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentCase {
    /// The words of the arguments.
    pub arguments: Vec<u64>,
    /// The words of the result.
    pub got: Vec<u64>,
}

/// A case that is being judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgedCase<'a> {
    /// Its number.
    pub index: u64,
    /// The words of the arguments.
    pub arguments: &'a [u64],
    /// The words of the result.
    pub got: &'a [u64],
}

impl JudgedCase<'_> {
    fn place(&self) -> ErrorPlace {
        let case = ArgumentCase {
            arguments: self.arguments.to_vec(),
            got: self.got.to_vec(),
        };
        ErrorPlace::Host(self.index, case)
    }
}

/// Where an error was seen.
#[derive(Debug, Clone, PartialEq)]
pub enum ErrorPlace {
    /// By the device, at an index of a segment.
    Device(Segment, u64),
    /// By the host.
    Host(u64, ArgumentCase),
}

impl ErrorPlace {
    /// The case, where the host kept it.
    pub fn case(&self) -> Option<ArgumentCase> {
        match self {
            ErrorPlace::Device(..) => None,
            ErrorPlace::Host(_, case) => Some(case.clone()),
        }
    }
    fn index(&self) -> u64 {
        match self {
            ErrorPlace::Device(_, i) | ErrorPlace::Host(i, _) => *i,
        }
    }
}

/// A largest error and where; of equal ones the one with the smallest index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TalliedPeak {
    /// The error.
    pub value: f64,
    /// Where.
    pub place: Option<ErrorPlace>,
}

impl TalliedPeak {
    fn see(&mut self, value: f64, place: impl FnOnce() -> ErrorPlace) {
        match &self.place {
            None => {
                *self = TalliedPeak {
                    value,
                    place: Some(place()),
                }
            }
            Some(_) if value < self.value => {}
            Some(old) => {
                let new = place();
                if value > self.value || new.index() < old.index() {
                    *self = TalliedPeak {
                        value,
                        place: Some(new),
                    };
                }
            }
        }
    }
}

/// Errors of one binade.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Binade {
    /// Arguments.
    pub count: u64,
    /// Those with a finite result that was compared.
    pub compared: u64,
    /// Largest error in ulps.
    pub ulp: f64,
    /// Largest absolute error.
    pub absolute: f64,
    /// Largest relative error.
    pub relative: f64,
}

/// All statistics.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccuracyTally {
    /// Arguments looked at.
    pub arguments: u64,
    /// Finite results in the headline domain.
    pub compared: u64,
    /// NaN or infinity against a number, anywhere.
    pub mismatched: u64,
    /// The first of them.
    pub mismatch: Option<ErrorPlace>,
    /// Flushed arguments and results.
    pub flushed: u64,
    /// Results that are not the correctly rounded ones.
    pub misrounded: u64,
    /// Arguments that nobody judged.
    pub unsettled: u64,
    /// Arguments that the host judged for the device.
    pub settled: u64,
    /// Largest error in ulps.
    pub ulp: TalliedPeak,
    /// Largest number of steps.
    pub steps: f64,
    /// Largest absolute error.
    pub absolute: f64,
    /// Largest relative error.
    pub relative: f64,
    /// Results with a relative error.
    pub normal: u64,
    /// Sums.
    pub sum_ulp: f64,
    /// Sums.
    pub sum_steps: f64,
    /// Sums.
    pub sum_relative: f64,
    /// By sign and exponent of the first argument.
    pub binades: BTreeMap<(bool, i32), Binade>,
    /// Worst and number of violations, by bound.
    pub bounds: Vec<(TalliedPeak, u64)>,
}

impl AccuracyTally {
    /// Nothing seen yet.
    pub fn new(bounds: usize) -> AccuracyTally {
        AccuracyTally {
            bounds: vec![(TalliedPeak::default(), 0); bounds],
            ..AccuracyTally::default()
        }
    }

    fn binade(&mut self, s: &Stratum) -> Option<&mut Binade> {
        let (e, negative) = s.binade?;
        Some(self.binades.entry((negative, e)).or_default())
    }

    /// Adds the device's statistics of a segment.
    pub fn add(&mut self, s: &Stratum, r: &SegmentRecord) {
        let at = |index: u64| move || ErrorPlace::Device(s.segment, index);
        self.arguments += u64::from(s.segment.count);
        self.mismatched += r.mismatched;
        if r.mismatched > 0 && self.mismatch.is_none() {
            self.mismatch = Some(ErrorPlace::Device(s.segment, r.mismatch));
        }
        self.flushed += r.flushed;
        self.unsettled += r.unsettled;
        if s.headline {
            self.compared += r.compared;
            self.misrounded += r.misrounded;
            if r.compared > 0 {
                self.ulp.see(r.ulp.value, at(r.ulp.index));
                self.steps = self.steps.max(r.steps.value);
            }
            self.absolute = self.absolute.max(r.absolute);
            self.relative = self.relative.max(r.relative);
            self.normal += r.normal;
            self.sum_ulp += r.sum_ulp;
            self.sum_steps += r.sum_steps;
            self.sum_relative += r.sum_relative;
        }
        if let Some(b) = self.binade(s) {
            b.count += u64::from(s.segment.count);
            b.compared += r.compared;
            b.ulp = b.ulp.max(r.ulp.value);
            b.absolute = b.absolute.max(r.absolute);
            b.relative = b.relative.max(r.relative);
        }
        for (mine, (peak, violations)) in self.bounds.iter_mut().zip(&r.bounds) {
            if peak.value >= 0.0 {
                mine.0.see(peak.value, at(peak.index));
            }
            mine.1 += violations;
        }
    }

    fn mismatch(&mut self, s: &Stratum, sample: &JudgedCase) {
        self.mismatched += 1;
        if self.mismatch.is_none() {
            self.mismatch = Some(sample.place());
        }
        for (i, b) in self.bounds.iter_mut().enumerate() {
            b.1 += u64::from(s.segment.bounds >> i & 1);
        }
    }

    /// Judges one result, as `judge` of `device/tally.h` does. `first` is the first argument.
    /// The argument itself has been counted already where the device saw it.
    pub fn judge(
        &mut self,
        s: &Stratum,
        sample: JudgedCase,
        first: f64,
        exact: &Exact,
        rules: &JudgingRules,
    ) {
        let (e, wrong) = match rules.verdict(sample.got, exact) {
            ResultVerdict::Special => return,
            ResultVerdict::Mismatch => return self.mismatch(s, &sample),
            ResultVerdict::Flushed { right } => {
                self.flushed += 1;
                if !right {
                    self.mismatch(s, &sample);
                }
                return;
            }
            ResultVerdict::Number { errors, wrong } => (errors, wrong),
        };
        let at = || sample.place();
        if s.headline {
            self.compared += 1;
            self.misrounded += u64::from(wrong);
            self.ulp.see(e.ulp, at);
            self.steps = self.steps.max(e.steps);
            self.absolute = self.absolute.max(e.absolute);
            self.sum_ulp += e.ulp;
            self.sum_steps += e.steps;
            if let Some(r) = e.relative {
                self.normal += 1;
                self.relative = self.relative.max(r);
                self.sum_relative += r;
            }
        }
        if let Some(b) = self.binade(s) {
            b.compared += 1;
            b.ulp = b.ulp.max(e.ulp);
            b.absolute = b.absolute.max(e.absolute);
            b.relative = b.relative.max(e.relative.unwrap_or(0.0));
        }
        for (i, (bound, mine)) in rules.bounds.iter().zip(&mut self.bounds).enumerate() {
            if s.segment.bounds >> i & 1 == 1 {
                let error = e.by(bound.measure, first);
                mine.0.see(error, at);
                mine.1 += u64::from(error > bound.limit);
            }
        }
    }

    /// Counts an argument that the host judges from the start.
    pub fn count(&mut self, s: &Stratum) {
        self.arguments += 1;
        if let Some(b) = self.binade(s) {
            b.count += 1;
        }
    }

    /// Adds another tally, of later arguments.
    pub fn merge(&mut self, o: AccuracyTally) {
        self.arguments += o.arguments;
        self.compared += o.compared;
        self.mismatched += o.mismatched;
        if self.mismatch.is_none() {
            self.mismatch = o.mismatch;
        }
        self.flushed += o.flushed;
        self.misrounded += o.misrounded;
        self.unsettled += o.unsettled;
        self.settled += o.settled;
        if let Some(place) = o.ulp.place {
            self.ulp.see(o.ulp.value, || place);
        }
        self.steps = self.steps.max(o.steps);
        self.absolute = self.absolute.max(o.absolute);
        self.relative = self.relative.max(o.relative);
        self.normal += o.normal;
        self.sum_ulp += o.sum_ulp;
        self.sum_steps += o.sum_steps;
        self.sum_relative += o.sum_relative;
        for (key, b) in o.binades {
            let mine = self.binades.entry(key).or_default();
            mine.count += b.count;
            mine.compared += b.compared;
            mine.ulp = mine.ulp.max(b.ulp);
            mine.absolute = mine.absolute.max(b.absolute);
            mine.relative = mine.relative.max(b.relative);
        }
        for (mine, (peak, violations)) in self.bounds.iter_mut().zip(o.bounds) {
            if let Some(place) = peak.place {
                mine.0.see(peak.value, || place);
            }
            mine.1 += violations;
        }
    }
}
