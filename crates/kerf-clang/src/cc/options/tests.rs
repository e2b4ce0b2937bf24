//! Command lines as people write them.
use super::*;

fn parse(line: &str) -> CcOptions {
    CcOptions::parse(&words(line)).expect("parses")
}

#[test]
fn a_line_of_nvcc_is_sorted() {
    let mut o = parse(
        "-O3 -Iinc -DX=1 --std c++14 -gencode arch=compute_70,code=sm_70 -arch=sm_80 \
         -Xcompiler -Wall,-fopenmp -lcudart -lm -rdc=true --use_fast_math main.cu host.cpp x.o -o app",
    );
    assert_eq!(o.goal, Goal::Link);
    assert_eq!(o.common, ["-Iinc", "-DX=1", "-std=c++14"]);
    assert_eq!(o.host, ["-O3", "-Wall"]);
    assert!(o.openmp && o.rdc && o.ftz && !o.precise_div);
    assert_eq!(o.arch("sm_90"), "sm_80");
    let plain = |s: &str| Item::Plain(s.into());
    assert_eq!(
        o.items,
        [
            plain("-lm"),
            Item::Source("main.cu".into(), InputKind::Cuda),
            Item::Source("host.cpp".into(), InputKind::Cpp),
            plain("x.o"),
        ]
    );
}

#[test]
fn dependencies_languages_and_old_architectures() {
    let mut o = parse("-dc -x cu a.cpp -MD -MF a.d -o a.o -arch=sm_35 -I inc");
    assert_eq!(o.goal, Goal::Object);
    assert!(o.rdc);
    assert_eq!(
        o.sources().next(),
        Some((Path::new("a.cpp"), InputKind::Cuda))
    );
    assert_eq!(o.depend, ["-MD", "-MF", "a.d"]);
    assert_eq!(o.arch("sm_90"), "sm_90");
    assert_eq!(o.notes.len(), 1);
    assert_eq!(o.common, ["-Iinc"]);
}

#[test]
fn libraries_that_are_missing_are_named() {
    let o = CcOptions::parse(&words("a.cu -lcudnn -lcublas -lcurand_static")).expect("goes on");
    assert_eq!(o.libraries.len(), 2);
    assert!(o.notes.iter().any(|n| n.contains("cuDNN")), "{:?}", o.notes);
    assert!(CcOptions::parse(&words("a.cu -zzz")).is_err());
}

#[test]
fn words_are_split_as_in_a_shell() {
    assert_eq!(
        words("a 'b c' \"\" d\\ e\n f"),
        ["a", "b c", "", "d e", "f"]
    );
}
