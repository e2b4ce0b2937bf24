//! Makes an entry for each call of `src/calls.txt`: a jump through a table that is filled when the library is loaded.
use std::fmt::Write;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=src/calls.txt");
    let text = std::fs::read_to_string("src/calls.txt").expect("the list of calls should be there");
    let calls: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
    let names: Vec<String> = calls.iter().map(|c| format!("c\"kerf_{c}\"")).collect();
    let mut code = format!(
        "/// The names of the calls in libkerfrt.so, in the order of the table.\n\
         const NAMES: [&CStr; {}] = [{}];\n",
        calls.len(),
        names.join(", ")
    );
    for (i, call) in calls.iter().enumerate() {
        writeln!(code, "entry!({call}, {i});").expect("a string takes everything");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo should set it"));
    std::fs::write(out.join("entries.rs"), code).expect("the entries should be written");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
