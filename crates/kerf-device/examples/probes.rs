//! Writes the PTX of every probe into a folder, for looking at with an assembler and a disassembler.
//!
//! `cargo run -p kerf-device --example probes -- LIBDEVICE ARCH FOLDER`
use kerf_device::{operation, probe};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let libdevice = std::fs::read(&args[1]).expect("libdevice");
    let libraries = probe::Libraries {
        libdevice: &libdevice,
        double_words: kerf_pass::doubleword::BITCODE,
    };
    for o in operation::catalogue() {
        match probe::build(&o, libraries, &args[2]) {
            Ok(Some(p)) => {
                let path = format!("{}/{}.ptx", args[3], o.key);
                std::fs::write(path, &p.ptx).expect("written");
            }
            Ok(None) => println!("{}: no probe", o.key),
            Err(e) => println!("{}: {e}", o.key),
        }
    }
}
