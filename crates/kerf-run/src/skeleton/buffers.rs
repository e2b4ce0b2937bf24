//! The buffers of a first workload file: their types, lengths and first content.
use super::draft::{Body, BufferLength, LengthSource, Part};
use super::{
    AXES, KernelKnowledge, MOST_ELEMENTS, Pointer, Writer, element, expression, named, pointers,
};
use kerf_ir::address::extent::{PointerReach, PointerSource};
use kerf_ir::kernels::{GlobalInfo, KernelInfo, ScalarAt, ScalarKind, file_stem};
use std::fmt::Write;

/// A kernel that has a buffer, the elements that it takes it for, and what it does with it.
type BufferUse<'k> = (&'k KernelKnowledge, u64, PointerReach);

impl<'k> Writer<'k> {
    /// Kernels share buffers by the names of their pointers, where the types agree. A size of that name, of another kernel's
    /// parameter, keeps it.
    fn buffer_name(&self, k: &KernelInfo, p: &Pointer) -> String {
        let name = self.shared_name(k, p);
        match self.sizes.contains_key(&name) {
            true => format!("{name}_buffer"),
            false => name,
        }
    }

    fn shared_name(&self, k: &KernelInfo, p: &Pointer) -> String {
        for other in self.known {
            for q in pointers(&other.kernel) {
                if q.name == p.name {
                    return match element(q.element) == element(p.element) {
                        true => p.name.clone(),
                        false => format!("{}_{}", p.name, file_stem(&k.name)),
                    };
                }
            }
        }
        p.name.clone()
    }

    /// The buffer behind a pointer of a kernel.
    pub(super) fn buffer_of(&self, k: &KernelInfo, source: PointerSource) -> String {
        let all = pointers(k);
        let found = all.iter().find(|p| p.source == source);
        found.map_or(String::new(), |p| self.buffer_name(k, p))
    }

