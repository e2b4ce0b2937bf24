//! Predicted against measured times, from recorded counts and plans: `prediction FOLDER [-v|-t|-j] [CUDA]`. With CUDA, a folder
//! with NVIDIA's assembler and libdevice, from machine code.
#[path = "../tests/replay/mod.rs"]
mod replay;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first() else {
        eprintln!("usage: prediction FOLDER [-v|-t|-j] [CUDA]");
        std::process::exit(2);
    };
    let has = |f: &str| args.iter().any(|a| a == f);
    let all = replay::read(folder.as_ref());
    let cuda = args.iter().skip(1).find(|a| !a.starts_with('-'));
    let tools = cuda.map(|c| replay::Tools::of(c.as_ref()).expect("ptxas and libdevice"));
    let mut rows = Vec::new();
    for r in &all {
        rows.push(replay::predict_with(r, tools.as_ref()));
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
