//! Changes to a first workload file after it was tried: other lengths, sizes and blocks.
use super::BLOCKS;
use super::draft::{FirstArgument, LengthSource, Part, SizeSource, Skeleton};
use kerf_exec::cpu::launch::{LeftObject, OutOfBounds};

/// How often as long as the first guess a buffer may get, beyond `FEW` elements.
const MOST_GROWTH: u64 = 4096;

/// Elements that any buffer may have.
const FEW: u64 = 1 << 22;

/// Threads that an H200 runs at once: what is much smaller is timed as the latency of one thread.
pub(super) const FILLED: u64 = 132 * 2048;

/// Sizes below this do not name the factor by which a buffer grew: a multiple of them is one by chance.
const LEAST_NAMED_SIZE: u64 = 32;

/// Why sizes are made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShrinkCause {
    /// A run took too long.
    Time,
    /// An access left an array of the program.
    Fault,
}

/// The buffer that an access left at its end, its elements, and the index of the access.
pub(super) fn left_buffer(problem: &OutOfBounds) -> Option<(&str, u64, u64)> {
    match &problem.object {
        LeftObject::Buffer {
            name,
            elements,
            index,
        } => Some((name, *elements as u64, u64::try_from(*index).ok()?)),
        _ => None,
    }
}

impl Skeleton {
    /// Holds the launch space to one block; `why` says what another one did.
    pub(super) fn hold_block(&mut self, shape: &[(String, i64)], why: &str) {
        for (name, values) in &mut self.space.parameters {
            if let Some((_, threads)) = shape.iter().find(|s| s.0 == *name) {
                *values = format!("[{threads}]   # {why}");
            }
        }
        self.space.conditions.clear();
    }

    /// Makes the buffer longer that an access left, until it would be too long. Gives whether it did.
    pub(super) fn lengthen(&mut self, problem: &OutOfBounds) -> bool {
        let Some((name, elements, index)) = left_buffer(problem) else {
            return false;
        };
        let found = self.body.0.iter_mut().find_map(|part| match part {
            Part::Length(length) if length.buffer == name => Some(length),
            _ => None,
        });
        let Some(length) = found else { return false };
        let before = match length.source {
            LengthSource::Grown { times, .. } => times,
            LengthSource::Known | LengthSource::Guessed => 1,
        };
        let one = (elements / before).max(1);
        let times = (index / one + 1).next_power_of_two();
        if times <= before || (times > MOST_GROWTH && times * one > FEW) {
            return false;
        }
        length.source = LengthSource::Grown {
            times,
            by_size: None,
        };
        true
    }

    /// Sets guessed numbers of rounds to 1, where an array of the kernel itself was left: they may be indices. Gives whether
    /// one was more.
    pub(super) fn reduce_rounds(&mut self, problem: &OutOfBounds) -> bool {
        if left_buffer(problem).is_some() {
            return false;
        }
        let mut changed = false;
        for part in &mut self.body.0 {
            let Part::Arguments(all) = part else { continue };
            for argument in all {
                if let FirstArgument::Rounds { count, .. } = argument {
                    changed |= *count > 1;
                    *count = 1;
                }
            }
        }
        changed
    }

    /// Says lengths that grew to as many times as a size by that size: a square stays one when the size changes.
    pub(super) fn name_lengths_by_sizes(&mut self) {
        for part in &mut self.body.0 {
            let Part::Length(length) = part else { continue };
            let factor = length.factor();
            let LengthSource::Grown { times, by_size } = &mut length.source else {
                continue;
            };
            // Twice and four times: borders round it.
            let multiple = |size: u64| {
                (size >= LEAST_NAMED_SIZE && times.is_multiple_of(size))
                    .then(|| *times / size)
                    .filter(|k| matches!(k, 1 | 2 | 4))
            };
            let all = self
                .sizes
                .iter()
                .filter_map(|(n, s)| Some((multiple(s.value)?, *n == factor, n)));
            *by_size = all.min().map(|(k, _, name)| match k {
                1 => name.clone(),
                k => format!("{k} * {name}"),
            });
        }
    }