    /// What kernels do with a buffer.
    fn uses(&self, name: &str) -> Vec<BufferUse<'k>> {
        let mut out = Vec::new();
        for k in self.known {
            for p in pointers(&k.kernel) {
                if let Some(r) = k.extents.reach.get(&p.source)
                    && self.buffer_name(&k.kernel, &p) == name
                {
                    out.push((k, p.element_bytes, r.clone()));
                }
            }
        }
        out
    }

    /// Expressions for the lengths of all buffers.
    pub(super) fn find_lengths(&mut self) {
        for k in self.known {
            for p in pointers(&k.kernel) {
                let name = self.buffer_name(&k.kernel, &p);
                if !self.lengths.contains_key(&name) {
                    let length = self.length_of(&name);
                    self.lengths.insert(name, length);
                }
            }
        }
    }

    fn length_of(&self, name: &str) -> (String, bool) {
        let uses = self.uses(name);
        // An extent that depends on the block's size is that of the largest block.
        let seen = |w: &String| !AXES.iter().any(|a| w.contains(a)) && !w.contains("grid_");
        let whole = uses.iter().filter_map(|(k, bytes, r)| {
            let of = r.bytes.as_ref()?.divided(i128::from(*bytes));
            Some(expression(&k.kernel, &of.rounded())).filter(seen)
        });
        let possible = |v: &i128| (1..=MOST_ELEMENTS).contains(v);
        let whole: Vec<(i128, String)> = whole
            .filter_map(|w| Some((self.value(&w).filter(possible)?, w)))
            .collect();
        let all = !uses.is_empty() && whole.len() == uses.len();
        match whole.into_iter().max_by_key(|w| w.0) {
            Some((_, w)) => (w, all),
            None => (self.first_size(), false),
        }
    }

    /// One past the largest index that a buffer may hold: the length of the shortest buffer or array that it indexes.
    fn index_end(&self, uses: &[BufferUse]) -> String {
        let own = uses.iter().filter_map(|u| u.2.of_array);
        let mut ends: Vec<(i128, String)> = own.map(|n| (i128::from(n), n.to_string())).collect();
        for (k, _, r) in uses {
            let targets = pointers(&k.kernel);
            for (source, step) in &r.indexes {
                let Some(p) = targets.iter().find(|p| p.source == *source) else {
                    continue;
                };
                let name = self.buffer_name(&k.kernel, p);
                let Some((len, _)) = self.lengths.get(&name) else {
                    continue;
                };
                let each = (step / p.element_bytes.max(1)).max(1);
                let text = match each {
                    1 => format!("\"{len}\""),
                    // Whole groups of elements.
                    n => format!("\"ceil_div({len} - {}, {n})\"", n - 1),
                };
                let value = self.value(text.trim_matches('"'));
                ends.extend(value.filter(|v| *v > 0).map(|v| (v, text)));
            }
        }
        let fallback = || format!("\"{}\"", self.first_size());
        ends.into_iter().min().map_or_else(fallback, |e| e.1)
    }

    /// A first content of one scalar.
    fn init_of(&self, s: &ScalarAt, index_end: Option<&str>) -> String {
        match (s.kind, index_end) {
            (ScalarKind::Float(_), _) => "{ uniform = [0.5, 1.5] }".to_owned(),
            (kind, Some(end)) => {
                let value = self.value(end.trim_matches('"')).unwrap_or(i128::MAX);
                let most = match kind {
                    ScalarKind::Int { bits, signed } if bits < 32 => {
                        1i128 << (bits - u32::from(signed))
                    }
                    _ => i128::MAX,
                };
                match value > most {
                    true => format!("{{ uniform = [0, {most}] }}"),
                    false => format!("{{ uniform = [0, {end}] }}"),
                }
            }
            _ => "{ uniform = [0, 10] }".to_owned(),
        }
    }

    pub(super) fn buffers(&mut self, out: &mut Body) {
        let mut done: Vec<String> = Vec::new();
        for k in self.known {
            for p in pointers(&k.kernel) {
                let name = self.buffer_name(&k.kernel, &p);
                if !done.contains(&name) {
                    self.buffer(out, &name, &p);
                    done.push(name);
                }
            }
        }
    }

    fn buffer(&mut self, out: &mut Body, name: &str, p: &Pointer) {
        let uses = self.uses(name);
        let _ = writeln!(out, "\n[[buffer]]                 # {}", p.type_name);
        let _ = writeln!(out, "name = \"{name}\"");
        match element(p.element) {
            Some(t) => {
                let _ = writeln!(out, "type = {t}");
            }
            None => {
                // Addresses are known on the device only.
                let (t, why) = match p.element.first() {
                    Some(s) if s.kind == ScalarKind::Ptr => {
                        ("u64", "addresses, which only a kernel can write there")
                    }
                    _ => ("f64", "its elements are not known"),
                };
                let g = self.guess(why);
                let _ = writeln!(out, "type = \"{t}\"{g}");
            }
        }
        let (elements, told) = self.lengths[name].clone();
        self.guesses += usize::from(!told);
        out.0.push(Part::Length(BufferLength {
            buffer: name.to_owned(),
            elements,
            source: match told {
                true => LengthSource::Known,
                false => LengthSource::Guessed,
            },
        }));
        let written = uses.iter().any(|u| u.2.written);
        if uses.iter().any(|u| u.2.read) || !written {
            let init = self.content(p, &uses);
            let g = self.guess(match written {
                true => "zero, if the kernel only writes it",
                false => "put the range of your inputs here, or { file = \"x.npy\" }",
            });
            let _ = writeln!(out, "init = {init}{g}");
        }
        if written {
            let _ = writeln!(out, "output = true");
        }
    }

    /// A first content of a buffer: of a structure one for each of its members. Zeros would tell nothing of errors.
    fn content(&self, p: &Pointer, uses: &[BufferUse]) -> String {
        let index = uses.iter().any(|u| u.2.index);
        let end = index.then(|| self.index_end(uses));
        let one = |s: &ScalarAt| self.init_of(s, end.as_deref());
        match element(p.element) {
            Some(t) if t.starts_with('[') => {
                let all: Vec<String> = p.element.iter().map(one).collect();
                format!("[{}]", all.join(", "))
            }
            None if p.element.len() > 1 => "\"zero\"".to_owned(),
            _ => p
                .element
                .first()
                .map_or_else(|| "{ uniform = [0, 10] }".to_owned(), one),
        }
    }

    pub(super) fn globals(&mut self, out: &mut Body, globals: &[GlobalInfo]) {
        for g in globals {
            let Some(one) = g.scalars.first().filter(|s| s.kind != ScalarKind::Ptr) else {
                continue;
            };
            if g.filled {
                let name = &g.name;
                let _ = writeln!(
                    out,
                    "\n# {name} keeps the content that the source gives it; a [[buffer]] with symbol = \"{name}\" would replace it"
                );
                continue;
            }
            let _ = writeln!(
                out,
                "\n[[buffer]]                 # {} {}",
                g.type_name, g.name
            );
            let _ = writeln!(out, "name = \"{}\"", named(&g.name));
            let _ = writeln!(out, "symbol = \"{}\"", g.name);
            let _ = writeln!(out, "type = \"{}\"", one.kind);
            let _ = writeln!(out, "len  = {}", g.bytes / one.kind.bytes().max(1));
            let note = self.guess("what the host copies there");
            let init = match one.kind {
                ScalarKind::Float(_) => "{ uniform = [0.5, 1.5] }",
                _ => "{ uniform = [0, 10] }",
            };
            let _ = writeln!(out, "init = {init}{note}");
        }
    }
}
