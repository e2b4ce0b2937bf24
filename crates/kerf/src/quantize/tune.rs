//! `kerf quantize tune`: the fewest bits for each tensor within a drop of accuracy.
use super::opened::{DataArgs, fits, trained};
use super::progress::Progress;
use super::train::percent;
use crate::fail::Failure;
use crate::files::write_whole;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_quant::accuracy_loss::{drop_points, judge_drop};
use kerf_quant::bits::{Gain, Request, search, with_bits};
use kerf_quant::data::part::Part;
use kerf_quant::decision::Decision;
use kerf_quant::interval::of_part;
use kerf_quant::size::size;
use kerf_quant::train::evaluate;
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct TuneArgs {
    /// Folder that kerf quantize train made, with quantization.
    folder: PathBuf,
    /// Largest drop of accuracy against no quantization, in percentage points: 0.5%.
    #[arg(long, value_name = "POINTS", value_parser = parse_drop, allow_negative_numbers = true)]
    max_drop: f64,
    /// What becomes small: bit-operations, or size (weights only).
    #[arg(long, default_value = "bit-operations", value_parser = ["bit-operations", "size"])]
    gain: String,
    /// Strategy, as for kernels: guided, random, delta-debug, ...
    #[arg(long, default_value = "guided")]
    strategy: String,
    /// Evaluations at most.
    #[arg(long, default_value_t = 60, allow_negative_numbers = true, value_parser = crate::parse_count)]
    budget: usize,
    /// Part of the training data to search with, if training held none out.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true)]
    part: f64,
    /// Which seed of the folder; the first by default.
    #[arg(long, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: Option<u64>,
    #[command(flatten)]
    at: DataArgs,
}

fn parse_drop(s: &str) -> Result<f64, String> {
    let plain = s.trim().trim_end_matches('%').trim();
    let value: Option<f64> = plain.parse().ok();
    let ok = value.filter(|v| (0.0..=100.0).contains(v));
    ok.ok_or_else(|| "expected percentage points of accuracy from 0 to 100, e.g. 0.5%".into())
}

