//! The state of reading one file: where things are, which names exist, what is wrong so far.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::names::{Names, Visible};
use super::tree::{Kind, Node};
use crate::expr::{Expr, ExprError, ExprOrigin};
use crate::lines::Lines;
use crate::mistakes::{Mistake, Mistakes};
use crate::number::Number;
use crate::workload::SizesFor;

pub(super) struct Reader<'t> {
    text: &'t str,
    path: &'t Path,
    lines: Lines<'t>,
    mistakes: Mistakes,
    warnings: Mistakes,
    overrides: &'t [(String, i64)],
    sizes_for: SizesFor,
    pub(super) names: Names,
}

impl<'t> Reader<'t> {
    pub(super) fn new(
        text: &'t str,
        path: &'t Path,
        overrides: &'t [(String, i64)],
        sizes_for: SizesFor,
    ) -> Self {
        Reader {
            text,
            path,
            lines: Lines::new(text),
            mistakes: Mistakes::none(),
            warnings: Mistakes::none(),
            overrides,
            sizes_for,
            names: Names::default(),
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    pub(super) fn sizes_for(&self) -> SizesFor {
        self.sizes_for
    }

    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        self.lines.at(span.start).0
    }

    /// A path of the file, relative to the file's directory.
    pub(super) fn resolve(&self, relative: &str) -> PathBuf {
        match self.path.parent() {
            Some(dir) => dir.join(relative),
            None => relative.into(),
        }
    }

    /// The value an override gives to a name; the last one counts.
    pub(super) fn override_of(&self, name: &str) -> Option<i64> {
        let found = self.overrides.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, value)| *value)
    }

    /// What may be overridden, in words.
    fn names_to_override(&self) -> String {
        let sizes = self.names.sizes.keys().chain(&self.names.params);
        let known: Vec<String> = sizes.map(|n| format!("`{n}`")).collect();
        match known.is_empty() {
            true => "a file with `[sizes]` or `[launch_space]`".into(),
            false => format!("one of {}", known.join(", ")),
        }
    }

    /// Reports overrides of names that are neither sizes nor parameters.
    pub(super) fn check_overrides(&mut self) {
        for (name, value) in self.overrides {
            if self.names.sizes.contains_key(name) || self.names.params.contains(name) {
                continue;
            }
            let known = self.names.sizes.keys().chain(&self.names.params);
            let help = crate::suggest::did_you_mean(name, known.map(String::as_str));
            self.mistakes.push(Mistake {
                file: self.path.to_owned(),
                line: 0,
                column: 0,
                span: 0..0,
                what: format!("no size or launch-space parameter `{name}` to set to {value}"),
                expected: self.names_to_override(),
                help,
            });
        }
    }

    pub(super) fn has_mistakes(&self) -> bool {
        !self.mistakes.is_empty()
    }

    pub(super) fn into_mistakes(mut self) -> Mistakes {
        self.mistakes.sort();
        self.mistakes
    }

    pub(super) fn take_warnings(&mut self) -> Vec<Mistake> {
        let mut warnings = std::mem::replace(&mut self.warnings, Mistakes::none());
        warnings.sort();
        warnings.list
    }

    fn build(
        &self,
        span: Range<usize>,
        what: impl Into<String>,
        expected: impl Into<String>,
        help: Option<String>,
    ) -> Mistake {
        let (line, column) = self.lines.at(span.start);
        Mistake {
            file: self.path.to_owned(),
            line,
            column,
            span,
            what: what.into(),
            expected: expected.into(),
            help,
        }
    }

    pub(super) fn mistake(
        &mut self,
        span: Range<usize>,
        what: impl Into<String>,
        expected: impl Into<String>,
        help: Option<String>,
    ) {
        let mistake = self.build(span, what, expected, help);
        self.mistakes.push(mistake);
    }

    /// Reports that what should be a file is none. `text` is how the workload file writes `path`.
    pub(super) fn no_file(&mut self, span: Range<usize>, what: &str, text: &str, path: &Path) {
        let (problem, help) = match path.exists() {
            true => ("is not a file", "name a file in it"),
            false => ("does not exist", "paths are relative to the workload file"),
        };
        let what = format!("{what} `{text}` {problem}");
        let expected = format!("a file {}", path.display());
        self.mistake(span, what, expected, Some(help.into()));
    }

    pub(super) fn warn(
        &mut self,
        span: Range<usize>,
        what: impl Into<String>,
        expected: impl Into<String>,
        help: Option<String>,
    ) {
        let mistake = self.build(span, what, expected, help);
        self.warnings.push(mistake);
    }

    /// Reports that a value is of the wrong kind.
    pub(super) fn wrong_kind(&mut self, node: &Node, what: &str, expected: &str) {
        let what = format!("{what} is {}", node.describe());
        self.mistake(node.span.clone(), what, expected, None);
    }

    /// Reports a mistake inside the expression that `node` holds.
    pub(super) fn expr_mistake(&mut self, origin: &ExprOrigin, text: &str, error: ExprError) {
        let mistake = origin.mistake(self.path, text, error);
        self.mistakes.push(mistake);
    }

    /// Where the text of a string stands. `lead` is the offset in the string's value.
    pub(super) fn origin(&self, node: &Node, lead: usize) -> ExprOrigin {
        let (line, column) = self.lines.at(node.span.start);
        let raw = self.text.get(node.span.clone()).unwrap_or_default();
        let shown = match &node.kind {
            // A quote, the value as it is, a quote.
            Kind::Text(value) => {
                raw.len() == value.len() + 2 && raw.get(1..=value.len()) == Some(value)
            }
            _ => false,
        };
        ExprOrigin {
            span: node.span.clone(),
            line,
            column,
            inside: shown.then_some(lead + 1),
        }
    }

    /// A string.
    pub(super) fn string<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.kind {
            Kind::Text(text) if !text.is_empty() => Some(text),
            Kind::Text(_) => {
                self.mistake(
                    node.span.clone(),
                    format!("{what} is empty"),
                    "a string",
                    None,
                );
                None
            }
            _ => {
                self.wrong_kind(node, what, "a string");
                None
            }
        }
    }

    /// A list.
    pub(super) fn list<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        expected: &str,
    ) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::List(items) => Some(items),
            _ => {
                self.wrong_kind(node, what, expected);
                None
            }
        }
    }

    pub(super) fn boolean(&mut self, node: Option<&Node>, what: &str) -> Option<bool> {
        let node = node?;
        match node.kind {
            Kind::Bool(value) => Some(value),
            _ => {
                self.wrong_kind(node, what, "`true` or `false`");
                None
            }
        }
    }

    pub(super) fn seed(&mut self, node: Option<&Node>) -> Option<u64> {
        let node = node?;
        let number = match node.kind {
            Kind::Int(v) => u64::try_from(v).ok(),
            _ => None,
        };
        if number.is_none() {
            let what = match node.kind {
                Kind::Int(v) => format!("`seed` is {v}"),
                _ => format!("`seed` is {}", node.describe()),
            };
            self.mistake(node.span.clone(), what, "an integer of 0 or more", None);
        }
        number
    }

    /// A number or an expression, compiled, with its names checked.
    pub(super) fn expr(&mut self, node: &Node, what: &str, visible: &Visible<'_>) -> Option<Expr> {
        match &node.kind {
            Kind::Int(v) => Some(Expr::literal(Number::from(*v)).at(self.origin(node, 0))),
            Kind::Float(v) => Some(Expr::literal(Number::from(*v)).at(self.origin(node, 0))),
            Kind::Text(text) => match Expr::parse(text) {
                Ok(expr) => {
                    let lead = text.len() - text.trim_start().len();
                    let expr = expr.at(self.origin(node, lead));
                    self.check_names(&expr, visible).then_some(expr)
                }
                Err(error) => {
                    let origin = self.origin(node, 0);
                    self.expr_mistake(&origin, text, error);
                    None
                }
            },
            _ => {
                self.wrong_kind(node, what, "a number or an expression");
                None
            }
        }
    }

    /// The value of an expression of the sizes; `None` also if a size it uses is unknown.
    pub(super) fn value(&mut self, expr: &Expr) -> Option<Number> {
        let known = |name: &str| self.names.sizes.get(name).copied().flatten();
        if expr.names().iter().any(|n| known(&n.name).is_none()) {
            return None;
        }
        match expr.eval(|name| known(name).map(Number::from)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.expr_mistake(expr.origin(), expr.text(), error);
                None
            }
        }
    }

    /// A number, or an expression of the sizes, evaluated.
    pub(super) fn number(&mut self, node: &Node, what: &str) -> Option<Number> {
        let expr = self.expr(node, what, &Visible::SIZES)?;
        self.value(&expr)
    }

    /// An integer, or an expression of the sizes with an integer value.
    pub(super) fn integer(&mut self, node: &Node, what: &str) -> Option<i64> {
        let value = self.number(node, what)?;
        match value.as_int().and_then(|v| i64::try_from(v).ok()) {
            Some(v) => Some(v),
            None => {
                let (expected, help) = match value {
                    Number::Int(_) => ("a 64-bit integer", None),
                    Number::Float(_) => {
                        ("an integer", Some("round with `floor(..)` or `ceil(..)`"))
                    }
                };
                let what = format!("{what} is {value}");
                self.mistake(node.span.clone(), what, expected, help.map(Into::into));
                None
            }
        }
    }
}
