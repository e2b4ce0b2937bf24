//! `kerf judge` on kernels made for it: wrong ones are refused, each for its own reason, right ones of another shape and
//! rounding are accepted; inputs that say nothing are left out, and what cannot be judged ends with 2.
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge")
}

fn kerf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .env_remove("KERF_PROFILE")
        .output()
        .expect("kerf runs")
}

/// Judges a candidate of the folder; the exit code and the document.
fn judged(candidate: &str, more: &[&str]) -> (i32, Value) {
    let path = folder().join(candidate);
    let workload = path.with_file_name("w.toml");
    let own = path.with_extension("toml");
    let mut args: Vec<&str> = vec!["judge", path.to_str().expect("UTF-8")];
    args.extend(["--workload", workload.to_str().expect("UTF-8")]);
    if own.is_file() {
        args.extend(["--candidate-workload", own.to_str().expect("UTF-8")]);
    }
    // One worker: tests run side by side already, and each worker compiles both programs.
    args.extend(["--no-time", "--seeds", "1", "--workers", "1"]);
    args.extend(["--format", "json"]);
    args.extend(more);
    let out = kerf(&args);
    let text = String::from_utf8_lossy(&out.stdout);
    let errors = String::from_utf8_lossy(&out.stderr);
    let v = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{candidate}: {e}\n{errors}"));
    (out.status.code().expect("an exit code"), v)
}

/// Sizes of the smallest input that shows the first defect.
fn smallest(v: &Value) -> Vec<i64> {
    let sizes = v["defects"][0]["smallest"]["sizes"].as_array();
    let sizes = sizes.expect("sizes").iter();
    sizes.map(|s| s[1].as_i64().expect("a size")).collect()
}

/// Wrong kernels, the defect that has to be found first, and the smallest sizes at which it shows.
const WRONG: [(&str, &str, &[i64]); 14] = [
    ("blur/wrong_edge.cu", "inaccurate", &[1]),
    ("relu/wrong_nan.cu", "not_finite", &[1]),
    ("axpy/wrong_skipped_writes.cu", "unwritten", &[1]),
    ("axpy/wrong_cached.cu", "kept_state", &[1]),
    ("axpy/wrong_calls.cu", "kept_state", &[4]),
    ("rows/wrong_half.cu", "inaccurate", &[1, 1]),
    ("rows/wrong_race.cu", "race", &[1, 34]),
    ("blur/wrong_uninitialised.cu", "uninitialised", &[1]),
    ("axpy/wrong_ragged.cu", "unwritten", &[3]),
    ("axpy/wrong_hard_coded.cu", "read_outside", &[1]),
    ("axpy/wrong_writes_outside.cu", "write_outside", &[1]),
    ("blur/wrong_reads_outside.cu", "read_outside", &[1]),
    ("prefix/wrong_order.cu", "block_order", &[33]),
    ("axpy/wrong_input.cu", "stray_write", &[1]),
];

#[test]
fn wrong_kernels_are_refused_for_their_reason() {
    for (candidate, defect, sizes) in WRONG {
        let (code, v) = judged(candidate, &[]);
        assert_eq!(code, 1, "{candidate}");
        assert_eq!(v["decision"], "refused", "{candidate}");
        assert_eq!(v["correct"], false, "{candidate}");
        assert_eq!(v["defects"][0]["defect"], defect, "{candidate}");
        assert_eq!(smallest(&v), sizes, "{candidate}");
        let message = v["defects"][0]["message"].as_str().expect("a message");
        assert!(!message.is_empty(), "{candidate}");
    }
}

/// Names of the parameters of `axpy/right_order.cu`.
const MAP: [&str; 12] = [
    "--map",
    "axpy=scaled_sum",
    "--map",
    "x=scaled",
    "--map",
    "y=addend",
    "--map",
    "a=factor",
    "--map",
    "out=result",
    "--map",
    "n=count",
];

#[test]
fn right_kernels_are_accepted() {
    let plain: &[&str] = &[];
    for (candidate, more) in [
        ("axpy/right_block.cu", plain),
        ("axpy/right_grid_stride.cu", plain),
        ("axpy/right_vector.cu", plain),
        ("axpy/right_order.cu", &MAP),
        ("axpy/right_opencl.cl", plain),
        ("blur/right_tiled.cu", plain),
        ("blur/right_recomputed.cu", plain),
        ("rows/right_pairs.cu", plain),
        ("rows/right_compensated.cu", plain),
        ("rows/right_unrolled.cu", plain),
        ("rows/right_shuffles.cu", plain),
        ("norm/right_fused.cu", plain),
        ("transpose/right_tiled.cu", plain),
    ] {
        let (code, v) = judged(candidate, more);
        assert_eq!(v["defects"], serde_json::json!([]), "{candidate}");
        assert_eq!(
            (code, &v["decision"]),
            (0, &"accepted".into()),
            "{candidate}"
        );
        let inputs = &v["inputs"];
        assert!(
            inputs["counted"].as_u64() > Some(20),
            "{candidate}: {inputs}"
        );
        assert_eq!(inputs["checked"], inputs["counted"], "{candidate}");
        assert!(v["errors"][0]["candidate"].is_number(), "{candidate}");
    }
}

