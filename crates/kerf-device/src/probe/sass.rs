//! Disassembly of a probe, and whether it is what was planned.
use super::Probe;
use super::text::ProbeKernel;
use crate::profile::Sass;
use std::collections::{BTreeMap, BTreeSet};

/// Opcodes of a kernel with their counts.
pub type OpcodeHistogram = BTreeMap<String, u64>;

/// Reads the listing of `nvdisasm` or `cuobjdump -sass`: opcodes by function.
pub fn parse(listing: &str) -> BTreeMap<String, OpcodeHistogram> {
    let mut all: BTreeMap<String, OpcodeHistogram> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in listing.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Function :") {
            current = Some(name.trim().to_owned());
            continue;
        }
        if let Some(name) = line
            .strip_prefix(".text.")
            .and_then(|l| l.strip_suffix(':'))
        {
            current = Some(name.to_owned());
            continue;
        }
        let (Some(function), Some(opcode)) = (&current, opcode(line)) else {
            continue;
        };
        *all.entry(function.clone())
            .or_default()
            .entry(opcode)
            .or_default() += 1;
    }
    all
}

/// The opcode of a line such as `/*0070*/ @!P0 FFMA.FTZ R0, R1, R2, R3 ;`.
fn opcode(line: &str) -> Option<String> {
    let rest = line.strip_prefix("/*")?;
    let (address, rest) = rest.split_once("*/")?;
    if address.is_empty() || !address.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut words = rest.split_whitespace().peekable();
    if words.peek().is_some_and(|w| w.starts_with('@')) {
        words.next();
    }
    let word = words.next()?.trim_end_matches(';').trim_end_matches(',');
    let good = word.starts_with(|c: char| c.is_ascii_uppercase());
    good.then(|| word.to_owned())
}

/// The unit that runs an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionUnit {
    /// Special-function unit.
    Sfu,
    /// Single precision and integers.
    Sp,
    /// Double precision.
    Dp,
    /// Half precision.
    Half,
    /// Everything else.
    Other,
}

/// Which unit runs an opcode.
pub fn unit(opcode: &str) -> ExecutionUnit {
    let head = opcode.split('.').next().unwrap_or_default();
    match head {
        "MUFU" => ExecutionUnit::Sfu,
        "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMNMX" => ExecutionUnit::Dp,
        "HADD2" | "HMUL2" | "HFMA2" | "HMNMX2" | "HSET2" | "HSETP2" | "HADD2_32I" | "HMUL2_32I"
        | "HFMA2_32I" => ExecutionUnit::Half,
        "FADD" | "FMUL" | "FFMA" | "FMNMX" | "FMNMX3" | "FSEL" | "FSET" | "FSETP" | "FCHK"
        | "FSWZADD" | "FADD32I" | "FFMA32I" | "FMUL32I" | "IADD" | "IADD3" | "IADD32I" | "IMAD"
        | "IMNMX" | "VIMNMX" | "VIMNMX3" | "IABS" | "ISETP" | "LEA" | "LOP3" | "LOP" | "LOP32I"
        | "SHF" | "SHL" | "SHR" | "SEL" | "PRMT" | "MOV" | "FLO" | "POPC" | "ICMP" | "ISCADD"
        | "PLOP3" | "SGXT" | "BMSK" | "VIADD" | "VIADDMNMX" => ExecutionUnit::Sp,
        _ => ExecutionUnit::Other,
    }
}

/// Why a probe is not what was planned.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
#[error("{operation}: planned {planned} {prefix} an operation, found {found} in {kernel}")]
pub struct Unplanned {
    /// Operation.
    pub operation: String,
    /// Opcode planned.
    pub prefix: String,
    /// How many for one operation.
    pub planned: f64,
    /// How many there are.
    pub found: f64,
    /// In which kernel.
    pub kernel: String,
}

fn counted(h: &OpcodeHistogram, prefix: &str) -> u64 {
    h.iter()
        .filter(|(o, _)| o.starts_with(prefix))
        .map(|(_, n)| n)
        .sum()
}

