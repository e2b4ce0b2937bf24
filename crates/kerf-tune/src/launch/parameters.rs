//! Parameters that the source is compiled with (tile sizes, unroll factors), with those of the launches: each is a variable
//! of the search, and the combinations that can run are listed.
use super::space::{self, CannotRun, ChoiceError, FitContext, LaunchParams, MOST_POINTS};
use crate::group::Group;
use crate::setting::{Setting, intern};
use kerf_clang::compile::CompileError;
use kerf_device::occupancy::Multiprocessor;
use kerf_llvm::{Module, Opcode};
use kerf_search::Assignment;
use kerf_workload::Workload;
use kerf_workload::macros::Macros;
use std::collections::{BTreeMap, BTreeSet};

/// One parameter.
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its group among the groups of the problem.
    pub group: usize,
    /// Its values by level; the first is the file's own.
    pub values: Vec<i64>,
}

/// All of them.
pub struct Parameters {
    /// One by one, in the order of the file.
    pub all: Vec<Parameter>,
    /// The assignments that can run, the program's own first.
    pub points: Vec<Assignment>,
    /// The group that says whether kernels are compiled for their block.
    pub fixed: Option<usize>,
    /// What cannot run, and why.
    pub refused: Vec<(String, String)>,
}

/// A program for some values of the macros.
pub struct MacroVariant {
    /// Prepared.
    pub module: Module,
    /// Registers of a thread, by symbol, estimated.
    pub registers: BTreeMap<String, u32>,
}

/// Programs that are compiled before the search to see what cannot run, at most. A search compiles what it runs in any
/// case, and finds them in the cache.
const COMPILED: usize = 64;

/// Points whose accesses to shared arrays are looked at, at most.
const LOOKED: usize = 512;

/// Whether a kernel of a module asks for its block's size.
fn reads_block(m: &Module) -> bool {
    let size = |n: String| n.starts_with("llvm.nvvm.read.ptx.sreg.ntid");
    let all = m.kernel_functions();
    let mut each = all.iter().flat_map(|f| f.instructions());
    each.any(|i| i.opcode() == Some(Opcode::LLVMCall) && i.callee_name().is_some_and(size))
}

fn said(p: &LaunchParams) -> String {
    let all: Vec<String> = p.iter().map(|(n, v)| format!("{n}={v}")).collect();
    all.join(",")
}

