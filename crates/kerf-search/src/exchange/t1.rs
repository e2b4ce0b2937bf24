//! T1 files: the description of a tuning problem (odgaard/TuningSchema, input-schema 1.0.0). Lists of values and
//! conditions are expressions in Python's way of writing.
use super::{ExchangeError, Tuning, kind, object, place};
use crate::expression::{Expression, ExpressionValue};
use crate::space::{Space, SpaceParameter};
use serde_json::{Map, Value as Json, json};

/// A problem as a T1 file has it.
#[derive(Debug)]
pub struct Description {
    /// Parameters and conditions.
    pub space: Space,
    /// The name of the kernel.
    pub kernel: String,
    /// The whole file, so that what is not read is not lost.
    pub whole: Json,
}

/// Reads a T1 file.
pub fn read(whole: &Json) -> Result<Description, ExchangeError> {
    let top = object(whole, "the file")?;
    let part = |name: &str| {
        let found = top.get(name);
        found.ok_or_else(|| {
            place(
                format!("`{name}`"),
                "it is missing; help: T1 files have `ConfigurationSpace` and `KernelSpecification`",
            )
        })
    };
    let space = object(part("ConfigurationSpace")?, "`ConfigurationSpace`")?;
    let kernel = object(part("KernelSpecification")?, "`KernelSpecification`")?;
    let list = space
        .get("TuningParameters")
        .and_then(Json::as_array)
        .ok_or_else(|| {
            place(
                "`ConfigurationSpace.TuningParameters`",
                "it is missing or no list",
            )
        })?;
    let mut params = Vec::new();
    for (i, p) in list.iter().enumerate() {
        params.push(param(&format!("`TuningParameters[{i}]`"), p)?);
    }
    let mut out = Space::new(params);
    let conditions = space.get("Conditions").unwrap_or(&Json::Null);
    for (i, c) in conditions.as_array().into_iter().flatten().enumerate() {
        let at = format!("`Conditions[{i}]`");
        let text = c.get("Expression").and_then(Json::as_str);
        let text = text.ok_or_else(|| place(&at, "it has no `Expression` as text"))?;
        out.constrain(text)?;
    }
    let name = kernel
        .get("KernelName")
        .and_then(Json::as_str)
        .unwrap_or("unknown");
    Ok(Description {
        space: out,
        kernel: name.to_owned(),
        whole: whole.clone(),
    })
}

fn param(at: &str, p: &Json) -> Result<SpaceParameter, ExchangeError> {
    let p = object(p, at)?;
    let text = |key: &str| p.get(key).and_then(Json::as_str);
    let name = text("Name").ok_or_else(|| place(at, "it has no `Name` as text"))?;
    let at = format!("parameter `{name}`");
    let values = match p.get("Values") {
        Some(Json::String(s)) => {
            let wrong = |e| ExchangeError::Expression(at.clone(), e);
            let e = Expression::parse(s).map_err(wrong)?;
            e.constant().map_err(wrong)?
        }
        // The schema says text, and some write the list itself.
        Some(list @ Json::Array(_)) => ExpressionValue::from_json(list)
            .ok_or_else(|| place(&at, "its `Values` hold null or objects"))?,
        Some(other) => {
            return Err(place(
                &at,
                format!(
                    "its `Values` are {}; help: a list as text, \"[1, 2, 4]\"",
                    kind(other)
                ),
            ));
        }
        None => return Err(place(&at, "it has no `Values`")),
    };
    let ExpressionValue::List(values) = values else {
        return Err(place(&at, "its `Values` are no list; help: \"[1, 2, 4]\""));
    };
    let fits = |v: &ExpressionValue| match text("Type") {
        Some("int") => matches!(v, ExpressionValue::Int(_)),
        Some("uint") => matches!(v, ExpressionValue::Int(i) if *i >= 0),
        Some("float") => matches!(v, ExpressionValue::Int(_) | ExpressionValue::Real(_)),
        Some("bool") => matches!(v, ExpressionValue::Bool(_) | ExpressionValue::Int(0 | 1)),
        Some("string") => matches!(v, ExpressionValue::Text(_)),
        _ => true,
    };
    if let Some(t) =
        text("Type").filter(|t| !["int", "uint", "float", "bool", "string"].contains(t))
    {
        return Err(place(
            &at,
            format!("its `Type` is `{t}`; help: int, uint, float, bool or string"),
        ));
    }
    if let Some(v) = values.iter().find(|v| !fits(v)) {
        return Err(place(
            &at,
            format!(
                "{} is not of its type `{}`",
                v.name(),
                text("Type").unwrap_or("")
            ),
        ));
    }
    Ok(SpaceParameter {
        name: name.to_owned(),
        values,
    })
}

/// A value as Python writes it.
fn python(v: &ExpressionValue) -> String {
    match v {
        ExpressionValue::Bool(true) => "True".into(),
        ExpressionValue::Bool(false) => "False".into(),
        ExpressionValue::Text(s) => format!("'{s}'"),
        other => other.name(),
    }
}

fn kind_of(p: &SpaceParameter) -> &'static str {
    let all = |f: fn(&ExpressionValue) -> bool| p.values.iter().all(f);
    if all(|v| matches!(v, ExpressionValue::Int(_))) {
        "int"
    } else if all(|v| matches!(v, ExpressionValue::Int(_) | ExpressionValue::Real(_))) {
        "float"
    } else if all(|v| matches!(v, ExpressionValue::Bool(_))) {
        "bool"
    } else {
        "string"
    }
}

/// Writes parameters and conditions; `kernel` is the `KernelSpecification`.
pub fn write(space: &Space, kernel: Json) -> Json {
    let parameters: Vec<Json> = space
        .params
        .iter()
        .map(|p| {
            let values: Vec<String> = p.values.iter().map(python).collect();
            json!({
                "Name": p.name,
                "Type": kind_of(p),
                "Values": format!("[{}]", values.join(", ")),
            })
        })
        .collect();
    let conditions: Vec<Json> = space
        .constraints
        .iter()
        .map(|c| {
            let names = Expression::parse(&c.text).map_or(Vec::new(), |e| e.names().to_vec());
            json!({ "Expression": c.text, "Parameters": names })
        })
        .collect();
    json!({
        "General": { "FormatVersion": 1, "TimeUnit": "Milliseconds", "OutputFormat": "JSON" },
        "ConfigurationSpace": { "TuningParameters": parameters, "Conditions": conditions },
        "KernelSpecification": kernel,
    })
}

/// The `KernelSpecification` that recorded results allow: the file of the kernel and its arguments are not in
/// them, and stay empty.
pub fn specification(t: &Tuning) -> Json {
    let size = |i: usize| match &t.problem_size {
        Some(Json::Array(a)) => a.get(i).cloned(),
        Some(Json::Number(n)) if i == 0 => Some(Json::Number(n.clone())),
        _ => None,
    };
    let axes = ["X", "Y", "Z"];
    let mut global = Map::new();
    let mut local = Map::new();
    for (i, axis) in axes.into_iter().enumerate() {
        let block = format!("block_size_{}", axis.to_lowercase());
        let tuned = t.params.iter().any(|p| p.name == block);
        let n = size(i).map_or("1".to_owned(), |n| n.to_string());
        global.insert(axis.into(), json!(n));
        local.insert(axis.into(), json!(if tuned { block } else { "1".into() }));
    }
    json!({
        "Language": "CUDA",
        "KernelName": t.kernel,
        "KernelFile": "",
        "GlobalSizeType": "OpenCL",
        "GlobalSize": global,
        "LocalSize": local,
        "Arguments": [],
    })
}
