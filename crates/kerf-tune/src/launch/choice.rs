//! Shapes as variables of a search: one for each set of parameters that are decided together, and one for
//! whether kernels are compiled for their block.
use super::funnel::Funnel;
use super::parameters::Parameters;
use super::space::{self, ChoiceError, Component, KernelDemand, LaunchParams};
use super::tuners::{Candidate, Factor};
use crate::group::Group;
use crate::setting::{Setting, intern};
use kerf_device::occupancy::Multiprocessor;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_llvm::Module;
use kerf_pass::{Plan, index_space};
use kerf_run::job::{LaunchKind, kinds};
use kerf_workload::Workload;
use std::collections::BTreeMap;

/// A shape: values of the component's parameters, and how many warp-sized blocks go together.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeChoice {
    /// Values.
    pub params: LaunchParams,
    /// Warp-sized blocks that go into one; none: blocks as they are.
    pub regroup: Option<u32>,
}

impl ShapeChoice {
    fn name(&self) -> String {
        let mut all: Vec<String> = self
            .params
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        all.extend(self.regroup.map(|c| format!("regroup={c}")));
        all.join(",")
    }
}

/// One component as a variable.
pub struct LaunchVariable {
    /// The component.
    pub component: Component,
    /// Its group among the groups of the problem.
    pub group: usize,
    /// Its shapes by level; the first is the file's own.
    pub shapes: Vec<ShapeChoice>,
    /// Kernels that can be regrouped, as plans name them.
    pub regroupable: Vec<String>,
    /// What the tuners make of the shapes: levels worth running, the best guess first.
    pub funnel: Funnel,
    /// Levels that Ryoo's static pruning leaves.
    pub pareto: Vec<usize>,
}

/// Everything that a search chooses of launches.
pub struct LaunchChoice {
    /// The components.
    pub variables: Vec<LaunchVariable>,
    /// The group that says whether kernels are compiled for their block.
    pub fixed: Option<usize>,
    /// Shapes that cannot run, and why.
    pub refused: Vec<(String, String)>,
    /// Parameters one by one, in place of shapes, where the source is compiled for their values.
    pub parameters: Option<Parameters>,
    workload: Workload,
    infos: Vec<KernelInfo>,
}

impl LaunchVariable {
    /// Levels whose blocks have more threads than those of a level, up to as many times as `most`.
    pub fn larger(&self, choice: &LaunchChoice, level: usize, most: u32) -> Vec<usize> {
        let threads = |l: usize| -> Option<u32> {
            let shape = self.shapes.get(l).filter(|s| s.regroup.is_none())?;
            let all = kinds(&choice.workload, &choice.infos, &shape.params).ok()?;
            Some(all.iter().map(LaunchKind::threads).sum())
        };
        let Some(own) = threads(level) else {
            return Vec::new();
        };
        let larger = |l: &usize| threads(*l).is_some_and(|t| t > own && t <= most * own);
        (0..self.shapes.len()).filter(larger).collect()
    }
}

/// All launches of a workload, those in loops too.
pub(super) fn launches(w: &Workload) -> Vec<&kerf_workload::LaunchSpec> {
    fn all<'s>(
        steps: &'s [kerf_workload::WorkloadStep],
        out: &mut Vec<&'s kerf_workload::LaunchSpec>,
    ) {
        for s in steps {
            match s {
                kerf_workload::WorkloadStep::Launch(l) => out.push(l),
                kerf_workload::WorkloadStep::Loop { body, .. } => all(body, out),
                _ => {}
            }
        }
    }
    let mut out = Vec::new();
    all(&w.steps, &mut out);
    out
}

/// What a search needs to know beforehand.
pub struct LaunchKnowledge<'k> {
    /// The prepared module.
    pub module: &'k Module,
    /// What kernels take, by symbol; estimated or the driver's answer.
    pub needs: &'k dyn Fn(&str) -> KernelDemand,
    /// The device.
    pub machine: &'k Multiprocessor,
    /// Cache and memory of the device.
    pub contention: super::tuners::Contention,
    /// The tuners that leave shapes out.
    pub tuners: &'k [Factor],
    /// Kernels (symbols) whose work grows with the block, and by how much.
    pub growing: &'k BTreeMap<String, f64>,
    /// Work of all threads of such kernels, by values of all launch parameters.
    pub work: &'k BTreeMap<LaunchParams, f64>,
    /// Shapes of one variable, at most: levels are bytes.
    pub most: usize,
    /// Also try kernels compiled for their block.
    pub fixed: bool,
    /// Warp-sized blocks may be put together.
    pub regroup: bool,
}

/// Values of C that are tried.
const GROUPS: [u32; 5] = [2, 4, 8, 16, 32];

