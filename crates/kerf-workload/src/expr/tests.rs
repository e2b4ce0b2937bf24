//! Expressions against known values and against a model that evaluates a tree.

use proptest::prelude::*;

use crate::expr::{Expr, MAX_DEPTH};
use crate::number::Number::{self, Float, Int};

fn eval(text: &str) -> Result<Number, String> {
    let lookup = |name: &str| match name {
        "n" => Some(Int(1000)),
        "bx" => Some(Int(64)),
        "h" => Some(Float(0.5)),
        _ => None,
    };
    let expr = Expr::parse(text).map_err(|e| e.to_string())?;
    expr.eval(lookup).map_err(|e| e.what)
}

#[test]
fn values() {
    let table = [
        ("1 + 2 * 3", Int(7)),
        ("(1 + 2) * 3", Int(9)),
        ("7 / 2", Int(3)),
        ("-7 / 2", Int(-3)),
        ("-7 % 3", Int(-1)),
        ("7 / 2.0", Float(3.5)),
        ("7.5 % 2", Float(1.5)),
        ("1 / 0.0", Float(f64::INFINITY)),
        ("ceil_div(n, bx)", Int(16)),
        ("ceil_div(-7, 2)", Int(-3)),
        ("ceil_div(7, -2)", Int(-3)),
        ("ceil_div(-7, -2)", Int(4)),
        ("ceil_div(8, -2)", Int(-4)),
        ("2 - 3 - 4", Int(-5)),
        ("- - 3", Int(3)),
        ("!3 + !0", Int(1)),
        ("-2 * 3", Int(-6)),
        ("n <= 1000 && bx > 63 || 1 / 0", Int(1)),
        ("0 && 1 / 0", Int(0)),
        ("1 || 1 / 0", Int(1)),
        ("2 && 3", Int(1)),
        ("0 || 0.0", Int(0)),
        ("select(n > 10, n, 1 / 0)", Int(1000)),
        ("select(0, 1 / 0, h)", Float(0.5)),
        ("min(3, 1, 2)", Int(1)),
        ("max(3, 1.5, 2)", Float(3.0)),
        ("abs(-4) + abs(-0.5)", Float(4.5)),
        ("pow(2, 10)", Int(1024)),
        ("pow(2, -1)", Float(0.5)),
        ("pow(-1, 99999999999)", Int(-1)),
        ("sqrt(16)", Float(4.0)),
        ("log2(8)", Float(3.0)),
        ("exp(0) + log(1) + sin(0) + cos(0)", Float(2.0)),
        ("floor(n * 0.1)", Int(100)),
        ("ceil(0.1) + floor(-0.1)", Int(0)),
        ("floor(5)", Int(5)),
        ("3 == 3.0", Int(1)),
        ("3 != 4", Int(1)),
        ("(1 < 2) == 1", Int(1)),
        ("9223372036854775807 + 1", Int(1 << 63)),
        ("18446744073709551615", Int(u64::MAX as i128)),
    ];
    for (text, value) in table {
        assert_eq!(eval(text), Ok(value), "{text}");
    }
}

#[test]
fn faults() {
    let table = [
        ("1 / 0", "division by zero"),
        ("n % (bx - 64)", "division by zero"),
        ("ceil_div(1, 0)", "division by zero"),
        ("pow(10, 39)", "integer overflow"),
        ("pow(2, 99999999999)", "integer overflow"),
        ("pow(2, 126) * 4", "integer overflow"),
        ("pow(2, 126) + pow(2, 126)", "integer overflow"),
        ("ceil_div(1.0, 2)", "`ceil_div` of a float"),
        ("floor(1 / 0.0)", "inf has no integer value"),
        ("m + 1", "unknown name `m`"),
    ];
    for (text, what) in table {
        assert_eq!(eval(text), Err(what.into()), "{text}");
    }
}

#[test]
fn places_of_faults() {
    let at = |text: &str| {
        let expr = Expr::parse(text).unwrap();
        expr.eval(|_| None).unwrap_err().span
    };
    assert_eq!(at("1 + 4 / (2 - 2)"), 4..15);
    assert_eq!(at("1 + nn"), 4..6);
    assert_eq!(at("2 * ceil_div(1, 0)"), 4..12);
}

