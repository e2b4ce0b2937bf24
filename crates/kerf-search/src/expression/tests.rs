use super::*;

fn value(text: &str) -> Result<ExpressionValue, ExpressionError> {
    let e = Expression::parse(text)?;
    let own = [
        ("x", ExpressionValue::Int(48)),
        ("how", ExpressionValue::Text("a".into())),
        ("f", ExpressionValue::Real(0.5)),
    ];
    let of = |i: usize| own.iter().find(|(n, _)| *n == e.names()[i]).map(|(_, v)| v);
    e.value(&of)
}

fn list(of: &[i64]) -> ExpressionValue {
    ExpressionValue::List(of.iter().map(|i| ExpressionValue::Int(*i)).collect())
}

#[test]
fn values_are_pythons() {
    for (text, expected) in [
        ("1 + 2 * 3 ** 2", ExpressionValue::Int(19)),
        ("-2 ** 2", ExpressionValue::Int(-4)),
        ("2 ** -1", ExpressionValue::Real(0.5)),
        ("-7 // 2", ExpressionValue::Int(-4)),
        ("-7 % 3", ExpressionValue::Int(2)),
        ("7 / 2", ExpressionValue::Real(3.5)),
        ("x % 32 != 0 or False", ExpressionValue::Bool(true)),
        ("32 <= x * 2 <= 96", ExpressionValue::Bool(true)),
        ("32 <= x < 48", ExpressionValue::Bool(false)),
        ("not x == 48", ExpressionValue::Bool(false)),
        ("how == 'a' and x in [16, 48]", ExpressionValue::Bool(true)),
        ("how not in ['a', \"b\"]", ExpressionValue::Bool(false)),
        ("1 if f > 0.25 else 2", ExpressionValue::Int(1)),
        (
            "[1, 2, 4] + list(range(32, 97, 32))",
            list(&[1, 2, 4, 32, 64, 96]),
        ),
        ("[2**i for i in range(0, 4)]", list(&[1, 2, 4, 8])),
        ("[i * 2 for i in range(6) if i % 2 == 0]", list(&[0, 4, 8])),
        ("list(range(3, 0, -1))", list(&[3, 2, 1])),
        ("(1, 2)", list(&[1, 2])),
        ("[]", list(&[])),
        (
            "max(1, 2.5, x) - min([4, 3]) + abs(-1) + len([1])",
            ExpressionValue::Int(47),
        ),
        ("1e3", ExpressionValue::Real(1000.0)),
        ("0 and 1/0", ExpressionValue::Int(0)),
        (
            "[True, False]",
            ExpressionValue::List(vec![
                ExpressionValue::Bool(true),
                ExpressionValue::Bool(false),
            ]),
        ),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
}

#[test]
fn mistakes_are_named() {
    for (text, why) in [
        ("", "expected a number"),
        ("1 +", "character 4"),
        ("(1", "expected `)`"),
        ("[1, 2", "expected `]`"),
        ("1 2", "expected an operator"),
        ("'a", "not closed"),
        ("a $ b", "`$`"),
        ("y > 1", "`y` is no parameter"),
        ("x // 0", "division by 0"),
        ("how < 1", "no order"),
        ("x in 3", "a list"),
        ("__import__('os')", "cannot be called"),
        ("range(1000000000)", "over"),
        ("range(1, 2, 0)", "steps of 0"),
        ("[i for i in 3]", "no list"),
        ("10.0 ** 400", "beyond all bounds"),
    ] {
        let said = value(text).expect_err(text).to_string();
        assert!(said.contains(why), "{text}: {said}");
    }
    let deep = "(".repeat(100_000);
    assert!(Expression::parse(&deep).is_err());
    let powers = "2**".repeat(100_000);
    assert!(Expression::parse(&powers).is_err());
    let minus = format!("{}1", "- ".repeat(100_001));
    assert_eq!(value(&minus), Ok(ExpressionValue::Int(-1)));
}
