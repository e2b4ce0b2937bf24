//! T4 files: results of a tuner (odgaard/TuningSchema, results-schema 1.0.0).
use super::{
    ConfigurationEntry, EntryTimes, ExchangeError, FailureKind, Tuning, kind, level, object, place,
    runs,
};
use crate::expression::ExpressionValue;
use crate::problem::Assignment;
use crate::space::SpaceParameter;
use serde_json::{Map, Value as Json, json};

/// Version of the schema that is written.
pub const VERSION: &str = "1.0.0";

/// Milliseconds of a unit of time.
fn milliseconds(unit: &str) -> Option<f64> {
    Some(match unit.to_lowercase().as_str() {
        "s" | "sec" | "second" | "seconds" => 1e3,
        // The second is how files of the benchmark hub spell it.
        "" | "ms" | "milliseconds" | "miliseconds" | "millisecond" => 1.0,
        "us" | "µs" | "microseconds" | "microsecond" => 1e-3,
        "ns" | "nanoseconds" | "nanosecond" => 1e-6,
        _ => return None,
    })
}

/// Reads a T4 file.
pub fn read(whole: &Json) -> Result<Tuning, ExchangeError> {
    let whole = object(whole, "the file")?;
    let results = whole.get("results").unwrap_or(&Json::Null);
    let results = results.as_array().ok_or_else(|| {
        place(
            "`results`",
            format!("{} where a list belongs", kind(results)),
        )
    })?;
    if results.is_empty() {
        return Err(ExchangeError::Empty("results"));
    }
    let about = whole.get("metadata").and_then(Json::as_object);
    let word = |key: &str| about.and_then(|m| m.get(key)).and_then(Json::as_str);
    let unit = word("timeunit").unwrap_or("milliseconds");
    let unit = milliseconds(unit).ok_or_else(|| {
        place(
            "`metadata.timeunit`",
            format!("`{unit}` is no unit of time"),
        )
    })?;
    // The format has no list of parameters; Kerf writes one beside.
    let mut params: Vec<SpaceParameter> = Vec::new();
    let lists = about
        .and_then(|m| m.get("tune_params"))
        .and_then(Json::as_array);
    for p in lists.into_iter().flatten() {
        let values = p
            .get("values")
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        params.push(SpaceParameter {
            name: p
                .get("name")
                .and_then(Json::as_str)
                .unwrap_or("")
                .to_owned(),
            values: values.filter_map(ExpressionValue::from_json).collect(),
        });
    }
    let listed = !params.is_empty();
    let mut objective: Option<String> = word("objective").map(str::to_owned);
    let mut entries = Vec::new();
    for (i, r) in results.iter().enumerate() {
        let at = format!("`results[{i}]`");
        let r = object(r, &at)?;
        if objective.is_none() {
            let named = r.get("objectives").and_then(Json::as_array);
            let named = named.and_then(|o| o.first()).and_then(Json::as_str);
            objective = named.map(str::to_owned);
        }
        entries.push(entry(&at, r, &mut params, unit)?);
    }
    if !listed {
        sort(&mut params, &mut entries);
    }
    let of = |key: &str| word(key).unwrap_or("unknown").to_owned();
    Ok(Tuning {
        kernel: of("kernel"),
        device: of("device"),
        problem_size: about.and_then(|m| m.get("problem_size")).cloned(),
        objective: objective.unwrap_or_else(|| "time".to_owned()),
        params,
        entries,
        remark: word("remark").unwrap_or("").to_owned(),
    })
}

/// Puts values that were met in the order of a search into their own.
fn sort(params: &mut [SpaceParameter], entries: &mut [ConfigurationEntry]) {
    for (d, p) in params.iter_mut().enumerate() {
        let mut order: Vec<usize> = (0..p.values.len()).collect();
        order.sort_by(|x, y| {
            let (a, b) = (&p.values[*x], &p.values[*y]);
            match (a.number(), b.number()) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                _ => a.name().cmp(&b.name()),
            }
        });
        let mut to = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            to[*old] = new as u8;
        }
        p.values = order.iter().map(|i| p.values[*i].clone()).collect();
        for e in entries.iter_mut() {
            e.point[d] = to[e.point[d] as usize];
        }
    }
}

/// The levels of a configuration; values that are new are added to their parameters.
fn point(
    at: &str,
    r: &Map<String, Json>,
    params: &mut Vec<SpaceParameter>,
) -> Result<Assignment, ExchangeError> {
    let configuration = r.get("configuration").unwrap_or(&Json::Null);
    let configuration = object(configuration, &format!("{at}: `configuration`"))?;
    if params.is_empty() {
        for name in configuration.keys() {
            params.push(SpaceParameter {
                name: name.clone(),
                values: Vec::new(),
            });
        }
    }
    if let Some(extra) = configuration
        .keys()
        .find(|k| !params.iter().any(|p| p.name == **k))
    {
        return Err(place(
            at,
            format!(
                "its configuration has `{extra}`, which the first does not have; help: all results of a file are of one space"
            ),
        ));
    }
    let mut point = Vec::new();
    for p in params.iter_mut() {
        let v = configuration.get(&p.name);
        let v = v.ok_or_else(|| place(at, format!("its configuration has no `{}`", p.name)))?;
        let value =
            ExpressionValue::from_json(v).filter(|v| !matches!(v, ExpressionValue::List(_)));
        let value = value.ok_or_else(|| {
            place(
                at,
                format!(
                    "{} = {v} is neither a number nor text nor a truth value",
                    p.name
                ),
            )
        })?;
        point.push(
            level(p, &value, true)
                .ok_or_else(|| place(at, format!("`{}` has more than 255 values", p.name)))?,
        );
    }
    Ok(point)
}

