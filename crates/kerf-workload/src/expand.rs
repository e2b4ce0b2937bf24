//! From steps with expressions to concrete launches.
//!
//! Loops are run one step at a time, so that a workload of millions of launches never exists as a
//! list. Swaps are followed here: what comes out refers to buffers by position.

mod concrete;

use std::collections::{BTreeMap, HashMap};

use crate::expr::{Expr, ExprError};
use crate::mistakes::{Mistake, Mistakes};
use crate::number::Number;
use crate::workload::{Workload, WorkloadStep};

pub use concrete::{ArgValue, ConcreteLaunch, ConcreteStep};

/// Most steps one run may have, and most times its loops may go around.
pub const MAX_STEPS: u64 = 10_000_000;

/// Starts expanding the steps of a workload for one choice of launch-space parameters. Parameters
/// left out take their default.
pub fn expand<'w>(
    workload: &'w Workload,
    params: &BTreeMap<String, i64>,
) -> Result<Expansion<'w>, Mistakes> {
    let space = &workload.launch_space;
    // Finding the default may take a search, so it is only asked for if it matters.
    let mut chosen = match space.params.iter().all(|(n, _)| params.contains_key(n)) {
        true => space.params.iter().map(|(n, _)| (n.clone(), 0)).collect(),
        false => space.default_params(),
    };
    let mut mistakes = Mistakes::none();
    for (name, value) in params {
        match chosen.get_mut(name) {
            Some(slot) => *slot = *value,
            None => mistakes.push(general(
                workload,
                format!("no launch-space parameter `{name}`"),
                "a parameter of `[launch_space]`",
            )),
        }
    }
    if let Some(broken) = space.broken_constraint(&chosen) {
        let listed: Vec<String> = chosen.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        let what = format!("{} breaks `{broken}`", listed.join(", "));
        mistakes.push(general(
            workload,
            what,
            "parameters that satisfy the constraints",
        ));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let sizes = workload.sizes.iter().map(|(n, v)| (n.as_str(), *v));
    let mut names: HashMap<String, i64> = sizes.map(|(n, v)| (n.to_owned(), v)).collect();
    names.extend(chosen);
    Ok(Expansion {
        workload,
        scope: Scope {
            names,
            loops: Vec::new(),
        },
        index: workload
            .buffers
            .iter()
            .enumerate()
            .map(|(i, b)| (b.name.as_str(), i))
            .collect(),
        binding: (0..workload.buffers.len()).collect(),
        frames: vec![Frame {
            steps: &workload.steps,
            next: 0,
            turns: None,
        }],
        emitted: 0,
        turned: 0,
    })
}

/// The steps of a run, one at a time. After the first error there are no more.
#[derive(Debug, Clone)]
pub struct Expansion<'w> {
    workload: &'w Workload,
    scope: Scope<'w>,
    index: HashMap<&'w str, usize>,
    /// Which buffer's storage each buffer's name refers to.
    binding: Vec<usize>,
    frames: Vec<Frame<'w>>,
    emitted: u64,
    turned: u64,
}

/// Names with values.
#[derive(Debug, Clone)]
struct Scope<'w> {
    names: HashMap<String, i64>,
    loops: Vec<(&'w str, i64)>,
}

impl Scope<'_> {
    fn get(&self, name: &str) -> Option<Number> {
        let looped = self.loops.iter().rev().find(|(n, _)| *n == name);
        let value = looped.map(|(_, v)| *v);
        value
            .or_else(|| self.names.get(name).copied())
            .map(Number::from)
    }

    /// `` `n / t` with n = 4, t = 2``, for messages; `None` if there is nothing to explain.
    fn explain(&self, expr: &Expr) -> Option<String> {
        let mut used: Vec<&str> = expr.names().iter().map(|n| n.name.as_str()).collect();
        used.sort_unstable();
        used.dedup();
        let shown = used
            .iter()
            .filter_map(|n| Some(format!("{n} = {}", self.get(n)?)));
        let shown: Vec<String> = shown.collect();
        (!shown.is_empty()).then(|| format!("`{expr}` with {}", shown.join(", ")))
    }
}

/// A list of steps under way.
#[derive(Debug, Clone)]
struct Frame<'w> {
    steps: &'w [WorkloadStep],
    next: usize,
    /// For a loop's body, what is left of the loop.
    turns: Option<Turns>,
}

/// The rest of a loop.
#[derive(Debug, Clone, Copy)]
struct Turns {
    value: i128,
    to: i128,
    inclusive: bool,
    step: i128,
    line: usize,
}

impl Turns {
    fn done(self) -> bool {
        match self.step > 0 {
            _ if self.inclusive && self.value == self.to => false,
            true => self.value >= self.to,
            false => self.value <= self.to,
        }
    }
}

impl<'w> Expansion<'w> {
    /// The buffer whose storage a buffer's name refers to at this point; after the last step, where
    /// that output is found.
    pub fn storage_of(&self, buffer: usize) -> usize {
        self.binding.get(buffer).copied().unwrap_or(buffer)
    }

    /// [`storage_of`](Self::storage_of) of every buffer.
    pub fn binding(&self) -> &[usize] {
        &self.binding
    }

