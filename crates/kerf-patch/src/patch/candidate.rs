//! The source nearest to a plan.
use super::*;
use crate::launch::KernelBound;
use crate::marks::MadeHelper;

use kerf_function::code::{CallForm, WorkingFormat};
use kerf_function::emit::{EmittedLanguage, source_text};
use kerf_pass::CodeShape;

impl PatchContext<'_> {
    /// The source nearest to a plan.
    pub(super) fn candidate(&self, plan: &Plan) -> Result<Candidate, PatchError> {
        let kernels = &self.subject.kernels;
        let symbols: Vec<String> = kernels.iter().map(|k| k.symbol.clone()).collect();
        let mut model = DeclarationModel::new(self.ast, self.sources, &symbols);
        let module = self.program.module();
        let module = module.map_err(|e| PatchError::Clang(e.to_string()))?;
        let none = KernelPlan::default();
        let plans: Vec<(&str, &KernelPlan)> = kernels
            .iter()
            .map(|k| {
                let own = plan.kernels.get(&k.name);
                (k.symbol.as_str(), own.unwrap_or(&none))
            })
            .collect();
        let marks = Marks::from_plans(self.ast, self.sources, &module, &plans);
        self.hold(&mut model, plan);
        let Solved {
            narrow,
            mut edits,
            helpers,
            unsaid,
        } = solve(&model, &marks, self.cl);
        let mut notes = Vec::new();
        let texts = helper_texts(&helpers, plan);
        self.helpers(&model, &helpers, texts, &mut edits);
        self.includes(&model, &narrow, &mut edits);
        let bound_registers = self.shapes(&model, plan, &mut edits, &mut notes);
        notes.extend(not_in_source(plan, &bound_registers));
        notes.extend(self.foreign_files(&model));
        let (held, converted) = self.held(&model, &narrow);
        let unsaid = unsaid.into_iter().map(|u| {
            let file = self.ast.files.get(u.file).and_then(|f| f.file_name());
            let file = file.map_or_else(String::new, |f| f.to_string_lossy().into_owned());
            format!("{file}:{}: {}", u.line, u.why)
        });
        let mut texts = edits::patched(&edits, self.sources);
        let macros = self.subject.workload.changed_macros(&plan.launch);
        notes.extend(defines::define(&macros, self.sources, &mut texts));
        Ok(Candidate {
            compiled: !macros.is_empty(),
            texts,
            edits,
            held,
            launch: plan.launch.clone(),
            unsaid: unsaid.collect(),
            notes,
            converted,
        })
    }

    /// Tells the model in which formats the plan holds memory; what the plan does not name stays as it is.
    fn hold(&self, model: &mut DeclarationModel, plan: &Plan) {
        let symbol = |name: &str| {
            let found = self.subject.kernels.iter().find(|k| k.name == name);
            found.map_or_else(|| name.to_owned(), |k| k.symbol.clone())
        };
        for h in self.result.groups.iter().flat_map(|g| &g.group.holds) {
            let kernel = plan.kernels.get(&h.kernel);
            let to = kernel.and_then(|k| k.storage.get(&h.name));
            model.hold(&symbol(&h.kernel), &h.name, to.and_then(|f| f.float()));
        }
        for (kernel, p) in &plan.kernels {
            for (name, f) in &p.storage {
                model.hold(&symbol(kernel), name, f.float());
            }
        }
    }

    /// Notes on files with functions of kernels that may not change.
    fn foreign_files(&self, model: &DeclarationModel) -> Vec<String> {
        let files = model.functions.iter().filter_map(|f| f.loc).map(|l| l.file);
        let files: BTreeSet<usize> = files.filter(|f| !self.sources.contains_key(f)).collect();
        let names = files.iter().map(|f| {
            let path = self.ast.files.get(*f);
            path.map_or_else(String::new, |f| f.display().to_string())
        });
        names.map(|name| format!("{name} is not in the source's folder and was left as it is; --root FOLDER lets it change")).collect()
    }

    /// Buffers whose parameters are in f32 now.
    pub(super) fn held(
        &self,
        model: &DeclarationModel,
        narrow: &Formats,
    ) -> (Vec<(String, Format)>, BTreeSet<String>) {
        let mut converted = BTreeSet::new();
        let Ok(module) = self.subject.program.module() else {
            return (Vec::new(), converted);
        };
        let (infos, globals) = (kernels::kernels(&module), kernels::globals(&module));
        let w = &self.subject.workload;
        let session = WorkloadSession::plain(w, &infos, &globals);
        let Ok(touches) = storage::touches(&session) else {
            return (Vec::new(), converted);
        };
        let mut out: Vec<(String, Format)> = Vec::new();
        for (symbol, number, buffer) in &touches.parameters {
            let f = model
                .functions
                .iter()
                .find(|f| f.mangled == *symbol || f.name == *symbol);
            let Some(p) = f.and_then(|f| f.params().nth(*number)) else {
                continue;
            };
            let small = model.entity_of(p).and_then(|e| {
                let parameter = model.things[e].kind == DeclarationKind::KernelParameter;
                narrow.get(&model.class(e)).copied().filter(|_| parameter)
            });
            let record = model.pointed_fields(p);
            let fields: Option<Vec<Format>> = record
                .iter()
                .map(|e| narrow.get(&model.class(*e)).copied())
                .collect();
            let fields = fields.and_then(|f| f.first().copied());
            let name = &w.buffers[*buffer].name;
            if let Some(f) = small.or(fields)
                && !out.iter().any(|o| o.0 == *name)
            {
                out.push((name.clone(), f));
            }
            let class = model.entity_of(p).map(|e| model.class(e));
            if model.copies.iter().any(|c| Some(model.class(c.0)) == class) {
                converted.insert(name.clone());
            }
        }
        (out, converted)
    }

    /// Headers of the types that the source did not have.
    fn includes(&self, model: &DeclarationModel, narrow: &Formats, edits: &mut Edits) {
        let mut wanted: BTreeSet<(usize, &str)> = BTreeSet::new();
        for (e, t) in model.things.iter().enumerate() {
            let header = match narrow.get(&model.class(e)) {
                Some(Format::F16) => "cuda_fp16.h",
                Some(Format::Bf16) => "cuda_bf16.h",
                _ => continue,
            };
            wanted.extend(t.types.iter().map(|(file, _)| (*file, header)));
        }
        for (file, header) in wanted {
            let Some(s) = self.sources.get(&file) else {
                continue;
            };
            if !s.text.contains(header) {
                let place = after_includes(&s.text);
                let rank = usize::from(header == "cuda_bf16.h") + 1;
                let _ = edits.before(file, place, rank, &format!("#include <{header}>\n"));
            }
        }
    }

    /// Puts functions that have no name in CUDA C++ before the kernels.
    pub(super) fn helpers(
        &self,
        model: &DeclarationModel,
        names: &BTreeSet<&'static str>,
        text: Vec<String>,
        edits: &mut Edits,
    ) {
        let main = &self.subject.program.source;
        let main = std::fs::canonicalize(main).unwrap_or_else(|_| main.clone());
        let Some((file, s)) = self
            .sources
            .iter()
            .find(|s| s.1.path == main)
            .or(self.sources.iter().next())
        else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let first = model
            .functions
            .iter()
            .filter_map(|f| f.begin)
            .filter(|b| b.file == *file)
            .map(|b| b.offset)
            .min();
        let first = first.unwrap_or(s.text.len());
        let head = &s.text[..first.min(s.text.len())];
        let place = after_includes(head);
        let vector = names.iter().any(|n| n.ends_with("load")) && !head.contains("<vector>");
        let vector = if vector { "#include <vector>\n" } else { "" };
        let text = format!("{vector}\n{}", text.join("\n"));
        let text = if place == 0 {
            text.trim_start().to_owned() + "\n"
        } else {
            text
        };
        let _ = edits.before(*file, place, 0, &text);
    }

    /// The largest block of each kernel under the plan, by symbol.
    fn largest_blocks(&self, plan: &Plan) -> Option<BTreeMap<String, [u32; 3]>> {
        let w = &self.subject.workload;
        let mut params = w.launch_space.default_params();
        params.extend(plan.launch.clone());
        let mut blocks: BTreeMap<String, [u32; 3]> = BTreeMap::new();
        for step in expand(w, &params).ok()?.flatten() {
            let ConcreteStep::Launch(l) = step else {
                continue;
            };
            let found = self.subject.kernels.iter().find(|k| {
                k.name == l.kernel
                    || kernels::source_name(&kerf_llvm::demangle(&k.symbol)) == l.kernel
            });
            let Some(k) = found.or(self
                .subject
                .kernels
                .first()
                .filter(|_| self.subject.kernels.len() == 1))
            else {
                continue;
            };
            let b = blocks.entry(k.symbol.clone()).or_insert(l.block);
            if b.iter().product::<u32>() < l.block.iter().product::<u32>() {
                *b = l.block;
            }
        }
        Some(blocks)
    }

    /// The blocks that the plan's launch parameters give, and bounds for registers. Gives the kernels whose registers are bound.
    pub(super) fn shapes(
        &self,
        model: &DeclarationModel,
        plan: &Plan,
        edits: &mut Edits,
        notes: &mut Vec<String>,
    ) -> BTreeSet<String> {
        let registers = |name: &str| plan.kernels.get(name).and_then(|k| k.code?.registers);
        let shaped = !plan.launch.is_empty() || plan.kernels.values().any(|k| k.block.is_some());
        let mut bound_registers = BTreeSet::new();
        let Some(mut blocks) = self.largest_blocks(plan) else {
            return bound_registers;
        };
        let name_of = |symbol: &str| {
            let mut all = self.subject.kernels.iter();
            all.find(|k| k.symbol == symbol).map(|k| k.name.as_str())
        };
        let most = |symbol: &str| name_of(symbol).and_then(registers).filter(|_| !self.cl);
        blocks.retain(|symbol, _| shaped || most(symbol).is_some());
        for (symbol, block) in &blocks {
            let f = model
                .functions
                .iter()
                .find(|f| f.mangled == *symbol || f.name == *symbol);
            let Some(f) = f else { continue };
            let bound = KernelBound::new(*block, most(symbol));
            match launch::bound(model, f, &bound, self.cl, edits) {
                Err(why) => notes.push(format!("{}: no bound for its blocks: {why}", f.name)),
                Ok(()) if bound.resident_blocks.is_some() => {
                    bound_registers.extend(name_of(symbol).map(str::to_owned));
                }
                Ok(()) => {}
            }
        }
        if shaped {
            notes.extend(launch::launches(model, &blocks, edits));
        }
        let launched_here = shaped && launch::any_launch(model, &blocks);
        if !launched_here {
            for (symbol, [x, y, z]) in &blocks {
                let name = kernels::source_name(&kerf_llvm::demangle(symbol));
                notes.push(match shaped {
                    true => format!(
                        "{name} is launched elsewhere: with blocks of {x} x {y} x {z} threads"
                    ),
                    false => format!(
                        "{name} is for blocks of at most {} threads now, as the workload launches it",
                        x * y * z
                    ),
                });
            }
        }
        bound_registers
    }
}

