//! What makes a search the same search, compared setting by setting, in the words of the command line.
use serde_json::{Map, Value};

/// Settings as the description of a search has them, and the options that give them, the likeliest first. What
/// follows from others (how many groups there are) comes last, and is said only where nothing else is.
const OPTIONS: &[(&str, &str)] = &[
    ("workload", "the workload file"),
    ("command", "the command of --app"),
    ("sizes", "--size"),
    ("criteria", "--tolerance, --metric or [accept]"),
    ("tolerance", "--tolerance"),
    ("metric", "--metric"),
    ("ratio", "--qos-ratio"),
    ("compared", "--stdout-pattern or --output-file"),
    ("strategy", "--strategy"),
    ("tuners", "--tuners"),
    ("formats", "--formats or --what"),
    ("approx", "--what approx, --lambda or --select"),
    ("launch", "--what launch"),
    ("layout", "--what layout"),
    ("code", "--what code"),
    ("algebra", "--what algebra"),
    ("grouping", "--by"),
    ("storage", "--storage"),
    ("device", "--device"),
    ("profile", "--profile"),
    ("cost", "--cost"),
    ("seed", "--seed"),
    ("input", "the seed of the inputs"),
    ("trials", "--validate, --perturb or --confidence"),
    ("sensitivity", "--sensitivity"),
    ("floor", "--floor"),
    ("time", "--time or --time-pattern"),
    ("require", "--require"),
    ("validated", "--validate-with"),
    ("replayed", "whether candidates are replayed (--no-replay)"),
    ("kerf", "the version of Kerf"),
];

/// Settings that follow from others or from files.
const DERIVED: &[(&str, &str)] = &[
    ("program", "the source, by its digest,"),
    ("groups", "what can change"),
    ("functions", "the functions made for math calls"),
    ("scaled", "scaled formats of memory (--scaled)"),
];

/// A value that nobody gave.
const ABSENT: Value = Value::Null;

fn words(v: &Value) -> String {
    match v {
        Value::Null => "not given".into(),
        Value::String(s) => s.clone(),
        // As tolerances are written.
        Value::Number(n) if n.is_f64() => match n.as_f64() {
            Some(x) if x != 0.0 && !(1e-3..1e6).contains(&x.abs()) => format!("{x:e}"),
            _ => n.to_string(),
        },
        other => other.to_string(),
    }
}

/// A list of names with values as the object that it stands for.
fn by_name(v: &Value) -> Value {
    let pair = |p: &Value| {
        let [Value::String(name), value] = p.as_array()?.as_slice() else {
            return None;
        };
        Some((name.clone(), value.clone()))
    };
    let pairs = v.as_array().filter(|a| !a.is_empty());
    let all = pairs.and_then(|a| a.iter().map(pair).collect::<Option<Map<_, _>>>());
    all.map_or_else(|| v.clone(), Value::Object)
}

/// The places in which two values differ, as a path of keys, with both values there.
fn leaves(path: &str, was: &Value, is: &Value, out: &mut Vec<(String, String, String)>) {
    let (was, is) = (&by_name(was), &by_name(is));
    match (was, is) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for k in keys {
                let at = match path.is_empty() {
                    true => k.clone(),
                    false => format!("{path}.{k}"),
                };
                let get = |m: &Map<String, Value>| m.get(k).cloned().unwrap_or(ABSENT);
                leaves(&at, &get(a), &get(b), out);
            }
        }
        (Value::Array(a), Value::Array(b))
            if a.len() == b.len() && a.iter().any(Value::is_object) =>
        {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                leaves(&format!("{path}[{i}]"), x, y, out);
            }
        }
        _ if was != is => out.push((path.into(), words(was), words(is))),
        _ => {}
    }
}

/// How two descriptions differ: the setting, then and now. Empty if they do not.
pub fn differences(was: &Map<String, Value>, is: &Map<String, Value>) -> Vec<String> {
    let get = |m: &Map<String, Value>, key: &str| m.get(key).cloned().unwrap_or(ABSENT);
    let one = |key: &str, option: &str| {
        let mut all = Vec::new();
        leaves("", &get(was, key), &get(is, key), &mut all);
        all.into_iter()
            .map(move |(place, then, now)| {
                let inside = match place.is_empty() {
                    true => String::new(),
                    false => format!(" ({place})"),
                };
                format!("{option}{inside} was {then}, and is {now}")
            })
            .collect::<Vec<String>>()
    };
    let given: Vec<String> = OPTIONS.iter().flat_map(|(k, o)| one(k, o)).collect();
    let known = |k: &str| OPTIONS.iter().chain(DERIVED).any(|(n, _)| *n == k);
    let mut others: Vec<&String> = was.keys().chain(is.keys()).filter(|k| !known(k)).collect();
    others.sort();
    others.dedup();
    let others: Vec<String> = others.into_iter().flat_map(|k| one(k, k)).collect();
    let all: Vec<String> = given.into_iter().chain(others).collect();
    match all.is_empty() {
        true => DERIVED.iter().flat_map(|(k, o)| one(k, o)).collect(),
        false => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differ(was: Value, is: Value) -> Vec<String> {
        let map = |v: Value| v.as_object().cloned().expect("an object");
        differences(&map(was), &map(is))
    }

    #[test]
    fn the_setting_that_differs_is_named_with_both_values() {
        let was = json!({"criteria": {"tolerance": 1e-6, "outputs": [{"metric": "max_rel"}]}, "seed": 1, "groups": 5});
        let is = json!({"criteria": {"tolerance": 1e-5, "outputs": [{"metric": "max_rel"}]}, "seed": 1, "groups": 5});
        assert_eq!(
            differ(was.clone(), is),
            ["--tolerance, --metric or [accept] (tolerance) was 1e-6, and is 1e-5"]
        );
        assert!(differ(was.clone(), was.clone()).is_empty());
        // What follows from a setting is not said beside it.
        let is = json!({"criteria": was["criteria"], "seed": 2, "groups": 7});
        assert_eq!(differ(was.clone(), is), ["--seed was 1, and is 2"]);
        let is = json!({"criteria": was["criteria"], "seed": 1, "groups": 7});
        assert_eq!(differ(was, is), ["what can change was 5, and is 7"]);
    }

    #[test]
    fn sizes_are_told_by_name() {
        let sizes = |n: i64| json!({"sizes": [["n", n], ["m", 3]]});
        assert_eq!(
            differ(sizes(192), sizes(100)),
            ["--size (n) was 192, and is 100"]
        );
    }

    #[test]
    fn options_that_one_of_the_two_did_not_have_differ_too() {
        let both = json!({"sensitivity": true, "strategy": "guided"});
        assert_eq!(
            differ(both.clone(), json!({"strategy": "guided"})),
            ["--sensitivity was true, and is not given"]
        );
        assert_eq!(
            differ(json!({"strategy": "guided", "new": 1}), both),
            [
                "--sensitivity was not given, and is true",
                "new was 1, and is not given"
            ]
        );
    }
}
