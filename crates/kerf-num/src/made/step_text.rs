//! Steps of straight-line code as text, one operation a line: `fma $0 x 0.5`. `x` is the argument, `y` the second one of
//! functions that have two, `$3` the result of the line with that number, and numbers are constants in the shortest form that reads back to the bit.
use super::code::{CodeStep, StepIndex, StraightLineCode};
use super::working_format::WorkingFormat;

/// Lines of a code, at most.
const MOST_STEPS: usize = 4096;

/// A text that is no step, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {why}; expected an operation and its operands, such as `fma $0 x 0.5`")]
pub struct ParseCodeStepError {
    /// The text.
    pub text: String,
    /// What is wrong.
    pub why: String,
}

/// A code as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeText {
    /// Its lines.
    pub steps: Vec<String>,
    /// What its result is.
    pub result: String,
    /// The second result, of functions that have two.
    pub second_result: Option<String>,
}

/// The text of a code.
pub(super) fn write(code: &StraightLineCode) -> CodeText {
    let mut numbers = Vec::new();
    let mut lines = 0;
    for i in 0..code.steps.len() {
        numbers.push(lines);
        lines += usize::from(code.is_operation(i));
    }
    let operand = |i: StepIndex| match code.steps[i] {
        CodeStep::Argument => "x".to_owned(),
        CodeStep::SecondArgument => "y".to_owned(),
        CodeStep::Constant(c) => format!("{c:?}"),
        _ => format!("${}", numbers[i]),
    };
    let all = (0..code.steps.len()).filter(|i| code.is_operation(*i));
    CodeText {
        steps: all.map(|i| line(&code.steps[i], &operand)).collect(),
        result: operand(code.result),
        second_result: code.second_result.map(operand),
    }
}

fn line(step: &CodeStep, operand: &dyn Fn(StepIndex) -> String) -> String {
    use CodeStep::*;
    let words = |name: &str, operands: &[StepIndex]| {
        let mut all = vec![name.to_owned()];
        all.extend(operands.iter().map(|o| operand(*o)));
        all.join(" ")
    };
    match *step {
        Argument | SecondArgument | Constant(_) => String::new(),
        Add(x, y) => words("add", &[x, y]),
        Sub(x, y) => words("sub", &[x, y]),
        Mul(x, y) => words("mul", &[x, y]),
        Fma(x, y, z) => words("fma", &[x, y, z]),
        NegatedFma(x, y, z) => words("nfma", &[x, y, z]),
        Quotient(x, y) => words("div", &[x, y]),
        SquareRoot(x) => words("sqrt", &[x]),
        Magnitude(x) => words("abs", &[x]),
        CopySign(x, y) => words("copysign", &[x, y]),
        PowerOfTwo(k) => words("pow2", &[k]),
        ShiftedExponent { x, split } => format!("exponent {} {split:?}", operand(x)),
        Significand { x, split } => format!("significand {} {split:?}", operand(x)),
        SelectOdd { shifted, odd, even } => words("odd", &[shifted, odd, even]),
        NegateBySecondBit { shifted, value } => words("negate2", &[shifted, value]),
        SelectLess { x, y, less, other } => words("less", &[x, y, less, other]),
        TableEntry {
            table,
            shifted,
            first,
        } => format!("table {table} {} {first}", operand(shifted)),
    }
}

/// What is read so far.
struct Reader<'t> {
    code: StraightLineCode,
    /// The step of each line.
    lines: Vec<StepIndex>,
    text: &'t str,
    /// Whether there is a second argument.
    has_y: bool,
}