#[test]
fn what_the_original_does_not_stand_up_to_is_left_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    // No guard: only sizes that are multiples of the block are its own.
    let kernel = |body: &str| {
        format!(
            "extern \"C\" __global__ void k(const float *x, float *y, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}\n"
        )
    };
    put("original.cu", &kernel("y[i] = sqrtf(x[i]);"));
    let guarded = put("guarded.cu", &kernel("if (i < n) y[i] = sqrtf(x[i]);"));
    let workload = put(
        "w.toml",
        "source = \"original.cu\"\n[sizes]\nn = 256\n[[buffer]]\nname = \"x\"\ntype = \"f32\"\nlen = \"n\"\ninit = { uniform = [1.0, 2.0] }\n\
         [[buffer]]\nname = \"y\"\ntype = \"f32\"\nlen = \"n\"\noutput = true\n\
         [[launch]]\nkernel = \"k\"\ngrid = [\"ceil_div(n, 64)\"]\nblock = [64]\nargs = [\"x\", \"y\", \"n\"]\n",
    );
    let judge = |tolerance: &str| {
        let args = ["judge", &guarded, "--workload", &workload, "--no-time"];
        let more = ["--tolerance", tolerance, "--format", "json", "--seeds", "1"];
        let out = kerf(&[&args[..], &more[..]].concat());
        let v: Value = serde_json::from_slice(&out.stdout).expect("a document");
        (out.status.code(), v)
    };
    let (code, v) = judge("1e-5");
    assert_eq!(code, Some(0), "{v:#}");
    let left_out = v["inputs"]["left_out"].as_u64().expect("a count");
    assert!(left_out >= 8, "ragged sizes say nothing: {left_out}");
    let cases = v["cases"].as_array().expect("cases");
    let ragged = cases.iter().find(|c| c["name"] == "n=257").expect("n=257");
    assert_eq!(ragged["outcome"], "left_out");
    assert_eq!(ragged["left_out"]["why"], "original_faults");
    // A tolerance that the original does not meet either: nothing remains.
    let (code, v) = judge("1e-12");
    assert_eq!(
        (code, &v["decision"]),
        (Some(2), &"undecided".into()),
        "{v:#}"
    );
    assert_eq!(v["correct"], Value::Null);
    let missed = |c: &&Value| c["left_out"]["why"] == "original_inaccurate";
    let cases = v["cases"].as_array().expect("cases");
    assert!(cases.iter().filter(missed).count() > 5);
}

#[test]
fn an_input_at_the_edge_of_a_domain_blames_nobody() {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let kernel = |value: &str| {
        format!(
            "extern \"C\" __global__ void k(const float *x, float *y, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = {value}; }}\n"
        )
    };
    put("original.cu", &kernel("sqrtf(1.0f - x[i])"));
    // At 1 it is 3e-5 for 0, and one unit in the last place beyond 1 the result is NaN.
    let candidate = put("candidate.cu", &kernel("sqrtf(1e-9f + (1.0f - x[i]))"));
    let wrong = put("wrong.cu", &kernel("sqrtf(1e-2f + (1.0f - x[i]))"));
    let workload = put(
        "w.toml",
        "source = \"original.cu\"\n[sizes]\nn = 256\n[[buffer]]\nname = \"x\"\ntype = \"f32\"\nlen = \"n\"\ninit = { uniform = [0.0, 0.5] }\n\
         [[buffer]]\nname = \"y\"\ntype = \"f32\"\nlen = \"n\"\noutput = true\n\
         [[launch]]\nkernel = \"k\"\ngrid = [\"ceil_div(n, 64)\"]\nblock = [64]\nargs = [\"x\", \"y\", \"n\"]\n",
    );
    let judge = |candidate: &str| {
        let args = ["judge", candidate, "--workload", &workload, "--no-time"];
        let more = ["--tolerance", "1e-4", "--format", "json", "--seeds", "1"];
        let out = kerf(&[&args[..], &more[..]].concat());
        let v: Value = serde_json::from_slice(&out.stdout).expect("a document");
        (out.status.code(), v)
    };
    let (code, v) = judge(&candidate);
    assert_eq!(code, Some(0), "{v:#}");
    assert_eq!(v["inputs"]["ill_conditioned"], 1);
    let cases = v["cases"].as_array().expect("cases");
    let ones = cases.iter().find(|c| c["name"] == "ones").expect("ones");
    assert!(ones["outputs"][0]["allowed"].is_null() && ones["outcome"] == "passed");
    let (code, v) = judge(&wrong);
    assert_eq!(
        (code, &v["defects"][0]["defect"]),
        (Some(1), &"inaccurate".into())
    );
}

