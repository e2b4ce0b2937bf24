//! Changes to a first workload file after it was tried: other lengths, sizes and blocks.
use kerf_exec::cpu::launch::{LeftObject, OutOfBounds};
use kerf_run::skeleton::{BLOCKS, growth};
use std::collections::BTreeMap;

/// How often as long as the first guess a buffer may get, beyond `FEW` elements.
const MOST_GROWTH: u64 = 4096;

/// Elements that any buffer may have.
const FEW: u64 = 1 << 22;

/// Threads that an H200 runs at once: what is much smaller is timed as the latency of one thread.
pub(super) const FILLED: u64 = 132 * 2048;

/// The file with its launch space held to one block; `why` says what another one did.
pub(super) fn with_block(text: &str, shape: &[(String, i64)], why: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for l in text.lines() {
        inside = (inside || l.starts_with("[launch_space]")) && !l.starts_with("[accept]");
        let own = shape
            .iter()
            .find(|(n, _)| inside && l.starts_with(&format!("{n} = ")));
        match own {
            Some((n, v)) => out += &format!("{n} = [{v}]   # {why}\n"),
            None if inside && (l.starts_with("default") || l.starts_with("constraints")) => {}
            None => {
                out += l;
                out.push('\n');
            }
        }
    }
    out
}

/// The buffer that an access left at its end, its elements, and the index of the access.
pub(super) fn left(problem: &OutOfBounds) -> Option<(&str, u64, u64)> {
    match &problem.object {
        LeftObject::Buffer {
            name,
            elements,
            index,
        } => Some((name, *elements as u64, u64::try_from(*index).ok()?)),
        _ => None,
    }
}

/// The file with a buffer longer; `times` are those of its first length.
fn with_length(text: &str, name: &str, times: u64) -> Option<String> {
    let mut out = String::new();
    let (mut inside, mut done) = (false, false);
    for l in text.lines() {
        if l.starts_with('[') {
            inside = false;
        }
        inside |= l == format!("name = \"{name}\"");
        match l.strip_prefix("len  = \"").and_then(|r| r.split_once('"')) {
            Some((len, note)) if inside => {
                let grown = note.contains("grown");
                let one = len.split_once(" * ").filter(|_| grown);
                let one = match one.map_or(len, |(_, one)| one) {
                    sum if sum.contains(' ') && !sum.starts_with('(') => format!("({sum})"),
                    one => one.to_owned(),
                };
                out += &format!(
                    "len  = \"{times} * {one}\"   # a guess: grown until no access left it\n"
                );
                done = true;
            }
            _ => {
                out += l;
                out.push('\n');
            }
        }
    }
    done.then_some(out)
}

/// The file with the buffer longer that an access left, until it would be too long; `grown` keeps the lengths.
pub(super) fn longer(
    text: &str,
    problem: &OutOfBounds,
    grown: &mut BTreeMap<String, u64>,
) -> Option<String> {
    let (name, len, index) = left(problem)?;
    let before = grown.get(name).copied().unwrap_or(1);
    let one = (len / before).max(1);
    let times = (index / one + 1).next_power_of_two();
    if times <= before || (times > MOST_GROWTH && times * one > FEW) {
        return None;
    }
    grown.insert(name.to_owned(), times);
    with_length(text, name, times)
}

/// The file with guessed numbers of rounds at 1, where they were 10 and an array of the kernel itself was left: they may be indices.
pub(super) fn fewer(text: &str, problem: &OutOfBounds) -> Option<String> {
    if left(problem).is_some() {
        return None;
    }
    let line = |l: &str| match l.split_once("]   # a guess: ") {
        Some((args, note)) if l.starts_with("args  = [") => {
            let args = args.replace(", 10,", ", 1,").replace("[10,", "[1,");
            let args = args
                .strip_suffix(", 10")
                .map_or(args.clone(), |a| format!("{a}, 1"));
            let note: Vec<String> = note
                .split(", ")
                .map(|n| {
                    n.strip_suffix(" = 10")
                        .map_or(n.to_owned(), |n| format!("{n} = 1"))
                })
                .collect();
            format!("{args}]   # a guess: {}\n", note.join(", "))
        }
        _ => format!("{l}\n"),
    };
    let out: String = text.lines().map(line).collect();
    (out != text).then_some(out)
}

/// The file with lengths that grew to as many times as a size is said by that size: a square stays one when the size changes.
pub(super) fn by_sizes(text: &str) -> String {
    let sizes = text
        .lines()
        .skip_while(|l| !l.starts_with("[sizes]"))
        .skip(1);
    let sizes = sizes.take_while(|l| !l.starts_with('['));
    let sizes = sizes.filter_map(|l| l.split_once(" = "));
    let sizes: Vec<(&str, u64)> = sizes
        .filter_map(|(n, v)| Some((n, v.trim().parse().ok()?)))
        .collect();
    let named = |l: &str| {
        let (len, note) = l.strip_prefix("len  = \"")?.split_once('"')?;
        let (times, one) = len
            .split_once(" * ")
            .filter(|_| note.contains("grown until"))?;
        let times: u64 = times.parse().ok()?;
        // Twice and four times: borders round it.
        let of = |v: u64| {
            (v >= 32 && times.is_multiple_of(v))
                .then(|| times / v)
                .filter(|k| matches!(k, 1 | 2 | 4))
        };
        let all = sizes
            .iter()
            .filter_map(|(n, v)| Some((of(*v)?, *n == one, *n)));
        let (k, _, name) = all.min()?;
        let more = if k > 1 {
            format!("{k} * ")
        } else {
            String::new()
        };
        let one = match one {
            "1" => String::new(),
            one => format!(" * {one}"),
        };
        Some(format!("len  = \"{more}{name}{one}\"{note}"))
    };
    let lines = text
        .lines()
        .map(|l| named(l).unwrap_or_else(|| l.to_owned()) + "\n");
    lines.collect()
}

