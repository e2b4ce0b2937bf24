//! Predicted against measured times, from recorded counts and plans: `prediction FOLDER [-v|-t|-j] [CUDA [COUNTS]]`. With CUDA, a
//! folder with NVIDIA's assembler and libdevice, from machine code. COUNTS: a folder with newer counts. (`fit` fits the models'
//! constants to such records.)
#[path = "../tests/replay/mod.rs"]
mod replay;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first() else {
        eprintln!("usage: prediction FOLDER [-v|-t|-j] [CUDA [COUNTS]]");
        std::process::exit(2);
    };
    let has = |f: &str| args.iter().any(|a| a == f);
    let mut more = args.iter().skip(1).filter(|a| !a.starts_with('-'));
    let cuda = more.next();
    let all = replay::read_with(folder.as_ref(), more.next().unwrap_or(folder).as_ref());
    let tools = cuda.map(|c| replay::Tools::find(c.as_ref()).expect("ptxas and libdevice"));
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
