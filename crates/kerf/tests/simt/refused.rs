//! Constructs of nvcc's and OpenCL's that Kerf has not: refused by name.
use super::faults::{fails, says, workload};
use super::harness::{kerf, run_file};

#[test]
fn clusters_are_refused_by_name() {
    for kernel in ["has_shape", "has_rank", "waits"] {
        let s = fails("clusters.cu", kernel, "[2]", "[32]", r#"["a"]"#, "", &[]);
        says(
            &s,
            &[
                "cannot run",
                kernel,
                "thread-block clusters are not supported",
            ],
        );
    }
    let (_dir, path) = workload("clusters.cu", "runs", "[2]", "[32]", r#"["a"]"#, "");
    run_file(&path, &[]).expect("a", |i| if i < 32 { i as i32 + 1 } else { 0 });
}

/// What no executor has is refused with its place and what to use instead.
#[test]
fn what_nvcc_knows_and_kerf_does_not_is_named() {
    let cases = [
        (
            "cluster.cu",
            "#include <cooperative_groups.h>\n__global__ void k(float *o) {\n  auto c = cooperative_groups::this_cluster();\n  c.sync();\n}\n",
            "cluster.cu:3:32: thread-block clusters: ",
            "through global memory",
        ),
        (
            "nested.cu",
            "__global__ void c(float *o) {}\n__global__ void k(float *o) {\n  c<<<1, 1>>>(o);\n}\n",
            "nested.cu:3:4: dynamic parallelism: ",
            "launch the second kernel from the host",
        ),
        (
            "waits.cu",
            "__global__ void k(float *o) {\n  cudaDeviceSynchronize();\n}\n",
            "waits.cu:2:3: dynamic parallelism: ",
            "launch the second kernel from the host",
        ),
        (
            "barrier.cu",
            "#include <cuda/barrier>\n__global__ void k(float *o) {\n  __shared__ cuda::barrier<cuda::thread_scope_block> b;\n  b.arrive_and_wait();\n}\n",
            "barrier.cu:3:54: a __shared__ cuda::barrier: ",
            "__syncthreads()",
        ),
        (
            "image.cl",
            "__kernel void k(__read_only image2d_t i, sampler_t s, __global float *o) {\n  o[0] = read_imagef(i, s, (int2)(0, 0)).x;\n}\n",
            "image.cl:2:10: images of OpenCL: ",
            "as a __global buffer",
        ),
    ];
    let dir = tempfile::tempdir().expect("a folder");
    for (name, source, place, help) in cases {
        let path = dir.path().join(name);
        std::fs::write(&path, source).expect("written");
        let path = path.to_str().expect("a name");
        let mut commands = vec![vec!["inspect", path]];
        if name.ends_with(".cu") {
            commands.push(vec!["cc", "-c", path, "-o", "/dev/null"]);
        }
        for command in commands {
            let s = kerf(&command);
            assert_eq!(s.code, Some(2), "{command:?}: {}", s.err);
            says(&s, &["uses what Kerf does not support", place, help]);
            assert!(!s.err.contains("undeclared"), "{command:?}: {}", s.err);
        }
    }
}