/// What one operation costs in instructions: the difference between two kernels that differ in the
/// number of operations alone. Checks the plan on every kernel.
pub fn examine(p: &Probe, listing: &str) -> Result<Sass, Box<Unplanned>> {
    let functions = parse(listing);
    let of = |s: &ProbeKernel| functions.get(&s.name()).cloned().unwrap_or_default();
    let operations = |s: &ProbeKernel| (s.streams * s.unroll) as f64;
    // The chains of one stream: same kernel but for the length.
    let chains: Vec<&ProbeKernel> = p
        .shapes
        .iter()
        .filter(|s| s.streams == 1 && s.masked != p.recipe().direct)
        .collect();
    let short = chains.iter().min_by_key(|s| s.unroll);
    let long = chains.iter().max_by_key(|s| s.unroll);
    let (Some(short), Some(long)) = (short, long) else {
        return Ok(Sass::default());
    };
    let (a, b) = (of(short), of(long));
    let more = operations(long) - operations(short);
    let mut sass = Sass::default();
    let recipe = p.recipe();
    let (feed, mut fed) = match (recipe.direct, recipe.multiplied) {
        (true, _) => ("", 0.0),
        (false, true) => ("IMAD", 1.0),
        (false, false) => ("LOP3", f64::from(recipe.fed_words())),
    };
    let opcodes: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for opcode in opcodes {
        let n = |h: &OpcodeHistogram| h.get(opcode).copied().unwrap_or(0) as f64;
        let mut each = (n(&b) - n(&a)) / more;
        // What only feeds the next operation is not the operation's.
        if fed > 0.0 && opcode.starts_with(feed) {
            let off = each.min(fed).max(0.0);
            each -= off;
            fed -= off;
        }
        if each == 0.0 || opcode == "NOP" {
            continue;
        }
        sass.opcodes.insert(opcode.clone(), each);
        match unit(opcode) {
            ExecutionUnit::Sfu => sass.sfu += each,
            ExecutionUnit::Sp => sass.sp += each,
            ExecutionUnit::Dp => sass.dp += each,
            ExecutionUnit::Half => sass.half += each,
            ExecutionUnit::Other => sass.other += each,
        }
    }
    for (prefix, planned) in &p.recipe().planned {
        for s in &p.shapes {
            // The mask is a logical operation of its own.
            if *prefix == "LOP3" && s.masked {
                continue;
            }
            // Around the loop there may be more of a common opcode, some for each stream.
            let common = prefix.starts_with('I') || *prefix == "LOP3";
            let slack = if common { 40.0 } else { 6.0 } + 4.0 * s.streams as f64;
            let found = counted(&of(s), prefix) as f64;
            let want = planned * operations(s);
            if found < want || found > want + slack {
                return Err(Box::new(Unplanned {
                    operation: p.key.clone(),
                    prefix: (*prefix).into(),
                    planned: *planned,
                    found: found / operations(s),
                    kernel: s.name(),
                }));
            }
        }
    }
    Ok(sass)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_is_not_the_operation() {
        let o = crate::operation::find("exp2.f32.sfu").expect("in the catalogue");
        let recipe = crate::probe::recipe::recipe(&o).expect("has a recipe");
        let shape = |unroll| ProbeKernel {
            streams: 1,
            unroll,
            masked: true,
        };
        let p = Probe {
            key: o.key.clone(),
            recipes: vec![recipe],
            shapes: vec![shape(2), shape(4)],
            ptx: String::new(),
        };
        let kernel = |s: ProbeKernel| {
            let step =
                "/*0010*/ MUFU.EX2 R0, R0 ;\n/*0020*/ LOP3.LUT R0, R1, R0, R2, 0x6a, !PT ;\n";
            format!(
                ".text.{}:\n{}/*0ff0*/ EXIT ;\n",
                s.name(),
                step.repeat(s.unroll)
            )
        };
        let listing = kernel(shape(2)) + &kernel(shape(4));
        let sass = examine(&p, &listing).expect("as planned");
        assert_eq!((sass.sfu, sass.sp), (1.0, 0.0));
        // One instruction more than planned, and the probe is refused.
        let wrong = listing
            .replace("EXIT", "MUFU.EX2 R0, R0 ;\n/*0ff8*/ EXIT")
            .replace("MUFU.EX2", "MUFU.LG2");
        assert!(examine(&p, &wrong).is_err());
    }

    #[test]
    fn both_listings_are_read() {
        let nvdisasm = ".text.k:\n        /*0000*/                   FFMA R0, R1, R2, R3 ;\n        /*0010*/              @!P0 MUFU.EX2 R4, R0 ;\n.L_x_0:\n        /*0020*/                   EXIT ;\n";
        let h = &parse(nvdisasm)["k"];
        assert_eq!(h["FFMA"], 1);
        assert_eq!(h["MUFU.EX2"], 1);
        let cuobjdump = "\t\tFunction : k\n\t.headerflags\t@\"EF\"\n        /*0000*/                   MOV R1, c[0x0][0x28] ;          /* 0x00000a0000017a02 */\n                                                                   /* 0x000fe40000000f00 */\n";
        let h = &parse(cuobjdump)["k"];
        assert_eq!(h.len(), 1);
        assert_eq!(h["MOV"], 1);
    }
}
