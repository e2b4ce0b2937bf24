//! How many elements a thread computes, as a variable of the search: one for each kernel that can be coarsened.
//!
//! Coarsening changes no bits, so that these variables decide about time alone. They
//! are offered where times are measured, or predicted from machine code.
use crate::group::Group;
use crate::layout_choice::{LayoutChoice, UnchangedKernel, functions};
use crate::setting::intern;
use crate::subject::Subject;
use kerf_llvm::{Module, Value};
use kerf_pass::Plan;
use kerf_pass::coarsen::{Coarsening, FACTORS, coarsen, is_indexed};

/// What is offered: as many neighbours as a vector of 16 bytes can have, and pairs of them where rows begin anywhere.
fn offered() -> impl Iterator<Item = Coarsening> {
    let blocked = FACTORS.map(Coarsening::blocked);
    let pairs = [4, 8].map(|factor| Coarsening {
        run: Some(2),
        ..Coarsening::blocked(factor)
    });
    blocked.into_iter().chain(pairs)
}

/// As the search names a level: `elements=8`, `elements=8,run=2`.
fn name(c: Option<&Coarsening>) -> &'static str {
    let factor = c.map_or(1, |c| c.factor);
    match c.and_then(|c| c.run) {
        None => intern(&format!("elements={factor}")),
        Some(run) => intern(&format!("elements={factor},run={run}")),
    }
}

/// What a level of the search says of a kernel's threads; none where it says something else.
pub fn parse_level(text: &str) -> Option<Coarsening> {
    let (elements, run) = match text.split_once(",run=") {
        Some((e, run)) => (e, Some(run.parse().ok()?)),
        None => (text, None),
    };
    let factor = elements.strip_prefix("elements=")?.parse().ok()?;
    Some(Coarsening {
        run,
        ..Coarsening::blocked(factor)
    })
}

/// Why a kernel of a module cannot be coarsened; none if it can.
fn obstacle(m: &Module, symbol: &str) -> Option<String> {
    let copy = m.duplicate();
    let f: Value = copy.function(symbol)?;
    let smallest = Coarsening::blocked(FACTORS[0]);
    coarsen(&copy, f, &smallest).err().map(|e| e.to_string())
}

/// Adds a group for each kernel that can be coarsened.
pub fn add(
    subject: &Subject,
    groups: &mut Vec<Group>,
) -> (Vec<LayoutChoice<Coarsening>>, Vec<UnchangedKernel>) {
    let (mut choices, mut kept) = (Vec::new(), Vec::new());
    let modules = subject.modules().unwrap_or_default();
    for (m, at, f) in functions(subject, &modules) {
        let k = &subject.kernels[at];
        let launched = || subject.launched.iter().filter(|l| l.0 == k.symbol);
        let mine = || launched().map(|l| l.1[0]);
        let whole = |c: &Coarsening| mine().all(|x| x.is_multiple_of(c.factor));
        let own = offered().filter(whole);
        let mut levels: Vec<Option<Coarsening>> = vec![None];
        levels.extend(own.map(Some));
        let why = if !is_indexed(f) {
            Some("its threads are not numbered along x".to_owned())
        } else if levels.len() == 1 {
            Some("its blocks are no multiple of 2 threads along x".to_owned())
        } else {
            obstacle(m, &k.symbol)
        };
        if let Some(why) = why {
            let kernel = k.name.clone();
            kept.push(UnchangedKernel { kernel, why });
            continue;
        }
        let of = (at, k, "elements a thread");
        choices.push(LayoutChoice::add(groups, of, levels, name));
    }
    (choices, kept)
}

/// What an assignment says of threads, as part of a plan.
pub(crate) fn plan(choices: &[LayoutChoice<Coarsening>], a: &[u8], plan: &mut Plan) {
    for c in choices {
        if let Some(chosen) = c.chosen(a) {
            plan.kernels.entry(c.kernel.clone()).or_default().coarsen = Some(chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;

    #[test]
    fn levels_say_what_they_are() {
        for c in offered() {
            let text = name(Some(&c));
            assert_eq!(parse_level(text), Some(c), "{text}");
            assert!(text.parse::<Setting>().is_ok(), "{text}");
        }
        assert_eq!(name(None), "elements=1");
        assert_eq!(parse_level("bx=32,by=4"), None);
    }
}
