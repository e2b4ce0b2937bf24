//! References of examples as code for GPUs, which cannot run here: the code is complete, and NVIDIA's assembler takes it.
use crate::common;

use common::{assembles, root, tools};
use kerf_ir::finish;
use kerf_pass::shadow::{self, ShadowDevice, ShadowRuntime};
use kerf_run::compile::own_program;
use kerf_run::job::finish_with_tools;
use kerf_workload::Workload;

/// With shared memory and barriers, constants that are copied from buffers, local arrays, structs, and functions.
const EXAMPLES: [&str; 6] = [
    "lud",
    "mri_q",
    "gmm_data_term",
    "bilateral_filter",
    "black_scholes",
    "naive_scan",
];

#[test]
fn references_assemble_for_gpus() {
    let tools = tools();
    for name in EXAMPLES {
        let path = root().join(format!("examples/{name}/{name}.toml"));
        let workload = Workload::read(&path, &[]).expect("a workload");
        let m = own_program(&workload, &tools).expect("compiles");
        let m = m.module().expect("a module");
        let map = shadow::instrument(&m, ShadowRuntime::Device).expect("instrumented");
        assert_eq!(map.needs_host, Vec::<String>::new(), "{name}");
        shadow::link(&m, ShadowDevice::Gpu).expect("linked");
        finish_with_tools(&m, &tools).expect("finished");
        let ptx = finish::ptx(&m, "sm_90").expect("PTX");
        assert!(!ptx.contains(".extern .func"), "{name}");
        assembles(name, &ptx);
        // Blocks with shared memory take a slot for its shadows, and give it back.
        let shared = ["lud", "naive_scan"].contains(&name);
        assert!(!shared || ptx.contains("block_slot"), "{name}");
    }
}
