//! A variable of the search that changes no bits of a kernel: its levels, and the kernels that have none.
use crate::group::Group;
use crate::setting::Setting;
use crate::subject::{Kernel, Subject};
use kerf_llvm::{Module, Value};

/// A variable of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct LayoutChoice<L> {
    /// Position of its group.
    pub group: usize,
    /// Kernel, as plans name it.
    pub kernel: String,
    /// What the levels stand for; the first is the kernel as it is.
    pub levels: Vec<Option<L>>,
}

impl<L: Copy> LayoutChoice<L> {
    /// Adds the group of a kernel at a position of the subject's.
    pub(crate) fn add(
        groups: &mut Vec<Group>,
        (at, kernel, what): (usize, &Kernel, &str),
        levels: Vec<Option<L>>,
        name: impl Fn(Option<&L>) -> &'static str,
    ) -> LayoutChoice<L> {
        let names = levels.iter().map(|l| Setting::Shape(name(l.as_ref())));
        let title = format!("{}: {what}", kernel.name);
        let group = groups.len();
        groups.push(Group {
            kernel: kernel.name.clone(),
            at,
            ..Group::for_launch(&title, names.collect())
        });
        LayoutChoice {
            group,
            kernel: kernel.name.clone(),
            levels,
        }
    }

    /// What an assignment says of the kernel; none where that stays as it is.
    pub(crate) fn chosen(&self, a: &[u8]) -> Option<L> {
        let level = a.get(self.group).map_or(0, |l| usize::from(*l));
        self.levels.get(level).copied().flatten()
    }
}

/// A kernel that stays as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnchangedKernel {
    /// Kernel, as plans name it.
    pub kernel: String,
    /// What stands against it.
    pub why: String,
}

/// The kernels that may change: module, position among the subject's, function.
pub(crate) fn functions<'m>(
    subject: &'m Subject,
    modules: &'m [(Module, Vec<usize>)],
) -> impl Iterator<Item = (&'m Module, usize, Value)> {
    let kernels = modules
        .iter()
        .flat_map(|(m, all)| all.iter().map(move |at| (m, *at)));
    kernels.filter_map(|(m, at)| Some((m, at, m.function(&subject.kernels[at].symbol)?)))
}
