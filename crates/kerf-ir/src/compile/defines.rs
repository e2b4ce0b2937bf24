//! Macros that a source defines as a number whatever the compiler is told (`#define TILE 16`): clang is shown another number.
use std::ops::Range;

/// The flag that says so, `-kerf-redefine=NAME=VALUE`. clang does not see it.
pub const REDEFINE: &str = "-kerf-redefine=";

/// Where the numbers of `#define NAME number` stand; none if the name is defined as something else too, or not at all.
pub fn numbers(text: &str, name: &str) -> Option<Vec<Range<usize>>> {
    let (mut at, mut out) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let rest = rest.and_then(|r| r.strip_prefix("define"));
        let rest = rest.and_then(|r| r.trim_start().strip_prefix(name));
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let Some(rest) = rest.filter(|r| !r.starts_with(word)) else {
            continue;
        };
        let value = rest.trim_start();
        let digits = value.strip_prefix('-').unwrap_or(value);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let length = count + value.len() - digits.len();
        let after = value[length..].trim_start();
        let ends = after.is_empty() || after.starts_with("//") || after.starts_with("/*");
        if count == 0 || !ends || !rest.starts_with([' ', '\t']) {
            return None;
        }
        let from = start + line.len() - value.len();
        out.push(from..from + length);
    }
    (!out.is_empty()).then_some(out)
}

/// The text with another number for a macro; none where [`numbers`] are none.
pub fn redefined(text: &str, name: &str, value: i64) -> Option<String> {
    let mut out = text.to_owned();
    for place in numbers(text, name)?.into_iter().rev() {
        out.replace_range(place, &value.to_string());
    }
    Some(out)
}

/// The flags without those that redefine, and the text as they want it; no text where none does.
pub fn applied(flags: &[String], text: &[u8]) -> (Vec<String>, Option<String>) {
    let (mine, rest): (Vec<&String>, Vec<&String>) =
        flags.iter().partition(|f| f.starts_with(REDEFINE));
    let mut now = None;
    for f in mine {
        let Some((name, value)) = f[REDEFINE.len()..].split_once('=') else {
            continue;
        };
        let before = match &now {
            Some(t) => t,
            None => &String::from_utf8_lossy(text).into_owned(),
        };
        let after = value.parse().ok().and_then(|v| redefined(before, name, v));
        now = after.or(now);
    }
    (rest.into_iter().cloned().collect(), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_defines_are_replaced() {
        let text = "#define TILES 4\n#ifdef BIG\n# define\tTILE  -16 // 16 x 16\n#else\n#define TILE 8\n#endif\n";
        let want = "#define TILES 4\n#ifdef BIG\n# define\tTILE  32 // 16 x 16\n#else\n#define TILE 32\n#endif\n";
        assert_eq!(redefined(text, "TILE", 32).as_deref(), Some(want));
        for none in [
            "#define TILE (16)\n",
            "#define TILE 4 + 4\n",
            "#define TILE 4\n#define TILE(x) x\n",
            "#define TILE\n",
            "int TILE = 4;\n",
            "#define TILE 0x10",
        ] {
            assert_eq!(redefined(none, "TILE", 1), None, "{none}");
        }
    }

    #[test]
    fn flags_of_kerf_are_not_for_clang() {
        let flags = ["-O2", "-kerf-redefine=A=2", "-kerf-redefine=B=3", "-DC=4"].map(String::from);
        let (rest, text) = applied(&flags, b"#define A 1\n#define B 1\n");
        assert_eq!(rest, ["-O2", "-DC=4"]);
        assert_eq!(text.as_deref(), Some("#define A 2\n#define B 3\n"));
        assert_eq!(applied(&rest, b"#define A 1\n").1, None);
    }
}
