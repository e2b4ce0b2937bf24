//! `kerf quantize methods`: what there is.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_quant::methods::METHODS;
use kerf_quant::networks::NETWORKS;
use serde_json::json;

/// Lists methods and networks.
pub fn run(format: Format, style: Style) -> Result<i32, Failure> {
    if format == Format::Json {
        let methods = METHODS
            .iter()
            .map(|m| json!({"name": m.name, "what": m.what, "source": m.source}));
        let networks = NETWORKS
            .iter()
            .map(|n| json!({"name": n.name, "what": n.what}));
        let all = json!({
            "schema": "kerf.quantize-methods/1",
            "methods": methods.collect::<Vec<_>>(),
            "networks": networks.collect::<Vec<_>>(),
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let mut t = Table::new(3, ["method", "activations have", "from"]);
    for m in METHODS {
        t.row([m.name, m.what, m.source]);
    }
    let mut n = Table::new(2, ["network", "what it is"]);
    for e in NETWORKS {
        n.row([e.name, e.what]);
    }
    say(&format!("{}\n{}", t.render(style), n.render(style)))?;
    Ok(0)
}
