//! How long a search will take, estimated from the program's own evaluation before the first of a plan.

/// Searches that are estimated to take longer, in seconds, have to be confirmed.
pub const LONG_S: f64 = 2.0 * 3600.0;

/// What a search consists of, and what each part takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchDuration {
    /// Evaluations that are still to be made, at most.
    pub evaluations: usize,
    /// Seconds of one.
    pub evaluation_s: f64,
    /// Inputs that the plan is validated on.
    pub validations: usize,
    /// Seconds of one, its reference included.
    pub validation_s: f64,
    /// How many run at a time.
    pub parallel: usize,
}

/// A search that nobody confirmed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the search may take {}: {}; help: --yes starts it all the same{}; --budget, --validate and --size make it shorter",
    hours(duration.seconds()),
    duration.describe(),
    if *resumable { " (with --resume, what has run is kept)" } else { "" }
)]
pub struct TooLong {
    /// The estimate.
    pub duration: SearchDuration,
    /// Is something in the folder by now?
    pub resumable: bool,
}

fn hours(seconds: f64) -> String {
    format!("{:.1} hours", seconds / 3600.0)
}

impl SearchDuration {
    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        let search = self.evaluations as f64 * self.evaluation_s;
        let validation = self.validations as f64 * self.validation_s;
        (search + validation) / self.parallel.max(1) as f64
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "up to {} evaluations of about {:.1} s",
            self.evaluations, self.evaluation_s
        );
        if self.validations > 0 {
            text += &format!(
                ", {} to validate of about {:.1} s",
                self.validations, self.validation_s
            );
        }
        if self.parallel > 1 {
            text += &format!(", {} at a time", self.parallel);
        }
        text
    }

    /// Refuses what takes hours, unless it was asked for.
    pub fn check(self, confirmed: bool, resumable: bool) -> Result<(), TooLong> {
        match confirmed || self.seconds() <= LONG_S {
            true => Ok(()),
            false => Err(TooLong {
                duration: self,
                resumable,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_have_to_be_confirmed_and_are_explained() {
        let d = SearchDuration {
            evaluations: 200,
            evaluation_s: 120.0,
            validations: 20,
            validation_s: 600.0,
            parallel: 2,
        };
        assert_eq!(d.seconds(), 18_000.0);
        let refused = d.check(false, true).expect_err("five hours");
        let text = refused.to_string();
        for part in [
            "5.0 hours",
            "200 evaluations of about 120.0 s",
            "20 to validate of about 600.0 s",
            "2 at a time",
            "--yes",
            "--resume",
            "--budget",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(d.check(true, true).is_ok());
        let short = SearchDuration {
            evaluation_s: 1.0,
            validation_s: 5.0,
            ..d
        };
        assert!(short.check(false, true).is_ok());
    }
}