#[test]
fn syntax_errors() {
    let table = [
        (
            "",
            "expression ends early; expected a number, a name or `(`",
        ),
        (
            "1 +",
            "expression ends early; expected a number, a name or `(`",
        ),
        ("(1", "expression ends early; expected `)`"),
        ("1 2", "unexpected `2`; expected an operator or the end"),
        ("n..m", "unexpected `..`; expected an operator or the end"),
        (
            "1 < 2 < 3",
            "chained comparison; expected one comparison, or parentheses",
        ),
        (
            "min(1)",
            "`min` with 1 argument; expected 2 or more arguments",
        ),
        (
            "select(1, 2)",
            "`select` with 2 arguments; expected 3 arguments",
        ),
        (
            "select(1, 2, 3, 4)",
            "`select` with 4 arguments; expected 3 arguments",
        ),
        ("abs()", "`abs` with 0 arguments; expected 1 argument"),
        (
            "min(1; 2)",
            "unexpected `;`; expected a number, a name or an operator",
        ),
        ("~1", "unexpected `~`; expected a number, a name or `(`"),
    ];
    for (text, message) in table {
        assert_eq!(eval(text), Err(message.into()), "{text}");
    }
    let unknown = Expr::parse("cieldiv(1, 2)").unwrap_err();
    assert_eq!(unknown.what, "unknown function `cieldiv`");
    let unknown = Expr::parse("ceildiv(1, 2)").unwrap_err();
    assert_eq!(unknown.help.as_deref(), Some("did you mean `ceil_div`?"));
}

#[test]
fn depth_is_bounded_and_length_is_not_depth() {
    let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert_eq!(eval(&nested(MAX_DEPTH - 1)), Ok(Int(1)));
    assert!(eval(&nested(MAX_DEPTH)).unwrap_err().contains("deeply"));
    assert!(eval(&"-".repeat(60_000)).unwrap_err().contains("deeply"));
    assert!(eval(&"abs(".repeat(16_000)).unwrap_err().contains("deeply"));
    assert_eq!(eval(&format!("1{}", "+1".repeat(30_000))), Ok(Int(30_001)));
    assert_eq!(eval(&format!("min(1{})", ",1".repeat(30_000))), Ok(Int(1)));
    assert_eq!(eval(&format!("0{}", "||0".repeat(20_000))), Ok(Int(0)));
}

/// The model: a tree with the meaning written down a second time.
#[derive(Debug, Clone)]
enum Tree {
    Int(i64),
    Float(f64),
    Name(usize),
    Neg(Box<Tree>),
    Not(Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
    Call(&'static str, Vec<Tree>),
}

const NAMES: [(&str, Number); 3] = [("a", Int(7)), ("b_2", Int(-3)), ("c", Float(1.25))];

impl Tree {
    fn print(&self) -> String {
        match self {
            Tree::Int(v) => format!("{v}"),
            Tree::Float(v) => format!("{v:?}"),
            Tree::Name(i) => NAMES[*i].0.into(),
            Tree::Neg(a) => format!("-({})", a.print()),
            Tree::Not(a) => format!("!({})", a.print()),
            Tree::Binary(op, a, b) => format!("({}) {op} ({})", a.print(), b.print()),
            Tree::Call(f, args) => {
                let args: Vec<_> = args.iter().map(Tree::print).collect();
                format!("{f}({})", args.join(", "))
            }
        }
    }

    fn value(&self) -> Option<Number> {
        let truth = |v: bool| Some(Int(i128::from(v)));
        match self {
            Tree::Int(v) => Some(Int((*v).into())),
            Tree::Float(v) => Some(Float(*v)),
            Tree::Name(i) => Some(NAMES[*i].1),
            Tree::Neg(a) => match a.value()? {
                Int(v) => v.checked_neg().map(Int),
                Float(v) => Some(Float(-v)),
            },
            Tree::Not(a) => truth(a.value()?.as_f64() == 0.0),
            Tree::Binary("&&", a, b) => {
                truth(a.value()?.as_f64() != 0.0 && b.value()?.as_f64() != 0.0)
            }
            Tree::Binary("||", a, b) => {
                truth(a.value()?.as_f64() != 0.0 || b.value()?.as_f64() != 0.0)
            }
            Tree::Binary(op, a, b) => match (*op, a.value()?, b.value()?) {
                ("+", Int(a), Int(b)) => a.checked_add(b).map(Int),
                ("-", Int(a), Int(b)) => a.checked_sub(b).map(Int),
                ("*", Int(a), Int(b)) => a.checked_mul(b).map(Int),
                ("/", Int(a), Int(b)) => a.checked_div(b).map(Int),
                ("%", Int(a), Int(b)) => a.checked_rem(b).map(Int),
                ("<", Int(a), Int(b)) => truth(a < b),
                (">=", Int(a), Int(b)) => truth(a >= b),
                ("==", Int(a), Int(b)) => truth(a == b),
                (op, a, b) => {
                    let (a, b) = (a.as_f64(), b.as_f64());
                    match op {
                        "+" => Some(Float(a + b)),
                        "-" => Some(Float(a - b)),
                        "*" => Some(Float(a * b)),
                        "/" => Some(Float(a / b)),
                        "%" => Some(Float(a % b)),
                        "<" => truth(a < b),
                        ">=" => truth(a >= b),
                        _ => truth(a == b),
                    }
                }
            },
            Tree::Call("select", args) => {
                let chosen = if args[0].value()?.as_f64() != 0.0 {
                    1
                } else {
                    2
                };
                args[chosen].value()
            }
            Tree::Call("abs", args) => match args[0].value()? {
                Int(v) => v.checked_abs().map(Int),
                Float(v) => Some(Float(v.abs())),
            },
            Tree::Call(f, args) => match (*f, args[0].value()?, args[1].value()?) {
                ("min", Int(a), Int(b)) => Some(Int(a.min(b))),
                ("min", a, b) => Some(Float(a.as_f64().min(b.as_f64()))),
                (_, Int(_), Int(0)) => None,
                // The definition: the least q with q * b >= a, or its mirror image.
                (_, Int(a), Int(b)) if b > 0 => Some(Int(-((-a).checked_div_euclid(b)?))),
                (_, Int(a), Int(b)) => Some(Int(-(a.checked_div_euclid(-b)?))),
                _ => None,
            },
        }
    }
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0..1000i64).prop_map(Tree::Int),
        (0..i64::MAX).prop_map(Tree::Int),
        (0.0..1e6f64).prop_map(Tree::Float),
        (0..NAMES.len()).prop_map(Tree::Name),
    ];
    leaf.prop_recursive(6, 64, 3, |inner| {
        let op = prop::sample::select(vec!["+", "-", "*", "/", "%", "<", ">=", "==", "&&", "||"]);
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Tree::Neg),
            boxed.clone().prop_map(Tree::Not),
            (op, boxed.clone(), boxed).prop_map(|(op, a, b)| Tree::Binary(op, a, b)),
            prop::collection::vec(inner.clone(), 3).prop_map(|v| Tree::Call("select", v)),
            prop::collection::vec(inner.clone(), 1).prop_map(|v| Tree::Call("abs", v)),
            prop::collection::vec(inner.clone(), 2).prop_map(|v| Tree::Call("min", v)),
            prop::collection::vec(inner, 2).prop_map(|v| Tree::Call("ceil_div", v)),
        ]
    })
}

