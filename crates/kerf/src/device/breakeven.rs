//! `kerf device breakeven`: where f64, float2 or double2 wins.
use super::load;
use super::marks::UNKNOWN;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_device::breakeven::{Basis, BreakevenRow, FUNCTIONS, Side, Winner, rows};
use kerf_device::picture::short_number;
use kerf_device::profile::DeviceProfile;
use serde_json::json;

/// One profile for each architecture; the others measured functions, not arithmetic, or are second
/// readings.
const USUAL: [&str; 13] = [
    "fermi", "kepler", "maxwell", "pascal", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90",
    "sm_100", "sm_103", "sm_120",
];

/// Which profiles.
#[derive(clap::Args)]
pub struct Args {
    /// Names, cards, compute capabilities or files of profiles; all architectures without any.
    #[arg(value_name = "NAME|FILE")]
    profiles: Vec<String>,
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let all = match a.profiles.is_empty() {
        // Measured profiles of cards that come with Kerf belong to the picture.
        true => USUAL
            .into_iter()
            .map(str::to_owned)
            .chain(measured()?)
            .collect(),
        false => a.profiles.clone(),
    };
    let all: Vec<DeviceProfile> = all.iter().map(|n| load(n)).collect::<Result<_, _>>()?;
    let compared: Vec<_> = all.iter().map(|p| (p, rows(p))).collect();
    if format == Format::Json {
        let profiles: Vec<_> = compared
            .iter()
            .map(|(p, r)| json!({ "name": p.name, "arch": p.arch, "functions": r }))
            .collect();
        say(&format!(
            "{}\n",
            json!({ "schema": "kerf.breakeven/1", "profiles": profiles })
        ))?;
        return Ok(0);
    }
    let mut out = format!(
        "{}\n{}",
        style.bold("The faster of f64 and float2, and how many times"),
        summary(&compared, style)
    );
    out += &format!(
        "\n{}\n{}",
        style.bold(
            "Results per clock per SM, correct bits in the worst case; double2 in f64 operations"
        ),
        details(&compared, style)
    );
    out += "\n  m measured   p published   d derived from instruction counts and the units' rates\n  \
            float2: two f32 words; double2: two f64 words; bits of fma are of |ab| + |c|\n";
    say(&out)?;
    Ok(0)
}

fn measured() -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for b in kerf_device::bundled::BUNDLED {
        if load(b.name)?.origin.mode != "published" {
            names.push(b.name.to_owned());
        }
    }
    Ok(names)
}

fn winner(r: &BreakevenRow) -> String {
    match (r.winner, r.factor) {
        (Some(w), Some(f)) => {
            let name = match w {
                Winner::F64 => "f64",
                Winner::Float2 => "float2",
            };
            format!("{name} {}x", short_number(f))
        }
        _ => UNKNOWN.into(),
    }
}

fn summary(compared: &[(&DeviceProfile, Vec<BreakevenRow>)], style: Style) -> String {
    let head = ["profile", "arch"].into_iter().chain(FUNCTIONS);
    let mut t = Table::new(2, head);
    for (p, rows) in compared {
        t.row(
            [p.name.clone(), p.arch.clone()]
                .into_iter()
                .chain(rows.iter().map(winner)),
        );
    }
    t.render(style)
}

fn rate(s: Side) -> String {
    let Some(r) = s.rate else {
        return UNKNOWN.into();
    };
    let mark = match r.basis {
        Basis::Measured => 'm',
        Basis::Published => 'p',
        Basis::Derived => 'd',
    };
    format!("{} {mark}", short_number(r.per_clock))
}

fn bits(s: Side) -> String {
    s.bits.map_or(UNKNOWN.into(), |b| format!("{b:.1}"))
}

fn details(compared: &[(&DeviceProfile, Vec<BreakevenRow>)], style: Style) -> String {
    let mut t = Table::new(
        2,
        [
            "profile", "", "f64", "bits", "float2", "bits", "wins", "double2", "bits", "costs",
        ],
    );
    for (p, rows) in compared {
        for (i, r) in rows.iter().enumerate() {
            t.row([
                if i == 0 {
                    p.name.clone()
                } else {
                    String::new()
                },
                r.function.to_owned(),
                rate(r.f64),
                bits(r.f64),
                rate(r.float2),
                bits(r.float2),
                winner(r),
                rate(r.double2),
                bits(r.double2),
                r.double2_cost
                    .map_or(UNKNOWN.into(), |c| format!("{}x", short_number(c))),
            ]);
        }
    }
    t.render(style)
}
