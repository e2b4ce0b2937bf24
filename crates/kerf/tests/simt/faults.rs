//! Kernels that fail, and kernels that are refused: the message says what, where and who.
use super::harness::{Said, folder, kerf, run_file};

/// Runs one kernel of a source on a few small buffers.
pub fn workload(
    source: &str,
    kernel: &str,
    grid: &str,
    block: &str,
    args: &str,
    more: &str,
) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("w.toml");
    let source = folder().join(source);
    let text = format!(
        r#"source = "{}"
[[buffer]]
name = "a"
type = "i32"
len = 64
output = true
[[buffer]]
name = "x"
type = "f32"
len = 64
[[buffer]]
name = "y"
type = "f32"
len = 64
[[buffer]]
name = "d"
type = "f64"
len = 64
[[buffer]]
name = "h"
type = "f16"
len = 256
[[buffer]]
name = "big"
type = "i32"
len = 80
[[buffer]]
name = "copy"
type = "i32"
len = 80
[[launch]]
kernel = "{kernel}"
grid = {grid}
block = {block}
args = {args}
{more}
"#,
        source.display()
    );
    std::fs::write(&path, text).expect("the workload should be written");
    (dir, path)
}

pub fn fails(
    source: &str,
    kernel: &str,
    grid: &str,
    block: &str,
    args: &str,
    more: &str,
    options: &[&str],
) -> Said {
    let (_dir, path) = workload(source, kernel, grid, block, args, more);
    let mut all = vec![
        "run",
        path.to_str().expect("a path in UTF-8"),
        "--warmup",
        "0",
        "--repeats",
        "1",
    ];
    all.extend(options);
    let said = kerf(&all);
    assert_eq!(said.code, Some(2), "{kernel}:\n{}\n{}", said.out, said.err);
    assert!(
        said.out.is_empty(),
        "{kernel} printed a result:\n{}",
        said.out
    );
    said
}

fn line_of(source: &str, text: &str) -> usize {
    let all = std::fs::read_to_string(folder().join(source)).expect("the source");
    1 + all
        .lines()
        .position(|l| l.contains(text))
        .unwrap_or_else(|| panic!("{source} has no line with {text}"))
}

#[track_caller]
pub fn says(said: &Said, parts: &[&str]) {
    for p in parts {
        assert!(said.err.contains(p), "expected `{p}` in\n{}", said.err);
    }
}

#[test]
fn assertions_and_traps() {
    let s = fails(
        "faults.cu",
        "fails_assert",
        "[2]",
        "[32]",
        r#"["a", 64]"#,
        "",
        &[],
    );
    let line = format!("faults.cu:{}", line_of("faults.cu", "assert(i != 37"));
    says(
        &s,
        &[
            "fails_assert",
            "block (1, 0, 0)",
            "thread (5, 0, 0)",
            "i != 37 || in[i] > 1000",
            &line,
        ],
    );
    let s = fails(
        "faults.cu",
        "traps",
        "[1, 2]",
        "[4, 4]",
        r#"["a"]"#,
        "",
        &[],
    );
    let line = format!("line {}", line_of("faults.cu", "__trap();"));
    says(
        &s,
        &[
            "traps",
            "block (0, 1, 0)",
            "thread (3, 2, 0)",
            "trapped",
            &line,
        ],
    );
    let s = fails(
        "faults.cu",
        "traps_after_barrier",
        "[1]",
        "[64]",
        r#"["a"]"#,
        "",
        &[],
    );
    says(
        &s,
        &[
            "traps_after_barrier",
            "block (0, 0, 0)",
            "thread (45, 0, 0)",
        ],
    );
}

#[test]
fn deadlocks() {
    let s = fails(
        "faults.cu",
        "split_barriers",
        "[1]",
        "[64]",
        r#"["a"]"#,
        "",
        &[],
    );
    let line = format!("line {}", line_of("faults.cu", "bar.sync 1"));
    says(
        &s,
        &[
            "split_barriers",
            "deadlock",
            "64 threads wait for a barrier",
            &line,
        ],
    );
    let s = fails(
        "faults.cu",
        "absent_lane",
        "[1]",
        "[32]",
        r#"["a"]"#,
        "",
        &[],
    );
    says(
        &s,
        &[
            "absent_lane",
            "deadlock",
            "1 threads wait for a barrier",
            "31 threads wait for a warp operation",
        ],
    );
}

#[test]
fn endless_loops_end() {
    let s = fails(
        "faults.cu",
        "endless",
        "[1]",
        "[1]",
        r#"["a"]"#,
        "",
        &["--timeout", "2"],
    );
    says(&s, &["no result within 2 s", "--timeout"]);
}

#[test]
fn stray_pointers_without_memcheck() {
    let s = fails(
        "faults.cu",
        "far_away",
        "[1]",
        "[1]",
        r#"["a", 1000000000000000]"#,
        "",
        &[],
    );
    says(
        &s,
        &[
            "far_away, block (0, 0, 0): illegal memory access: access to an address that this machine does not have",
            "--memcheck",
        ],
    );
    // Threads that are coroutines are known by number.
    let s = fails(
        "faults.cu",
        "null_after_barrier",
        "[1]",
        "[64]",
        r#"["a", 0]"#,
        "",
        &[],
    );
    says(
        &s,
        &[
            "null_after_barrier, block (0, 0, 0), thread (37, 0, 0): illegal memory access: load from address 0x8, a null pointer",
        ],
    );
}

