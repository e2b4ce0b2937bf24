//! The range for which a function is made, from the arguments that were seen.
use kerf_function::code::WorkingFormat;

/// How much further a range goes than the arguments seen, over their distance: other inputs have others.
const MARGIN: f64 = 0.125;

/// An end that is nearer to zero than this part of the other one may as well be zero, where the function has a value there.
const NEAR_ZERO: f64 = 0.125;

/// A range of arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ArgumentRange {
    pub from: f64,
    pub to: f64,
}

/// The magnitude with two digits that is not smaller, or not larger.
fn two_digits(x: f64, up: bool) -> f64 {
    if x == 0.0 {
        return x;
    }
    let size = x.abs();
    let exponent = size.log10().floor() as i32 - 1;
    let digits = size / 10f64.powi(exponent);
    let digits = match up {
        true => digits.ceil(),
        false => digits.floor(),
    };
    let rounded: f64 = format!("{digits}e{exponent}").parse().unwrap_or(size);
    rounded.copysign(x)
}

impl ArgumentRange {
    /// With other arguments too.
    pub(crate) fn with(self, from: f64, to: f64) -> ArgumentRange {
        ArgumentRange {
            from: self.from.min(from),
            to: self.to.max(to),
        }
    }

    /// The range for other inputs. Signs stay: what is never negative often cannot be.
    fn widened(self) -> ArgumentRange {
        let distance = self.to - self.from;
        let margin = match distance > 0.0 {
            true => MARGIN * distance,
            false => (MARGIN * self.from.abs()).max(MARGIN),
        };
        let (from, to) = (self.from - margin, self.to + margin);
        let from = match self.from >= 0.0 {
            true => two_digits(from.max(self.from / 2.0), false),
            false => two_digits(from, true),
        };
        let to = match self.to <= 0.0 {
            true => two_digits(to.min(self.to / 2.0), false),
            false => two_digits(to, true),
        };
        ArgumentRange { from, to }
    }

    /// With zero as an end, where one is near.
    fn ending_at_zero(self) -> ArgumentRange {
        let size = self.from.abs().max(self.to.abs());
        let ended = |x: f64, inside: bool| match inside && x.abs() < NEAR_ZERO * size {
            true => 0.0,
            false => x,
        };
        ArgumentRange {
            from: ended(self.from, self.from > 0.0),
            to: ended(self.to, self.to < 0.0),
        }
    }

    /// The nearest numbers of a format.
    pub(crate) fn nearest(self, format: WorkingFormat) -> ArgumentRange {
        let nearest = |x: f64| match format {
            WorkingFormat::F64 => x,
            WorkingFormat::F32 => f64::from(x as f32),
        };
        ArgumentRange {
            from: nearest(self.from),
            to: nearest(self.to),
        }
    }

    /// Ranges to try, the widest first: with a margin, and as they were seen, where the function has no more.
    pub(crate) fn candidates(self, format: WorkingFormat) -> Vec<ArgumentRange> {
        let rounded = |r: ArgumentRange| ArgumentRange {
            from: outward(r.from, false, format),
            to: outward(r.to, true, format),
        };
        let wide = self.widened();
        let all = [wide.ending_at_zero(), wide, self].map(rounded);
        let mut all: Vec<ArgumentRange> = all.to_vec();
        all.retain(|r| r.from.is_finite() && r.to.is_finite() && r.from < r.to);
        all.dedup();
        all
    }
}

/// The number of a format that is not above, or with `up` not below.
fn outward(x: f64, up: bool, format: WorkingFormat) -> f64 {
    if format == WorkingFormat::F64 {
        return x;
    }
    let nearest = x as f32;
    let inside = match up {
        true => f64::from(nearest) < x,
        false => f64::from(nearest) > x,
    };
    f64::from(match (inside, up) {
        (false, _) => nearest,
        (true, true) => nearest.next_up(),
        (true, false) => nearest.next_down(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widened(from: f64, to: f64) -> (f64, f64) {
        let r = ArgumentRange { from, to }.widened();
        (r.from, r.to)
    }

    #[test]
    fn ranges_have_margins_and_keep_their_signs() {
        assert_eq!(widened(-7.0, 0.0), (-7.9, 0.0));
        assert_eq!(widened(-1.0, 1.0), (-1.3, 1.3));
        let (from, to) = widened(0.001, 100.0);
        assert!(from > 0.0004 && from < 0.001 && to == 120.0, "{from} {to}");
        assert_eq!(widened(2.0, 2.0), (1.7, 2.3));
        // Nothing is known of it but that it is zero.
        assert_eq!(widened(0.0, 0.0), (0.0, 0.0));
    }

    #[test]
    fn ends_are_numbers_of_the_format_that_leave_nothing_out() {
        for up in [true, false] {
            let x = outward(0.1, up, WorkingFormat::F32);
            assert!(WorkingFormat::F32.has(x));
            assert_eq!(x > 0.1, up);
        }
        let all = ArgumentRange { from: 1.0, to: 1.0 }.candidates(WorkingFormat::F64);
        assert_eq!(all.len(), 1);
        let all = ArgumentRange {
            from: -7.0,
            to: -0.001,
        }
        .candidates(WorkingFormat::F64);
        let ends: Vec<f64> = all.iter().map(|r| r.to).collect();
        assert_eq!((ends[0], ends[2], ends.len()), (0.0, -0.001, 3));
        assert!(ends[1] > -0.001 && ends[1] < -0.0004, "{ends:?}");
    }
}
