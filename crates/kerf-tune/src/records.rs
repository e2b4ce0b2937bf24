//! How the records of buffers are stored, as a variable of the search: one for each set of buffers that have to be stored alike.
//!
//! The layout of records changes no bits, so that these variables decide about time alone. Which sectors a warp touches depends
//! on them, and counts are of the program's own layout: they are offered where times are measured.
use crate::group::Group;
use crate::setting::{OWN_RECORDS, RECORDS, Setting, intern};
use crate::storage::{FixedStorage, Stored};
use crate::subject::Subject;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_llvm::Module;
use kerf_pass::records::{self, RecordBuffer, RecordLayout, Records};
use kerf_pass::{Plan, RecordPlan};
use kerf_run::record_fit;
use kerf_run::run::WorkloadSession;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::BufferSpec;

/// Behind the buffers, in the name of a group.
const TITLE: &str = ": records";

/// Buffers whose records may be stored otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordChoice {
    /// Position of the group.
    pub group: usize,
    /// Kernels and their parameters, as plans name them.
    pub places: Vec<(String, String)>,
    /// Fields of a record.
    pub fields: Vec<Scalar>,
    /// What the levels after the first stand for.
    pub levels: Vec<RecordLayout>,
}

/// As the search names a level.
fn name(l: Option<RecordLayout>) -> &'static str {
    let word = l.map_or_else(|| OWN_RECORDS.to_owned(), |l| l.to_string());
    intern(&format!("{RECORDS}{word}"))
}

/// The program as its kernels are looked at.
struct Kernels<'s> {
    subject: &'s Subject,
    module: Module,
    infos: Vec<KernelInfo>,
}

impl Kernels<'_> {
    fn buffer(&self, name: &str) -> Option<&BufferSpec> {
        let mut all = self.subject.workload.buffers.iter();
        all.find(|b| b.name == *name)
    }

    /// Whether a set of buffers has elements of one scalar.
    fn is_flat(&self, s: &Stored) -> bool {
        let mut specs = s.buffers.iter().filter_map(|b| self.buffer(b));
        specs.all(|b| b.elem.scalar_count() == 1)
    }

    /// The parameters of a set of buffers.
    fn surveyed(&self, s: &Stored) -> Vec<RecordBuffer> {
        let mut out = Vec::new();
        for p in &s.places {
            let symbol = &self.subject.kernels[p.at].symbol;
            let info = self.infos.iter().find(|i| i.symbol == *symbol);
            let Some((info, f)) = info.and_then(|i| Some((i, self.module.function(symbol)?)))
            else {
                continue;
            };
            let all = records::survey(&self.module, f, info);
            out.extend(all.into_iter().filter(|b| b.key == p.name));
        }
        out
    }

    /// The fields of a set of buffers, if they are records to some kernel, and to all that look at them as such the same ones.
    fn fields(&self, s: &Stored) -> Option<Vec<Scalar>> {
        let surveyed = self.surveyed(s);
        let mut strides: Vec<usize> = surveyed.iter().filter_map(|b| b.stride).collect();
        strides.retain(|s| *s > 1);
        strides.sort_unstable();
        strides.dedup();
        let specs = s.buffers.iter().filter_map(|b| self.buffer(b));
        let specs: Vec<&BufferSpec> = specs.collect();
        let packed = specs.iter().any(|b| b.elem.scalar_count() > 1);
        // What the file calls records is taken at its word; a flat array needs accesses that agree.
        let stride = match strides.as_slice() {
            _ if packed => None,
            [one] => Some(*one),
            _ => return None,
        };
        let mut all = specs.iter().map(|b| record_fit::fields(b, stride));
        let first = all.next()??;
        let alike = all.all(|f| f.as_ref() == Some(&first));
        (alike && first.len() > 1).then_some(first)
    }

    /// Why records cannot be stored so; none if they can.
    fn obstacle(&self, s: &Stored, r: &RecordPlan) -> Option<String> {
        let mut plan = Plan::default();
        for p in &s.places {
            let k = plan.kernels.entry(p.kernel.clone()).or_default();
            k.records.insert(p.name.clone(), r.clone());
        }
        let session = WorkloadSession::plain(&self.subject.workload, &self.infos, &[]);
        if let Err(e) = kerf_run::storage::assign(&session, &plan) {
            return Some(e.to_string());
        }
        let copy = self.module.duplicate();
        plan.apply(&copy).err().map(|e| e.to_string())
    }
}

