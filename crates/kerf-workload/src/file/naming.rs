//! Names as they are given and used: the sizes, and what is wrong with a name.

use super::names::{ELEMENT, Visible, is_identifier};
use super::reader::Reader;
use super::section::Section;
use super::tree::{Entry, Kind};
use crate::expr::Expr;
use crate::suggest::did_you_mean;
use crate::workload::SizesFor;

/// Reads `[sizes]`, and `[cpu_sizes]` where its values are the ones asked for. Gives the names of `[cpu_sizes]` too.
pub(super) fn sizes(
    reader: &mut Reader<'_>,
    top: &Section<'_>,
) -> (Vec<(String, i64)>, Vec<String>) {
    let full = entries(reader, top, "sizes");
    let smaller = entries(reader, top, "cpu_sizes");
    reader.names.later = full.iter().map(|e| e.key.clone()).collect();
    let mut list = Vec::new();
    let mut of_both = Vec::new();
    for entry in full {
        let usable = reader.new_name(entry, "size");
        let for_cpu = smaller.iter().find(|e| e.key == entry.key);
        of_both.extend(for_cpu.filter(|_| usable).map(|e| e.key.clone()));
        let value = reader.size(entry, for_cpu);
        reader.names.later.remove(&entry.key);
        reader.names.sizes.insert(entry.key.clone(), value);
        if let (true, Some(value)) = (usable, value) {
            list.push((entry.key.clone(), value));
        }
    }
    for entry in smaller {
        reader.check_known_size(entry);
    }
    (list, of_both)
}

/// The entries of a table of sizes.
fn entries<'n>(reader: &mut Reader<'_>, top: &Section<'n>, table: &str) -> &'n [Entry] {
    match top.get(table).map(|node| (node, &node.kind)) {
        Some((_, Kind::Table(entries))) => entries,
        Some((node, _)) => {
            let expected = format!("a table `[{table}]`");
            reader.wrong_kind(node, &format!("`{table}`"), &expected);
            &[]
        }
        None => &[],
    }
}

impl Reader<'_> {
    /// The value of a size: an override, or what the table of the device says. What the other table says is checked for
    /// mistakes that do not depend on the values of other sizes.
    fn size(&mut self, entry: &Entry, for_cpu: Option<&Entry>) -> Option<i64> {
        let (used, unused) = match (self.sizes_for(), for_cpu) {
            (SizesFor::Cpu, Some(smaller)) => (smaller, Some(entry)),
            (SizesFor::Gpu, smaller) => (entry, smaller),
            (SizesFor::Cpu, None) => (entry, None),
        };
        let what = format!("size `{}`", entry.key);
        if let Some(unused) = unused {
            match unused.node.kind {
                Kind::Text(_) => drop(self.expr(&unused.node, &what, &Visible::SIZES)),
                _ => drop(self.integer(&unused.node, &what)),
            }
        }
        match self.override_of(&entry.key) {
            Some(value) => Some(value),
            None => self.integer(&used.node, &what),
        }
    }

    /// Reports an entry of `[cpu_sizes]` that `[sizes]` does not have.
    fn check_known_size(&mut self, entry: &Entry) {
        if self.names.sizes.contains_key(&entry.key) {
            return;
        }
        let known: Vec<String> = self.names.sizes.keys().cloned().collect();
        let listed: Vec<String> = known.iter().map(|n| format!("`{n}`")).collect();
        let expected = match listed.is_empty() {
            true => "a name of `[sizes]`".to_owned(),
            false => format!("one of {}", listed.join(", ")),
        };
        let help = did_you_mean(&entry.key, known.iter().map(String::as_str))
            .unwrap_or_else(|| format!("give `{}` its full value in `[sizes]`", entry.key));
        self.mistake(
            entry.key_span.clone(),
            format!("`[cpu_sizes]` has `{}`, which is no size", entry.key),
            expected,
            Some(help),
        );
    }

    /// Checks that a key can be the name of a size or parameter, and is not taken.
    pub(super) fn new_name(&mut self, entry: &Entry, what: &str) -> bool {
        let name = entry.key.as_str();
        let span = entry.key_span.clone();
        if !is_identifier(name) {
            self.mistake(
                span,
                format!("{what} `{name}` has no usable name"),
                "letters, digits and `_`, not starting with a digit",
                None,
            );
            return false;
        }
        if ELEMENT.contains(&name) {
            self.mistake(
                span,
                format!("{what} named `{name}`"),
                "another name: `i` and `rand` have a meaning in `expr` inits",
                None,
            );
            return false;
        }
        match self.taken(name) {
            Some(by) => {
                self.mistake(
                    span,
                    format!("{what} `{name}` has the name of a {by}"),
                    "a name of its own",
                    None,
                );
                false
            }
            None => true,
        }
    }

    /// What has this name already.
    pub(super) fn taken(&self, name: &str) -> Option<&'static str> {
        if self.names.sizes.contains_key(name) {
            Some("size")
        } else if self.names.params.contains(name) {
            Some("launch-space parameter")
        } else if self.names.buffers.contains_key(name) {
            Some("buffer")
        } else {
            None
        }
    }

    /// Reports the names of an expression that mean nothing here.
    pub(super) fn check_names(&mut self, expr: &Expr, visible: &Visible<'_>) -> bool {
        let mut good = true;
        for used in expr.names() {
            let name = used.name.as_str();
            let known = self.names.sizes.contains_key(name)
                || (visible.params && self.names.params.contains(name))
                || visible.loops.iter().any(|l| l == name)
                || (visible.element && ELEMENT.contains(&name));
            if known {
                continue;
            }
            good = false;
            let (what, expected, help) = self.explain(name, visible);
            let error = crate::expr::ExprError {
                span: used.span.clone(),
                what,
                expected,
                help,
            };
            self.expr_mistake(expr.origin(), expr.text(), error);
        }
        good
    }

    /// Why a name means nothing here: what is wrong, what was expected, help.
    fn explain(&self, name: &str, visible: &Visible<'_>) -> (String, String, Option<String>) {
        let mut kinds = vec!["a size"];
        kinds.extend(visible.params.then_some("a launch-space parameter"));
        kinds.extend((!visible.loops.is_empty()).then_some("a loop variable"));
        if visible.element {
            kinds.extend(["`i`", "`rand`"]);
        }
        let expected = match kinds.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => String::new(),
        };
        if self.names.later.contains(name) {
            let what = format!("size `{name}` used before its definition");
            return (what, "an earlier size".into(), None);
        }
        if self.names.params.contains(name) {
            let help = Some("what a buffer holds cannot depend on how kernels are launched".into());
            return (
                format!("launch-space parameter `{name}` used here"),
                expected,
                help,
            );
        }
        if self.names.buffers.contains_key(name) {
            let help = format!(
                "an address inside a buffer is `{{ buffer = \"{name}\", offset = \"..\" }}`"
            );
            return (
                format!("buffer `{name}` in an expression"),
                expected,
                Some(help),
            );
        }
        let params = self.names.params.iter().filter(|_| visible.params);
        let element = ELEMENT.iter().filter(|_| visible.element);
        let candidates = self
            .names
            .sizes
            .keys()
            .chain(params)
            .chain(visible.loops)
            .map(String::as_str)
            .chain(element.copied());
        let help = did_you_mean(name, candidates);
        (format!("unknown name `{name}`"), expected, help)
    }
}