/// How a configuration failed, if it did.
fn failure(at: &str, r: &Map<String, Json>) -> Result<Option<FailureKind>, ExchangeError> {
    match r.get("invalidity") {
        Some(Json::String(s)) if s == "correct" => Ok(None),
        Some(Json::String(s)) => FailureKind::from_t4(s).map(Some).ok_or_else(|| {
            place(
                format!("{at}: `invalidity`"),
                format!(
                    "`{s}` is none of correct, compile, runtime, constraints, correctness, timeout"
                ),
            )
        }),
        Some(other) => Err(place(
            format!("{at}: `invalidity`"),
            format!("{} where a word belongs", kind(other)),
        )),
        None => Err(place(
            at,
            "it has no `invalidity`; help: `correct` for what ran",
        )),
    }
}

/// What was measured, times in milliseconds.
fn measurements(
    at: &str,
    r: &Map<String, Json>,
    failed: bool,
) -> Result<Vec<(String, Json)>, ExchangeError> {
    let mut measured = Vec::new();
    let list = r.get("measurements").and_then(Json::as_array);
    for m in list.into_iter().flatten() {
        let Some(name) = m.get("name").and_then(Json::as_str) else {
            return Err(place(at, "a measurement has no `name`"));
        };
        let value = m.get("value").unwrap_or(&Json::Null);
        let word = value
            .as_str()
            .and_then(FailureKind::from_kernel_tuner)
            .is_some();
        if (failed && (word || name == "__error__")) || value.is_null() {
            continue;
        }
        let of_time = name == "time" || name.ends_with("_time");
        let unit = m.get("unit").and_then(Json::as_str).unwrap_or("");
        let scale = if of_time {
            milliseconds(unit).unwrap_or(1.0)
        } else {
            1.0
        };
        measured.push((
            name.to_owned(),
            match (scale != 1.0, value.as_f64()) {
                (true, Some(x)) => json!(x * scale),
                _ => value.clone(),
            },
        ));
    }
    Ok(measured)
}

fn entry(
    at: &str,
    r: &Map<String, Json>,
    params: &mut Vec<SpaceParameter>,
    unit: f64,
) -> Result<ConfigurationEntry, ExchangeError> {
    let point = point(at, r, params)?;
    let failed = failure(at, r)?;
    let none = Map::new();
    let spent = r.get("times").and_then(Json::as_object).unwrap_or(&none);
    let in_ms = |key: &str| spent.get(key).and_then(Json::as_f64).map(|x| x * unit);
    let mut times = runs(spent.get("runtimes"), &format!("{at}: `times.runtimes`"))?;
    times.iter_mut().for_each(|t| *t *= unit);
    let mut measured = measurements(at, r, failed.is_some())?;
    // Where only single runs are given, their mean is the time.
    if failed.is_none() && !times.is_empty() && !measured.iter().any(|(n, _)| n == "time") {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        measured.push(("time".to_owned(), json!(mean)));
    }
    Ok(ConfigurationEntry {
        point,
        failed,
        measured,
        times,
        spent: EntryTimes {
            compile: in_ms("compilation").or_else(|| in_ms("compilation_time")),
            benchmark: in_ms("benchmark"),
            framework: in_ms("framework"),
            strategy: in_ms("search_algorithm"),
            verification: in_ms("validation"),
        },
        timestamp: r.get("timestamp").and_then(Json::as_str).map(str::to_owned),
    })
}

/// Writes a T4 file. Kernel, device and the lists of values, for which the format has no place, stand in
/// `metadata`.
pub fn write(t: &Tuning) -> Json {
    let results: Vec<Json> = t.entries.iter().map(|e| result(t, e)).collect();
    let lists: Vec<Json> = t
        .params
        .iter()
        .map(|p| {
            let values: Vec<Json> = p.values.iter().map(ExpressionValue::json).collect();
            json!({ "name": p.name, "values": values })
        })
        .collect();
    json!({
        "schema_version": VERSION,
        "metadata": {
            "timeunit": "milliseconds",
            "kernel": t.kernel,
            "device": t.device,
            "problem_size": t.problem_size,
            "objective": t.objective,
            "tune_params": lists,
            "remark": t.remark,
        },
        "results": results,
    })
}

fn result(t: &Tuning, e: &ConfigurationEntry) -> Json {
    let mut configuration = Map::new();
    for (p, l) in t.params.iter().zip(&e.point) {
        if let Some(v) = p.values.get(*l as usize) {
            configuration.insert(p.name.clone(), v.json());
        }
    }
    let mut times = Map::new();
    let s = e.spent;
    let spent = [
        ("compilation", s.compile),
        ("benchmark", s.benchmark),
        ("framework", s.framework),
        ("search_algorithm", s.strategy),
        ("validation", s.verification),
    ];
    for (name, x) in spent {
        if let Some(x) = x {
            times.insert(name.to_owned(), json!(x));
        }
    }
    times.insert("runtimes".into(), json!(e.times));
    let unit = |name: &str| if name.starts_with("time") { "ms" } else { "" };
    let measured: Vec<Json> = e
        .measured
        .iter()
        .map(|(n, v)| json!({ "name": n, "value": v, "unit": unit(n) }))
        .collect();
    let wrong = e.failed == Some(FailureKind::Correctness);
    let mut out = json!({
        "configuration": configuration,
        "times": times,
        "invalidity": e.failed.map_or("correct", FailureKind::t4),
        "correctness": if wrong { 0.0 } else { 1.0 },
        "measurements": measured,
        "objectives": [t.objective],
    });
    if let (Some(when), Some(o)) = (&e.timestamp, out.as_object_mut()) {
        o.insert("timestamp".into(), json!(when));
    }
    out
}
