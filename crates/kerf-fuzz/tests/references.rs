//! References of random kernels: device code against the functions of the CPU executor.
mod common;

use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::references::shadowed;
use kerf_pass::shadow::ShadowDevice;

/// Kernels of the test; the campaign on a GPU has more.
const SEEDS: std::ops::Range<u64> = 0..24;

#[test]
fn both_routes_give_the_same_bits() {
    let libdevice = common::libdevice();
    let (mut compared, mut refused) = (0, Vec::new());
    for seed in SEEDS {
        let device = shadowed(seed, &libdevice, "sm_90", Some(ShadowDevice::Cpu)).expect("made");
        if !device.map.needs_host.is_empty() {
            refused.extend(device.map.needs_host.clone());
            continue;
        }
        let options = CpuOptions::default();
        let mut exec =
            CpuExecutor::with_entries(&device.module, options, device.map.clone()).expect("loaded");
        let Some(by_device) = device.run(&mut exec).expect("runs") else {
            refused.push("lost at run time".into());
            continue;
        };
        let tables = shadowed(seed, &libdevice, "sm_90", None).expect("made");
        let by_tables = tables.run_with_tables(CpuOptions::default()).expect("runs");
        assert_eq!(by_device, by_tables, "seed {seed}");
        compared += 1;
    }
    refused.sort();
    refused.dedup();
    assert!(compared >= 12, "only {compared} were compared: {refused:?}");
}