/// There is no program for some values of the macros: the source does not compile with them.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.line())]
pub struct NoVariant(#[from] CompileError);

impl NoVariant {
    /// The compiler's first error, or the first of all its words.
    fn line(&self) -> String {
        let text = self.0.to_string();
        let error = text.lines().find(|l| l.contains("error:"));
        error.or(text.lines().next()).unwrap_or_default().to_owned()
    }
}

/// Makes the programs for some values of the macros, in their order.
pub type Compile<'c> = dyn Fn(&[LaunchParams]) -> Vec<Result<MacroVariant, NoVariant>> + 'c;

/// Programs by values of the macros; why there is none.
type Programs = BTreeMap<LaunchParams, Result<MacroVariant, NoVariant>>;

/// The programs of some combinations, where they are few enough to compile them all.
fn programs(points: &[LaunchParams], macros: &Macros, compile: &Compile) -> Option<Programs> {
    let values: BTreeSet<LaunchParams> = points.iter().map(|p| macros.values(p)).collect();
    let few = values.len() <= COMPILED;
    few.then(|| {
        let values: Vec<LaunchParams> = values.into_iter().collect();
        let made = compile(&values);
        values.into_iter().zip(made).collect()
    })
}

/// Combinations of a workload's parameters.
struct Combinations {
    /// Those that can run, the file's own first.
    points: Vec<LaunchParams>,
    /// What cannot, and why.
    refused: Vec<(String, String)>,
}

impl Combinations {
    /// Lists them, and tries which can run.
    fn find(
        w: &Workload,
        own: &Module,
        machine: &Multiprocessor,
        compile: &Compile,
    ) -> Result<Combinations, ChoiceError> {
        let default = w.launch_space.default_params();
        let name = || default.keys().cloned().collect::<Vec<_>>().join(", ");
        let all = w.launch_space.configurations();
        let mut points: Vec<LaunchParams> = all.take(MOST_POINTS + 1).collect();
        if points.len() > MOST_POINTS {
            return Err(ChoiceError::TooMany(name(), points.len()));
        }
        points.sort_by_key(|p| *p != default);
        let macros = w.macros();
        let programs = programs(&points, &macros, compile);
        let looked = points.len() <= LOOKED;
        let refusal = |r: Result<(), CannotRun>| r.err().map(|why| why.to_string());
        let refused_for = |p: &LaunchParams| match &programs {
            None => refusal(space::fits(w, own, p, FitContext::Launch, machine)),
            Some(all) => match &all[&macros.values(p)] {
                Err(why) => Some(why.to_string()),
                Ok(v) => {
                    let known = FitContext::Program(&v.registers, looked);
                    refusal(space::fits(w, &v.module, p, known, machine))
                }
            },
        };
        let (mut refused, mut first) = (Vec::new(), None);
        points.retain(|p| match refused_for(p) {
            None => true,
            Some(why) => {
                if *p == default {
                    first = Some(why.clone());
                }
                refused.push((said(p), why));
                false
            }
        });
        if let Some(why) = first {
            return Err(ChoiceError::Own(why));
        }
        if points.len() < 2 {
            let why = refused.first().map(|r| format!(" ({}: {})", r.0, r.1));
            return Err(ChoiceError::NoSpace(format!(
                "{} has one combination that can run{}",
                name(),
                why.unwrap_or_default()
            )));
        }
        Ok(Combinations { points, refused })
    }

    /// Adds each parameter that has several values to the groups.
    fn parameters(
        &self,
        w: &Workload,
        groups: &mut Vec<Group>,
    ) -> Result<Vec<Parameter>, ChoiceError> {
        let default = w.launch_space.default_params();
        let mut all = Vec::new();
        for (name, listed) in &w.launch_space.params {
            let mut values = listed.clone();
            values.sort_by_key(|v| (default.get(name) != Some(v), *v));
            values.retain(|v| self.points.iter().any(|p| p.get(name) == Some(v)));
            if values.len() < 2 {
                continue;
            }
            if values.len() > usize::from(u8::MAX) {
                return Err(ChoiceError::TooMany(name.clone(), values.len()));
            }
            let group = groups.len();
            let levels = values.iter().map(|v| format!("{name}={v}"));
            let levels = levels.map(|t| Setting::Shape(intern(&t)));
            groups.push(Group::for_launch(name, levels.collect()));
            all.push(Parameter {
                name: name.clone(),
                group,
                values,
            });
        }
        Ok(all)
    }

    /// Levels of the parameters in each combination.
    fn assignments(&self, parameters: &[Parameter]) -> Vec<Assignment> {
        let level = |p: &LaunchParams, x: &Parameter| {
            let at = x.values.iter().position(|v| p.get(&x.name) == Some(v));
            at.unwrap_or(0) as u8
        };
        let points = self.points.iter();
        points
            .map(|p| parameters.iter().map(|x| level(p, x)).collect())
            .collect()
    }
}

impl Parameters {
    /// Looks at a workload's parameters and adds them to the groups. `compile` makes the program for some values, `own` is
    /// the file's.
    pub fn add(
        w: &Workload,
        own: &Module,
        machine: &Multiprocessor,
        compile: &Compile,
        groups: &mut Vec<Group>,
    ) -> Result<Parameters, ChoiceError> {
        let combinations = Combinations::find(w, own, machine, compile)?;
        let all = combinations.parameters(w, groups)?;
        let mut points = combinations.assignments(&all);
        let fixed = reads_block(own).then_some(groups.len());
        if fixed.is_some() {
            let levels = ["dynamic", "fixed"].map(|t| Setting::Shape(intern(t)));
            groups.push(Group::for_launch("block size", levels.to_vec()));
            points = points
                .iter()
                .flat_map(|p| [0, 1].map(|l| p.iter().copied().chain([l]).collect()))
                .collect();
        }
        Ok(Parameters {
            all,
            points,
            fixed,
            refused: combinations.refused,
        })
    }

    /// Values under an assignment.
    pub fn values(&self, a: &[u8]) -> LaunchParams {
        let level = |p: &Parameter| a.get(p.group).copied().unwrap_or(0) as usize;
        let all = self.all.iter().filter(|p| level(p) > 0);
        all.filter_map(|p| Some((p.name.clone(), *p.values.get(level(p))?)))
            .collect()
    }
}
