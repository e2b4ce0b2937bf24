//! Archives with device code are linked whole.
//!
//! A linker takes a member of an archive if host code refers to something in it. Host code refers to nothing in a
//! member that has device functions only, and device code is linked when the program starts.
use std::path::Path;

fn has_device_code(path: &Path) -> bool {
    let marked = |bytes: Vec<u8>| {
        let magic = super::DEVICE_CODE_MAGIC;
        bytes.windows(magic.len()).any(|w| w == magic)
    };
    std::fs::read(path).is_ok_and(marked)
}

/// The folders that libraries are looked for in.
pub(super) fn folders(items: &[String]) -> Vec<&str> {
    items.iter().filter_map(|i| i.strip_prefix("-L")).collect()
}

/// The archive that an item of the command line stands for.
pub(super) fn archive(item: &str, folders: &[&str]) -> Option<std::path::PathBuf> {
    if item.ends_with(".a") && !item.starts_with('-') {
        return Some(item.into());
    }
    let name = item.strip_prefix("-l")?;
    for f in folders {
        let file = |end: &str| Path::new(f).join(format!("lib{name}.{end}"));
        match (file("so").exists(), file("a")) {
            (true, _) => return None,
            (false, a) if a.exists() => return Some(a),
            _ => {}
        }
    }
    None
}

/// What the linker is given: archives that have device code with all their members, once.
pub(super) fn whole(items: &[String]) -> Vec<String> {
    let folders = folders(items);
    let (mut out, mut met) = (Vec::new(), Vec::new());
    for i in items {
        match archive(i, &folders).filter(|a| has_device_code(a)) {
            None => out.push(i.clone()),
            Some(a) if met.contains(&a) => {}
            Some(a) => {
                out.push("-Wl,--whole-archive".into());
                out.push(i.clone());
                out.push("-Wl,--no-whole-archive".into());
                met.push(a);
            }
        }
    }
    out
}

/// What clang calls the device code of an object that is compiled apart from others; its module's number follows.
const UNIT: &[u8] = b"__fatbinwrap__nv_";

/// Names of the device code in a file.
fn units(bytes: &[u8]) -> std::collections::BTreeSet<String> {
    let starts =
        (0..bytes.len().saturating_sub(UNIT.len())).filter(|i| bytes[*i..].starts_with(UNIT));
    let name = |i: usize| {
        let rest = bytes[i + UNIT.len()..].iter();
        let number = rest.take_while(|b| b.is_ascii_hexdigit()).count();
        String::from_utf8_lossy(&bytes[i..i + UNIT.len() + number]).into_owned()
    };
    starts.map(name).collect()
}

/// C code of the object that stands for a device linker's: it refers to the device code of every archive's member, so
/// that any linker takes these members.
pub(super) fn wanted(items: &[String]) -> String {
    let folders = folders(items);
    let found = items.iter().filter_map(|i| archive(i, &folders));
    let names: std::collections::BTreeSet<String> = found
        .filter_map(|a| std::fs::read(a).ok())
        .flat_map(|bytes| units(&bytes))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let list = |make: &dyn Fn(&String) -> String| names.iter().map(make).collect::<String>();
    let declared = list(&|n| format!("extern char {n};\n"));
    let taken = list(&|n| format!("&{n},"));
    format!("{declared}__attribute__((used)) static char *const kerf_units[] = {{{taken}}};\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_with_device_code_are_referred_to() {
        let dir = tempfile::tempdir().expect("a folder");
        let a = dir.path().join("d.a");
        let text = "!<arch> __fatbinwrap__nv_2d20 .. __fatbinwrap__nv_2d20\0__fatbinwrap__nv_ff";
        std::fs::write(&a, text).expect("written");
        let code = wanted(&["x.o".into(), a.display().to_string()]);
        assert!(
            code.starts_with(
                "extern char __fatbinwrap__nv_2d20;\nextern char __fatbinwrap__nv_ff;\n"
            ),
            "{code}"
        );
        assert!(
            code.contains("{&__fatbinwrap__nv_2d20,&__fatbinwrap__nv_ff,}"),
            "{code}"
        );
        assert_eq!(wanted(&["x.o".into()]), "");
    }

    #[test]
    fn only_archives_with_device_code_are_taken_whole_and_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| {
            let p = dir.path().join(name);
            std::fs::write(&p, text).expect("written");
            p.display().to_string()
        };
        let (device, host) = (put("d.a", "!<arch> KERFBLOB.."), put("h.a", "!<arch>"));
        put("libx.a", "..KERFBLOB");
        let folder = format!("-L{}", dir.path().display());
        let items = [&device, &host, &folder, "-lx", "-lm", &device].map(String::from);
        let (on, off) = ("-Wl,--whole-archive", "-Wl,--no-whole-archive");
        assert_eq!(
            whole(&items),
            [on, &device, off, &host, &folder, on, "-lx", off, "-lm"]
        );
    }
}
