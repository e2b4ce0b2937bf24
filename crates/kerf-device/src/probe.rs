//! Probes: small kernels around one operation, written as LLVM text, disassembled and run.
pub mod measure;
pub mod recipe;
pub mod sass;
pub mod text;
mod values;

use crate::operation::Operation;
use kerf_ir::finish::{Ptx, Reflect, finish_with, ptx};
use kerf_llvm::{LlvmError, Module};
use recipe::{ProbeRecipe, recipe};
use text::ProbeKernel;

/// A probe of one operation, or of two whose streams alternate.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What it measures: the operation's key, or `FIRST+SECOND`.
    pub key: String,
    /// How the operations are written.
    pub recipes: Vec<ProbeRecipe>,
    /// Its kernels.
    pub shapes: Vec<ProbeKernel>,
    /// The kernels as PTX.
    pub ptx: String,
}

impl Probe {
    /// The (first) operation's recipe.
    pub fn recipe(&self) -> &ProbeRecipe {
        &self.recipes[0]
    }
    /// Results of one operation, on average over the recipes.
    pub fn results(&self) -> f64 {
        self.recipes.iter().map(|r| r.results).sum::<f64>() / self.recipes.len() as f64
    }
    /// The kernels for throughput.
    fn throughput(&self) -> Vec<ProbeKernel> {
        match &self.recipes[..] {
            [one] => throughput_shapes(one),
            _ => self.shapes.clone(),
        }
    }
    fn borrowed(&self) -> Vec<&ProbeRecipe> {
        self.recipes.iter().collect()
    }
}

/// Shapes for latency: two lengths of one chain, direct and masked.
pub fn latency_shapes(r: &ProbeRecipe) -> Vec<ProbeKernel> {
    let unroll = r.unroll.clamp(2, 64);
    let masks: &[bool] = match (r.direct, r.numbers) {
        // An address that went through arithmetic would no longer be a load's own result.
        (true, recipe::ProbeNumbers::Address) => &[false],
        (true, _) => &[false, true],
        (false, _) => &[true],
    };
    masks
        .iter()
        .flat_map(|&masked| {
            [unroll, 2 * unroll].map(|unroll| ProbeKernel {
                streams: 1,
                unroll,
                masked,
            })
        })
        .collect()
}

/// Shapes for throughput: one, two, four and eight streams with the same number of operations.
pub fn throughput_shapes(r: &ProbeRecipe) -> Vec<ProbeKernel> {
    let most = if r.single { 1 } else { 8 };
    [1, 2, 4, 8]
        .into_iter()
        .filter(|streams| *streams <= most)
        .map(|streams| ProbeKernel {
            streams,
            unroll: (r.unroll / streams).max(2),
            masked: !r.direct,
        })
        .collect()
}

/// What probes are linked with.
#[derive(Clone, Copy)]
pub struct Libraries<'a> {
    /// libdevice's bitcode.
    pub libdevice: &'a [u8],
    /// The double-word library's bitcode.
    pub double_words: &'a [u8],
}

fn compile(
    key: String,
    recipes: Vec<ProbeRecipe>,
    shapes: Vec<ProbeKernel>,
    libraries: Libraries,
    arch: &str,
) -> Result<Probe, LlvmError> {
    let borrowed: Vec<&ProbeRecipe> = recipes.iter().collect();
    let m = Module::parse(text::module(&borrowed, &shapes).as_bytes(), &key)?;
    if recipes.iter().any(|r| r.library) {
        m.link(libraries.double_words, "double words")?;
        // Only what is called stays, inlined.
        for f in m.functions() {
            if !f.is_declaration() && f.name().starts_with("kerf_") {
                f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
            }
        }
    }
    finish_with(&m, libraries.libdevice, arch, Reflect::default(), Ptx::Kept)?;
    let ptx = ptx(&m, arch)?;
    Ok(Probe {
        key,
        recipes,
        shapes,
        ptx,
    })
}

/// Writes, links and compiles the kernels of an operation; none for what has no recipe.
pub fn build(
    operation: &Operation,
    libraries: Libraries,
    arch: &str,
) -> Result<Option<Probe>, LlvmError> {
    let Some(recipe) = recipe(operation) else {
        return Ok(None);
    };
    let mut shapes = latency_shapes(&recipe);
    for s in throughput_shapes(&recipe) {
        if !shapes.contains(&s) {
            shapes.push(s);
        }
    }
    compile(operation.key.clone(), vec![recipe], shapes, libraries, arch).map(Some)
}

/// A conversion from 64 bits and back, as one operation; none for other operations.
pub fn build_round_trip(
    operation: &Operation,
    libraries: Libraries,
    arch: &str,
) -> Result<Option<Probe>, LlvmError> {
    let Some(recipe) = recipe::round_trip(operation) else {
        return Ok(None);
    };
    let shapes = throughput_shapes(&recipe);
    let key = format!("{}+back", operation.key);
    compile(key, vec![recipe], shapes, libraries, arch).map(Some)
}

/// Two operations whose streams alternate, one for one.
pub fn build_pair(
    first: &Operation,
    second: &Operation,
    libraries: Libraries,
    arch: &str,
) -> Result<Option<Probe>, LlvmError> {
    let (Some(a), Some(b)) = (recipe(first), recipe(second)) else {
        return Ok(None);
    };
    let unroll = a.unroll.min(b.unroll);
    let shapes = [2, 4, 8]
        .map(|streams| ProbeKernel {
            streams,
            unroll: (unroll / streams).max(2),
            masked: !(a.direct && b.direct),
        })
        .to_vec();
    compile(
        format!("{}+{}", first.key, second.key),
        vec![a, b],
        shapes,
        libraries,
        arch,
    )
    .map(Some)
}
