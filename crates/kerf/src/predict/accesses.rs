//! `kerf predict --accesses`: what each global access of the launched kernels moves, by shape.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_ir::address::AccessDirection;
use kerf_ir::address::block::BlockShape;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_llvm::Module;
use kerf_run::job::{JobError, LaunchKind, kinds};
use kerf_tune::launch::space::{self, Component};
use kerf_workload::Workload;
use std::fmt::Write;
use std::path::Path;

/// Shapes that are shown, those with the fewest sectors.
const SHOWN: usize = 12;

/// What is shown, for people and for programs.
#[derive(Default)]
struct Shown {
    text: String,
    json: Vec<serde_json::Value>,
}

/// A program whose accesses are looked at.
struct Subject<'s> {
    workload: &'s Workload,
    module: &'s Module,
    infos: &'s [KernelInfo],
    style: Style,
}

impl Subject<'_> {
    /// The global accesses of a kernel, as it is launched.
    fn kernel(&self, k: &LaunchKind, out: &mut Shown) {
        let shape = BlockShape {
            block: k.launch.block,
            grid: k.launch.grid,
            args: space::scalars(k),
        };
        let [x, y, z] = shape.block;
        let _ = writeln!(
            out.text,
            "{}: blocks of {x} x {y} x {z}",
            self.style.bold(&kernels::shortened(&k.name))
        );
        let columns = [
            "line",
            "access",
            "bytes",
            "strides x y z",
            "sectors",
            "segments",
            "loops",
        ];
        let mut t = Table::new(2, columns);
        for r in space::references(self.module, self.infos, k)
            .iter()
            .filter(|r| !r.shared)
        {
            let way = match r.direction {
                AccessDirection::Load => "load",
                AccessDirection::Store => "store",
                AccessDirection::Atomic => "atomic",
            };
            let strides = r.strides(&shape);
            let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            let shown = match (&strides, &r.offsets) {
                (Some([a, b, c]), _) => format!("{a} {b} {c}"),
                (None, Some(_)) => "not linear".into(),
                _ => "depends on memory".into(),
            };
            out.json.push(serde_json::json!({
                "kernel": k.name, "line": r.line, "object": r.object, "access": way, "bytes": r.bytes,
                "strides": strides, "sectors": r.transactions(32), "segments": r.transactions(128),
                "loops": r.depth, "block": shape.block,
            }));
            t.row([
                r.line.map_or_else(String::new, |l| l.to_string()),
                format!("{way} {}", r.object),
                r.bytes.to_string(),
                shown,
                number(r.transactions(32)),
                number(r.transactions(128)),
                r.depth.to_string(),
            ]);
        }
        out.text += &t.render(self.style);
    }

    /// Sectors and segments that a thread moves, by the shape of a component's launches; those that move least first.
    fn by_shape(&self, c: &Component) -> Vec<(f64, f64, String)> {
        let mut all: Vec<(f64, f64, String)> = Vec::new();
        for p in space::points(self.workload, c).unwrap_or_default() {
            let Ok(launches) = kinds(self.workload, self.infos, &p) else {
                continue;
            };
            let mine = launches.iter().filter(|k| {
                let named =
                    |n: &String| kernels::find(self.infos, n).is_ok_and(|i| i.symbol == k.symbol);
                c.kernels.iter().any(named)
            });
            let (mut a, mut b) = (0.0, 0.0);
            let mut done: Vec<&str> = Vec::new();
            for k in mine {
                if !done.contains(&k.symbol.as_str()) {
                    done.push(&k.symbol);
                    let refs = space::references(self.module, self.infos, k);
                    a += space::transactions(&refs, k.threads(), 32).0;
                    b += space::transactions(&refs, k.threads(), 128).0;
                }
            }
            let own = p.iter().filter(|(n, _)| c.params.contains(n));
            let own: Vec<String> = own.map(|(n, v)| format!("{n}={v}")).collect();
            all.push((a, b, own.join(",")));
        }
        all.sort_by(|x, y| x.0.total_cmp(&y.0));
        all
    }

    fn component(&self, c: &Component, out: &mut Shown) {
        let all = self.by_shape(c);
        let mut t = Table::new(1, ["shape", "sectors a thread", "segments a thread"]);
        for (a, b, name) in all.iter().take(SHOWN) {
            t.row([name.clone(), format!("{a:.3}"), format!("{b:.3}")]);
        }
        let _ = writeln!(
            out.text,
            "\n{}: {} shapes, those that move least first; an access in a loop counts {} times",
            self.style.bold(&c.params.join(", ")),
            all.len(),
            space::LOOP
        );
        out.text += &t.render(self.style);
        out.json.push(serde_json::json!({
            "params": c.params, "kernels": c.kernels,
            "shapes": all.iter().map(|(a, b, n)| serde_json::json!({ "shape": n, "sectors": a, "segments": b })).collect::<Vec<_>>(),
        }));
    }
}

/// Runs the command: nothing is executed.
pub fn run(
    workload: &Path,
    sizes: &[(String, i64)],
    format: Format,
    style: Style,
) -> Result<i32, Failure> {
    crate::guard::survives(workload)?;
    let tools = crate::toolchain::discover("sm_90");
    let w = Workload::read(workload, sizes).map_err(JobError::from)?;
    let program = kerf_run::compile::own_program(&w, &tools).map_err(JobError::from)?;
    let m = program.module().map_err(JobError::from)?;
    let infos = kernels::kernels(&m);
    let own = w.launch_space.default_params();
    let subject = Subject {
        workload: &w,
        module: &m,
        infos: &infos,
        style,
    };
    let mut out = Shown::default();
    let mut seen: Vec<String> = Vec::new();
    for k in kinds(&w, &infos, &own)? {
        if !seen.contains(&k.symbol) {
            seen.push(k.symbol.clone());
            subject.kernel(&k, &mut out);
        }
    }
    for c in space::components(&w) {
        subject.component(&c, &mut out);
    }
    match format {
        Format::Json => {
            let v = serde_json::json!({ "schema": "kerf.accesses/1", "accesses": out.json });
            say(&format!("{v:#}\n"))?;
        }
        Format::Human | Format::Csv => say(&out.text)?,
    }
    Ok(0)
}