/// Which shape is which level: the file's own first, then those that the tuners leave, since there may be more shapes than
/// levels.
fn level_order(funnel: &Funnel, shapes: usize, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = vec![0];
    order.extend(funnel.levels.iter().copied().filter(|l| *l != 0));
    order.extend(funnel.more.iter().copied().filter(|l| *l != 0));
    let first = order.clone();
    order.extend((1..shapes).filter(|i| !first.contains(i)));
    order.truncate(most);
    order
}

impl LaunchChoice {
    /// Looks at a workload's launch space and adds its variables to the groups.
    pub fn add(
        w: &Workload,
        k: &LaunchKnowledge,
        groups: &mut Vec<Group>,
    ) -> Result<LaunchChoice, ChoiceError> {
        let components = space::components(w);
        if components.is_empty() {
            let idle: Vec<&str> = w.launch_space.params.iter().map(|p| p.0.as_str()).collect();
            return Err(ChoiceError::NoSpace(match idle.is_empty() {
                true => "there is no [launch_space]".to_owned(),
                false => format!(
                    "no launch mentions the launch parameters {}",
                    idle.join(", ")
                ),
            }));
        }
        let infos = kernels::kernels(k.module);
        let mut out = LaunchChoice {
            variables: Vec::new(),
            fixed: None,
            refused: Vec::new(),
            parameters: None,
            workload: w.clone(),
            infos,
        };
        for c in components {
            out.component(w, k, c, groups)?;
        }
        let any = out.variables.iter().any(|v| v.shapes.len() > 1);
        if k.fixed {
            out.fixed = Some(groups.len());
            let levels = vec![
                Setting::Shape(intern("dynamic")),
                Setting::Shape(intern("fixed")),
            ];
            groups.push(group("block size", levels, &out.variables));
        } else if !any {
            let name = out.variables.first().map(|v| v.component.params.join(", "));
            let why = format!("{} has one shape", name.unwrap_or_default());
            return Err(ChoiceError::NoSpace(why));
        }
        Ok(out)
    }

    /// The same with parameters one by one.
    pub fn from_parameters(w: &Workload, m: &Module, mut p: Parameters) -> LaunchChoice {
        LaunchChoice {
            variables: Vec::new(),
            fixed: p.fixed,
            refused: std::mem::take(&mut p.refused),
            parameters: Some(p),
            workload: w.clone(),
            infos: kernels::kernels(m),
        }
    }

    /// The shapes of a component that can run, with what the tuners look at; the others are refused.
    fn candidates(
        &mut self,
        w: &Workload,
        k: &LaunchKnowledge,
        c: &Component,
    ) -> Result<Vec<(LaunchParams, Candidate)>, ChoiceError> {
        let name = c.params.join(", ");
        let points = space::points(w, c)
            .ok_or_else(|| ChoiceError::TooMany(name.clone(), space::MOST_POINTS + 1))?;
        let mut found: Vec<(LaunchParams, Candidate)> = Vec::new();
        for (n, p) in points.iter().enumerate() {
            let own: LaunchParams = p
                .iter()
                .filter(|(x, _)| c.params.contains(x))
                .map(|(x, v)| (x.clone(), *v))
                .collect();
            match space::look(w, k.module, &self.infos, &c.kernels, p, k.needs, k.machine) {
                Ok(looks) => {
                    let at = found.len();
                    let work = k.work.get(p).copied();
                    found.push((own, Candidate { at, looks, work }));
                }
                Err(why) if n == 0 => return Err(ChoiceError::Own(why.to_string())),
                Err(why) => {
                    let shape = ShapeChoice {
                        params: own,
                        regroup: None,
                    };
                    self.refused.push((shape.name(), why.to_string()));
                }
            }
        }
        if found.is_empty() {
            return Err(ChoiceError::Nothing(name));
        }
        Ok(found)
    }

