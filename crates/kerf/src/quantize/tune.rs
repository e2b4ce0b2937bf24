//! `kerf quantize tune`: the fewest bits for each tensor within a drop of accuracy.
use super::opened::{DataArgs, Trained, fits, trained};
use super::progress::Progress;
use super::train::percent;
use crate::fail::Failure;
use crate::files::write_whole;
use crate::output::{Format, Style, say};
use crate::parse::{ArgumentError, parse_if};
use crate::table::Table;
use kerf_quant::accuracy_loss::{drop_points, judge_drop};
use kerf_quant::backend::BatchScore;
use kerf_quant::bits::{BitsRequest, FoundBits, Gain, search, with_bits};
use kerf_quant::data::Dataset;
use kerf_quant::data::part::Part;
use kerf_quant::decision::Decision;
use kerf_quant::interval::{ConfidenceInterval, of_part};
use kerf_quant::size::{Size, size};
use kerf_quant::train::evaluate;
use kerf_search::StrategyName;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    strategy: StrategyName,
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

fn parse_drop(s: &str) -> Result<f64, ArgumentError> {
    let plain = s.trim().trim_end_matches('%').trim();
    let expected = "percentage points of accuracy from 0 to 100, e.g. 0.5%";
    parse_if(plain, |v| (0.0..=100.0).contains(v), expected)
}

/// What the search's data cannot show.
fn notes(progress: &mut Progress, data: &Part, held: f64, max_drop: f64) {
    if held == 0.0 {
        progress.say(
            "note: training held nothing out; the search uses samples that the network has seen",
        );
    }
    let coarse = 100.0 / data.len().max(1) as f64;
    if coarse > max_drop && max_drop > 0.0 {
        progress.say(&format!(
            "note: one of {} samples is {coarse:.2} points, so a drop of {max_drop} cannot be seen on them; a larger --held-out or \
             --part helps",
            data.len()
        ));
    }
}

/// A search that is over.
struct Searched<'s> {
    max_drop: f64,
    found: &'s FoundBits,
    /// Name of the data, and whether training had not seen it.
    data: String,
    held_out: bool,
}

impl Searched<'_> {
    fn json(&self, test: Value, size: Value, met: bool) -> Value {
        json!({
            "schema": "kerf.quantize-tune/1",
            "max_drop_points": self.max_drop,
            "searched_on": self.data,
            "held_out": self.held_out,
            "found": self.found,
            "test": test,
            "size": size,
            "met": met,
        })
    }

    /// That no choice of bits is within the drop.
    fn nothing(&self, format: Format) -> Result<i32, Failure> {
        if format == Format::Json {
            let report = self.json(Value::Null, Value::Null, false);
            say(&format!("{report:#}\n"))?;
            return Ok(1);
        }
        let least = self.found.tried.first().map_or(0.0, |f| f.drop_points);
        say(&format!(
            "nothing loses {} points or less: the bits of training themselves lose {least:.2}\n",
            self.max_drop
        ))?;
        Ok(1)
    }
}

/// The network at the bits that were chosen, on the test data.
struct Tested {
    chosen: Vec<f64>,
    before: BatchScore,
    after: BatchScore,
    weight: Size,
    drop: f64,
    met: bool,
}

impl Tested {
    fn new(
        t: &mut Trained,
        bits: &BTreeMap<String, f64>,
        test: &dyn Dataset,
        max_drop: f64,
    ) -> Result<Tested, Failure> {
        let chosen: Vec<f64> = t.model.points.iter().map(|p| bits[&p.name]).collect();
        let pass: Vec<Decision> = t
            .model
            .points
            .iter()
            .map(|p| Decision::pass(p.scheme))
            .collect();
        let at = with_bits(&t.model.decisions, &chosen);
        let before = evaluate(t.backend.as_mut(), test, &pass)?;
        let after = evaluate(t.backend.as_mut(), test, &at)?;
        Ok(Tested {
            weight: size(&t.graph, &t.model.points, &chosen),
            drop: drop_points(&before, &after),
            met: judge_drop(&before, &after, max_drop).accepted(),
            chosen,
            before,
            after,
        })
    }

