//! `kerf device list`: the profiles that come with Kerf.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_device::bundled::BUNDLED;
use kerf_device::profile::{FigureSource, figures};
use serde_json::json;

/// Runs the command.
pub fn run(format: Format, style: Style) -> Result<i32, Failure> {
    let mut t = Table::new(
        4,
        [
            "name",
            "arch",
            "gpu",
            "also known as",
            "measured",
            "published",
        ],
    );
    let mut list = Vec::new();
    for b in BUNDLED {
        let p = super::load(b.name)?;
        let count = |measured: bool| {
            let known = figures(&p).into_iter().filter(|(_, f)| f.value.is_some());
            known
                .filter(|(_, f)| (f.source == FigureSource::Measured) == measured)
                .count()
        };
        let (measured, published) = (count(true), count(false));
        let names: Vec<_> = b.cards.iter().chain(b.relatives).copied().collect();
        t.row([
            b.name.to_owned(),
            p.arch.clone(),
            p.gpu.clone(),
            names.join(", "),
            measured.to_string(),
            published.to_string(),
        ]);
        list.push(json!({
            "name": b.name,
            "arch": p.arch,
            "gpu": p.gpu,
            "cards": b.cards,
            "relatives": b.relatives,
            "measured": measured,
            "published": published,
        }));
    }
    match format {
        Format::Json => say(&format!(
            "{}\n",
            json!({ "schema": "kerf.device-list/1", "profiles": list })
        ))?,
        Format::Human | Format::Csv => say(&t.render(style))?,
    }
    Ok(0)
}