/// Adds a group for each set of buffers whose records can be stored otherwise; gives those that cannot, too.
pub(crate) fn add(
    subject: &Subject,
    groups: &mut Vec<Group>,
) -> (Vec<RecordChoice>, Vec<FixedStorage>) {
    let (mut choices, mut kept) = (Vec::new(), Vec::new());
    let Ok(module) = subject.program.module() else {
        return (choices, kept);
    };
    let k = Kernels {
        infos: kernels::kernels(&module),
        subject,
        module,
    };
    for s in subject.stored.iter().filter(|s| !s.buffers.is_empty()) {
        let Some(fields) = k.fields(s) else {
            continue; // no records
        };
        let mut levels = Vec::new();
        let mut why = None;
        for layout in [RecordLayout::Planes, RecordLayout::Padded] {
            let fields = fields.clone();
            let r = RecordPlan { fields, layout };
            // Elements of a flat array are not known to begin where wide accesses may, even without padding.
            let wider = |r: &Records| k.is_flat(s) || r.padded_bytes() > r.bytes();
            let changes = |r: &Records| layout == RecordLayout::Planes || wider(r);
            match Records::new(&r, None) {
                Ok(records) if changes(&records) => match k.obstacle(s, &r) {
                    None => levels.push(layout),
                    Some(refused) => why = why.or(Some(refused)),
                },
                Ok(_) => {}
                Err(refused) => why = why.or(Some(refused.to_string())),
            }
        }
        if levels.is_empty() {
            let name = s.name.clone();
            kept.extend(why.map(|why| FixedStorage { name, why }));
            continue;
        }
        let places = s.places.iter().map(|p| (p.kernel.clone(), p.name.clone()));
        let others = levels.iter().map(|l| name(Some(*l)));
        let names = std::iter::once(name(None))
            .chain(others)
            .map(Setting::Shape);
        let names: Vec<Setting> = names.collect();
        choices.push(RecordChoice {
            group: groups.len(),
            places: places.collect(),
            fields,
            levels,
        });
        let first = s.places.first();
        groups.push(Group {
            kernel: first.map_or_else(String::new, |p| p.kernel.clone()),
            at: first.map_or(0, |p| p.at),
            ..Group::for_launch(&format!("{}{TITLE}", s.name), names)
        });
    }
    (choices, kept)
}

/// The sets of buffers whose records could be stored otherwise.
pub(crate) fn names(subject: &Subject) -> Vec<String> {
    let mut groups = Vec::new();
    let (choices, _) = add(subject, &mut groups);
    let names = choices.iter().map(|c| &groups[c.group].name);
    let plain = |n: &String| n.trim_end_matches(TITLE).to_owned();
    names.map(plain).collect()
}

/// What an assignment says of records, as part of a plan.
pub(crate) fn plan(choices: &[RecordChoice], a: &[u8], plan: &mut Plan) {
    for c in choices {
        let level = a.get(c.group).map_or(0, |l| usize::from(*l));
        let Some(layout) = level.checked_sub(1).and_then(|l| c.levels.get(l)) else {
            continue;
        };
        let fields = c.fields.clone();
        let r = RecordPlan {
            fields,
            layout: *layout,
        };
        for (kernel, parameter) in &c.places {
            let k = plan.kernels.entry(kernel.clone()).or_default();
            k.records.insert(parameter.clone(), r.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_back() {
        for l in [None, Some(RecordLayout::Planes), Some(RecordLayout::Padded)] {
            assert_eq!(
                name(l).parse::<Setting>().ok(),
                Some(Setting::Shape(name(l)))
            );
        }
        assert!("planes".parse::<Setting>().is_err());
    }
}