#[test]
fn recursion_without_end_is_told_and_no_check_is_advised() {
    for options in [&["--timeout", "60"][..], &["--timeout", "60", "--memcheck"]] {
        let s = fails(
            "faults.cu",
            "recurses",
            "[1]",
            "[1]",
            r#"["a"]"#,
            "",
            options,
        );
        says(
            &s,
            &["recurses, block (0, 0, 0)", "the recursion may have no end"],
        );
        assert!(!s.err.contains("memcheck"), "{}", s.err);
    }
}

#[test]
fn memcheck_names_the_access() {
    let check = |kernel: &str, block: &str, args: &str, more: &str, at: &str, parts: &[&str]| {
        let s = fails(
            "faults.cu",
            kernel,
            "[1]",
            block,
            args,
            more,
            &["--memcheck"],
        );
        says(
            &s,
            &[
                kernel,
                "block (0, 0, 0)",
                &format!("faults.cu:{}", line_of("faults.cu", at)),
            ],
        );
        says(&s, parts);
    };
    check(
        "read_past_end",
        "[64]",
        r#"["x", "y", 64]"#,
        "",
        "in[i] + in[i + 1]",
        &[
            "thread (63, 0, 0)",
            "out-of-bounds load of 4 bytes",
            "buffer x has 64 elements",
            "index 64",
        ],
    );
    check(
        "write_before_start",
        "[8]",
        r#"["y", 1]"#,
        "",
        "out[i - shift]",
        &[
            "thread (0, 0, 0)",
            "out-of-bounds store of 4 bytes",
            "buffer y has 64 elements",
            "index -1",
        ],
    );
    // A thread's own array, and a table of constants.
    check(
        "own_overrun",
        "[8]",
        r#"["y", 4]"#,
        "",
        "t[(i + shift) & 7]",
        &[
            "thread (0, 0, 0)",
            "out-of-bounds load of 4 bytes",
            ": t has 16 bytes",
            "byte 16",
        ],
    );
    check(
        "table_overrun",
        "[8]",
        r#"["y", 3]"#,
        "",
        "weights[i + shift]",
        &[
            "thread (2, 0, 0)",
            "out-of-bounds load of 4 bytes",
            ": weights has 20 bytes",
            "byte 20",
        ],
    );
    // Far enough to lie in another buffer.
    check(
        "write_before_start",
        "[1]",
        r#"["y", 4000]"#,
        "",
        "out[i - shift]",
        &["buffer y", "index -4000"],
    );
    check(
        "shared_overrun",
        "[32]",
        r#"["a"]"#,
        "",
        "s[threadIdx.x * 2]",
        &[
            "thread (16, 0, 0)",
            "out-of-bounds store",
            ": s has 128 bytes",
            "byte 128",
        ],
    );
    check(
        "dynamic_overrun",
        "[32]",
        r#"["a"]"#,
        "shared = 96",
        "d[threadIdx.x] =",
        &[
            "thread (24, 0, 0)",
            "out-of-bounds store",
            "has 96 bytes",
            "byte 96",
        ],
    );
    check(
        "misaligned",
        "[4]",
        r#"["x", "d", 4]"#,
        "",
        "*(const double*)(in",
        &["thread (0, 0, 0)", "misaligned load of 8 bytes"],
    );
    check(
        "struct_copy",
        "[4]",
        r#"["big", "copy", 1]"#,
        "",
        "out[threadIdx.x] = in[threadIdx.x + n]",
        &[
            "thread (3, 0, 0)",
            "out-of-bounds load of 80 bytes",
            "buffer big",
            "index 80",
        ],
    );
    check(
        "atomic_outside",
        "[8]",
        r#"["a", 60]"#,
        "",
        "atomicAdd(&count",
        &[
            "thread (4, 0, 0)",
            "out-of-bounds atomic",
            "buffer a",
            "index 64",
        ],
    );
    check(
        "through_struct",
        "[8]",
        r#"[{ struct = ["a", 16] }]"#,
        "",
        "p.a[p.n *",
        &["thread (4, 0, 0)", "out-of-bounds store", "index 64"],
    );
    check(
        "heap_overrun",
        "[1]",
        r#"["a", 11]"#,
        "",
        "a[k] = out[k]",
        &[
            "thread (0, 0, 0)",
            "out-of-bounds store of 4 bytes",
            "the allocation has 40 bytes",
            "byte 40",
        ],
    );
    check(
        "variable_overrun",
        "[8]",
        r#"["a", 5]"#,
        "",
        "lookup[k + threadIdx.x]",
        &[
            "thread (5, 0, 0)",
            "out-of-bounds load",
            "lookup has 40 bytes",
            "byte 40",
        ],
    );
}

#[test]
fn refusals_name_what_they_refuse() {
    let refused = |kernel: &str, args: &str, parts: &[&str]| {
        let s = fails("refused.cu", kernel, "[1]", "[32]", args, "", &[]);
        says(&s, &["cannot run", kernel]);
        says(&s, parts);
    };
    refused("uses_texture", r#"[0, "x"]"#, &["texture"]);
    refused("uses_4_bits", r#"["a", "a", "a"]"#, &["tensor-core"]);
    refused("syncs_grid", r#"["a"]"#, &["cooperative grid"]);
    refused("unknown_ptx", r#"["a"]"#, &["inline PTX", "wobble"]);
    refused("calls_undefined", r#"["a"]"#, &["elsewhere"]);
    let (_dir, path) = workload("refused.cu", "runs", "[2]", "[32]", r#"["a"]"#, "");
    run_file(&path, &[]).expect("a", |i| if i < 32 { i as i32 + 1 } else { 0 });
}