    fn advance(&mut self) -> Result<Option<ConcreteStep>, Mistakes> {
        while let Some(frame) = self.frames.last_mut() {
            let Some(step) = frame.steps.get(frame.next) else {
                self.turn()?;
                continue;
            };
            frame.next += 1;
            match step {
                WorkloadStep::Launch(launch) => {
                    self.count(launch.line)?;
                    let launch = concrete::launch(self, launch)?;
                    return Ok(Some(ConcreteStep::Launch(launch)));
                }
                WorkloadStep::Copy { from, to, line } => {
                    self.count(*line)?;
                    return Ok(Some(ConcreteStep::Copy {
                        from: self.resolve(from, *line)?,
                        to: self.resolve(to, *line)?,
                        line: *line,
                    }));
                }
                WorkloadStep::Swap { a, b, line } => {
                    let (a, b) = (self.name_index(a, *line)?, self.name_index(b, *line)?);
                    self.binding.swap(a, b);
                }
                WorkloadStep::Loop { .. } => self.enter(step)?,
            }
        }
        Ok(None)
    }

    /// Starts a loop, before its first turn.
    fn enter(&mut self, step: &'w WorkloadStep) -> Result<(), Mistakes> {
        let WorkloadStep::Loop {
            var,
            from,
            to,
            inclusive,
            step,
            body,
            line,
        } = step
        else {
            return Ok(());
        };
        let value = self.integer(from, "start of the loop")?;
        let to = self.integer(to, "end of the loop")?;
        let step = match step {
            Some(step) => self.integer(step, "step of the loop")?,
            None => 1,
        };
        if step == 0 {
            return Err(self.at_line(*line, "step of the loop is 0", "any other integer"));
        }
        // The first turn takes a step, so the value starts one before.
        self.scope.loops.push((var, 0));
        self.frames.push(Frame {
            steps: body,
            next: body.len(),
            turns: Some(Turns {
                value: i128::from(value) - i128::from(step),
                to: to.into(),
                inclusive: *inclusive,
                step: step.into(),
                line: *line,
            }),
        });
        Ok(())
    }

    /// At the end of a frame: the loop's next turn, or out of it.
    fn turn(&mut self) -> Result<(), Mistakes> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        let Some(turns) = &mut frame.turns else {
            self.frames.pop();
            return Ok(());
        };
        turns.value += turns.step;
        let value = i64::try_from(turns.value).ok().filter(|_| !turns.done());
        let Some(value) = value else {
            self.frames.pop();
            self.scope.loops.pop();
            return Ok(());
        };
        let line = turns.line;
        frame.next = 0;
        if let Some((_, slot)) = self.scope.loops.last_mut() {
            *slot = value;
        }
        self.turned += 1;
        if self.turned > MAX_STEPS {
            let what = format!("loops go around more than {MAX_STEPS} times");
            return Err(self.at_line(line, &what, "fewer"));
        }
        Ok(())
    }

    fn count(&mut self, line: usize) -> Result<(), Mistakes> {
        self.emitted += 1;
        if self.emitted <= MAX_STEPS {
            return Ok(());
        }
        let what = format!("more than {MAX_STEPS} steps in one run");
        Err(self.at_line(line, &what, "fewer"))
    }

    /// The storage a name refers to now.
    fn resolve(&self, name: &str, line: usize) -> Result<usize, Mistakes> {
        self.name_index(name, line).map(|i| self.storage_of(i))
    }

    fn name_index(&self, name: &str, line: usize) -> Result<usize, Mistakes> {
        let unknown = || self.at_line(line, &format!("unknown buffer `{name}`"), "a buffer");
        self.index.get(name).copied().ok_or_else(unknown)
    }

    fn number(&self, expr: &Expr) -> Result<Number, Mistakes> {
        expr.eval(|name| self.scope.get(name))
            .map_err(|e| self.in_expr(expr, e))
    }

    fn integer(&self, expr: &Expr, what: &str) -> Result<i64, Mistakes> {
        let value = self.number(expr)?;
        let fits = value.as_int().and_then(|v| i64::try_from(v).ok());
        fits.ok_or_else(|| self.about(expr, format!("{what} is {value}"), "a 64-bit integer"))
    }

    /// A mistake in an expression, with the values of its names as help.
    fn in_expr(&self, expr: &Expr, error: ExprError) -> Mistakes {
        let help = error.help.clone().or_else(|| self.scope.explain(expr));
        let error = ExprError { help, ..error };
        single(
            expr.origin()
                .mistake(&self.workload.path, expr.text(), error),
        )
    }

    /// A mistake about the value of a whole expression.
    fn about(&self, expr: &Expr, what: String, expected: &str) -> Mistakes {
        let error = ExprError {
            span: 0..expr.text().len(),
            what,
            expected: expected.into(),
            help: None,
        };
        self.in_expr(expr, error)
    }

    fn at_line(&self, line: usize, what: &str, expected: &str) -> Mistakes {
        let mistake = general(self.workload, what.into(), expected);
        single(Mistake {
            line,
            column: line.min(1),
            ..mistake
        })
    }
}

impl Iterator for Expansion<'_> {
    type Item = Result<ConcreteStep, Mistakes>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = self.advance().transpose();
        if let Some(Err(_)) = result {
            self.frames.clear();
        }
        result
    }
}

fn single(mistake: Mistake) -> Mistakes {
    let mut all = Mistakes::none();
    all.push(mistake);
    all
}

fn general(workload: &Workload, what: String, expected: &str) -> Mistake {
    Mistake {
        file: workload.path.clone(),
        line: 0,
        column: 0,
        span: 0..0,
        what,
        expected: expected.into(),
        help: None,
    }
}

#[cfg(test)]
mod tests;
