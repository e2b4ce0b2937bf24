//! The hard-to-round search over processes of this machine, as a command of its own.
use crate::fail::Failure;
use kerf_study::studies::dilemma::BITS;
use std::process::Command;

/// Seconds that processes, of one thread each, take for the same range, without their start; and the cases that they find.
pub fn search(processes: usize, bits: u32) -> Result<(f64, u64), Failure> {
    let fail = |why: String| Failure::new(format!("the search over processes failed: {why}"));
    let program = std::env::current_exe().map_err(|e| fail(e.to_string()))?;
    let to = format!("{}", 1.0 + 2f64.powi(bits as i32 - 52));
    let out = Command::new(program)
        .args([
            "hardround",
            "exp",
            "--from",
            "1",
            "--to",
            &to,
            "--threads",
            "1",
        ])
        .args(["--bits", &BITS.to_string(), "--format", "json", "--yes"])
        .args(["--processes", &processes.to_string()])
        .output()
        .map_err(|e| fail(e.to_string()))?;
    let v: serde_json::Value = serde_json::from_slice(&out.stdout)
        .map_err(|_| fail(String::from_utf8_lossy(&out.stderr).into_owned()))?;
    let cases = v["cases"].as_array().map_or(0, |c| c.len() as u64);
    match v["seconds"].as_f64() {
        Some(s) => Ok((s, cases)),
        None => Err(fail("no time in its result".into())),
    }
}
