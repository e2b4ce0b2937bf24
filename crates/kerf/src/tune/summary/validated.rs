//! A plan on other inputs, in words.
use crate::output::Style;
use kerf_report::claims::{self, OtherInputs};
use kerf_tune::check::ResultCheck;
use kerf_tune::validate::Validation;
use std::fmt::Write;

/// What a validation shows; what it does not, where nothing counted.
pub fn validation(v: &Validation) -> String {
    let other = OtherInputs::new(Some(v));
    if !matches!(other, OtherInputs::Tried(_)) {
        return other.sentence();
    }
    let mut t = format!(
        "{} of {} inputs within the tolerance ({} from other seeds, {} perturbed by {}), worst error {}",
        v.passed,
        v.counted(),
        v.held_out,
        v.perturbed,
        v.perturb,
        claims::worst(v)
    );
    if v.beyond_program > 0 {
        let _ = write!(
            t,
            "; {} more on which {} exceeds it",
            v.beyond_program,
            v.excused_by()
        );
    }
    t += &claims::saturated(v);
    let _ = write!(t, "\n  {}", claims::confidence(v));
    t
}

/// The result of `kerf check`.
pub fn checked(c: &ResultCheck, holds: bool, style: Style) -> String {
    let word = match (holds, c.validation.counted()) {
        (true, _) => style.good("holds"),
        (false, 0) => style.bad("not shown to hold"),
        (false, _) => style.bad("does not hold"),
    };
    let uses = claims::made_uses(&c.validation);
    let uses: String = uses
        .iter()
        .map(|u| format!("  made function: {u}\n"))
        .collect();
    format!(
        "{}: {word} within {:e}\n  {}\n{uses}",
        style.bold(&c.result.workload.display().to_string()),
        c.result.criteria.tolerance,
        validation(&c.validation)
    )
}
