//! An operation as accuracy sees it: what goes in, what comes out, how it is judged.
use super::bounds::{self, Documented, Headline};
use super::errors::JudgingRules;
use super::exact;
use super::number::NumberKind;
use super::ranges::{exponent, in_map, reach};
use super::strata::Stratum;
use super::tally::ArgumentCase;
use crate::operation::{FunctionVariant, Operation, OperationClass};
use crate::profile::WorstArgument;
use kerf_num::Format;

/// Who makes the arguments and who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentOrigin {
    /// Every bit pattern of one argument, on the device.
    Patterns,
    /// Pairs and triples of small numbers, on the device.
    Tuples,
    /// Arguments from the host, which also judges.
    Values,
}

/// An operation.
#[derive(Debug, Clone)]
pub struct AccuracySubject {
    /// Key in the catalogue.
    pub key: String,
    /// Name of the function.
    pub function: &'static str,
    /// Number of arguments.
    pub arity: usize,
    /// Their type.
    pub argument: NumberKind,
    /// Type of the result.
    pub result: NumberKind,
    /// Subnormals are flushed.
    pub flushes: bool,
    /// Errors under cancellation are left out: nothing is promised of them.
    pub like_signs: bool,
    /// Documented bounds.
    pub documented: Vec<Documented>,
    /// Where overall figures are taken.
    pub headline: Headline,
    /// How it is measured.
    pub way: ArgumentOrigin,
    /// The first architecture that has the instruction: 75 for `sm_75`.
    pub since: u32,
}

impl AccuracySubject {
    /// An operation of the catalogue; none where there is no accuracy to speak of.
    pub fn for_operation(op: &Operation) -> Option<AccuracySubject> {
        let conversion = match op.class {
            OperationClass::Arithmetic | OperationClass::Function => false,
            OperationClass::Conversion => true,
            OperationClass::Select | OperationClass::Memory => return None,
        };
        let arity = exact::arity(op.function)?;
        let argument = NumberKind::named(op.format)?;
        let result = op.to.map_or(Some(argument), NumberKind::named)?;
        if argument.is_integer() && !conversion {
            return None;
        }
        let sfu = op.variant == FunctionVariant::Sfu;
        let way = match argument {
            NumberKind::Double(_) => ArgumentOrigin::Values,
            _ if argument.bits() > 32 => ArgumentOrigin::Values,
            _ if arity == 1 => ArgumentOrigin::Patterns,
            _ => ArgumentOrigin::Tuples,
        };
        let double = matches!(argument, NumberKind::Double(_));
        Some(AccuracySubject {
            key: op.key.clone(),
            function: op.function,
            arity,
            argument,
            result,
            // tanh.approx and ex2.approx.f16 have no .ftz form that would flush.
            flushes: sfu && op.function != "tanh" && op.format != "f16",
            like_signs: double && (op.variant == FunctionVariant::Cmp || op.function == "fma"),
            documented: bounds::documented(&op.key),
            headline: bounds::headline(&op.key),
            way,
            since: since(op),
        })
    }

    /// What is left out of the arguments of double words, in words.
    pub fn restriction(&self) -> Option<String> {
        let NumberKind::Double(f) = self.argument else {
            return None;
        };
        let reach = reach(f);
        let signs = if self.like_signs {
            ", and nothing cancels"
        } else {
            ""
        };
        Some(match self.function {
            "exp" => format!("arguments within {reach}"),
            "sin" | "cos" => "arguments within 1000".to_owned(),
            _ => format!("arguments of sizes from 2^-{reach} to 2^{reach}{signs}"),
        })
    }

    /// What its results are judged by.
    pub fn rules(&self) -> JudgingRules<'_> {
        JudgingRules {
            argument: self.argument,
            result: self.result,
            flushes: self.flushes,
            bounds: &self.documented,
        }
    }

    /// The value of an argument; of a double word, that of its greater part.
    pub fn value(&self, words: &[u64], argument: usize) -> f64 {
        words
            .get(argument * self.argument.words())
            .map_or(0.0, |w| self.argument.decode(*w))
    }

    /// Is an argument subnormal?
    pub fn has_subnormal(&self, words: &[u64]) -> bool {
        match self.argument {
            NumberKind::Float(f) => words.iter().any(|w| {
                let x = f.decode(*w).abs();
                x != 0.0 && x < f.min_normal()
            }),
            _ => false,
        }
    }

    /// Where arguments belong.
    pub fn place(&self, words: &[u64]) -> Stratum {
        let first = self.value(words, 0);
        let finite = first != 0.0 && first.is_finite();
        let holds = |argument, domain: bounds::Domain| domain.holds(self.value(words, argument));
        let mut s = Stratum::default();
        for (i, b) in (0u32..).zip(&self.documented) {
            s.segment.bounds |= u32::from(holds(b.argument, b.domain)) << i;
        }
        let e = exponent(if finite { first } else { 1.0 });
        let mapped = self.argument != NumberKind::Float(Format::F64) || in_map(e);
        s.binade = (finite && mapped).then_some((e, first < 0.0));
        s.headline = holds(self.headline.argument, self.headline.domain);
        s
    }

    /// A case for the profile.
    pub fn worst(&self, case: &ArgumentCase, exact: String) -> WorstArgument {
        WorstArgument {
            arguments: self.argument.texts(&case.arguments),
            got: self.result.text(&case.got),
            exact,
        }
    }
}

/// Where the PTX manual has the instruction from.
fn since(op: &Operation) -> u32 {
    match (op.variant, op.function, op.format) {
        (FunctionVariant::Sfu, "tanh" | "exp2", "bf16") => 90,
        (FunctionVariant::Sfu, "tanh", _) | (FunctionVariant::Sfu, "exp2", "f16") => 75,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::catalogue;

    #[test]
    fn what_has_an_accuracy() {
        let of = |key: &str| {
            crate::operation::find(key)
                .as_ref()
                .and_then(AccuracySubject::for_operation)
        };
        for none in ["load.l1", "select.f32", "min.f16", "add.i32", "shuffle.b32"] {
            assert!(of(none).is_none(), "{none}");
        }
        let all = catalogue()
            .iter()
            .filter_map(AccuracySubject::for_operation)
            .count();
        // 28 conversions; 18 sums and products; 24 double words; 4 + 4 of f16 and bf16; 43 functions.
        assert_eq!(all, 28 + 18 + 24 + 8 + 43);
    }

    #[test]
    fn exponents() {
        assert_eq!(exponent(1.0), 0);
        assert_eq!(exponent(-0.75), -1);
        assert_eq!(exponent(5e-324), -1074);
        assert_eq!(exponent(f64::MIN_POSITIVE), -1022);
    }
}