impl Reader<'_> {
    fn wrong(&self, why: impl Into<String>) -> ParseCodeStepError {
        ParseCodeStepError {
            text: self.text.to_owned(),
            why: why.into(),
        }
    }

    fn number(&self, word: &str) -> Result<f64, ParseCodeStepError> {
        let known = word.parse::<f64>().ok();
        let format = self.code.format;
        known
            .filter(|c| c.is_finite() && format.has(*c))
            .ok_or_else(|| self.wrong(format!("`{word}` is no number of {}", format.name())))
    }

    fn operand(&mut self, word: &str) -> Result<StepIndex, ParseCodeStepError> {
        if word == "x" {
            return Ok(0);
        }
        if word == "y" && self.has_y {
            return Ok(self.code.second_argument());
        }
        if let Some(n) = word.strip_prefix('$') {
            let known = n.parse::<usize>().ok();
            let step = known.and_then(|n| self.lines.get(n)).copied();
            return step.ok_or_else(|| self.wrong(format!("`{word}` is no line before it")));
        }
        let c = self.number(word)?;
        Ok(self.code.push("c", CodeStep::Constant(c)))
    }

    fn split(&self, word: &str) -> Result<f64, ParseCodeStepError> {
        let split = self.number(word)?;
        match split >= self.code.format.smallest_normal() {
            true => Ok(split),
            false => Err(self.wrong(format!("`{word}` is no positive normal number"))),
        }
    }

    fn step(&mut self) -> Result<CodeStep, ParseCodeStepError> {
        use CodeStep::*;
        let text = self.text;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let Some((name, rest)) = words.split_first() else {
            return Err(self.wrong("it has no operation"));
        };
        Ok(match (*name, rest) {
            ("add", [x, y]) => Add(self.operand(x)?, self.operand(y)?),
            ("sub", [x, y]) => Sub(self.operand(x)?, self.operand(y)?),
            ("mul", [x, y]) => Mul(self.operand(x)?, self.operand(y)?),
            ("fma", [x, y, z]) => Fma(self.operand(x)?, self.operand(y)?, self.operand(z)?),
            ("nfma", [x, y, z]) => NegatedFma(self.operand(x)?, self.operand(y)?, self.operand(z)?),
            ("div", [x, y]) => Quotient(self.operand(x)?, self.operand(y)?),
            ("sqrt", [x]) => SquareRoot(self.operand(x)?),
            ("abs", [x]) => Magnitude(self.operand(x)?),
            ("copysign", [x, y]) => CopySign(self.operand(x)?, self.operand(y)?),
            ("pow2", [k]) => PowerOfTwo(self.operand(k)?),
            ("exponent", [x, split]) => ShiftedExponent {
                x: self.operand(x)?,
                split: self.split(split)?,
            },
            ("significand", [x, split]) => Significand {
                x: self.operand(x)?,
                split: self.split(split)?,
            },
            ("odd", [shifted, odd, even]) => SelectOdd {
                shifted: self.operand(shifted)?,
                odd: self.operand(odd)?,
                even: self.operand(even)?,
            },
            ("negate2", [shifted, value]) => NegateBySecondBit {
                shifted: self.operand(shifted)?,
                value: self.operand(value)?,
            },
            ("less", [x, y, less, other]) => SelectLess {
                x: self.operand(x)?,
                y: self.operand(y)?,
                less: self.operand(less)?,
                other: self.operand(other)?,
            },
            ("table", [table, shifted, first]) => {
                let known = table.parse().ok().filter(|t| *t < self.code.tables.len());
                let first = first.parse::<i32>().ok();
                let (Some(table), Some(first)) = (known, first) else {
                    return Err(self.wrong("there is no such table, or no such first entry"));
                };
                TableEntry {
                    table,
                    shifted: self.operand(shifted)?,
                    first: first.into(),
                }
            }
            _ => {
                let n = rest.len();
                return Err(self.wrong(format!("there is no operation `{name}` of {n} operands")));
            }
        })
    }
}

/// The code of a text; `y` is an operand where there is a second argument.
pub(super) fn parse(
    format: WorkingFormat,
    text: &CodeText,
    tables: Vec<Vec<f64>>,
    has_y: bool,
) -> Result<StraightLineCode, ParseCodeStepError> {
    let mut r = Reader {
        code: StraightLineCode::new(format),
        lines: Vec::new(),
        text: &text.result,
        has_y,
    };
    r.code.tables = tables;
    if text.steps.len() > MOST_STEPS {
        return Err(r.wrong(format!("there are more than {MOST_STEPS} lines before it")));
    }
    for line in &text.steps {
        r.text = line;
        let step = r.step()?;
        let at = r.code.push("v", step);
        r.lines.push(at);
    }
    r.text = &text.result;
    let result = r.operand(&text.result)?;
    r.code.second_result = match &text.second_result {
        Some(second) => {
            r.text = second;
            Some(r.operand(second)?)
        }
        None => None,
    };
    r.code.result = result;
    Ok(r.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(steps: &str, result: &str) -> CodeText {
        CodeText {
            steps: steps.lines().map(str::to_owned).collect(),
            result: result.to_owned(),
            second_result: None,
        }
    }

    const ALL: &str = "\
add x 6755399441055744.0
sub $0 6755399441055744.0
nfma $1 0.1 x
fma $2 x -0.0
mul $3 5e-324
abs $4
copysign $5 $3
pow2 $0
exponent x 0.75
significand x 0.75
odd $0 $6 $7
negate2 $0 $10
table 0 $0 -3
div x y
sqrt y
less x y $13 $14";

    #[test]
    fn every_step_reads_back() {
        let tables = vec![vec![1.0, -2.5]];
        let mut all = text(ALL, "$11");
        all.second_result = Some("$3".into());
        let code = parse(WorkingFormat::F64, &all, tables, true).expect("parses");
        assert_eq!(write(&code), all);
        // Lines, two arguments, and four constants.
        assert_eq!(code.steps.len(), 16 + 2 + 4);
    }

    #[test]
    fn what_is_no_step_is_refused_by_name() {
        for (line, part) in [
            ("", "no operation"),
            ("frob x", "no operation `frob` of 1 operands"),
            ("add x", "no operation `add` of 1 operands"),
            ("add x $0", "`$0` is no line before it"),
            ("add x y", "`y` is no number of f32"),
            ("less x 1.0 x", "no operation `less` of 3 operands"),
            ("add x 0.1", "`0.1` is no number of f32"),
            ("add x inf", "no number"),
            ("exponent x 0.0", "positive normal"),
            ("table 0 x 0", "no such table"),
        ] {
            let mut one = text(line, "x");
            if line.is_empty() {
                one.steps.push(String::new());
            }
            let e = parse(WorkingFormat::F32, &one, vec![], false);
            let e = e.expect_err(line).to_string();
            assert!(e.contains(part), "{line}: {e}");
        }
        assert!(parse(WorkingFormat::F64, &text("", "$0"), vec![], true).is_err());
    }
}
