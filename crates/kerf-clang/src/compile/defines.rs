//! Macros and constants that a source defines as a number whatever the compiler is told (`#define TILE 16`, `constexpr int TILE = 16;`):
//! clang is shown another number.
use std::ops::Range;

/// The flag that says so, `-kerf-redefine=NAME=VALUE`. clang does not see it.
pub const REDEFINE: &str = "-kerf-redefine=";

/// Words that a constant of integers is declared with.
const DECLARES: [&str; 17] = [
    "static",
    "inline",
    "const",
    "constexpr",
    "unsigned",
    "signed",
    "int",
    "long",
    "short",
    "auto",
    "size_t",
    "std::size_t",
    "uint",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
];

fn word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What a line defines: a name, and what is written behind it up to the line's end.
fn defined(line: &str) -> Option<(&str, &str)> {
    let l = line.trim_start();
    let split = |l: &str| l.find(|c| !word(c)).unwrap_or(l.len());
    if let Some(rest) = l.strip_prefix('#') {
        let rest = rest.trim_start().strip_prefix("define")?;
        let name = rest.strip_prefix([' ', '\t'])?.trim_start();
        let (name, rest) = name.split_at(split(name));
        return (!name.is_empty()).then_some((name, rest));
    }
    // `static constexpr int NAME = number;`
    let (before, rest) = l.split_once('=')?;
    let (types, name) = before.trim_end().rsplit_once([' ', '\t'])?;
    let mut types = types.split_whitespace();
    let constant = types.clone().any(|t| matches!(t, "const" | "constexpr"));
    let known = constant && types.all(|t| DECLARES.contains(&t)) && name.chars().all(word);
    known.then_some((name, rest))
}

/// Names that lines of a text define, each once.
pub fn names(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for (name, _) in text.lines().filter_map(defined) {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

/// Where the numbers of `#define NAME number`, or of a constant `constexpr int NAME = number;`, stand; none if the name is defined as
/// something else too, or not at all.
pub fn numbers(text: &str, name: &str) -> Option<Vec<Range<usize>>> {
    let (mut at, mut out) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((_, rest)) = defined(line).filter(|d| d.0 == name) else {
            continue;
        };
        let is_macro = line.trim_start().starts_with('#');
        let value = rest.trim_start();
        let digits = value.strip_prefix('-').unwrap_or(value);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let length = count + value.len() - digits.len();
        let after = value[length..].trim_start();
        let ends = match is_macro {
            true => after.is_empty() || after.starts_with("//") || after.starts_with("/*"),
            false => after.starts_with(';'),
        };
        if count == 0 || !ends || (is_macro && !rest.starts_with([' ', '\t'])) {
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
            "const int TILE = blockIdx.x;\n",
            "constexpr int TILE = 4;\nconstexpr int TILE = 2 * 4;\n",
            "const float TILE = 4;\n",
            "constexpr int TILES = 4, TILE = 5;\n",
        ] {
            assert_eq!(redefined(none, "TILE", 1), None, "{none}");
        }
    }

    #[test]
    fn constants_are_numbers_too() {
        let text =
            "static constexpr unsigned int TILE = 16; // wide\n  const int  N=4;\nint x = TILE;\n";
        let want =
            "static constexpr unsigned int TILE = 8; // wide\n  const int  N=4;\nint x = TILE;\n";
        assert_eq!(redefined(text, "TILE", 8).as_deref(), Some(want));
        assert_eq!(redefined(text, "N", 16), Some(text.replace("N=4", "N=16")));
        assert_eq!(names(text), ["TILE", "N"]);
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