fn same(a: Option<Number>, b: Option<Number>) -> bool {
    match (a, b) {
        (Some(Float(a)), Some(Float(b))) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (a, b) => a == b,
    }
}

proptest! {
    #[test]
    fn agrees_with_the_model(tree in any_tree()) {
        let text = tree.print();
        let expr = Expr::parse(&text).unwrap();
        let lookup = |name: &str| NAMES.iter().find(|n| n.0 == name).map(|n| n.1);
        let value = expr.eval(lookup).ok();
        prop_assert!(same(value, tree.value()), "{text}: {value:?}, model {:?}", tree.value());
        let uses: Vec<Number> = expr.names().iter().filter_map(|n| lookup(&n.name)).collect();
        prop_assert!(same(expr.eval_uses(&uses, &mut Vec::new()).ok(), value));
    }

    #[test]
    fn operators_without_parentheses_bind_as_in_c(a in 0..100i64, b in 1..100i64, c in 1..100i64) {
        let got = |text: String| eval(&text).unwrap();
        prop_assert_eq!(got(format!("{a}+{b}*{c}")), Int((a + b * c).into()));
        prop_assert_eq!(got(format!("{a}-{b}-{c}")), Int((a - b - c).into()));
        prop_assert_eq!(got(format!("{a}/{b}*{c}")), Int((a / b * c).into()));
        prop_assert_eq!(got(format!("-{a}%{b}")), Int((-a % b).into()));
        prop_assert_eq!(got(format!("{a}+1<{b}&&{b}<{c}||{a}==1")),
            Int(((a + 1 < b && b < c) || a == 1).into()));
    }

    #[test]
    fn any_text_parses_or_is_refused(text in "[ -~]{0,60}|[-+*/%()0-9n.,<=>!&|a-c ]{0,60}|.{0,20}") {
        let whole = text.len();
        match Expr::parse(&text) {
            Ok(expr) => {
                let result = expr.eval(|_| Some(Int(3)));
                prop_assert!(result.is_ok_and(|_| true) || expr.text().len() <= whole);
            }
            Err(e) => prop_assert!(e.span.start <= e.span.end && e.span.end <= whole),
        }
        let _ = crate::expr::parse_range(&text);
    }
}