    /// Adds a component as a variable.
    fn component(
        &mut self,
        w: &Workload,
        k: &LaunchKnowledge,
        c: Component,
        groups: &mut Vec<Group>,
    ) -> Result<(), ChoiceError> {
        let name = c.params.join(", ");
        let found = self.candidates(w, k, &c)?;
        let candidates: Vec<Candidate> = found.iter().map(|f| f.1.clone()).collect();
        let metrics: Vec<(f64, f64)> = candidates.iter().map(super::ryoo::metrics).collect();
        let pareto = super::ryoo::pareto(&metrics);
        let funnel = Funnel::new(candidates, k.contention, k.tuners, &|l| {
            super::funnel::scattered(k.module, &self.infos, &l.kind)
        });
        let order = level_order(&funnel, found.len(), k.most.min(200));
        let place = |old: usize| order.iter().position(|o| *o == old);
        let mut shapes: Vec<ShapeChoice> = order
            .iter()
            .map(|i| ShapeChoice {
                params: found[*i].0.clone(),
                regroup: None,
            })
            .collect();
        let moved = |of: &[usize]| of.iter().filter_map(|l| place(*l)).collect();
        let mut funnel = Funnel {
            levels: moved(&funnel.levels),
            more: moved(&funnel.more),
            unseen: funnel.unseen.and_then(place),
            ..funnel
        };
        let regroupable = self.regroupable(k, &found);
        if let (Some((params, _)), false) = (
            found
                .iter()
                .find(|f| f.1.looks.iter().all(|l| l.kind.launch.block == [32, 1, 1])),
            regroupable.is_empty(),
        ) {
            for n in GROUPS {
                funnel.levels.push(shapes.len());
                shapes.push(ShapeChoice {
                    params: params.clone(),
                    regroup: Some(n),
                });
            }
        }
        let levels = shapes.iter().map(|s| Setting::Shape(intern(&s.name())));
        let variable = LaunchVariable {
            group: groups.len(),
            component: c,
            shapes: shapes.clone(),
            regroupable,
            pareto: pareto.iter().filter_map(|l| place(*l)).collect(),
            funnel,
        };
        self.variables.push(variable);
        let last = self.variables.len() - 1;
        groups.push(group(
            &format!("launch: {name}"),
            levels.collect(),
            &self.variables[last..],
        ));
        Ok(())
    }

    /// Kernels of a component whose work grows and which can be regrouped, as the module names them.
    fn regroupable(&self, k: &LaunchKnowledge, found: &[(LaunchParams, Candidate)]) -> Vec<String> {
        if !k.regroup {
            return Vec::new();
        }
        let mine = |s: &String| {
            let looks = found.first().map(|f| &f.1.looks);
            looks.is_some_and(|l| l.iter().any(|l| l.symbol == *s))
        };
        let can = |s: &String| {
            let f = k.module.function(s);
            f.is_some_and(|f| {
                index_space::obstacle(k.module, f, GROUPS[GROUPS.len() - 1]).is_none()
            })
        };
        let growing = k.growing.keys();
        growing.filter(|s| mine(s) && can(s)).cloned().collect()
    }

    /// Values of all launch parameters under an assignment, where they are not the file's own.
    pub fn params(&self, a: &[u8]) -> LaunchParams {
        let mut out = self
            .parameters
            .as_ref()
            .map_or_else(LaunchParams::new, |p| p.values(a));
        for v in &self.variables {
            let level = a.get(v.group).copied().unwrap_or(0) as usize;
            if let Some(s) = v.shapes.get(level).filter(|_| level > 0) {
                out.extend(s.params.clone());
            }
        }
        out
    }

    /// Adds to a plan what an assignment says of launches.
    pub fn plan(&self, a: &[u8], plan: &mut Plan) {
        plan.launch = self.params(a);
        let own = self.workload.launch_space.default_params();
        let changed = plan.launch.iter().any(|(n, v)| own.get(n) != Some(v));
        if !changed {
            plan.launch.clear();
        }
        let named = |symbol: &str| {
            let info = self.infos.iter().find(|i| i.symbol == symbol);
            match info.map(|i| kernels::find(&self.infos, &i.name)) {
                Some(Ok(f)) if f.symbol == symbol => f.name.clone(),
                _ => symbol.to_owned(),
            }
        };
        let mut grouped: Vec<String> = Vec::new();
        for v in &self.variables {
            let level = a.get(v.group).copied().unwrap_or(0) as usize;
            let Some(c) = v.shapes.get(level).and_then(|s| s.regroup) else {
                continue;
            };
            for s in &v.regroupable {
                plan.kernels.entry(named(s)).or_default().regroup = Some(c);
                grouped.push(s.clone());
            }
        }
        let fixed = self.fixed.is_some_and(|g| a.get(g).is_some_and(|l| *l > 0));
        if !fixed {
            return;
        }
        let mut params = own;
        params.extend(plan.launch.clone());
        let Ok(all) = kinds(&self.workload, &self.infos, &params) else {
            return;
        };
        for k in &all {
            let blocks = all.iter().filter(|o| o.symbol == k.symbol);
            // A kernel that is launched with several blocks cannot be compiled for one.
            let same = blocks.into_iter().all(|o| o.launch.block == k.launch.block);
            if same && !grouped.contains(&k.symbol) {
                plan.kernels.entry(named(&k.symbol)).or_default().block = Some(k.launch.block);
            }
        }
    }
}

fn group(name: &str, levels: Vec<Setting>, of: &[LaunchVariable]) -> Group {
    let kernel = of.iter().flat_map(|v| v.component.kernels.first()).next();
    Group {
        kernel: kernel.cloned().unwrap_or_default(),
        ..Group::for_launch(name, levels)
    }
}
