//! Expansion of small workloads, and of large ones that are not run to the end.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::scalar::Scalar;

const HEAD: &str = r#"
source = "k.ll"
[sizes]
n = 4
[[buffer]]
name = "x"
type = "f64"
len = "n"
output = true
[[buffer]]
name = "y"
type = "f64"
len = "n"
[launch_space]
bx = [32, 64]
by = [1, 2]
constraints = ["bx * by <= 64"]
default = { bx = 64, by = 1 }
"#;

fn workload(steps: &str) -> Workload {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("k.ll"), "").unwrap();
    let text = format!("{HEAD}{steps}");
    Workload::parse(&text, &dir.path().join("w.toml"), &[]).unwrap()
}

fn none() -> BTreeMap<String, i64> {
    BTreeMap::new()
}

fn launches(workload: &Workload) -> Vec<ConcreteLaunch> {
    let steps = expand(workload, &none()).unwrap();
    steps
        .filter_map(|s| match s.unwrap() {
            ConcreteStep::Launch(l) => Some(l),
            ConcreteStep::Copy { .. } => None,
        })
        .collect()
}

fn error(steps: &str) -> Vec<String> {
    let w = workload(steps);
    let mut steps = expand(&w, &none()).unwrap();
    let wrong = steps.find_map(Result::err).unwrap();
    assert!(steps.next().is_none(), "goes on after an error");
    wrong
        .list
        .iter()
        .map(|m| {
            let text = m.to_string();
            text.split_once("w.toml:").unwrap().1.to_owned()
        })
        .collect()
}

#[test]
fn one_launch() {
    let w = workload(
        r#"
[[launch]]
kernel = "k<double>"
grid = ["ceil_div(n * n, bx)", 2]
block = ["bx", "by"]
shared = "bx * 8"
args = ["x", { buffer = "y", offset = "n / 2" }, 0.5, "n", true, { f32 = 1 },
        { struct = [0.5, "n", { i8 = "-n" }] }, { local = "bx * 4" }, "18446744073709551615"]
"#,
    );
    let all = launches(&w);
    let expected = ConcreteLaunch {
        kernel: "k<double>".into(),
        grid: [1, 2, 1],
        block: [64, 1, 1],
        shared: 512,
        args: vec![
            ArgValue::Buffer {
                index: 0,
                offset_elems: 0,
            },
            ArgValue::Buffer {
                index: 1,
                offset_elems: 2,
            },
            ArgValue::Float(0.5),
            ArgValue::Int(4),
            ArgValue::Int(1),
            ArgValue::Typed(Scalar::F32, Number::Int(1)),
            ArgValue::Struct(vec![
                ArgValue::Float(0.5),
                ArgValue::Int(4),
                ArgValue::Typed(Scalar::I8, Number::Int(-4)),
            ]),
            ArgValue::Local(256),
            ArgValue::Int(u64::MAX.into()),
        ],
        line: 20,
    };
    assert_eq!(all, [expected]);
}

/// The values of the first argument of every launch.
fn counted(steps: &str) -> Vec<i128> {
    let all = launches(&workload(steps));
    all.iter()
        .map(|l| match l.args[0] {
            ArgValue::Int(v) => v,
            _ => panic!("not an integer"),
        })
        .collect()
}

fn looped(range: &str) -> Vec<i128> {
    counted(&format!(
        "[[launch]]\nfor = {{ t = \"{range}\" }}\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = [\"t\"]"
    ))
}

#[test]
fn ranges() {
    assert_eq!(looped("0..n"), [0, 1, 2, 3]);
    assert_eq!(looped("0..=n"), [0, 1, 2, 3, 4]);
    assert_eq!(looped("1..1"), [0i128; 0]);
    assert_eq!(looped("3..1"), [0i128; 0]);
    assert_eq!(looped("1..=1"), [1]);
    assert_eq!(looped("0..10 step 4"), [0, 4, 8]);
    assert_eq!(looped("0..=8 step 4"), [0, 4, 8]);
    assert_eq!(looped("n..0 step -1"), [4, 3, 2, 1]);
    assert_eq!(looped("n..=0 step -2"), [4, 2, 0]);
    assert_eq!(looped("n-1..=0 step -2"), [3, 1]);
    assert_eq!(
        looped("9223372036854775806..=9223372036854775807"),
        [i64::MAX as i128 - 1, i64::MAX as i128]
    );
}

#[test]
fn loops_nest_and_see_outer_variables() {
    let steps = r#"
[[launch]]
for = { t = "0..3" }
[[launch.do]]
kernel = "a"
grid = [1]
block = [1]
args = ["100 * t"]
[[launch.do]]
for = { u = "t..2" }
do = [{ kernel = "b", grid = [1], block = [1], args = ["10 * t + u"] }]
"#;
    assert_eq!(counted(steps), [0, 0, 1, 100, 11, 200]);
}

