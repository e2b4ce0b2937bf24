//! Predicted against measured times, from recorded counts and plans: `prediction FOLDER [PROFILE] [-v]`.
#[path = "../tests/replay/mod.rs"]
mod replay;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first() else {
        eprintln!("usage: prediction FOLDER [-v|-t]");
        std::process::exit(2);
    };
    let has = |f: &str| args.iter().any(|a| a == f);
    let all = replay::read(folder.as_ref());
    let mut rows = Vec::new();
    for r in &all {
        rows.push(replay::predict(r));
    }
    if has("-j") {
        for r in &rows {
            for (i, d) in r.details.iter().enumerate() {
                let v = serde_json::json!({ "name": r.name, "plan": i, "measured": r.measured[i],
                    "ratio": r.ratios[i], "kind": r.kinds[i], "registers": r.registers[i], "prediction": d });
                println!("{v}");
            }
        }
        return;
    }
    if has("-t") {
        print!("{}", replay::tsv(&rows));
        return;
    }
    print!("{}", replay::table(&rows));
    if has("-v") {
        print!("{}", replay::worst(&rows, 60));
    }
}
