//! `kerf run --count`: loop counts, bytes and ranges that can be worked out by hand.
use std::path::Path;
use std::process::Command;

fn counted(workload: &str, more: &[&str]) -> serde_json::Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args([
            "run",
            workload,
            "--count",
            "--cpu-sizes",
            "--format",
            "json",
            "--repeats",
            "1",
        ])
        .args(more)
        .current_dir(root)
        .output()
        .expect("kerf starts");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    serde_json::from_slice(&out.stdout).expect("JSON")
}

fn kernel<'a>(r: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let all = r["counts"]["kernels"].as_array().expect("kernels");
    all.iter().find(|k| k["name"] == name).expect(name)
}

#[test]
fn lud_multiplies_as_often_as_the_algorithm_says() {
    // 8 tiles of 16: in step k the (7-k)^2 inner tiles of 256 threads sum 16 products each.
    let r = counted("examples/lud/lud.toml", &[]);
    let k = kernel(&r, "lud_internal");
    let tiles: u64 = (1..8u64).map(|t| t * t).sum();
    assert_eq!(k["launches"], 7);
    assert_eq!(k["threads"], tiles * 256);
    let sites = k["sites"].as_array().expect("sites");
    let fma: u64 = sites
        .iter()
        .filter(|s| s["op"] == "fma")
        .map(|s| s["count"].as_u64().expect("a number"))
        .sum();
    assert_eq!(fma, tiles * 256 * 16);
    // Each thread loads three elements and stores one.
    let traffic = k["traffic"].as_array().expect("traffic");
    let a = traffic
        .iter()
        .find(|t| t["name"] == "a")
        .expect("the matrix");
    assert_eq!(a["memory"], "global");
    assert_eq!(a["loaded"], tiles * 256 * 24);
    assert_eq!(a["stored"], tiles * 256 * 8);
    // One launch of each size, each with its own counts.
    let launches = r["counts"]["launches"].as_array().expect("launches");
    let inner: Vec<_> = launches
        .iter()
        .filter(|l| l["symbol"] == k["symbol"])
        .map(|l| l["grid"][0].as_u64().expect("a number"))
        .collect();
    assert_eq!(inner, [7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn copies_of_structs_are_traffic_too() {
    let r = counted("examples/nbody/nbody.toml", &["--size", "n=64"]);
    let k = kernel(&r, "body_forces");
    let traffic = k["traffic"].as_array().expect("traffic");
    let stored = |m: &str| -> u64 {
        let of = traffic.iter().filter(|t| t["memory"] == m);
        of.map(|t| t["stored"].as_u64().expect("a number")).sum()
    };
    // Each thread of three launches puts one body of four doubles into the tile.
    assert_eq!(stored("shared"), 3 * 64 * 32);
}

#[test]
fn what_a_plan_makes_of_the_program_is_counted() {
    // Buffers are held as the plan says: a kernel that reads them as they were reads twice as far.
    let plan = r#"{ "version": 1, "kernels": { "black_scholes": { "sites": {}, "storage": { "spot": "f32" } } } }"#;
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("plan.json");
    std::fs::write(&path, plan).expect("writes");
    let path = path.display().to_string();
    let w = "examples/black_scholes/black_scholes.toml";
    let r = counted(w, &["--plan", &path, "--size", "n=1024"]);
    let k = kernel(&r, "black_scholes");
    let traffic = k["traffic"].as_array().expect("traffic");
    let loaded = |name: &str| {
        let t = traffic.iter().find(|t| t["name"] == name).expect(name);
        t["loaded"].as_u64().expect("a number")
    };
    assert_eq!(loaded("strike"), 8 * 1024);
    assert_eq!(loaded("spot"), 4 * 1024);
}
