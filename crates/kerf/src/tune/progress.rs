//! What a search is doing, on standard error: one line that changes on a terminal, few lines elsewhere.
use crate::output::{note, passing};
use crate::progress::{bar, live, quiet};
use kerf_tune::store::Phase;
use kerf_tune::tune::TuneEvent;
use std::time::Instant;

/// Plans to compile that take long enough to be spoken of, where lines are not overwritten.
const SAID: usize = 32;

/// Shows events.
pub struct Progress {
    live: bool,
    quiet: bool,
    /// Best time shown so far, where lines are not overwritten.
    shown: Option<f64>,
    began: Instant,
}

fn number(x: Option<f64>) -> String {
    match x {
        Some(0.0) => "0".into(),
        Some(x) => format!("{x:.2e}"),
        None => "inf".into(),
    }
}

/// Seconds left, roughly.
fn left(s: f64) -> String {
    match s {
        s if s >= 90.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} s", s.ceil()),
    }
}

impl Progress {
    /// Nothing shown yet.
    pub fn new() -> Progress {
        Progress {
            live: live(),
            quiet: quiet(),
            shown: None,
            began: Instant::now(),
        }
    }

    fn line(&self, text: &str) {
        if !self.quiet {
            note(text);
        }
    }

    /// A line that the next one takes the place of.
    fn status(&self, done: usize, of: usize, text: &str) {
        passing(&format!("{} {text}", bar(done as f64 / of.max(1) as f64)));
    }

    /// Takes the line away; what follows says it all.
    pub fn end(&mut self) {
        passing("");
    }

    /// A trial of `kerf check`.
    pub fn trial(&mut self, done: usize, of: usize, error: Option<f64>) {
        let text = format!("input {done} of {of}: error {}", number(error));
        match self.live {
            true => self.status(done, of, &text),
            false if done == of => self.line(&text),
            false => {}
        }
    }

    /// Shows an event.
    pub fn show(&mut self, e: &TuneEvent) {
        match e {
            TuneEvent::Prepared {
                groups,
                sites,
                excluded,
                plans,
            } => {
                let many = |n: usize, one: &str| match n {
                    1 => format!("1 {one}"),
                    n => format!("{n} {one}s"),
                };
                let groups = many(*groups, "group");
                let plans = match plans {
                    // As far as it was counted.
                    &u64::MAX => format!("more than {:.1e}", u64::MAX as f64),
                    n => n.to_string(),
                };
                // Shapes of launches have no operations.
                self.line(&match sites {
                    0 => format!("{groups}; {plans} plans"),
                    n => {
                        let sites = many(*n, "operation");
                        format!("{groups} of {sites}, {excluded} fixed; {plans} plans")
                    }
                });
            }
            TuneEvent::Compiled { done, of } => {
                let text = format!("compiling {done} of {of} plans to predict their times");
                match self.live {
                    true => self.status(*done, *of, &text),
                    false if *done == 1 && *of >= SAID => self.line(&format!(
                        "{of} plans of single kernels are compiled to predict their times (--no-assembler: none)"
                    )),
                    false => {}
                }
            }
            TuneEvent::Floor(f) => {
                self.line(&format!("the program itself: error {}", number(f.error)));
            }
            TuneEvent::Warning(w) => note(&format!("warning: {w}")),
            TuneEvent::Note(n) => self.line(&format!("note: {n}")),
            TuneEvent::Demoted(d) => self.line(&format!(
                "demoted: time {:.3} of the program's, error {} on another input ({} of {} passed){}",
                d.point.time,
                number(d.validation.worst),
                d.validation.passed,
                d.validation.counted(),
                match d.alike {
                    0 => String::new(),
                    n => format!(", and {n} like it"),
                }
            )),
            TuneEvent::Evaluated { .. } => self.evaluated(e),
        }
    }

    /// Shows an evaluation: how far the phase is, and the best plan so far.
    fn evaluated(&mut self, e: &TuneEvent) {
        let TuneEvent::Evaluated {
            phase,
            done,
            budget,
            error,
            time,
            best,
            tolerance,
            left_s,
        } = e
        else {
            return;
        };
        let what = match phase {
            Phase::Baseline | Phase::Search => "search",
            Phase::Raise => "raising",
            Phase::Layout => "layout",
            Phase::Probe => "probe",
            Phase::Validation => "validation",
            Phase::Final => "measurement",
        };
        let mut text = format!("{what} {done} of {budget}: error {}", number(*error));
        if let Some(t) = time {
            text += &format!(", time {t:.3}");
        }
        if let Some((t, e)) = best {
            let room = tolerance / e.max(f64::MIN_POSITIVE);
            let room = match room {
                r if r >= 1000.0 => ">1000".to_owned(),
                r => format!("{r:.1}"),
            };
            text += &format!("; best {t:.3}, headroom {room}x");
        }
        let so_far = self.began.elapsed().as_secs_f64();
        text += &format!("; {so_far:.0} s so far, at most {} left", left(*left_s));
        let news = best.map(|b| b.0) != self.shown || done == budget;
        match self.live {
            true => self.status(*done, *budget, &text),
            false if news && *phase != Phase::Validation || done == budget => {
                self.shown = best.map(|b| b.0);
                self.line(&text);
            }
            false => {}
        }
    }
}
