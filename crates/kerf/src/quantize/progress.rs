//! What a training is doing, on standard error: one line that changes on a terminal, a line an epoch elsewhere.
use crate::progress;
use kerf_quant::train::TrainEvent;

/// Shows events, unless progress is not wanted.
#[derive(Default)]
pub struct Progress {
    /// Before each line: which seed.
    pub prefix: String,
}

impl Progress {
    /// A line that stays.
    pub fn say(&mut self, text: &str) {
        progress::line(&format!("{}{text}", self.prefix));
    }
    /// Text that the next one replaces; on a terminal only.
    pub fn status(&mut self, text: &str) {
        if progress::live() {
            progress::status(&format!("{}{text}", self.prefix));
        }
    }
    /// Leaves the line.
    pub fn end(&mut self) {
        progress::clear();
    }
    /// Shows an event.
    pub fn show(&mut self, e: &TrainEvent) {
        match e {
            TrainEvent::Resumed { step, steps } => self.say(&format!("goes on from step {step} of {steps}")),
            TrainEvent::Steps {
                epoch,
                epochs,
                step,
                steps,
                so_far,
                samples_s,
                left_s,
            } => self.status(&format!(
                "epoch {epoch} of {epochs}, step {step} of {steps}: loss {:.3}, accuracy {:.2} %, {samples_s:.0} samples/s; \
                 {} left",
                so_far.loss,
                100.0 * so_far.accuracy(),
                progress::about(*left_s)
            )),
            TrainEvent::Epoch {
                epochs,
                row,
                left_s,
            } => {
                let left = match *left_s > 0.0 {
                    true => format!("; {} left", progress::about(*left_s)),
                    false => String::new(),
                };
                self.say(&format!(
                    "epoch {} of {epochs}: loss {:.3}, accuracy {:.2} %, test accuracy {:.2} %, {:.0} samples/s{left}",
                    row.epoch,
                    row.train.loss,
                    100.0 * row.train.accuracy(),
                    100.0 * row.test.accuracy(),
                    row.samples_s
                ));
            }
        }
    }
}
