//! The source and the compiler's flags.

use std::path::PathBuf;

use super::reader::Reader;
use super::section::Section;

/// Extensions of sources.
pub(super) const KINDS: [&str; 5] = ["cu", "cl", "ptx", "ll", "bc"];

/// Flags followed by a directory, attached or as the next flag.
const DIRECTORY_FLAGS: [&str; 3] = ["-I", "-isystem", "-iquote"];

/// Reads `source`: a file that exists and has a known extension.
pub(super) fn source(reader: &mut Reader<'_>, top: &Section<'_>) -> Option<PathBuf> {
    let node = top.require(reader, "source", "source = \"kernels.cu\"")?;
    let text = reader.string(node, "`source`")?;
    let path = reader.resolve(text);
    let known = path
        .extension()
        .is_some_and(|e| KINDS.iter().any(|k| e == *k));
    if !known {
        reader.mistake(
            node.span.clone(),
            format!("source `{text}` is of no known kind"),
            "a file ending in .cu, .cl, .ptx, .ll or .bc",
            None,
        );
        return None;
    }
    if !path.is_file() {
        reader.no_file(node.span.clone(), "source", text, &path);
        return None;
    }
    Some(path)
}

/// Reads `flags`, with include directories made relative to where the file is.
pub(super) fn flags(reader: &mut Reader<'_>, top: &Section<'_>) -> Vec<String> {
    let Some(node) = top.get("flags") else {
        return Vec::new();
    };
    let items = reader.list(node, "`flags`", "a list of strings");
    let mut flags = Vec::new();
    let mut directory_next = false;
    for item in items.unwrap_or_default() {
        let Some(flag) = reader.string(item, "a flag") else {
            continue;
        };
        let resolved = |directory: &str| reader.resolve(directory).display().to_string();
        let attached = DIRECTORY_FLAGS
            .iter()
            .find_map(|f| Some((f, flag.strip_prefix(f)?)));
        flags.push(match attached {
            _ if directory_next => {
                directory_next = false;
                resolved(flag)
            }
            Some((_, "")) => {
                directory_next = true;
                flag.to_owned()
            }
            Some((f, directory)) => format!("{f}{}", resolved(directory)),
            None => flag.to_owned(),
        });
    }
    if directory_next {
        reader.mistake(
            node.span.clone(),
            "the last of `flags` has no directory",
            "a directory after it",
            None,
        );
    }
    flags
}