    /// Makes the larger sizes smaller in so many steps: to a quarter where one is over 64, else to a half of those over 16.
    /// Gives whether one changed. `cause` says why a run with the present sizes failed.
    pub(super) fn shrink(&mut self, steps: usize, cause: ShrinkCause) -> bool {
        let tried = self.sizes.clone();
        for _ in 0..steps {
            if !self.divide_sizes(4, 64) && !self.divide_sizes(2, 16) {
                break;
            }
        }
        for (name, size) in &mut self.sizes {
            let failed = tried[name].value;
            if size.value >= failed {
                continue;
            }
            size.source = match (size.source, cause) {
                (SizeSource::Bounded, _) => SizeSource::Bounded,
                (SizeSource::Reduced { .. }, _) | (_, ShrinkCause::Fault) => {
                    SizeSource::Reduced { failed }
                }
                (_, ShrinkCause::Time) => SizeSource::Slow { failed },
            };
        }
        self.sizes != tried
    }

    fn divide_sizes(&mut self, by: u64, least: u64) -> bool {
        let mut changed = false;
        for (name, size) in &mut self.sizes {
            size.value = match size.value {
                v if v > least => (v / by).max(least),
                v if v > 4 && name == BLOCKS => v / 2,
                _ => continue,
            };
            changed = true;
        }
        changed
    }

    /// The file with its guessed sizes `times` as large along each dimension; none where it has no guesses.
    pub(super) fn enlarged(&self, times: u64) -> Option<Skeleton> {
        let mut larger = self.clone();
        for size in larger.sizes.values_mut() {
            size.value = size.enlarged(times);
        }
        (larger.sizes != self.sizes).then_some(larger)
    }

