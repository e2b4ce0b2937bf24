//! What a search is doing, on standard error: one line that changes on a terminal, few lines elsewhere.
use crate::output::note;
use kerf_tune::store::Phase;
use kerf_tune::tune::Event;
use std::io::{IsTerminal, Write};

/// Shows events.
pub struct Progress {
    live: bool,
    /// The line on the terminal has to be overwritten.
    dirty: bool,
    /// Best time shown so far, where lines are not overwritten.
    shown: Option<f64>,
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
            live: std::io::stderr().is_terminal(),
            dirty: false,
            shown: None,
        }
    }

    fn line(&mut self, text: &str) {
        self.end();
        note(text);
    }

    fn status(&mut self, text: &str) {
        let mut err = std::io::stderr().lock();
        // Clearing to the end of the line takes away what was longer.
        let _ = write!(err, "\r{text}\x1b[K");
        let _ = err.flush();
        self.dirty = true;
    }

    /// Leaves the line.
    pub fn end(&mut self) {
        if std::mem::replace(&mut self.dirty, false) {
            let _ = writeln!(std::io::stderr());
        }
    }

    /// A trial of `kerf check`.
    pub fn trial(&mut self, done: usize, of: usize, error: Option<f64>) {
        let text = format!("input {done} of {of}: error {}", number(error));
        match self.live {
            true => self.status(&text),
            false if done == of => self.line(&text),
            false => {}
        }
    }

    /// Shows an event.
    pub fn show(&mut self, e: &Event) {
        match e {
            Event::Prepared {
                groups,
                sites,
                excluded,
                plans,
            } => self.line(&format!(
                "{groups} groups of {sites} operations, {excluded} fixed; {plans} plans"
            )),
            Event::Floor(f) => {
                self.line(&format!("the program itself: error {}", number(f.error)));
            }
            Event::Warning(w) => self.line(&format!("warning: {w}")),
            Event::Demoted(d) => self.line(&format!(
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
            Event::Evaluated {
                phase,
                done,
                budget,
                error,
                time,
                best,
                tolerance,
                left_s,
            } => {
                let what = match phase {
                    Phase::Baseline | Phase::Search => "search",
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
                text += &format!("; at most {} left", left(*left_s));
                let news = best.map(|b| b.0) != self.shown || done == budget;
                match self.live {
                    true => self.status(&text),
                    false if news && *phase != Phase::Validation || done == budget => {
                        self.shown = best.map(|b| b.0);
                        self.line(&text);
                    }
                    false => {}
                }
            }
        }
    }
}
