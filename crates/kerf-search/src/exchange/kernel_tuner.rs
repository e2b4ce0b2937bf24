//! Cache files of Kernel Tuner (van Werkhoven 2019): `cache` maps a key to parameters and results; what failed
//! has a word instead of its time.
use super::{
    ConfigurationEntry, EntryTimes, ExchangeError, FAILED, FailureKind, Tuning, kind, level,
    object, place, runs,
};
use crate::expression::ExpressionValue;
use crate::space::SpaceParameter;
use serde_json::{Map, Value as Json, json};

/// Names of time spent, in the order of [`EntryTimes`].
const SPENT: [&str; 5] = [
    "compile_time",
    "benchmark_time",
    "framework_time",
    "strategy_time",
    "verification_time",
];

/// A file that was not closed, closed: Kernel Tuner closes it only when it ends.
pub fn closed(bytes: &[u8]) -> Option<Json> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    let text = text.strip_suffix(',').unwrap_or(text);
    let value: Json = serde_json::from_str(&format!("{text}}}}}")).ok()?;
    value.get("cache").is_some().then_some(value)
}

fn params(whole: &Map<String, Json>) -> Result<Vec<SpaceParameter>, ExchangeError> {
    let lists = whole.get("tune_params").ok_or_else(|| {
        place(
            "`tune_params`",
            "it is missing; help: a cache file has the values of every parameter there",
        )
    })?;
    let lists = object(lists, "`tune_params`")?;
    let keys: Vec<&str> = match whole.get("tune_params_keys") {
        None => lists.keys().map(String::as_str).collect(),
        Some(k) => {
            let list = k.as_array().into_iter().flatten();
            let keys: Option<Vec<&str>> = list.map(Json::as_str).collect();
            keys.filter(|_| k.is_array())
                .ok_or_else(|| place("`tune_params_keys`", "it is not a list of names"))?
        }
    };
    let mut out = Vec::new();
    for key in keys {
        let values = lists.get(key).and_then(Json::as_array);
        let values = values
            .ok_or_else(|| place("`tune_params`", format!("it has no list `{key}`; help: every name of `tune_params_keys` has its list there")))?;
        let read = |v: &Json| {
            let read =
                ExpressionValue::from_json(v).filter(|v| !matches!(v, ExpressionValue::List(_)));
            let why = || format!("{} where a number, text or truth value belongs", kind(v));
            read.ok_or_else(|| place(format!("`tune_params.{key}`"), why()))
        };
        out.push(SpaceParameter {
            name: key.to_owned(),
            values: values.iter().map(read).collect::<Result<_, _>>()?,
        });
    }
    Ok(out)
}

/// Reads a cache.
pub fn read(whole: &Json) -> Result<Tuning, ExchangeError> {
    let whole = object(whole, "the file")?;
    let cache = object(whole.get("cache").unwrap_or(&Json::Null), "`cache`")?;
    let mut params = params(whole)?;
    if cache.is_empty() {
        return Err(ExchangeError::Empty("cache"));
    }
    let word = |key: &str| whole.get(key).and_then(Json::as_str).unwrap_or("unknown");
    let objective = match whole.get("objective") {
        None | Some(Json::Null) => "time".to_owned(),
        Some(Json::String(s)) => s.clone(),
        Some(other) => {
            return Err(place(
                "`objective`",
                format!(
                    "{} where a name belongs; help: choose one with --objective",
                    kind(other)
                ),
            ));
        }
    };
    let mut entries = Vec::new();
    for (name, e) in cache {
        entries.push(entry(name, e, &mut params, &objective)?);
    }
    Ok(Tuning {
        kernel: word("kernel_name").to_owned(),
        device: word("device_name").to_owned(),
        problem_size: whole.get("problem_size").cloned(),
        objective,
        params,
        entries,
        remark: match whole.get("remark") {
            Some(Json::String(s)) => s.clone(),
            _ => String::new(),
        },
    })
}

