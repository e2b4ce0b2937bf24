//! Names of kernels where there is little room: deep templates have names of hundreds of characters.
use kerf_clang::sha256;

/// Characters of a name in a table or a message.
const SHOWN: usize = 64;

/// Bytes of a name in a file's name. A file system takes 255, with numbers and an ending behind it.
const IN_FILE: usize = 80;

/// Hexadecimal digits that tell long names apart.
const DIGITS: usize = 12;

/// A kernel's name for a table or a message: of a longer one than 64 characters its start and its end.
pub fn shortened(name: &str) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= SHOWN {
        return name.to_owned();
    }
    let end = SHOWN / 3;
    let start: String = all[..SHOWN - end - 3].iter().collect();
    let end: String = all[all.len() - end..].iter().collect();
    format!("{start}...{end}")
}

/// A kernel's name as part of a file's or a variable's: letters, digits and `_`; of a longer one than 80 its start, and a
/// digest of the whole, so that two of them differ.
pub fn file_stem(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let all: String = name.chars().map(plain).collect();
    let all = all.trim_matches('_');
    if all.len() <= IN_FILE {
        return all.to_owned();
    }
    let digest = &sha256(name.as_bytes())[..DIGITS];
    format!("{}_{digest}", &all[..IN_FILE - DIGITS - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stay_apart_and_fit() {
        let deep =
            |last: &str| format!("ns::kernel<{}{last}>", "std::pair<int, float>, ".repeat(20));
        let (a, b) = (deep("a"), deep("b"));
        assert!(a.len() > 300);
        assert_eq!(shortened("axpy<double>"), "axpy<double>");
        assert_eq!(shortened(&a).chars().count(), SHOWN);
        assert!(shortened(&a).starts_with("ns::kernel<") && shortened(&a).ends_with("a>"));
        assert_eq!(file_stem("axpy<double>"), "axpy_double");
        assert_eq!(file_stem(&a).len(), IN_FILE);
        assert_ne!(file_stem(&a), file_stem(&b));
        // Letters of more than one byte are no place to cut at.
        assert!(shortened(&"\u{e9}".repeat(300)).chars().count() == SHOWN);
    }
}
