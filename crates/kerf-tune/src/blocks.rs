//! Other blocks along x as a variable of the search: one for each kernel to which the grid is one row of threads.
//!
//! As many threads in other blocks change no bits, so that these variables decide about time alone. They are for applications, whose
//! launches are host code's, where times are measured; a workload has a launch space.
use crate::coarse::Uncoarsened;
use crate::group::Group;
use crate::setting::{AUTO, Setting, intern};
use crate::subject::Subject;
use kerf_pass::{Plan, reblock};

/// Threads along x that are offered.
const THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// Before the number, in the name of a level.
const LEVEL: &str = "block.x=";

/// Threads of blocks along x, for one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockChoice {
    /// Position of its group.
    pub group: usize,
    /// Kernel, as plans name it.
    pub kernel: String,
    /// What the levels stand for; the first is what host code asks for.
    pub levels: Vec<Option<u32>>,
}

fn name(threads: Option<u32>) -> &'static str {
    threads.map_or(AUTO, |x| intern(&format!("{LEVEL}{x}")))
}

/// Adds a group for each kernel whose blocks can be others; gives those that keep theirs, too.
pub(crate) fn add(
    subject: &Subject,
    groups: &mut Vec<Group>,
) -> (Vec<BlockChoice>, Vec<Uncoarsened>) {
    let (mut choices, mut kept) = (Vec::new(), Vec::new());
    let modules = subject.modules().unwrap_or_default();
    let kernels = modules
        .iter()
        .flat_map(|(m, all)| all.iter().map(move |at| (m, *at)));
    for (m, at) in kernels {
        let k = &subject.kernels[at];
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
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
            kept.push(Uncoarsened { kernel, why });
            continue;
        }
        let names = levels.iter().map(|x| Setting::Shape(name(*x)));
        let title = format!("{}: threads of a block", k.name);
        choices.push(BlockChoice {
            group: groups.len(),
            kernel: k.name.clone(),
            levels: levels.clone(),
        });
        groups.push(Group {
            kernel: k.name.clone(),
            at,
            ..Group::for_launch(&title, names.collect())
        });
    }
    (choices, kept)
}

/// What an assignment says of blocks, as part of a plan.
pub(crate) fn plan(choices: &[BlockChoice], a: &[u8], plan: &mut Plan) {
    for c in choices {
        let level = a.get(c.group).map_or(0, |l| usize::from(*l));
        if let Some(Some(x)) = c.levels.get(level) {
            plan.kernels.entry(c.kernel.clone()).or_default().reblock = Some(*x);
        }
    }
}
