//! Divisions that the plan computes by another variant.
use super::*;

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    /// `a / b` by the plan's variant: `f(a, b)`, or a product with the reciprocal.
    pub(super) fn divide(
        &mut self,
        division: BinaryExpression<'a>,
        marks: &[SourceMark],
        format: Format,
    ) {
        let BinaryExpression { node, left, right } = division;
        if node.opcode != "/" || self.edits.is_none() {
            return;
        }
        let variants = division_variants(marks);
        if variants.len() > 1 {
            self.say(node, SEVERAL_VARIANTS);
        }
        let Some(variant) = only_variant(&variants) else {
            return;
        };
        let operator = self.operator(node).0;
        if variant == MathVariant::Reciprocal {
            return self.multiply_by_reciprocal(node, right, operator, format);
        }
        let Some(name) = math::division(self.cl, format, variant) else {
            self.say(
                node,
                &format!("no function divides by {variant} in {format}"),
            );
            return;
        };
        let (Some(operator), Some(whole), Some(dividend), Some(divisor)) = (
            operator,
            self.extent(node),
            self.extent(left),
            self.extent(right),
        ) else {
            self.say(node, IN_MACRO);
            return;
        };
        let comma = TextRange {
            from: operator.min(dividend.to),
            to: divisor.from,
            ..whole
        };
        let done = self.edit(node, |e| {
            e.wrap(whole, 2 * whole.len(), &format!("{name}("), ")")?;
            e.replace(comma, ", ")
        });
        self.need_helper(name, done);
    }

    /// `a /= b` by the plan's variant: `a = f(a, b)`.
    pub(super) fn divide_assign(
        &mut self,
        division: BinaryExpression<'a>,
        marks: &[SourceMark],
        format: Format,
    ) {
        let node = division.node;
        let variants = division_variants(marks);
        let Some(variant) = only_variant(&variants).filter(|_| self.edits.is_some()) else {
            return;
        };
        let has_no_effects = matches!(
            strip(division.left).kind.as_str(),
            "DeclRefExpr" | "MemberExpr"
        );
        let name = math::division(self.cl, format, variant).filter(|_| has_no_effects);
        let Some(name) = name else {
            self.say(
                node,
                &format!("this division is not by {variant} in source"),
            );
            return;
        };
        let done = self.assign_call(division, |target| (format!("{name}({target}, "), ")"));
        self.need_helper(name, done);
    }

    /// `a / b` as `a * (1 / b)`, which compilers take out of loops.
    fn multiply_by_reciprocal(
        &mut self,
        node: &'a AstNode,
        divisor: &'a AstNode,
        operator: Option<usize>,
        format: Format,
    ) {
        let (Some(from), Some(divisor)) = (operator, self.extent(divisor)) else {
            self.say(node, IN_MACRO);
            return;
        };
        let operator = TextRange {
            from,
            to: from + 1,
            ..divisor
        };
        let one = match format {
            Format::F32 => "(1.0f / ",
            _ => "(1.0 / ",
        };
        self.edit(node, |e| {
            e.replace(operator, "*")?;
            e.wrap(divisor, 2 * divisor.len() + 2, one, ")")
        });
    }

    fn need_helper(&mut self, name: &'static str, called: bool) {
        if called && name.starts_with("kerf_") {
            self.helpers.insert(name);
        }
    }
}

fn division_variants(marks: &[SourceMark]) -> BTreeSet<Option<MathVariant>> {
    let divisions = marks.iter().filter(|m| m.op == "fdiv");
    divisions.map(|m| m.variant).collect()
}
