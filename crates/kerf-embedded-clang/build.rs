//! Compiles the C++ side and links clang's static libraries.
use std::path::Path;
use std::process::Command;

/// The libraries that clang's compiler and driver are made of, each before those that it needs.
const LIBRARIES: [&str; 14] = [
    "CodeGen",
    "Frontend",
    "Driver",
    "Serialization",
    "Parse",
    "Sema",
    "AnalysisLifetimeSafety",
    "Analysis",
    "ASTMatchers",
    "APINotes",
    "Edit",
    "AST",
    "Lex",
    "Options",
];

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    if std::env::var_os("CARGO_FEATURE_LINK").is_none() {
        return;
    }
    let prefix =
        std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let config = format!("{prefix}/bin/llvm-config");
    let flags = Command::new(&config)
        .arg("--cxxflags")
        .output()
        .unwrap_or_else(|e| panic!("{config} should run (install llvm-22-dev): {e}"));
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    let libraries = format!("{prefix}/lib");
    let one = Path::new(&libraries).join("libclangFrontend.a");
    assert!(
        one.is_file(),
        "{} should be there (install libclang-22-dev)",
        one.display()
    );
    let mut build = cc::Build::new();
    build.cpp(true).file("shim/driver.cpp").warnings(false);
    for flag in flags.split_whitespace() {
        build.flag(flag);
    }
    build
        .flag("-std=c++17")
        .opt_level(1)
        .compile("kerf_clang_driver");
    println!("cargo:rustc-link-search=native={libraries}");
    for name in LIBRARIES.iter().chain(&["Basic", "Support"]) {
        // Not copied into this crate's library: they have 270 MB.
        println!("cargo:rustc-link-lib=static:-bundle=clang{name}");
    }
}
