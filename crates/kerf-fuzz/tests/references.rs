//! References of random kernels: device code against the functions of the CPU executor.
mod common;

use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions};
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
        let code = CpuCode::new(&device.module, options).expect("compiled");
        let mut exec =
            CpuExecutor::with_entries(&code, options, device.map.clone()).expect("loaded");
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

/// Code for GPUs, which cannot run here: it is complete, and NVIDIA's assembler takes it.
#[test]
fn code_for_gpus_assembles() {
    let libdevice = common::libdevice();
    let ptxas = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/cuda/bin/ptxas");
    let dir = tempfile::tempdir().expect("a folder");
    let mut assembled = 0;
    for seed in 0..6 {
        let k = shadowed(seed, &libdevice, "sm_90", Some(ShadowDevice::Gpu)).expect("made");
        if !k.map.needs_host.is_empty() {
            continue;
        }
        let ptx = kerf_ir::finish::ptx(&k.module, "sm_90").expect("PTX");
        assert!(ptx.contains(kerf_exec::shadow_space::SPACE), "seed {seed}");
        assert!(ptx.contains(kerf_exec::shadow_space::VALUES), "seed {seed}");
        assert!(!ptx.contains(".extern .func"), "seed {seed}: {ptx}");
        let file = dir.path().join("k.ptx");
        std::fs::write(&file, &ptx).expect("written");
        let r = std::process::Command::new(&ptxas)
            .args(["-arch", "sm_90", "-o"])
            .arg(dir.path().join("k.cubin"))
            .arg(&file)
            .output()
            .unwrap_or_else(|e| panic!("{}: {e} (make setup)", ptxas.display()));
        let said = String::from_utf8_lossy(&r.stderr);
        assert!(r.status.success(), "seed {seed}: {said}");
        assembled += 1;
    }
    assert!(assembled >= 3, "only {assembled} were assembled");
}