    fn human(&self, a: &TuneArgs, t: &Trained, searched: &Searched, style: Style) -> String {
        let mut table = Table::new(1, ["tensor", "bits", "trained at"]);
        for ((p, b), from) in t.model.points.iter().zip(&self.chosen).zip(&t.model.bits) {
            table.row([p.name.clone(), b.to_string(), from.to_string()]);
        }
        let verdict = match self.met {
            true => style.good("within the drop asked for"),
            false => style.bad("more than the drop asked for, on data that the search did not see"),
        };
        let (found, weight, drop) = (searched.found, &self.weight, self.drop);
        let file = a.folder.join("bits.json");
        let seed = a.seed.unwrap_or(t.result.seeds[0].seed);
        format!(
            "{}\n  searched  {} evaluations ({}); drop {:.2} points on {}\n  test      {} quantized, {} not: drop {drop:.2} points, {verdict}\n  \
             size      {:.1} kB of {:.1} kB in FP32; bit operations 1/{:.1} of FP32, {:.2} of those at the bits of training\n\n{}\n\
             {} has the bits; kerf quantize train --bits-of {} --weights {} trains with them\n",
            style.bold("bits for each tensor"),
            found.tried.len(),
            found.reason,
            found.drop_points.unwrap_or(0.0),
            searched.data,
            percent(&part(&self.after)),
            percent(&part(&self.before)),
            weight.bytes / 1e3,
            weight.fp32_bytes / 1e3,
            weight.fp32_bit_operations / weight.bit_operations,
            weight.bit_operations / size(&t.graph, &t.model.points, &t.model.bits).bit_operations,
            table.render(style),
            file.display(),
            file.display(),
            a.folder
                .join(format!("seed-{seed}/weights.safetensors"))
                .display(),
        )
    }
}

fn part(s: &BatchScore) -> ConfidenceInterval {
    of_part(s.correct, s.count)
}

fn write(file: &Path, text: String) -> Result<(), Failure> {
    write_whole(file, text).map_err(|e| Failure::new(format!("{}: {e}", file.display())))
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
    let request = BitsRequest {
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
        strategy: a.strategy,
        budget: a.budget,
        seed: 1,
    };
    let mut progress = Progress::default();
    notes(&mut progress, &data, held, a.max_drop);
    let found = search(&request, t.backend.as_mut(), &mut |done, drop, best| {
        let best = best.map_or(String::new(), |b| format!("; best {b:.3} of the cost"));
        progress.status(&format!(
            "evaluation {done} of {}: drop {drop:.2} points{best}",
            a.budget
        ));
    });
    progress.end();
    let found = found?;
    let searched = Searched {
        max_drop: a.max_drop,
        found: &found,
        data: data.name(),
        held_out: held > 0.0,
    };
    let Some(bits) = &found.bits else {
        return searched.nothing(format);
    };
    let tested = Tested::new(&mut t, bits, test.as_ref(), a.max_drop)?;
    let text = serde_json::to_string_pretty(bits).map_err(|e| Failure::new(e.to_string()))?;
    write(&a.folder.join("bits.json"), format!("{text}\n"))?;
    let on_test = json!({
        "data": test.name(), "unquantized": part(&tested.before), "quantized": part(&tested.after), "drop_points": tested.drop
    });
    let report = searched.json(on_test, json!(tested.weight), tested.met);
    write(&a.folder.join("tune.json"), format!("{report:#}\n"))?;
    match format {
        Format::Json => say(&format!("{report:#}\n"))?,
        Format::Human | Format::Csv => say(&tested.human(a, &t, &searched, style))?,
    }
    Ok(i32::from(!tested.met))
}