/// Texts of functions that are put into the source: those of math variants, and a plan's made functions.
pub(super) fn helper_texts(names: &BTreeSet<&'static str>, plan: &Plan) -> Vec<String> {
    let functions = plan.functions();
    let made = |name: &str| {
        let f = functions.iter().find(|f| MadeHelper::new(f).name == name)?;
        let text = source_text(f, EmittedLanguage::Cuda, name);
        let returned = match (f.form(), f.format()) {
            (CallForm::TwoResults, _) => "void",
            (_, WorkingFormat::F64) => "double",
            (_, WorkingFormat::F32) => "float",
        };
        Some(text.replace(
            &format!("__device__ {returned} {name}("),
            &format!("static __device__ __forceinline__ {returned} {name}("),
        ))
    };
    let text = |n: &&'static str| math::helper(n).or_else(|| made(n));
    names.iter().filter_map(text).collect()
}

/// Notes on parts of a plan that source has no words for, but for registers of some kernels.
fn not_in_source(plan: &Plan, bound_registers: &BTreeSet<String>) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, k) in &plan.kernels {
        let variables = k.storage.keys();
        for v in variables.filter(|v| kerf_pass::storage::is_variable(v)) {
            notes.push(format!("{v} of {name} keeps its format in source"));
        }
        for (held, f) in &k.storage {
            if f.scaled().is_some() {
                notes.push(format!(
                    "`{held}` of {name} is held in {f} in the plan; source has no type for codes with a scale, and keeps its format"
                ));
            }
        }
        if k.partition.is_some() {
            notes.push(format!(
                "{name} runs in two versions in the plan; source has the first for all warps"
            ));
        }
        for (buffer, r) in &k.records {
            notes.push(format!(
                "the records of `{buffer}` of {name} are stored as {} in the plan, and as they are in source",
                r.layout
            ));
        }
        if let Some(c) = &k.coarsen {
            notes.push(format!(
                "{name}: a thread computes {c} in the plan, and one element in source"
            ));
        }
        let said = |c: &CodeShape| CodeShape {
            registers: c.registers.filter(|_| !bound_registers.contains(name)),
            ..*c
        };
        let unsaid = k.code.as_ref().map(said);
        if let Some(c) = unsaid.filter(|c| *c != CodeShape::default()) {
            notes.push(format!(
                "{name}: the plan has {c}, which source leaves to the compiler"
            ));
        }
        if let Some(x) = k.reblock {
            notes.push(format!(
                "{name}: launches get blocks of {x} threads along x in the plan, and their own in source"
            ));
        }
        if k.regroup.is_some() {
            notes.push(format!(
                "{name}: the plan puts blocks together, which source does not"
            ));
        }
    }
    notes.extend(rewritten(plan));
    notes
}

/// Notes on expressions that a plan writes differently.
pub(super) fn rewritten(plan: &Plan) -> Vec<String> {
    let kernels = plan.kernels.iter().filter(|k| !k.1.rewrites.is_empty());
    let note = |(name, k): (&String, &kerf_pass::KernelPlan)| {
        let operations: usize = k.rewrites.iter().map(|r| r.sites.len()).sum();
        format!(
            "{name}: the plan writes expressions of {operations} operations differently, which a patch cannot carry yet"
        )
    };
    kernels.map(note).collect()
}

/// The place after the last `#include` that is not under a condition; the beginning, where there is none.
fn after_includes(text: &str) -> usize {
    let (mut at, mut after, mut depth) = (0, 0, 0usize);
    for l in text.split_inclusive('\n') {
        at += l.len();
        let word = l.trim_start();
        if word.starts_with("#if") {
            depth += 1;
        } else if word.starts_with("#endif") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && (word.starts_with("#include") || word.starts_with("#pragma once")) {
            after = at;
        }
    }
    after
}
