//! A first workload file while it is being settled: its text, and as data what trial runs change in it. Each such value
//! says whether it is a guess.
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Where the value of a size comes from. Only guesses are enlarged until they fill a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizeSource {
    /// A guess of items in a row, which stand for two sides of a square.
    GuessedRow,
    /// A guess of the items along one of several sides.
    GuessedSide,
    /// A guess that was made smaller: with this value no run succeeded.
    Reduced { failed: u64 },
    /// A guess that was made smaller since a run on the CPU with this value took too long.
    Slow { failed: u64 },
    /// No guess: more would be too many threads, or nothing but lengths depends on it.
    Bounded,
}

/// A size of a first workload file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstSize {
    pub(super) value: u64,
    pub(super) source: SizeSource,
}

impl FirstSize {
    pub(super) const fn new(value: u64, source: SizeSource) -> FirstSize {
        FirstSize { value, source }
    }

    /// Its value where every side of what it stands for gets `times` as long.
    pub(super) fn enlarged(self, times: u64) -> u64 {
        match self.source {
            SizeSource::GuessedRow => self.value * times * times,
            SizeSource::GuessedSide => self.value * times,
            SizeSource::Reduced { failed } | SizeSource::Slow { failed }
                if self.value * times < failed =>
            {
                self.value * times
            }
            SizeSource::Reduced { .. } | SizeSource::Slow { .. } | SizeSource::Bounded => {
                self.value
            }
        }
    }

    /// Its value at full sizes: as [`FirstSize::enlarged`], but what the CPU takes too long for a GPU does not.
    fn full(self, times: u64) -> u64 {
        match self.source {
            SizeSource::Slow { .. } => self.value * times,
            _ => self.enlarged(times),
        }
    }
}

/// Where the length of a buffer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LengthSource {
    /// The code tells it.
    Known,
    /// A guess, of which nothing is known.
    Guessed,
    /// A guess: so many times the expression, since an access left a shorter buffer. `by_size` says the factor by a size
    /// that it is a multiple of.
    Grown { times: u64, by_size: Option<String> },
}

/// The length of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BufferLength {
    pub(super) buffer: String,
    /// An expression of sizes.
    pub(super) elements: String,
    pub(super) source: LengthSource,
}

impl BufferLength {
    /// The expression as a factor of a product.
    pub(super) fn factor(&self) -> String {
        match self.elements.as_str() {
            sum if sum.contains(' ') && !sum.starts_with('(') => format!("({sum})"),
            one => one.to_owned(),
        }
    }

    fn text(&self) -> String {
        let (len, guess) = match &self.source {
            LengthSource::Known => (self.elements.clone(), None),
            LengthSource::Guessed => (
                self.elements.clone(),
                Some("how far the kernel reaches was not seen"),
            ),
            LengthSource::Grown { times, by_size } => {
                let len = match (by_size, self.factor().as_str()) {
                    (Some(size), "1") => size.clone(),
                    (Some(size), one) => format!("{size} * {one}"),
                    (None, one) => format!("{times} * {one}"),
                };
                (len, Some("grown until no access left it"))
            }
        };
        format!(
            "len  = \"{len}\"{}\n",
            guess.map_or(String::new(), guess_note)
        )
    }
}

/// An argument of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FirstArgument {
    /// A buffer or a size.
    Known(String),
    /// A guess, and what the file says of it.
    Guess { text: String, note: String },
    /// A guess of how often something is repeated.
    Rounds { parameter: String, count: u32 },
}