/// Searches, and evaluates the result on the test data.
pub fn run(a: &TuneArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let mut t = trained(&a.folder, a.seed, &a.at)?;
    if t.model.points.is_empty() {
        return Err(Failure::new(format!(
            "{} was trained without quantization",
            a.folder.display()
        ))
        .help("train it with --bits 8 first: ranges of activations are known from that"));
    }
    let (all, test) = a.at.open(&t.result.recipe.data)?;
    fits(&t.model, all.as_ref())?;
    let held = t.result.recipe.held_out;
    let (_, data) = Part::split(all.as_ref(), if held > 0.0 { held } else { a.part });
    let request = Request {
        graph: &t.graph,
        points: &t.model.points,
        decisions: &t.model.decisions,
        bits: &t.model.bits,
        data: &data,
        max_drop: a.max_drop,
        gain: match a.gain.as_str() {
            "size" => Gain::Bytes,
            _ => Gain::BitOperations,
        },
        strategy: &a.strategy,
        budget: a.budget,
        seed: 1,
    };
    let mut progress = Progress::default();
    if held == 0.0 {
        progress.say(
            "note: training held nothing out; the search uses samples that the network has seen",
        );
    }
    let coarse = 100.0 / kerf_quant::data::Dataset::len(&data).max(1) as f64;
    if coarse > a.max_drop && a.max_drop > 0.0 {
        progress.say(&format!(
            "note: one of {} samples is {coarse:.2} points, so a drop of {} cannot be seen on them; a larger --held-out or \
             --part helps",
            kerf_quant::data::Dataset::len(&data),
            a.max_drop
        ));
    }
    let found = search(&request, t.backend.as_mut(), &mut |done, drop, best| {
        let best = best.map_or(String::new(), |b| format!("; best {b:.3} of the cost"));
        progress.status(&format!(
            "evaluation {done} of {}: drop {drop:.2} points{best}",
            a.budget
        ));
    });
    progress.end();
    let found = found?;
    let Some(bits) = &found.bits else {
        if format == Format::Json {
            let report = json!({
                "schema": "kerf.quantize-tune/1",
                "max_drop_points": a.max_drop,
                "searched_on": kerf_quant::data::Dataset::name(&data),
                "held_out": held > 0.0,
                "found": found,
                "test": null,
                "size": null,
                "met": false,
            });
            say(&format!("{report:#}\n"))?;
            return Ok(1);
        }
        let least = found.tried.first().map_or(0.0, |f| f.drop_points);
        say(&format!(
            "nothing loses {} points or less: the bits of training themselves lose {least:.2}\n",
            a.max_drop
        ))?;
        return Ok(1);
    };
    let chosen: Vec<f64> = t.model.points.iter().map(|p| bits[&p.name]).collect();
    let pass: Vec<Decision> = t
        .model
        .points
        .iter()
        .map(|p| Decision::pass(p.scheme))
        .collect();
    let at = with_bits(&t.model.decisions, &chosen);
    let before = evaluate(t.backend.as_mut(), test.as_ref(), &pass)?;
    let after = evaluate(t.backend.as_mut(), test.as_ref(), &at)?;
    let weight = size(&t.graph, &t.model.points, &chosen);
    let drop = drop_points(&before, &after);
    let part = |s: &kerf_quant::backend::Score| of_part(s.correct, s.count);
    let text = serde_json::to_string_pretty(bits).map_err(|e| Failure::new(e.to_string()))?;
    let file = a.folder.join("bits.json");
    let unwritten = |e: std::io::Error| Failure::new(format!("{}: {e}", file.display()));
    write_whole(&file, format!("{text}\n")).map_err(unwritten)?;
    let met = judge_drop(&before, &after, a.max_drop).accepted();
    let report = json!({
        "schema": "kerf.quantize-tune/1",
        "max_drop_points": a.max_drop,
        "searched_on": kerf_quant::data::Dataset::name(&data),
        "held_out": held > 0.0,
        "found": found,
        "test": {"data": test.name(), "unquantized": part(&before), "quantized": part(&after), "drop_points": drop},
        "size": weight,
        "met": met,
    });
    let file = a.folder.join("tune.json");
    let unwritten = |e: std::io::Error| Failure::new(format!("{}: {e}", file.display()));
    write_whole(&file, format!("{report:#}\n")).map_err(unwritten)?;
    if format == Format::Json {
        say(&format!("{report:#}\n"))?;
        return Ok(i32::from(!met));
    }
    let mut table = Table::new(1, ["tensor", "bits", "trained at"]);
    for ((p, b), from) in t.model.points.iter().zip(&chosen).zip(&t.model.bits) {
        table.row([p.name.clone(), b.to_string(), from.to_string()]);
    }
    let verdict = match met {
        true => style.good("within the drop asked for"),
        false => style.bad("more than the drop asked for, on data that the search did not see"),
    };
    say(&format!(
        "{}\n  searched  {} evaluations ({}); drop {:.2} points on {}\n  test      {} quantized, {} not: drop {drop:.2} points, {verdict}\n  \
         size      {:.1} kB of {:.1} kB in FP32; bit operations 1/{:.1} of FP32, {:.2} of those at the bits of training\n\n{}\n\
         {} has the bits; kerf quantize train --bits-of {} --weights {} trains with them\n",
        style.bold("bits for each tensor"),
        found.tried.len(),
        found.reason,
        found.drop_points.unwrap_or(0.0),
        kerf_quant::data::Dataset::name(&data),
        percent(&part(&after)),
        percent(&part(&before)),
        weight.bytes / 1e3,
        weight.fp32_bytes / 1e3,
        weight.fp32_bit_operations / weight.bit_operations,
        weight.bit_operations / size(&t.graph, &t.model.points, &t.model.bits).bit_operations,
        table.render(style),
        a.folder.join("bits.json").display(),
        a.folder.join("bits.json").display(),
        a.folder
            .join(format!(
                "seed-{}/weights.safetensors",
                a.seed.unwrap_or(t.result.seeds[0].seed)
            ))
            .display(),
    ))?;
    Ok(i32::from(!met))
}