    /// Says how much of a GPU the full sizes fill.
    pub(super) fn note_fill(&mut self, threads: u64) {
        let size = self.sizes.keys().next().map_or("n", String::as_str);
        self.sizes_note = match 2 * threads >= FILLED {
            true => format!("{threads} threads, enough to fill a large GPU"),
            false => format!(
                "{threads} threads; a large GPU has room for {FILLED},\n                           # and times are those of a small launch: --size {size}=... for larger ones"
            ),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::draft::{Body, BufferLength, FirstSize};

    fn with_sizes(sizes: &[(&str, u64)]) -> Skeleton {
        let guessed = |v| FirstSize::new(v, SizeSource::GuessedSide);
        let sizes = sizes.iter().map(|(n, v)| ((*n).to_owned(), guessed(*v)));
        Skeleton {
            sizes: sizes.collect(),
            ..Skeleton::default()
        }
    }

    fn values(s: &Skeleton) -> Vec<u64> {
        s.sizes.values().map(|s| s.value).collect()
    }

    fn left(object: LeftObject) -> OutOfBounds {
        OutOfBounds {
            access: "load of 8 bytes".into(),
            writes: false,
            object,
        }
    }

    fn left_a(elements: usize, index: i64) -> OutOfBounds {
        left(LeftObject::Buffer {
            name: "a".into(),
            elements,
            index,
        })
    }

    #[test]
    fn rounds_that_are_indices() {
        let rounds = |parameter: &str| FirstArgument::Rounds {
            parameter: parameter.to_owned(),
            count: 10,
        };
        let known = |text: &str| FirstArgument::Known(text.to_owned());
        let dt = FirstArgument::Guess {
            text: "1.0".into(),
            note: "dt = 1.0".into(),
        };
        let all = vec![
            known("\"a\""),
            rounds("step"),
            dt,
            rounds("order"),
            known("\"n\""),
        ];
        let mut s = Skeleton {
            body: Body(vec![Part::Arguments(all)]),
            ..Skeleton::default()
        };
        let problem = left(LeftObject::Variable {
            name: "cB".into(),
            bytes: 40,
            at: 80,
        });
        assert!(!s.reduce_rounds(&left_a(5, 10)));
        assert!(s.reduce_rounds(&problem));
        let want = "args  = [\"a\", 1, 1.0, 1, \"n\"]   # a guess: step = 1, dt = 1.0, order = 1\n";
        assert!(s.text().ends_with(want), "{}", s.text());
        assert!(!s.reduce_rounds(&problem));
    }

    #[test]
    fn lengths_follow_sizes() {
        let grown = |elements: &str, times| BufferLength {
            buffer: "a".into(),
            elements: elements.into(),
            source: LengthSource::Grown {
                times,
                by_size: None,
            },
        };
        for (elements, times, want) in [
            ("n", 128, "m * n"),
            ("m", 256, "2 * n * m"),
            ("n", 16, "16 * n"),
            ("n * n", 128, "m * (n * n)"),
            ("1", 128, "m"),
        ] {
            let mut s = with_sizes(&[("m", 128), ("n", 128), ("k", 20)]);
            s.body = Body(vec![Part::Length(grown(elements, times))]);
            s.name_lengths_by_sizes();
            let want = format!("len  = \"{want}\"   # a guess: grown until no access left it\n");
            assert!(s.text().ends_with(&want), "{}", s.text());
        }
        let mut s = with_sizes(&[("n", 64)]);
        s.body = Body(vec![Part::Length(BufferLength {
            source: LengthSource::Known,
            ..grown("n + 1", 1)
        })]);
        assert!(s.lengthen(&left_a(65, 130)));
        assert!(s.text().contains("len  = \"4 * (n + 1)\""), "{}", s.text());
        assert!(!s.lengthen(&left_a(260, 259)));
    }

    #[test]
    fn sizes_shrink_and_end() {
        let mut s = with_sizes(&[("n", 1000), ("m", 65), ("k", 8)]);
        assert!(s.shrink(1, ShrinkCause::Fault));
        assert_eq!(values(&s), [8, 64, 250]);
        assert!(s.shrink(1, ShrinkCause::Fault));
        assert_eq!(values(&s), [8, 64, 64]);
        let mut s = with_sizes(&[("n", 64), ("m", 20)]);
        assert!(s.shrink(1, ShrinkCause::Fault));
        assert_eq!(values(&s), [16, 32]);
        // Blocks are halved first, where nothing is large.
        let mut s = with_sizes(&[("n", 64), (BLOCKS, 32)]);
        assert!(s.shrink(1, ShrinkCause::Fault));
        assert_eq!(values(&s), [16, 64]);
        assert!(!with_sizes(&[("n", 16)]).shrink(3, ShrinkCause::Fault));
    }

    #[test]
    fn only_guesses_are_enlarged() {
        let mut s = with_sizes(&[("n", 100)]);
        let bounded = FirstSize::new(128, SizeSource::Bounded);
        let row = FirstSize::new(500, SizeSource::GuessedRow);
        s.sizes
            .extend([("bounded".to_owned(), bounded), ("row".to_owned(), row)]);
        assert_eq!(values(&s.enlarged(4).expect("guesses")), [128, 400, 8000]);
        // What was made smaller stays below what failed.
        let mut s = with_sizes(&[("n", 1000)]);
        assert!(s.shrink(2, ShrinkCause::Fault));
        assert_eq!(values(&s), [64]);
        assert_eq!(values(&s.enlarged(4).expect("guesses")), [256]);
        assert!(s.enlarged(16).is_none());
        // What was only too slow for the CPU is enlarged for a GPU beyond that.
        let full = |cause| {
            let mut s = with_sizes(&[("n", 1000)]);
            assert!(s.shrink(2, cause));
            s.full_times = 64;
            s.text()
        };
        let slow = full(ShrinkCause::Time);
        assert!(slow.contains("n = 4096\n\n[cpu_sizes]"), "{slow}");
        assert!(slow.contains("minutes\nn = 64\n"), "{slow}");
        assert!(!full(ShrinkCause::Fault).contains("[cpu_sizes]"));
        let mut bounded = with_sizes(&[]);
        bounded
            .sizes
            .insert("n".into(), FirstSize::new(128, SizeSource::Bounded));
        assert!(bounded.enlarged(2).is_none());
    }
}
