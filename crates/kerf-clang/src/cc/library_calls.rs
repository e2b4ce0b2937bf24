//! Calls of NVIDIA's libraries: each function that a program calls becomes a jump into Kerf's runtime.
//!
//! The runtime passes a call on to NVIDIA's library on a GPU, and computes it or refuses it by name on the CPU. The jumps are local to what is
//! linked (hidden symbols), so that NVIDIA's libraries, which the runtime loads, never meet functions of their own names.
use super::{Build, CcError, archives, io};
use crate::cuda_library::CudaLibrary;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// Adds the functions that an object calls and has not.
fn add_calls(object: &[u8], into: &mut BTreeSet<String>) {
    // What is no ELF file (a linker script, bitcode) calls nothing that could be seen.
    let Ok(file) = object::File::parse(object) else {
        return;
    };
    for s in file.symbols().filter(|s| s.is_undefined()) {
        let name = s.name().unwrap_or_default();
        if CudaLibrary::of_function(name).is_some() {
            into.insert(name.to_owned());
        }
    }
}

/// The functions of NVIDIA's libraries that files of a link call.
fn calls(items: &[String]) -> BTreeSet<String> {
    let folders = archives::folders(items);
    let mut found = BTreeSet::new();
    for item in items {
        let archive = archives::archive(item, &folders);
        let path = archive.clone().unwrap_or_else(|| PathBuf::from(item));
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        match ArchiveFile::parse(&*bytes) {
            Ok(a) => {
                let members = a.members().filter_map(|m| m.ok()?.data(&*bytes).ok());
                members.for_each(|data| add_calls(data, &mut found));
            }
            Err(_) => add_calls(&bytes, &mut found),
        }
    }
    found
}

/// C code of the jumps. Each leaves the address of its slot in r11: room for the runtime, and the function's name.
fn jumps(names: &BTreeSet<String>) -> String {
    let mut c = String::new();
    for n in names {
        // A function of that name that the program has itself comes first.
        let _ = writeln!(
            c,
            "__asm__(\".text\\n.p2align 4\\n.weak {n}\\n.hidden {n}\\n.type {n},@function\\n{n}:\\n\"\n\
             \"endbr64\\nleaq .Lkerf_slot_{n}(%rip), %r11\\njmp *kerf_library_call@GOTPCREL(%rip)\\n.size {n}, .-{n}\\n\"\n\
             \".section .rodata.kerf,\\\"a\\\"\\n.Lkerf_name_{n}:\\n.asciz \\\"{n}\\\"\\n\"\n\
             \".data\\n.p2align 3\\n.Lkerf_slot_{n}:\\n.quad 0\\n.quad .Lkerf_name_{n}\\n\");"
        );
    }
    c
}

impl Build<'_> {
    /// An object with the calls of NVIDIA's libraries that are linked; none if nothing calls them.
    pub(super) fn library_calls(&mut self, items: &[String]) -> Result<Option<PathBuf>, CcError> {
        let named = |i: &String| CudaLibrary::from_file(i);
        let mut linked = self.o.libraries.clone();
        linked.extend(items.iter().filter_map(named));
        if linked.contains(&CudaLibrary::Cublas) {
            linked.insert(CudaLibrary::CublasLt);
        }
        let is_linked =
            |n: &String| CudaLibrary::of_function(n).is_some_and(|l| linked.contains(&l));
        let mut names = calls(items);
        names.retain(is_linked);
        if names.is_empty() {
            return Ok(None);
        }
        let refused: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|n| !crate::on_cpu::is_on_cpu(n))
            .collect();
        if !refused.is_empty() {
            self.told.notes.push(format!(
                "{}: run on a GPU alone, by NVIDIA's libraries; on the CPU they fail by name",
                refused.join(", ")
            ));
        }
        let source = self.dir.path().join("kerf_library_calls.c");
        std::fs::write(&source, jumps(&names)).map_err(io(&source))?;
        let object = source.with_extension("o");
        let a = ["-c", "-x", "c", "-o"].map(String::from).to_vec();
        self.on_source(&source, &[a, vec![object.display().to_string()]].concat())?;
        Ok(Some(object))
    }
}

/// Is an item of a link one of NVIDIA's libraries, for which Kerf's runtime stands?
pub(super) fn is_library(item: &str) -> bool {
    CudaLibrary::from_file(item).is_some()
}

/// What a header of a library that is not there needs.
pub(super) fn header_advice(file: &str) -> Option<String> {
    let library = CudaLibrary::of_header(file)?;
    Some(format!(
        "{file} of {} was not found: a CUDA toolkit has it (CUDA_HOME), and so has NVIDIA's wheel \
         (pip download --no-deps {}; unzip it and say -I with its include folder)",
        library.title(),
        library.wheel()
    ))
}

/// What an undefined function of a library needs.
pub(super) fn link_advice(function: &str) -> Option<String> {
    let library = CudaLibrary::of_function(function)?;
    Some(format!(
        "{function} is a function of {}: link with -l{}",
        library.title(),
        library.link_name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_have_the_names_of_the_functions() {
        let c = jumps(&BTreeSet::from(["cublasDasum_v2".to_owned()]));
        assert!(c.contains(".hidden cublasDasum_v2"), "{c}");
        assert!(c.contains("jmp *kerf_library_call@GOTPCREL(%rip)"), "{c}");
    }
}
