use kerf_device::characterise::{Mode, Options, characterise};
use kerf_device::probe::Libraries;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let lib = std::fs::read(&a[1]).expect("libdevice");
    let o = Options {
        mode: if a[2] == "full" {
            Mode::Full
        } else {
            Mode::Quick
        },
        ordinal: 0,
        libraries: Libraries {
            libdevice: &lib,
            double_words: kerf_pass::doubleword::BITCODE,
        },
        disassembler: a.get(4).map(Into::into),
        name: "h200".into(),
        date: "2026-11-15".into(),
        only: a
            .get(5)
            .map(|s| s.split(',').map(String::from).collect())
            .unwrap_or_default(),
    };
    let out = a[3].clone();
    let mut store = |p: &kerf_device::profile::DeviceProfile| {
        std::fs::write(&out, p.to_json()).expect("w");
        Ok(())
    };
    let t = std::time::Instant::now();
    let mut tell = |p: kerf_device::characterise::Progress| {
        eprintln!(
            "{:6.1}s {:5.1}% left {:.0}s {}",
            t.elapsed().as_secs_f64(),
            p.done * 100.0,
            p.left,
            p.what
        )
    };
    match characterise(&o, None, &mut store, &mut tell) {
        Ok(p) => println!("{} operations", p.operations.len()),
        Err(e) => println!("ERROR {e}"),
    }
}