#[test]
fn questions_that_have_no_answer_end_with_2() {
    let original = folder().join("axpy/original.cu");
    let original = original.to_str().expect("UTF-8");
    let workload = folder().join("axpy/w.toml");
    let workload = workload.to_str().expect("UTF-8");
    let renamed = folder().join("axpy/right_order.cu");
    let renamed = renamed.to_str().expect("UTF-8");
    for (args, says) in [
        (vec![original], "nothing to judge the candidate against"),
        (vec![renamed, "--workload", workload], "help: --map"),
        (
            vec![renamed, "--workload", workload, "--map", "axpy=none"],
            "the candidate has no kernel or parameter `none`",
        ),
        (
            vec![original, "--workload", workload, "--against", renamed],
            "is a workload of",
        ),
        (
            vec!["none.cu", "--workload", workload],
            "there is no file none.cu",
        ),
        (
            vec![original, "--workload", workload, "--skip", "nans"],
            "expected some of zeros, ones",
        ),
    ] {
        let out = kerf(&[&["judge"], &args[..]].concat());
        let errors = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(says), "{says} in {errors}");
    }
}

#[test]
fn a_candidate_that_does_not_compile_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let candidate = dir.path().join("broken.cu");
    std::fs::write(&candidate, "__global__ void axpy(const float *x { }\n").expect("written");
    let workload = folder().join("axpy/w.toml");
    let page = dir.path().join("page.html");
    let out = kerf(&[
        "judge",
        candidate.to_str().expect("UTF-8"),
        "--workload",
        workload.to_str().expect("UTF-8"),
        "--out",
        page.to_str().expect("UTF-8"),
    ]);
    assert_eq!(out.status.code(), Some(1));
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.starts_with("refused: not correct"), "{text}");
    assert!(text.contains("does not compile"), "{text}");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("does not compile") && page.contains("broken.cu"));
    assert!(!page.contains("<script"));
}

#[test]
fn a_suite_is_judged_as_a_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let sub = dir.path().join("axpy");
    std::fs::create_dir(&sub).expect("a folder");
    for (from, to) in [
        ("original.cu", "original.cu"),
        ("w.toml", "w.toml"),
        ("right_block.cu", "candidate_block.cu"),
        ("wrong_writes_outside.cu", "candidate_unguarded.cu"),
    ] {
        std::fs::copy(folder().join("axpy").join(from), sub.join(to)).expect("copied");
    }
    let own = std::fs::read_to_string(folder().join("axpy/right_block.toml")).expect("a workload");
    let own = own.replace("right_block.cu", "candidate_block.cu");
    std::fs::write(sub.join("candidate_block.toml"), own).expect("written");
    let suite = dir.path().to_str().expect("UTF-8");
    let judge =
        |more: &[&str]| kerf(&[&["judge", "--suite", suite, "--seeds", "1"], more].concat());
    let out = judge(&["--device", "cpu", "--format", "json"]);
    let v: Value = serde_json::from_slice(&out.stdout).expect("a document");
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(v["schema"], "kerf.judge-suite/1");
    assert_eq!((&v["accepted"], &v["refused"]), (&1.into(), &1.into()));
    let all = v["candidates"].as_array().expect("candidates");
    assert_eq!(all[0]["name"], "axpy/candidate_block");
    let speed = &all[0]["verdict"]["speed"];
    assert_eq!(speed["kind"], "predicted");
    assert!(speed["speedup"].as_f64() > Some(0.0) && speed["low"].is_null());
    let table = judge(&["--no-time"]);
    let text = String::from_utf8_lossy(&table.stdout);
    let line = |name: &str| text.lines().find(|l| l.contains(name)).expect("a line");
    assert!(line("candidate_block").contains("accepted"), "{text}");
    assert!(
        line("candidate_unguarded").contains("writes outside"),
        "{text}"
    );
}

#[test]
fn without_a_workload_a_first_one_is_made() {
    let original = folder().join("blur/original.cu");
    let candidate = folder().join("blur/right_recomputed.cu");
    let out = kerf(&[
        "judge",
        candidate.to_str().expect("UTF-8"),
        "--against",
        original.to_str().expect("UTF-8"),
        "--tolerance",
        "1e-3",
        "--no-time",
        "--seeds",
        "1",
    ]);
    let (text, errors) = (
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    assert_eq!(out.status.code(), Some(0), "{text}{errors}");
    assert!(text.starts_with("accepted: correct"), "{text}");
    assert!(errors.contains("guesses"), "{errors}");
}