fn entry(
    name: &str,
    e: &Json,
    params: &mut [SpaceParameter],
    objective: &str,
) -> Result<ConfigurationEntry, ExchangeError> {
    let at = format!("entry `{name}` of `cache`");
    let e = object(e, &at)?;
    let mut point = Vec::new();
    for p in params.iter_mut() {
        let Some(v) = e.get(&p.name) else {
            return Err(place(
                at,
                format!(
                    "it has no `{}`; help: every parameter of `tune_params_keys` belongs in every entry",
                    p.name
                ),
            ));
        };
        let value = ExpressionValue::from_json(v);
        let found = value.and_then(|v| level(p, &v, false));
        let shown = v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        point.push(found.ok_or_else(|| {
            place(&at, format!("{} = `{shown}`, which is not among the first 255 of its values in `tune_params`", p.name))
        })?);
    }
    // A word of failure may stand in any field.
    let words = e.values().filter_map(Json::as_str);
    let mut failed = words.filter_map(FailureKind::from_kernel_tuner).next();
    match e.get(objective) {
        Some(Json::Number(n)) => {
            let x = n.as_f64().unwrap_or(f64::INFINITY);
            if x >= FAILED {
                failed = failed.or(Some(FailureKind::Runtime));
            } else if objective == "time" && x <= 0.0 && failed.is_none() {
                return Err(place(
                    at,
                    format!(
                        "its `time` is {x}; help: times are above 0, and what failed has a word instead"
                    ),
                ));
            }
        }
        // Other words, as of other tuners that write this format.
        Some(Json::String(_)) => failed = failed.or(Some(FailureKind::Runtime)),
        Some(other) if failed.is_none() => {
            return Err(place(
                at,
                format!(
                    "its `{objective}` is {}; help: a number, or a word for what failed",
                    kind(other)
                ),
            ));
        }
        None if failed.is_none() => {
            return Err(place(
                at,
                format!(
                    "it has no `{objective}`, which is the objective; help: choose another with --objective"
                ),
            ));
        }
        _ => {}
    }
    let mut measured = Vec::new();
    for (key, v) in e {
        let own = params.iter().any(|p| p.name == *key) || SPENT.contains(&key.as_str());
        let word = v
            .as_str()
            .is_some_and(|w| FailureKind::from_kernel_tuner(w).is_some());
        let failure = failed.is_some() && (key == objective || key == "__error__");
        if !own && !word && !failure && !["times", "timestamp"].contains(&key.as_str()) {
            measured.push((key.clone(), v.clone()));
        }
    }
    let spent = |i: usize| e.get(SPENT[i]).and_then(Json::as_f64);
    Ok(ConfigurationEntry {
        point,
        failed,
        measured,
        times: runs(e.get("times"), &format!("{at}: `times`"))?,
        spent: EntryTimes {
            compile: spent(0),
            benchmark: spent(1),
            framework: spent(2),
            strategy: spent(3),
            verification: spent(4),
        },
        timestamp: e.get("timestamp").and_then(Json::as_str).map(str::to_owned),
    })
}

/// Writes a cache that Kernel Tuner reads, also in simulation mode.
pub fn write(t: &Tuning) -> String {
    // Kernel Tuner compares the order of the lists with that of the names.
    let lists: Vec<String> = t
        .params
        .iter()
        .map(|p| {
            let values: Vec<Json> = p.values.iter().map(ExpressionValue::json).collect();
            format!("{}: {}", json!(p.name), json!(values))
        })
        .collect();
    let keys: Vec<&str> = t.params.iter().map(|p| p.name.as_str()).collect();
    let mut head = vec![
        format!("\"device_name\": {}", json!(t.device)),
        format!("\"kernel_name\": {}", json!(t.kernel)),
    ];
    // Kernel Tuner wants one, also where nobody knows it.
    let size = t.problem_size.clone().unwrap_or_else(|| json!([1]));
    head.push(format!("\"problem_size\": {size}"));
    if !t.remark.is_empty() {
        head.push(format!("\"remark\": {}", json!(t.remark)));
    }
    head.push(format!("\"tune_params_keys\": {}", json!(keys)));
    head.push(format!("\"tune_params\": {{{}}}", lists.join(", ")));
    head.push(format!("\"objective\": {}", json!(t.objective)));
    let lines: Vec<String> = t.entries.iter().map(|e| line(t, e)).collect();
    // Kernel Tuner takes a file for closed by these last characters.
    format!(
        "{{\n{},\n\"cache\": {{\n{}}}\n}}",
        head.join(",\n"),
        lines.join(",\n")
    )
}

fn line(t: &Tuning, e: &ConfigurationEntry) -> String {
    let mut fields = Map::new();
    let mut key = Vec::new();
    for (p, l) in t.params.iter().zip(&e.point) {
        if let Some(v) = p.values.get(*l as usize) {
            // Kernel Tuner finds an entry by Python's text of its values.
            key.push(match v {
                ExpressionValue::Bool(true) => "True".to_owned(),
                ExpressionValue::Bool(false) => "False".to_owned(),
                v => v.name(),
            });
            fields.insert(p.name.clone(), v.json());
        }
    }
    if let Some(f) = e.failed {
        fields.insert(t.objective.clone(), json!(f.kernel_tuner()));
    }
    for (name, v) in &e.measured {
        fields.insert(name.clone(), v.clone());
    }
    if !e.times.is_empty() {
        fields.insert("times".into(), json!(e.times));
    }
    let s = e.spent;
    let spent = [
        s.compile,
        s.benchmark,
        s.framework,
        s.strategy,
        s.verification,
    ];
    for (name, x) in SPENT.iter().zip(spent) {
        // Kernel Tuner adds these up, also where nobody measured them.
        fields.insert((*name).to_owned(), json!(x.unwrap_or(0.0)));
    }
    if let Some(when) = &e.timestamp {
        fields.insert("timestamp".into(), json!(when));
    }
    format!("{}: {}", json!(key.join(",")), Json::Object(fields))
}
