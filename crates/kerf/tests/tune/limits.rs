//! What is said before anything runs: memory, folders in use, settings of an earlier search.
use super::*;

#[test]
fn a_folder_in_use_is_refused_with_who_uses_it() {
    let case = Case::mixed();
    std::fs::create_dir(case.path("r")).expect("a folder");
    let lock = kerf_files::FolderLock::take(&case.path("r")).expect("free");
    let args = [&["tune", "w.toml", "--out", "r"][..], &QUICK].concat();
    let o = case.command(&args).output().expect("it runs");
    let err = text(&o.stderr);
    assert_eq!(o.status.code(), Some(2), "{err}");
    let who = format!("r is in use by process {}, since 20", std::process::id());
    assert!(err.contains(&who) && err.contains("--out"), "{err}");
    drop(lock);
    let o = case.command(&args).output().expect("it runs");
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    assert!(!case.path("r/.lock").exists());
}

#[test]
fn a_search_is_resumed_only_with_its_own_settings_and_the_others_are_named() {
    let case = Case::mixed();
    let tune = |more: &[&str]| {
        let args = [&["tune", "w.toml", "--out", "r"][..], &QUICK, more].concat();
        let o = case.command(&args).output().expect("it runs");
        (o.status.code(), text(&o.stderr))
    };
    let (code, err) = tune(&["--sensitivity"]);
    assert_eq!(code, Some(0), "{err}");
    for (more, what) in [
        (
            &["--sensitivity", "--seed", "2"][..],
            "--seed was 1, and is 2",
        ),
        (
            &["--sensitivity", "--strategy", "random"],
            "--strategy was guided, and is random",
        ),
        (
            &["--sensitivity", "--size", "n=100"],
            "--size (n) was 192, and is 100",
        ),
        (
            &["--sensitivity", "--metric", "rms"],
            "--tolerance, --metric or [accept] (",
        ),
        (&[], "--sensitivity was true, and is not given"),
    ] {
        let (code, err) = tune(&[more, &["--resume"]].concat());
        assert_eq!(code, Some(2), "{more:?}: {err}");
        assert!(err.contains(what), "{more:?}: {err}");
    }
    let (code, err) = tune(&["--sensitivity", "--resume"]);
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn more_memory_than_there_is_is_refused_with_the_figures() {
    let case = Case::mixed();
    let file = case.path("w.toml");
    let text_of = std::fs::read_to_string(&file).expect("read");
    // Each buffer would fit; both do not.
    let big = kerf_exec::cpu::available_memory() / 8 / 10 * 7;
    let all = text_of
        .replace("len = \"n\"", "len = \"big\"")
        .replace("[sizes]", &format!("[sizes]\nbig = {big}"));
    std::fs::write(&file, all).expect("written");
    for command in [
        &["run", "w.toml"][..],
        &[
            "tune",
            "w.toml",
            "--tolerance",
            "1e-6",
            "--what",
            "precision",
            "--out",
            "r",
        ],
    ] {
        let o = case.command(command).output().expect("it runs");
        let err = text(&o.stderr);
        assert_eq!(o.status.code(), Some(2), "{err}");
        for part in ["w.toml needs ", " for buffers", " are free", "--size big="] {
            assert!(err.contains(part), "{part} in {err}");
        }
    }
}
