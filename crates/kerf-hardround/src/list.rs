//! Lists of arguments: what the search writes, and the `.wc` files of CORE-MATH.
use crate::format::{hex, parse};

/// Why a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// A line that is no number of binary64.
    #[error("line {0}: {1:?} is not a number that binary64 has")]
    Number(usize, String),
    /// A line of a function with two arguments.
    #[error("line {0}: {1:?} has two arguments; only functions of one argument are checked")]
    TwoArguments(usize, String),
    /// A document that is not of the search.
    #[error("not a list that kerf hardround writes: {0}")]
    Json(String),
    /// Nothing in it.
    #[error("there is no argument in it")]
    Empty,
}

/// A list of arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The function that it names, if it does.
    pub function: Option<String>,
    /// Arguments, in the order of the file.
    pub arguments: Vec<f64>,
}

impl List {
    /// Reads a list by the ending of its file's name: `json` and `csv` as the search writes them, otherwise lines
    /// of a number each, where `#` begins a comment.
    pub fn parse(text: &str, ending: &str) -> Result<List, ListError> {
        let list = match ending {
            "json" => json(text)?,
            "csv" => lines(text, true)?,
            _ => lines(text, false)?,
        };
        match list.arguments.is_empty() {
            true => Err(ListError::Empty),
            false => Ok(list),
        }
    }
}

/// Cut for a message.
fn short(line: &str) -> String {
    line.chars().take(60).collect()
}

fn number(text: &str) -> Option<f64> {
    match text {
        "inf" | "+inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" | "+nan" | "-nan" | "snan" | "+snan" | "-snan" => Some(f64::NAN),
        _ => parse(text),
    }
}

fn lines(text: &str, csv: bool) -> Result<List, ListError> {
    let mut arguments = Vec::new();
    let mut function = None;
    for (n, line) in text.lines().enumerate() {
        let (line, comment) = line.split_once('#').unwrap_or((line, ""));
        // "# exp in binary64, [1, 2), ..."
        let word = comment
            .trim()
            .split(" in binary")
            .next()
            .unwrap_or_default();
        if function.is_none() && comment.contains(" in binary") {
            function = Some(word.to_owned());
        }
        let line = line.trim();
        if line.is_empty() || (csv && n == 0 && line.starts_with("x,")) {
            continue;
        }
        let mut words = line.split([',', ' ', '\t']).filter(|w| !w.is_empty());
        let first = words.next().unwrap_or_default();
        let x = number(first).ok_or_else(|| ListError::Number(n + 1, short(first)))?;
        // What the search writes has small integers behind; a second argument looks like a float.
        let second = words.next().filter(|_| !csv);
        if second.is_some_and(|w| w.parse::<u32>().is_err() && number(w).is_some()) {
            return Err(ListError::TwoArguments(n + 1, short(line)));
        }
        arguments.push(x);
    }
    Ok(List {
        function,
        arguments,
    })
}

fn json(text: &str) -> Result<List, ListError> {
    let wrong = |e: String| ListError::Json(e);
    let v: serde_json::Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    let cases = v["cases"].as_array();
    let cases = cases.ok_or_else(|| wrong("there is no array \"cases\"".into()))?;
    let mut arguments = Vec::new();
    for (n, c) in cases.iter().enumerate() {
        let x = c["x"].as_str();
        let x = x.ok_or_else(|| wrong(format!("case {} has no \"x\"", n + 1)))?;
        arguments.push(number(x).ok_or_else(|| wrong(format!("{x:?} is not a number")))?);
    }
    Ok(List {
        function: v["function"].as_str().map(str::to_owned),
        arguments,
    })
}

/// A list as lines that [`List::parse`] reads, with a title.
pub fn written(title: &str, arguments: &[f64]) -> String {
    let rows = arguments.iter().map(|x| hex(*x) + "\n");
    std::iter::once(format!("# {title}\n"))
        .chain(rows)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let wc = "# worst cases\n0x1.8p+0\n\n-0x1p-1074 # 70\n+inf\n";
        let l = List::parse(wc, "wc").unwrap();
        assert_eq!(l.arguments, [1.5, -f64::from_bits(1), f64::INFINITY]);
        assert_eq!(l.function, None);
        let text = "# exp in binary64, [1, 2), at least 44\n0x1.8p+0 44 0 1 + 1\n";
        let l = List::parse(text, "txt").unwrap();
        assert_eq!(l.function.as_deref(), Some("exp"));
        assert_eq!(l.arguments, [1.5]);
        let csv = "x,k,round_bit,repeated,sign,binade\n0x1p+1,44,0,1,+,1\n";
        assert_eq!(List::parse(csv, "csv").unwrap().arguments, [2.0]);
        let json = r#"{"function":"log","cases":[{"x":"0x1p-1","k":44}]}"#;
        let l = List::parse(json, "json").unwrap();
        assert_eq!((l.function.as_deref(), l.arguments[0]), (Some("log"), 0.5));
        let again = written("a title", &[0.1, -3.0]);
        assert_eq!(List::parse(&again, "wc").unwrap().arguments, [0.1, -3.0]);
    }

    #[test]
    fn mistakes_name_their_place() {
        let two = List::parse("# c\n0x1p-1,0x1p-2 # 102\n", "wc");
        assert!(matches!(two, Err(ListError::TwoArguments(2, _))), "{two:?}");
        let two = List::parse("0x1p-1 0x1.8p-2\n", "wc");
        assert!(matches!(two, Err(ListError::TwoArguments(1, _))), "{two:?}");
        let bad = List::parse("1.5\nfoo\n", "wc");
        assert!(matches!(bad, Err(ListError::Number(2, _))), "{bad:?}");
        assert_eq!(List::parse("# none\n", "wc"), Err(ListError::Empty));
        assert!(matches!(List::parse("{}", "json"), Err(ListError::Json(_))));
        assert!(matches!(List::parse("[", "json"), Err(ListError::Json(_))));
    }
}
