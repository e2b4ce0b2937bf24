//! The constraint string of an asm statement.
use super::refusal::{Lifted, refuse};

/// Where an operand of the template comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraint {
    /// A register of this many bits that the statement writes; a predicate has 1.
    Output(u32),
    /// A register of this many bits that holds an argument.
    Input(u32),
    /// An argument that is in the register of this output.
    Tied(usize),
    /// A constant that is pasted into the text.
    Immediate,
}

fn width(letter: &str) -> Option<u32> {
    Some(match letter {
        "b" => 1,
        "h" | "c" => 16,
        "r" | "f" => 32,
        "l" | "d" | "N" => 64,
        "q" => 128,
        _ => return None,
    })
}

/// Parses a constraint string, in the order of operand numbers; clobbers are left out.
pub(super) fn parse(text: &str) -> Lifted<Vec<Constraint>> {
    let mut out = Vec::new();
    for item in text.split(',').filter(|s| !s.is_empty()) {
        if item.starts_with('~') {
            continue;
        }
        let unknown = || refuse(format!("constraint \"{item}\" is not supported"));
        // `&` asks for a register of its own, which every operand has here; `%` marks commuting.
        let plain = item.replace(['&', '%'], "");
        let c = if let Some(letter) = plain.strip_prefix('=') {
            width(letter).map(Constraint::Output)
        } else if let Ok(n) = plain.parse::<usize>() {
            match out.get(n) {
                Some(Constraint::Output(_)) => Some(Constraint::Tied(n)),
                _ => None,
            }
        } else if matches!(plain.as_str(), "n" | "i") {
            Some(Constraint::Immediate)
        } else {
            width(&plain).map(Constraint::Input)
        };
        match c {
            Some(c) => out.push(c),
            None => return unknown(),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::Constraint::*;
    use super::*;

    #[test]
    fn reads_registers_ties_and_constants() {
        assert_eq!(
            parse("=h,=&r,l,f,d,n,0,q,b,~{memory}").unwrap(),
            [
                Output(16),
                Output(32),
                Input(64),
                Input(32),
                Input(64),
                Immediate,
                Tied(0),
                Input(128),
                Input(1)
            ]
        );
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("~{memory}").unwrap(), []);
    }

    #[test]
    fn refuses_memory_and_unknown_letters() {
        for bad in ["m", "=*r", "C", "=x", "3", "r,0", "{r1}", "+r"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
