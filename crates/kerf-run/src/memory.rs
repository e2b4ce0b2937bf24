//! Memory that a workload needs, told before anything is computed.
//!
//! What is counted is what a program that writes its outputs whole is certain to touch. Kernels that write to buffers
//! which are no outputs need more for the reference; a reference that is kept from before needs none.
use crate::run::KEPT_BYTES;
use kerf_exec::cpu::SHADOW_BYTES_PER_BYTE;
use kerf_workload::elem::ElemType;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::{BufferSpec, Workload};

/// Bytes of a double-double value of the reference.
const REFERENCE_VALUE: usize = 16;

/// Bytes that a job needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// All buffers of a program.
    pub buffers: usize,
    /// Copies of first contents and outputs on the host.
    pub copies: usize,
    /// The reference: buffers of its own, shadow values of outputs, and what comes of them.
    pub reference: usize,
}

fn bytes(b: &BufferSpec) -> usize {
    b.bytes().unwrap_or(usize::MAX)
}

fn sum(all: impl Iterator<Item = usize>) -> usize {
    all.fold(0, usize::saturating_add)
}

/// Scalars of an element that have a shadow.
fn floats(elem: &ElemType) -> usize {
    let is_float = |s: &Scalar| kerf_workload::generate::perturb::format_of(*s).is_some();
    elem.scalars().iter().filter(|(_, s)| is_float(s)).count()
}

impl MemoryNeed {
    /// What a workload needs; 0 for the reference where there is none.
    pub fn for_workload(w: &Workload, reference: bool) -> MemoryNeed {
        let buffers = sum(w.buffers.iter().map(bytes));
        let outputs = || w.buffers.iter().filter(|b| b.output);
        let read = sum(outputs().map(bytes));
        let kept = if buffers <= KEPT_BYTES { buffers } else { 0 };
        let shadows = sum(outputs()
            .filter(|b| floats(&b.elem) > 0 && b.symbol.is_none())
            .map(|b| bytes(b).saturating_mul(SHADOW_BYTES_PER_BYTE)));
        let values = sum(outputs().map(|b| {
            let n = b.len.saturating_mul(floats(&b.elem));
            n.saturating_mul(REFERENCE_VALUE)
        }));
        MemoryNeed {
            buffers,
            copies: kept.saturating_add(read),
            reference: match reference {
                true => sum([buffers, read, shadows, values].into_iter()),
                false => 0,
            },
        }
    }

    /// On the host, for a job on the CPU or on a GPU.
    pub fn on_host(&self, on_cpu: bool) -> usize {
        let own = if on_cpu { self.buffers } else { 0 };
        sum([own, self.copies, self.reference].into_iter())
    }
}

/// Bytes of all buffers in one allocation, each at a multiple of 256.
pub fn arena_bytes(w: &Workload) -> usize {
    let padded = |b: &BufferSpec| bytes(b).max(1).checked_next_multiple_of(256);
    let owned = w.buffers.iter().filter(|b| b.symbol.is_none());
    sum(owned.map(|b| padded(b).unwrap_or(usize::MAX)))
}

/// Bytes in words.
pub fn words(bytes: usize) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64 / 1024.0;
    for u in UNITS {
        if value < 1023.5 || u == "PiB" {
            return format!("{value:.1} {u}");
        }
        value /= 1024.0;
    }
    format!("{bytes} bytes")
}

/// The workload's first size, made smaller in proportion: what could be tried.
fn smaller(w: &Workload, need: usize, free: usize) -> String {
    let Some((name, value)) = w.sizes.first() else {
        return "make its buffers smaller".into();
    };
    let part = 0.9 * free as f64 / need as f64;
    let less = ((*value as f64 * part) as i64).max(1);
    format!("choose smaller sizes, e.g. --size {name}={less}")
}

/// Why a workload cannot run, where it needs more than is free.
pub fn refusal(w: &Workload, need: &MemoryNeed, on_cpu: bool, free: usize) -> Option<String> {
    let all = need.on_host(on_cpu);
    if all <= free {
        return None;
    }
    let mut parts = Vec::new();
    for (bytes, what) in [
        (if on_cpu { need.buffers } else { 0 }, "buffers"),
        (need.copies, "copies of them"),
        (need.reference, "the reference"),
    ] {
        if bytes > 0 {
            parts.push(format!("{} for {what}", words(bytes)));
        }
    }
    Some(format!(
        "{} needs {} of memory ({}), and {} are free; help: {}",
        w.path.display(),
        words(all),
        parts.join(", "),
        words(free),
        smaller(w, all, free)
    ))
}

/// The same for the memory of a GPU, where `programs` are loaded beside each other.
pub fn refusal_on_device(w: &Workload, programs: usize, free: usize) -> Option<String> {
    let need = MemoryNeed::for_workload(w, false).buffers;
    let need = need.saturating_mul(programs);
    (need > free).then(|| {
        let each = match programs {
            1 => String::new(),
            n => format!(" ({n} programs beside each other)"),
        };
        format!(
            "{} needs {} of device memory{each}, and {} are free; help: {}",
            w.path.display(),
            words(need),
            words(free),
            smaller(w, need, free)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(n: usize) -> Workload {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.toml");
        let text = format!(
            r#"source = "k.cu"
[sizes]
n = {n}
[[buffer]]
name = "x"
type = "f64"
len = "n"
[[buffer]]
name = "y"
type = "f32"
len = "n"
output = true
[[launch]]
kernel = "k"
grid = [1]
block = [1]
args = ["x", "y"]
"#
        );
        std::fs::write(&path, text).expect("written");
        std::fs::write(dir.path().join("k.cu"), "").expect("written");
        Workload::read(&path, &[]).expect("a workload")
    }

    #[test]
    fn buffers_copies_and_shadows_are_counted() {
        let w = workload(1000);
        let plain = MemoryNeed::for_workload(&w, false);
        assert_eq!(
            (plain.buffers, plain.copies, plain.reference),
            (12_000, 16_000, 0)
        );
        let with = MemoryNeed::for_workload(&w, true);
        // Buffers again, the output's bytes, 12 bytes of shadow for each of them, 16 for each value.
        assert_eq!(with.reference, 12_000 + 4_000 + 48_000 + 16_000);
        assert_eq!(with.on_host(true), 12_000 + 16_000 + 80_000);
        assert_eq!(with.on_host(false), 16_000 + 80_000);
    }

    #[test]
    fn the_refusal_has_both_figures_and_a_size_that_fits() {
        let w = workload(1_000_000_000);
        let need = MemoryNeed::for_workload(&w, true);
        assert_eq!(refusal(&w, &need, true, need.on_host(true)), None);
        let text = refusal(&w, &need, true, 4 << 30).expect("refused");
        for part in [
            "11.2 GiB for buffers",
            "for the reference",
            "and 4.0 GiB are free",
            "--size n=",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let n: usize = text
            .rsplit("n=")
            .next()
            .and_then(|t| t.parse().ok())
            .expect("a size");
        let small = MemoryNeed::for_workload(&workload(n), true);
        assert!(small.on_host(true) <= 4 << 30, "{n}");
        let text = refusal_on_device(&w, 2, 16 << 30).expect("refused");
        assert!(
            text.contains("22.4 GiB of device memory (2 programs"),
            "{text}"
        );
        assert_eq!(refusal_on_device(&w, 1, 16 << 30), None);
        let huge = workload(1 << 36);
        assert!(refusal(&huge, &MemoryNeed::for_workload(&huge, true), true, 1 << 40).is_some());
    }
}
