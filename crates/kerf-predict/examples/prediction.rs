//! Predicted against measured times, from recorded counts and plans: `prediction FOLDER [-v|-t|-j|-l] [CUDA [COUNTS]]`. With CUDA, a
//! folder with NVIDIA's assembler and libdevice, from machine code. COUNTS: a folder with newer counts. `-l`: with constants
//! fitted to the other workloads.
#[path = "../tests/replay/mod.rs"]
mod replay;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first() else {
        eprintln!("usage: prediction FOLDER [-v|-t|-j|-l] [CUDA [COUNTS]]");
        std::process::exit(2);
    };
    let has = |f: &str| args.iter().any(|a| a == f);
    let mut more = args.iter().skip(1).filter(|a| !a.starts_with('-'));
    let cuda = more.next();
    let all = replay::read_with(folder.as_ref(), more.next().unwrap_or(folder).as_ref());
    let tools = cuda.map(|c| replay::Tools::of(c.as_ref()).expect("ptxas and libdevice"));
    if has("-l") {
        let tools = tools.expect("machine code: a folder with NVIDIA's assembler");
        let fits = replay::grid();
        let errors: Vec<_> = all
            .iter()
            .map(|r| replay::errors_fitted(r, &tools, &fits))
            .collect();
        if has("-j") {
            for (r, e) in all.iter().zip(&errors) {
                println!(
                    "{}",
                    serde_json::json!({ "name": r.name, "fits": fits, "errors": e })
                );
            }
            return;
        }
        let names: Vec<String> = all.iter().map(|r| r.name.clone()).collect();
        print!("{}", replay::left_out(&names, &errors, &fits));
        return;
    }
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