#[test]
fn swaps_are_followed() {
    let w = workload(
        r#"
[[launch]]
for = { t = "0..3" }
do = [
  { kernel = "k", grid = [1], block = [1], args = ["x", "y"] },
  { swap = ["x", "y"] },
]
[[launch]]
copy = { from = "x", to = "y" }
"#,
    );
    let mut steps = expand(&w, &none()).unwrap();
    let mut seen = Vec::new();
    for step in steps.by_ref() {
        seen.push(match step.unwrap() {
            ConcreteStep::Launch(l) => match l.args[..] {
                [
                    ArgValue::Buffer { index: a, .. },
                    ArgValue::Buffer { index: b, .. },
                ] => (a, b),
                _ => panic!("not two buffers"),
            },
            ConcreteStep::Copy { from, to, .. } => (from, to),
        });
    }
    assert_eq!(seen, [(0, 1), (1, 0), (0, 1), (1, 0)]);
    assert_eq!(steps.binding(), [1, 0]);
    assert_eq!(steps.storage_of(0), 1);
}

#[test]
fn parameters() {
    let w = workload("[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [\"bx\"]");
    let with = |pairs: &[(&str, i64)]| {
        let params = pairs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let result = expand(&w, &params);
        result
            .map_err(|m| m.list[0].what.clone())
            .map(|mut e| match e.next().unwrap().unwrap() {
                ConcreteStep::Launch(l) => l.block[0],
                ConcreteStep::Copy { .. } => 0,
            })
    };
    assert_eq!(with(&[]), Ok(64));
    assert_eq!(with(&[("bx", 32)]), Ok(32));
    assert_eq!(
        with(&[("by", 2)]),
        Err("bx = 64, by = 2 breaks `bx * by <= 64`".into())
    );
    assert_eq!(
        with(&[("bz", 2)]),
        Err("no launch-space parameter `bz`".into())
    );
}

#[test]
fn all_that_is_wrong_with_a_launch() {
    let steps = r#"
[[launch]]
for = { t = "0..2" }
kernel = "k"
grid = ["1 - t", "70000 * t + 1"]
block = ["bx * 17", "t"]
shared = "-t - 1"
args = [{ buffer = "x", offset = "5 * t - 1" }, { u8 = "300 + t" }, "n / t"]
"#;
    assert_eq!(
        error(steps),
        [
            "24:11: block.x is 1088; expected an integer from 1 to 1024; help: `bx * 17` with bx = 64",
            "24:22: block.y is 0; expected an integer from 1 to 1024; help: `t` with t = 0",
            "25:11: `shared` is -1; expected an integer from 0 to 4294967295, in bytes; \
             help: `-t - 1` with t = 0",
            "26:35: offset into `x` is -1; expected an integer from 0 to 4, its length; \
             help: `5 * t - 1` with t = 0",
            "26:57: 300 does not fit u8; expected a number of that type; help: `300 + t` with t = 0",
            "26:70: division by zero; expected a divisor other than 0; help: `n / t` with n = 4, t = 0",
        ]
    );
    let threads = "[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [\"bx\", 4, \"bx / 8\"]";
    assert_eq!(
        error(threads),
        [
            "22:11: block of 64 x 4 x 8 is 2048 threads; expected at most 1024; help: `bx` with bx = 64"
        ]
    );
}

#[test]
fn endless_loops_end() {
    let launch = "kernel = \"k\"\ngrid = [1]\nblock = [1]";
    let w = workload(&format!(
        "[[launch]]\nfor = {{ t = \"0..99999999999\" }}\n{launch}"
    ));
    assert_eq!(expand(&w, &none()).unwrap().take(1000).count(), 1000);

    // Nothing is ever launched, and still it ends.
    let w = workload(
        "[[launch]]\nfor = { t = \"0..99999999999\" }\ndo = [{ for = { u = \"0..0\" }, \
         kernel = \"k\", grid = [1], block = [1] }]",
    );
    let wrong = expand(&w, &none()).unwrap().find_map(Result::err).unwrap();
    assert!(
        wrong.to_string().contains("more than 10000000 times"),
        "{wrong}"
    );
    assert_eq!(wrong.list[0].line, 19);
}

#[test]
fn loops_without_an_integer_range() {
    assert_eq!(
        error("[[launch]]\nfor = { t = \"0..n * 0.5\" }\nkernel = \"k\"\ngrid = [1]\nblock = [1]"),
        ["20:17: end of the loop is 2.0; expected a 64-bit integer; help: `n * 0.5` with n = 4"]
    );
    assert_eq!(
        error(
            "[[launch]]\nfor = { t = \"0..4 step n - 4\" }\nkernel = \"k\"\ngrid = [1]\nblock = [1]"
        ),
        ["19:1: step of the loop is 0; expected any other integer"]
    );
}

#[test]
fn hand_made_workloads_cannot_panic() {
    let mut w = workload("[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = [\"x\"]");
    w.buffers.clear();
    w.path = Path::new("w.toml").into();
    let wrong = expand(&w, &none()).unwrap().next().unwrap().unwrap_err();
    assert!(wrong.to_string().contains("unknown buffer `x`"));
}
