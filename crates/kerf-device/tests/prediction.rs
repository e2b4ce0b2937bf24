//! Predictions against times that were measured on the H200, replayed from the record.
mod replay;

use std::path::Path;

fn rows() -> Vec<replay::Row> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/runs/2026-11-15-h200-prediction");
    let all = replay::read(&folder);
    all.iter().map(replay::predict).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[test]
fn recorded_times_are_predicted() {
    let rows = rows();
    let table = replay::table(&rows);
    let plans: usize = rows.iter().map(|r| r.measured.len()).sum();
    assert!(plans >= 500, "{table}");
    let errors = |some: &dyn Fn(&&replay::Row) -> bool| {
        let all = rows.iter().filter(some).flat_map(|r| r.errors());
        mean(&all.map(f64::abs).collect::<Vec<_>>())
    };
    assert!(errors(&|_| true) <= 0.15, "{table}");
    assert!(errors(&|r| r.fitted()) <= 0.15, "{table}");
    // The assembler's choice between two ways to load constants decides mri_q, and no count shows it.
    let seen = |r: &&replay::Row| !r.name.starts_with("mri_q");
    assert!(errors(&|r| !r.fitted()) <= 0.18, "{table}");
    assert!(errors(&|r| !r.fitted() && seen(r)) <= 0.13, "{table}");
    for r in rows.iter().filter(seen) {
        assert!(r.mean_error() <= 0.3, "{}: {table}", r.name);
        let (order, pairs) = r.order();
        let least = if r.name == "stencil_single" {
            0.2
        } else {
            0.75
        };
        assert!(pairs < 5 || order >= least, "{}: {table}", r.name);
    }
}
