//! The rules: what an expression may be written as instead, and under which condition.
//!
//! Each holds over the real numbers wherever its left side is defined and its conditions are met; `rules/tests.rs`
//! tries each on random values against MPFR. In floating-point arithmetic only those of kind [`RuleKind::Exact`] keep the bits:
//! the others round differently, and may overflow, or lose a special value, where the left side does not. That is why
//! what they give is a candidate, which is accepted or rejected by its results.

/// What a rule does to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleKind {
    /// The same bits.
    Exact,
    /// Some roundings more, fewer, or elsewhere: a few units in the last place, whatever the values are.
    Rounding,
    /// Terms meet in another order, or errors of arguments are amplified: how much is lost depends on the values.
    Reordering,
}

/// A condition on a variable of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleCondition {
    /// Not below zero: known of the expression, or the program takes its root, its logarithm or a power of it that is no
    /// integer constant, so that a negative value gives NaN there already.
    NonNegative(&'static str),
    /// The same, and not zero; that part is not known beforehand.
    Positive(&'static str),
    /// Not zero; not known beforehand.
    NonZero(&'static str),
    /// A constant, and a power of two whose reciprocal is a normal number.
    PowerOfTwo(&'static str),
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What is matched.
    pub from: &'static str,
    /// What it is equal to.
    pub to: &'static str,
    /// When that holds.
    pub when: &'static [RuleCondition],
    /// What it does to rounding.
    pub kind: RuleKind,
}

use RuleCondition::{NonNegative, NonZero, Positive, PowerOfTwo};
use RuleKind::{Exact, Reordering, Rounding};

const fn rule(
    kind: RuleKind,
    name: &'static str,
    from: &'static str,
    to: &'static str,
    when: &'static [RuleCondition],
) -> Rule {
    Rule {
        name,
        from,
        to,
        when,
        kind,
    }
}

/// All rules. Those for both directions are two.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    // Order of operands, signs, numbers of which nothing remains.
    rule(Exact, "add-commutes", "(+ ?a ?b)", "(+ ?b ?a)", &[]),
    rule(Exact, "mul-commutes", "(* ?a ?b)", "(* ?b ?a)", &[]),
    rule(Exact, "fma-commutes", "(fma ?a ?b ?c)", "(fma ?b ?a ?c)", &[]),
    rule(Exact, "sub-as-add", "(- ?a ?b)", "(+ ?a (neg ?b))", &[]),
    rule(Exact, "add-as-sub", "(+ ?a (neg ?b))", "(- ?a ?b)", &[]),
    rule(Exact, "neg-neg", "(neg (neg ?a))", "?a", &[]),
    rule(Rounding, "neg-sub", "(neg (- ?a ?b))", "(- ?b ?a)", &[]),
    rule(Exact, "mul-neg", "(* (neg ?a) ?b)", "(neg (* ?a ?b))", &[]),
    rule(Exact, "neg-mul", "(neg (* ?a ?b))", "(* (neg ?a) ?b)", &[]),
    rule(Exact, "div-neg", "(/ (neg ?a) ?b)", "(neg (/ ?a ?b))", &[]),
    rule(Exact, "div-by-neg", "(/ ?a (neg ?b))", "(neg (/ ?a ?b))", &[]),
    rule(Exact, "fma-neg-neg", "(fma (neg ?a) (neg ?b) ?c)", "(fma ?a ?b ?c)", &[]),
    rule(Exact, "mul-one", "(* ?a 1)", "?a", &[]),
    rule(Exact, "div-one", "(/ ?a 1)", "?a", &[]),
    rule(Exact, "abs-neg", "(fabs (neg ?a))", "(fabs ?a)", &[]),
    rule(Exact, "abs-of-non-negative", "(fabs ?a)", "?a", &[NonNegative("?a")]),
    rule(Exact, "div-by-power-of-two", "(/ ?a ?c)", "(* ?a (/ 1 ?c))", &[PowerOfTwo("?c")]),

    // Multiply-adds.
    rule(Rounding, "fuse-add", "(+ (* ?a ?b) ?c)", "(fma ?a ?b ?c)", &[]),
    rule(Rounding, "fuse-sub", "(- (* ?a ?b) ?c)", "(fma ?a ?b (neg ?c))", &[]),
    rule(Rounding, "fuse-sub-from", "(- ?c (* ?a ?b))", "(fma (neg ?a) ?b ?c)", &[]),
    rule(Rounding, "fma-of-neg", "(fma (neg ?a) ?b ?c)", "(- ?c (* ?a ?b))", &[]),
    rule(Rounding, "fma-of-quotient", "(fma (/ ?a ?b) ?c ?d)", "(fma (* ?a ?c) (/ 1 ?b) ?d)", &[]),

    // Divisions.
    rule(Rounding, "div-as-reciprocal", "(/ ?a ?b)", "(* ?a (/ 1 ?b))", &[]),
    rule(Rounding, "reciprocal-as-div", "(* ?a (/ 1 ?b))", "(/ ?a ?b)", &[]),
    rule(Rounding, "reciprocal-of-product", "(/ 1 (* ?a ?b))", "(* (/ 1 ?a) (/ 1 ?b))", &[]),
    rule(Rounding, "product-of-reciprocals", "(* (/ 1 ?a) (/ 1 ?b))", "(/ 1 (* ?a ?b))", &[]),
    rule(Rounding, "reciprocal-of-quotient", "(/ 1 (/ ?a ?b))", "(/ ?b ?a)", &[NonZero("?b")]),
    rule(Rounding, "div-of-quotient", "(/ (/ ?a ?b) ?c)", "(/ ?a (* ?b ?c))", &[]),
    rule(Rounding, "div-by-quotient", "(/ ?a (/ ?b ?c))", "(/ (* ?a ?c) ?b)", &[NonZero("?c")]),
    rule(Rounding, "product-of-quotients", "(* (/ ?a ?b) (/ ?c ?d))", "(/ (* ?a ?c) (* ?b ?d))", &[]),
    rule(Rounding, "product-with-quotient", "(* (/ ?a ?b) ?c)", "(/ (* ?a ?c) ?b)", &[]),
    rule(Rounding, "sum-of-quotients", "(+ (/ ?a ?c) (/ ?b ?c))", "(/ (+ ?a ?b) ?c)", &[]),
    rule(Rounding, "difference-of-quotients", "(- (/ ?a ?c) (/ ?b ?c))", "(/ (- ?a ?b) ?c)", &[]),
    rule(Rounding, "div-by-itself", "(/ ?a ?a)", "1", &[NonZero("?a")]),

    // Roots.
    rule(Rounding, "square-of-root", "(* (sqrt ?x) (sqrt ?x))", "?x", &[NonNegative("?x")]),
    rule(Rounding, "cube-of-root", "(* (sqrt ?x) (* (sqrt ?x) (sqrt ?x)))", "(* ?x (sqrt ?x))", &[]),
    rule(Rounding, "reciprocal-of-root", "(/ 1 (sqrt ?x))", "(rsqrt ?x)", &[]),
    rule(Rounding, "div-by-root", "(/ ?a (sqrt ?x))", "(* ?a (rsqrt ?x))", &[]),
    rule(Rounding, "reciprocal-of-rsqrt", "(/ 1 (rsqrt ?x))", "(sqrt ?x)", &[NonZero("?x")]),
    rule(Rounding, "root-as-reciprocal", "(sqrt ?x)", "(/ 1 (rsqrt ?x))", &[NonZero("?x")]),
    rule(Rounding, "div-by-rsqrt", "(/ ?a (rsqrt ?x))", "(* ?a (sqrt ?x))", &[NonZero("?x")]),
    rule(Rounding, "root-over-itself", "(/ (sqrt ?x) ?x)", "(rsqrt ?x)", &[NonZero("?x")]),
    rule(Rounding, "div-by-root-of-itself", "(/ ?x (sqrt ?x))", "(sqrt ?x)", &[NonZero("?x")]),
    rule(Rounding, "product-with-own-rsqrt", "(* ?x (rsqrt ?x))", "(sqrt ?x)", &[NonZero("?x")]),
    rule(Rounding, "div-by-cube-of-root", "(/ ?a (* (sqrt ?x) ?x))", "(* ?a (* (rsqrt ?x) (* (rsqrt ?x) (rsqrt ?x))))", &[]),
    rule(Rounding, "cube-of-rsqrt", "(* (rsqrt ?x) (/ 1 ?x))", "(* (rsqrt ?x) (* (rsqrt ?x) (rsqrt ?x)))", &[]),
    rule(Rounding, "square-of-rsqrt", "(* (rsqrt ?x) (rsqrt ?x))", "(/ 1 ?x)", &[NonNegative("?x")]),
    rule(Rounding, "reciprocal-as-square-of-rsqrt", "(/ 1 ?x)", "(* (rsqrt ?x) (rsqrt ?x))", &[NonNegative("?x")]),
    rule(Rounding, "product-of-roots", "(* (sqrt ?x) (sqrt ?y))", "(sqrt (* ?x ?y))", &[NonNegative("?x"), NonNegative("?y")]),
    rule(Rounding, "quotient-of-roots", "(/ (sqrt ?x) (sqrt ?y))", "(sqrt (/ ?x ?y))", &[NonNegative("?x"), NonNegative("?y")]),
    rule(Rounding, "product-of-rsqrts", "(* (rsqrt ?x) (rsqrt ?y))", "(rsqrt (* ?x ?y))", &[NonNegative("?x"), NonNegative("?y")]),
    rule(Rounding, "root-times-rsqrt", "(* (sqrt ?x) (rsqrt ?y))", "(sqrt (/ ?x ?y))", &[NonNegative("?x"), NonNegative("?y")]),
    rule(Rounding, "root-of-reciprocal", "(sqrt (/ 1 ?x))", "(rsqrt ?x)", &[]),
    rule(Rounding, "root-of-quotient", "(sqrt (/ ?x ?y))", "(* (sqrt ?x) (rsqrt ?y))", &[NonNegative("?x"), NonNegative("?y")]),
    rule(Rounding, "rsqrt-of-quotient", "(rsqrt (/ ?x ?y))", "(* (sqrt ?y) (rsqrt ?x))", &[NonNegative("?x"), NonNegative("?y")]),
    rule(Rounding, "root-of-square", "(sqrt (* ?x ?x))", "(fabs ?x)", &[]),
    rule(Rounding, "rsqrt-of-square", "(rsqrt (* ?x ?x))", "(/ 1 (fabs ?x))", &[]),
    rule(Rounding, "reciprocal-of-cbrt", "(/ 1 (cbrt ?x))", "(rcbrt ?x)", &[]),
    rule(Rounding, "div-by-cbrt", "(/ ?a (cbrt ?x))", "(* ?a (rcbrt ?x))", &[]),
    rule(Rounding, "cube-of-cbrt", "(* (cbrt ?x) (* (cbrt ?x) (cbrt ?x)))", "?x", &[]),
    rule(Rounding, "cbrt-of-cube", "(cbrt (* ?x (* ?x ?x)))", "?x", &[]),

    // Powers. The exponents 1/3 and 2/3 are the numbers of f64 and of f32 next to them.
    rule(Rounding, "pow-1", "(pow ?x 1)", "?x", &[]),
    rule(Rounding, "pow-2", "(pow ?x 2)", "(* ?x ?x)", &[]),
    rule(Rounding, "pow-3", "(pow ?x 3)", "(* ?x (* ?x ?x))", &[]),
    rule(Rounding, "pow-4", "(pow ?x 4)", "(* (* ?x ?x) (* ?x ?x))", &[]),
    rule(Rounding, "pow-5", "(pow ?x 5)", "(* ?x (* (* ?x ?x) (* ?x ?x)))", &[]),
    rule(Rounding, "pow-6", "(pow ?x 6)", "(* (* ?x (* ?x ?x)) (* ?x (* ?x ?x)))", &[]),
    rule(Rounding, "pow-8", "(pow ?x 8)", "(* (* (* ?x ?x) (* ?x ?x)) (* (* ?x ?x) (* ?x ?x)))", &[]),
    rule(Rounding, "pow-12", "(pow ?x 12)", "(* (* (* ?x (* ?x ?x)) (* ?x (* ?x ?x))) (* (* ?x (* ?x ?x)) (* ?x (* ?x ?x))))", &[]),
    rule(Rounding, "pow-m1", "(pow ?x -1)", "(/ 1 ?x)", &[]),
    rule(Rounding, "pow-m2", "(pow ?x -2)", "(/ 1 (* ?x ?x))", &[]),
    rule(Rounding, "pow-m3", "(pow ?x -3)", "(/ 1 (* ?x (* ?x ?x)))", &[]),
    rule(Rounding, "pow-m6", "(pow ?x -6)", "(/ 1 (* (* ?x (* ?x ?x)) (* ?x (* ?x ?x))))", &[]),
    rule(Rounding, "pow-1/2", "(pow ?x 0.5)", "(sqrt ?x)", &[]),
    rule(Rounding, "pow-m1/2", "(pow ?x -0.5)", "(rsqrt ?x)", &[]),
    rule(Rounding, "pow-3/2", "(pow ?x 1.5)", "(* ?x (sqrt ?x))", &[]),
    rule(Rounding, "pow-m3/2", "(pow ?x -1.5)", "(* (rsqrt ?x) (* (rsqrt ?x) (rsqrt ?x)))", &[]),
    rule(Rounding, "pow-5/2", "(pow ?x 2.5)", "(* (* ?x ?x) (sqrt ?x))", &[]),
    rule(Rounding, "pow-7/2", "(pow ?x 3.5)", "(* (* ?x (* ?x ?x)) (sqrt ?x))", &[]),
    rule(Rounding, "pow-1/4", "(pow ?x 0.25)", "(sqrt (sqrt ?x))", &[]),
    rule(Rounding, "pow-3/4", "(pow ?x 0.75)", "(* (sqrt ?x) (sqrt (sqrt ?x)))", &[]),
    rule(Rounding, "pow-m1/4", "(pow ?x -0.25)", "(rsqrt (sqrt ?x))", &[]),
    rule(Rounding, "pow-1/3", "(pow ?x 0.3333333333333333)", "(cbrt ?x)", &[NonNegative("?x")]),
    rule(Rounding, "pow-1/3-single", "(pow ?x 0.3333333432674408)", "(cbrt ?x)", &[NonNegative("?x")]),
    rule(Rounding, "pow-2/3", "(pow ?x 0.6666666666666666)", "(* (cbrt ?x) (cbrt ?x))", &[NonNegative("?x")]),
    rule(Rounding, "pow-2/3-single", "(pow ?x 0.6666666865348816)", "(* (cbrt ?x) (cbrt ?x))", &[NonNegative("?x")]),
    rule(Rounding, "pow-m1/3", "(pow ?x -0.3333333333333333)", "(rcbrt ?x)", &[NonNegative("?x")]),
    rule(Rounding, "pow-of-2", "(pow 2 ?x)", "(exp2 ?x)", &[]),
    rule(Rounding, "pow-of-10", "(pow 10 ?x)", "(exp10 ?x)", &[]),
    rule(Reordering, "pow-as-exp2", "(pow ?x ?y)", "(exp2 (* ?y (log2 ?x)))", &[Positive("?x")]),
    rule(Reordering, "pow-as-exp", "(pow ?x ?y)", "(exp (* ?y (log ?x)))", &[Positive("?x")]),
    rule(Reordering, "product-of-powers", "(* (pow ?x ?a) (pow ?x ?b))", "(pow ?x (+ ?a ?b))", &[Positive("?x")]),
    rule(Reordering, "quotient-of-powers", "(/ (pow ?x ?a) (pow ?x ?b))", "(pow ?x (- ?a ?b))", &[Positive("?x")]),
    rule(Reordering, "power-with-base", "(* ?x (pow ?x ?a))", "(pow ?x (+ 1 ?a))", &[NonZero("?x")]),
    rule(Reordering, "pow-of-pow", "(pow (pow ?x ?a) ?b)", "(pow ?x (* ?a ?b))", &[Positive("?x")]),

    // Exponentials and logarithms.
    rule(Rounding, "reciprocal-of-exp", "(/ 1 (exp ?a))", "(exp (neg ?a))", &[]),
    rule(Rounding, "div-by-exp", "(/ ?a (exp ?b))", "(* ?a (exp (neg ?b)))", &[]),
    rule(Rounding, "exp-of-neg", "(exp (neg ?a))", "(/ 1 (exp ?a))", &[]),
    rule(Rounding, "log-of-exp", "(log (exp ?a))", "?a", &[]),
    rule(Rounding, "exp-of-log", "(exp (log ?a))", "?a", &[NonNegative("?a")]),
    rule(Rounding, "log-of-root", "(log (sqrt ?a))", "(* 0.5 (log ?a))", &[]),
    rule(Rounding, "log-of-reciprocal", "(log (/ 1 ?a))", "(neg (log ?a))", &[]),
    rule(Rounding, "root-of-exp", "(sqrt (exp ?a))", "(exp (* 0.5 ?a))", &[]),
    rule(Rounding, "exp-of-double", "(exp (* 2 ?a))", "(* (exp ?a) (exp ?a))", &[]),
    rule(Reordering, "product-of-exps", "(* (exp ?a) (exp ?b))", "(exp (+ ?a ?b))", &[]),
    rule(Reordering, "quotient-of-exps", "(/ (exp ?a) (exp ?b))", "(exp (- ?a ?b))", &[]),
    rule(Reordering, "product-of-exp2s", "(* (exp2 ?a) (exp2 ?b))", "(exp2 (+ ?a ?b))", &[]),
    rule(Reordering, "exp-of-sum", "(exp (+ ?a ?b))", "(* (exp ?a) (exp ?b))", &[]),
    rule(Reordering, "exp-of-difference", "(exp (- ?a ?b))", "(/ (exp ?a) (exp ?b))", &[]),
    rule(Reordering, "sum-of-logs", "(+ (log ?a) (log ?b))", "(log (* ?a ?b))", &[NonNegative("?a"), NonNegative("?b")]),
    rule(Reordering, "difference-of-logs", "(- (log ?a) (log ?b))", "(log (/ ?a ?b))", &[NonNegative("?a"), NonNegative("?b")]),
    rule(Reordering, "log-of-quotient", "(log (/ ?a ?b))", "(- (log ?a) (log ?b))", &[Positive("?a"), Positive("?b")]),
    rule(Reordering, "log-of-product", "(log (* ?a ?b))", "(+ (log ?a) (log ?b))", &[Positive("?a"), Positive("?b")]),
    rule(Reordering, "log-of-power", "(log (pow ?a ?b))", "(* ?b (log ?a))", &[Positive("?a")]),
    rule(Reordering, "power-of-exp", "(pow (exp ?a) ?b)", "(exp (* ?a ?b))", &[]),
    rule(Reordering, "exp-of-scaled-log", "(exp (* ?b (log ?a)))", "(pow ?a ?b)", &[Positive("?a")]),

    // Trigonometric pairs, lengths.
    rule(Rounding, "tangent", "(/ (sin ?a) (cos ?a))", "(tan ?a)", &[]),
    rule(Rounding, "sine-of-double", "(* (sin ?a) (cos ?a))", "(* 0.5 (sin (* 2 ?a)))", &[]),
    rule(Rounding, "pythagoras", "(+ (* (sin ?a) (sin ?a)) (* (cos ?a) (cos ?a)))", "1", &[]),
    rule(Rounding, "pythagoras-fused-sin", "(fma (sin ?a) (sin ?a) (* (cos ?a) (cos ?a)))", "1", &[]),
    rule(Rounding, "pythagoras-fused-cos", "(fma (cos ?a) (cos ?a) (* (sin ?a) (sin ?a)))", "1", &[]),
    rule(Reordering, "cosine-of-double", "(- (* (cos ?a) (cos ?a)) (* (sin ?a) (sin ?a)))", "(cos (* 2 ?a))", &[]),
    rule(Rounding, "hypot-as-root", "(hypot ?a ?b)", "(sqrt (fma ?a ?a (* ?b ?b)))", &[]),
    rule(Rounding, "rhypot-as-rsqrt", "(rhypot ?a ?b)", "(rsqrt (fma ?a ?a (* ?b ?b)))", &[]),
    rule(Rounding, "reciprocal-of-hypot", "(/ 1 (hypot ?a ?b))", "(rhypot ?a ?b)", &[]),
    rule(Rounding, "square-of-hypot", "(* (hypot ?a ?b) (hypot ?a ?b))", "(fma ?a ?a (* ?b ?b))", &[]),

    // Other orders: sums, products, common factors, Horner's form.
    rule(Reordering, "mul-associates", "(* ?a (* ?b ?c))", "(* (* ?a ?b) ?c)", &[]),
    rule(Reordering, "mul-associates-back", "(* (* ?a ?b) ?c)", "(* ?a (* ?b ?c))", &[]),
    rule(Reordering, "add-associates", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)", &[]),
    rule(Reordering, "fma-unfused", "(fma ?a ?b ?c)", "(+ (* ?a ?b) ?c)", &[]),
    rule(Reordering, "factor", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))", &[]),
    rule(Reordering, "factor-of-difference", "(- (* ?a ?b) (* ?a ?c))", "(* ?a (- ?b ?c))", &[]),
    rule(Reordering, "factor-with-one", "(+ ?a (* ?a ?b))", "(* ?a (+ 1 ?b))", &[]),
    rule(Reordering, "factor-fused", "(fma ?a ?b (* ?a ?c))", "(* ?a (+ ?b ?c))", &[]),
    rule(Reordering, "factor-fused-twice", "(fma ?a ?b (fma ?a ?c ?d))", "(fma ?a (+ ?b ?c) ?d)", &[]),
    rule(Reordering, "difference-of-squares", "(- (* ?a ?a) (* ?b ?b))", "(* (- ?a ?b) (+ ?a ?b))", &[]),
    rule(Reordering, "horner", "(fma ?a (* ?x ?x) (* ?b ?x))", "(* ?x (fma ?a ?x ?b))", &[]),
    rule(Reordering, "horner-with-constant", "(fma ?a (* ?x ?x) (fma ?b ?x ?c))", "(fma ?x (fma ?a ?x ?b) ?c)", &[]),
    rule(Reordering, "horner-of-cube", "(fma ?a (* ?x (* ?x ?x)) (fma ?b (* ?x ?x) ?c))", "(fma (* ?x ?x) (fma ?a ?x ?b) ?c)", &[]),
    rule(Reordering, "sum-of-equals", "(+ ?a ?a)", "(* 2 ?a)", &[]),
    rule(Reordering, "difference-of-equals", "(- ?a ?a)", "0", &[]),
    rule(Reordering, "add-zero", "(+ ?a 0)", "?a", &[]),
];

#[cfg(test)]
mod tests;
