//! Other blocks along x as a variable of the search: one for each kernel to which the grid is one row of threads.
//!
//! As many threads in other blocks change no bits, so that these variables decide about time alone. They are for applications, whose
//! launches are host code's, where times are measured; a workload has a launch space.
use crate::group::Group;
use crate::layout_choice::{LayoutChoice, UnchangedKernel, functions};
use crate::setting::{AUTO, intern};
use crate::subject::Subject;
use kerf_pass::{Plan, reblock};

/// Threads along x that are offered.
const THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// Before the number, in the name of a level.
const LEVEL: &str = "block.x=";

fn name(threads: Option<&u32>) -> &'static str {
    threads.map_or(AUTO, |x| intern(&format!("{LEVEL}{x}")))
}

/// Adds a group for each kernel whose blocks can be others; gives those that keep theirs, too.
pub(crate) fn add(
    subject: &Subject,
    groups: &mut Vec<Group>,
) -> (Vec<LayoutChoice<u32>>, Vec<UnchangedKernel>) {
    let (mut choices, mut kept) = (Vec::new(), Vec::new());
    let modules = subject.modules().unwrap_or_default();
    for (m, at, f) in functions(subject, &modules) {
        let k = &subject.kernels[at];
        let launched = || subject.launched.iter().filter(|l| l.0 == k.symbol);
        let mut levels: Vec<Option<u32>> = vec![None];
        let mut why = None;
        for x in THREADS {
            match reblock::obstacle(m, f, x) {
                None if launched().any(|l| l.1[0] != x) => levels.push(Some(x)),
                None => {}
                Some(refused) => {
                    why.get_or_insert(refused);
                }
            }
        }
        if levels.len() == 1 {
            let why = why.map_or_else(|| "it is launched with no others".into(), |w| w.to_string());
            let kernel = k.name.clone();
            kept.push(UnchangedKernel { kernel, why });
            continue;
        }
        let of = (at, k, "threads of a block");
        choices.push(LayoutChoice::add(groups, of, levels, name));
    }
    (choices, kept)
}

/// What an assignment says of blocks, as part of a plan.
pub(crate) fn plan(choices: &[LayoutChoice<u32>], a: &[u8], plan: &mut Plan) {
    for c in choices {
        if let Some(x) = c.chosen(a) {
            plan.kernels.entry(c.kernel.clone()).or_default().reblock = Some(x);
        }
    }
}
