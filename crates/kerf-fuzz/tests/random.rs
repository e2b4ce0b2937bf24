//! Random kernels on double words: whatever their shape, they can be built, compiled and run.
use crate::common;

use common::{libdevice, outputs};
use kerf_fuzz::identity::Outputs;
use kerf_fuzz::random_kernel;
use kerf_ir::finish::{Reflect, finish, ptx};
use kerf_ir::prepare;
use kerf_llvm::Module;
use kerf_pass::{Plan, SiteFormat};

/// Runs the kernels of a seed, some of their sites in a format.
fn run(seed: u64, choose: impl Fn(usize) -> Option<SiteFormat>) -> Vec<Outputs> {
    let random = random_kernel::module(seed, 2);
    let module = Module::parse(random.ir.as_bytes(), "random").expect("parses");
    prepare::prepare(&module, "sm_90").expect("prepares");
    let mut plan = Plan::default();
    for f in [
        SiteFormat::Dw64,
        SiteFormat::Dw32,
        SiteFormat::Dw64Cmp,
        SiteFormat::Dw32Cmp,
    ] {
        for (k, p) in Plan::all_sites(&module, f).kernels {
            let sites = &mut plan.kernels.entry(k).or_default().sites;
            sites.extend(
                p.sites
                    .into_keys()
                    .filter(|id| choose(*id) == Some(f))
                    .map(|id| (id, f)),
            );
        }
    }
    plan.apply(&module)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    finish(&module, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    assert!(ptx(&module, "sm_90").expect("PTX").contains(".entry"));
    outputs(random, seed, module)
}

#[test]
fn any_kernel_in_any_mixture() {
    let mut changed = 0;
    for seed in 1..=3 {
        let plain = run(seed, |_| None);
        for format in [SiteFormat::Dw64, SiteFormat::Dw32] {
            changed += usize::from(run(seed, |_| Some(format)) != plain);
        }
        run(seed, |id| match (id as u64 * 7 + seed) % 5 {
            0 => Some(SiteFormat::Dw32),
            1 => Some(SiteFormat::Dw64),
            2 => Some(SiteFormat::Dw32Cmp),
            3 => Some(SiteFormat::Dw64Cmp),
            _ => None,
        });
    }
    // Double words have to make a difference somewhere.
    assert!(
        changed > 3,
        "{changed} of 6 runs differ from the plain ones"
    );
}