impl FirstArgument {
    fn text(&self) -> String {
        match self {
            FirstArgument::Known(text) | FirstArgument::Guess { text, .. } => text.clone(),
            FirstArgument::Rounds { count, .. } => count.to_string(),
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        match self {
            FirstArgument::Known(_) => None,
            FirstArgument::Guess { note, .. } => Some(note.clone()),
            FirstArgument::Rounds { parameter, count } => Some(format!("{parameter} = {count}")),
        }
    }
}

fn arguments_text(all: &[FirstArgument]) -> String {
    let values: Vec<String> = all.iter().map(FirstArgument::text).collect();
    let notes: Vec<String> = all.iter().filter_map(FirstArgument::note).collect();
    let guess = match notes.is_empty() {
        true => String::new(),
        false => guess_note(&notes.join(", ")),
    };
    format!("args  = [{}]{guess}\n", values.join(", "))
}

/// What a line says of a guess.
pub(super) fn guess_note(what: &str) -> String {
    format!("   # a guess: {what}")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Length(BufferLength),
    Arguments(Vec<FirstArgument>),
}

/// Buffers and launches, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Body(pub(super) Vec<Part>);

impl Write for Body {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.0.last_mut() {
            Some(Part::Text(t)) => t.push_str(text),
            _ => self.0.push(Part::Text(text.to_owned())),
        }
        Ok(())
    }
}

/// The blocks to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BlockSpace {
    /// Launch parameters: their name, and their values with a comment.
    pub(super) parameters: Vec<(String, String)>,
    /// Lines of constraints and of the default.
    pub(super) conditions: Vec<String>,
}

impl BlockSpace {
    fn write(&self, out: &mut String) {
        if self.parameters.is_empty() {
            return;
        }
        out.push_str("\n[launch_space]             # threads of a block, for tuning\n");
        for (name, values) in &self.parameters {
            let _ = writeln!(out, "{name} = {values}");
        }
        for line in &self.conditions {
            let _ = writeln!(out, "{line}");
        }
    }
}

/// Why the CPU has sizes of its own.
const CPU_SIZES_NOTE: &str = "for the CPU executor: at the full sizes a reference takes it minutes";

/// A workload file for kernels that have none, and what a reader has to look at.
#[derive(Debug, Clone, Default)]
pub struct Skeleton {
    pub(super) head: String,
    /// Sizes of the CPU executor: those that are tried.
    pub(super) sizes: BTreeMap<String, FirstSize>,
    /// How many times as long every side is at the full sizes, which are a GPU's; 0 and 1: there are no others.
    pub(super) full_times: u64,
    /// What the file says of the full sizes.
    pub(super) sizes_note: String,
    pub(super) body: Body,
    pub(super) space: BlockSpace,
    pub(super) acceptance: String,
    /// Lines of the file that are guesses.
    pub guesses: usize,
    /// Launch parameters (`bx`, `by`, `bz`) whose values nothing in the source requires.
    pub(super) free_axes: Vec<String>,
    /// Threads of a block, at most.
    pub(super) most_threads: i128,
    /// Threads that a block has to be a multiple of.
    pub(super) multiple: i128,
}

impl Skeleton {
    /// `[sizes]`, and in `[cpu_sizes]` those that are smaller on the CPU.
    fn write_sizes(&self, out: &mut String) {
        let full = |size: &FirstSize| size.full(self.full_times.max(1));
        let _ = writeln!(out, "[sizes]                    # {}", self.sizes_note);
        for (name, size) in &self.sizes {
            let _ = writeln!(out, "{name} = {}", full(size));
        }
        let mut smaller = self
            .sizes
            .iter()
            .filter(|(_, s)| full(s) != s.value)
            .peekable();
        if smaller.peek().is_some() {
            let _ = writeln!(out, "\n[cpu_sizes]                # {CPU_SIZES_NOTE}");
        }
        for (name, size) in smaller {
            let _ = writeln!(out, "{name} = {}", size.value);
        }
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut out = self.head.clone();
        self.write_sizes(&mut out);
        for part in &self.body.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Length(length) => out.push_str(&length.text()),
                Part::Arguments(all) => out.push_str(&arguments_text(all)),
            }
        }
        self.space.write(&mut out);
        out + &self.acceptance
    }
}