/// The file with its larger sizes a quarter of what they were, where one was over 64, else with a half of those over 16.
pub(super) fn smaller(text: &str) -> Option<String> {
    scaled_down(text, 4, 64).or_else(|| scaled_down(text, 2, 16))
}

/// The file with its sizes over `least` divided.
fn scaled_down(text: &str, by: u64, least: u64) -> Option<String> {
    let mut out = String::new();
    let (mut inside, mut done) = (false, false);
    for l in text.lines() {
        if l.starts_with('[') {
            inside = l.starts_with("[sizes]");
        }
        let size = l
            .split_once(" = ")
            .and_then(|(name, v)| Some((name, v.trim().parse::<u64>().ok()?)));
        match size {
            Some((name, v)) if inside && v > least => {
                out += &format!("{name} = {}\n", (v / by).max(least));
                done = true;
            }
            Some((BLOCKS, v)) if inside && v > 4 => {
                out += &format!("{BLOCKS} = {}\n", v / 2);
                done = true;
            }
            _ => {
                out += l;
                out.push('\n');
            }
        }
    }
    done.then_some(out)
}

/// The file with its guessed sizes `times` as large along each dimension; the skeleton knows its guesses.
pub(super) fn with_sizes(text: &str, times: u64) -> String {
    let mut out = String::new();
    let mut inside = false;
    for l in text.lines() {
        inside = (inside || l.starts_with("[sizes]"))
            && (l.starts_with("[sizes]") || !l.starts_with('['));
        let value = l.split_once(" = ").filter(|_| inside);
        let larger = value.and_then(|(name, v)| {
            let v: u64 = v.trim().parse().ok()?;
            growth(v, times).map(|more| (name, v * more))
        });
        match larger {
            Some((name, v)) => out += &format!("{name} = {v}\n"),
            None => {
                out += l;
                out.push('\n');
            }
        }
    }
    out
}

/// The file with a word on how much of a GPU its sizes fill.
pub(super) fn with_fill(text: &str, threads: u64) -> String {
    let (head, rest) = match text.split_once("[sizes]") {
        Some((head, rest)) => (head, rest.split_once('\n').map_or("", |r| r.1)),
        None => return text.to_owned(),
    };
    let size = rest.split(' ').next().unwrap_or("n");
    let word = match 2 * threads >= FILLED {
        true => format!(
            "{threads} threads, enough to fill a large GPU; a reference on the CPU takes seconds"
        ),
        false => format!(
            "{threads} threads, for a reference on the CPU in seconds; a large GPU has room for {FILLED},\n                           # and times are those of a small launch: --size {size}=... for larger ones"
        ),
    };
    format!("{head}[sizes]                    # {word}\n{rest}")
}

#[cfg(test)]
mod tests {
    use super::{LeftObject, OutOfBounds, by_sizes, fewer, smaller};

    #[test]
    fn rounds_that_are_indices() {
        let text = "args  = [\"a\", 10, 1.0, 10, \"n\", 10]   # a guess: step = 10, dt = 1.0, order = 10\n";
        let left = |object: LeftObject| OutOfBounds {
            access: "load of 8 bytes".into(),
            object,
        };
        let problem = &left(LeftObject::Variable {
            name: "cB".into(),
            bytes: 40,
            at: 80,
        });
        let of_a_buffer = &left(LeftObject::Buffer {
            name: "a".into(),
            elements: 5,
            index: 10,
        });
        let want =
            "args  = [\"a\", 1, 1.0, 1, \"n\", 1]   # a guess: step = 1, dt = 1.0, order = 1\n";
        assert_eq!(fewer(text, problem).as_deref(), Some(want));
        assert_eq!(fewer(want, problem), None);
        assert_eq!(fewer(text, of_a_buffer), None);
    }

    #[test]
    fn lengths_follow_sizes() {
        let text = "[sizes]\nm = 128\nn = 128\nk = 20\n\n[[buffer]]\n";
        for (line, want) in [
            (
                "len  = \"128 * n\"   # a guess: grown until no access left it",
                "len  = \"m * n\"   #",
            ),
            (
                "len  = \"256 * m\"   # a guess: grown until no access left it",
                "len  = \"2 * n * m\"   #",
            ),
            (
                "len  = \"16 * n\"   # a guess: grown until no access left it",
                "len  = \"16 * n\"   #",
            ),
            ("len  = \"128 * n\"", "len  = \"128 * n\""),
        ] {
            let out = by_sizes(&format!("{text}{line}\n"));
            assert!(out.starts_with(&format!("{text}{want}")), "{out}");
        }
        let one = by_sizes("[sizes]\nn = 64\n[[buffer]]\nlen  = \"64 * n\"  # grown until\n");
        assert!(one.contains("\"n * n\""), "{one}");
    }

    #[test]
    fn sizes_shrink_and_end() {
        let text =
            "[sizes]  # n = 4096 in words\nn = 1000\nm = 65\nk = 8\n\n[[buffer]]\nlen = 4096\n";
        let once = smaller(text).expect("smaller");
        assert_eq!(
            once,
            "[sizes]  # n = 4096 in words\nn = 250\nm = 64\nk = 8\n\n[[buffer]]\nlen = 4096\n"
        );
        assert!(smaller(&once).is_some_and(|t| t.contains("n = 64\n")));
        let half = smaller("[sizes]\nn = 64\nm = 20\n");
        assert_eq!(half.as_deref(), Some("[sizes]\nn = 32\nm = 16\n"));
        assert_eq!(smaller("[sizes]\nn = 16\n"), None);
    }
}
