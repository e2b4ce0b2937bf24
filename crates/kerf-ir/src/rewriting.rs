//! A cluster of expressions written differently: which sites it replaces, and what is computed in their place.
//!
//! The new expressions are steps in an order of evaluation, so that a shared part is written once. What they start from
//! is named by the sites that are replaced: `@12.1` is operand 1 of site 12, whatever value that is (a load, a phi, an
//! argument, a lane of a vector).
use crate::pure_operation::PureOperation;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::str::FromStr;

/// What a step is applied to.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum RewritingOperand {
    /// The result of an earlier step: `$3`.
    Step(usize),
    /// Operand of a replaced site: `@12.1`.
    Leaf {
        /// The site.
        site: usize,
        /// Number of the operand.
        operand: u32,
    },
    /// A number.
    Constant(f64),
}

/// One operation: `fma $0 @12.1 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct RewritingStep {
    /// The operation.
    pub operation: PureOperation,
    /// As many operands as it takes.
    pub operands: Vec<RewritingOperand>,
}

/// A cluster of a kernel's sites, and the expressions that stand in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewriting {
    /// Sites that are replaced, ascending: all that the cluster computed.
    pub sites: Vec<usize>,
    /// Operations in an order in which each follows those that it uses.
    pub steps: Vec<RewritingStep>,
    /// What stands for those sites whose values others use.
    #[serde(with = "by_site")]
    pub outputs: BTreeMap<usize, RewritingOperand>,
}

/// Keys of JSON objects are texts. They are read as such, since serde hands them over as nothing else inside of a struct
/// that is flattened into another.
mod by_site {
    use super::*;

    pub fn serialize<S: Serializer>(
        all: &BTreeMap<usize, RewritingOperand>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        all.serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<BTreeMap<usize, RewritingOperand>, D::Error> {
        let all: BTreeMap<String, RewritingOperand> = BTreeMap::deserialize(d)?;
        let number = |k: &str| k.parse().map_err(serde::de::Error::custom);
        all.into_iter().map(|(k, v)| Ok((number(&k)?, v))).collect()
    }
}

/// A text that is no step, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {why}; expected an operation and its operands, such as `fma $0 @12.1 2.5`")]
pub struct ParseStepError {
    /// The text.
    pub text: String,
    /// What is wrong.
    pub why: String,
}

impl Rewriting {
    /// A short name that stays the same as long as the expressions do.
    pub fn id(&self) -> String {
        // FNV-1a, so that the name does not depend on the toolchain.
        let mut h = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for b in text.bytes().chain(std::iter::once(b'\n')) {
                h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        self.sites.iter().for_each(|s| add(&s.to_string()));
        self.steps.iter().for_each(|s| add(&s.to_string()));
        for (site, value) in &self.outputs {
            add(&format!("{site} {value}"));
        }
        format!("{:08x}", (h >> 32) as u32 ^ h as u32)
    }
}

impl std::fmt::Display for RewritingOperand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RewritingOperand::Step(n) => write!(f, "${n}"),
            RewritingOperand::Leaf { site, operand } => write!(f, "@{site}.{operand}"),
            // The shortest text that reads back to the bit.
            RewritingOperand::Constant(c) => write!(f, "{c:?}"),
        }
    }
}

impl FromStr for RewritingOperand {
    type Err = ParseStepError;

    fn from_str(text: &str) -> Result<RewritingOperand, ParseStepError> {
        let bad = || ParseStepError {
            text: text.to_owned(),
            why: "it is no operand".into(),
        };
        if let Some(n) = text.strip_prefix('$') {
            return n.parse().map(RewritingOperand::Step).map_err(|_| bad());
        }
        if let Some(leaf) = text.strip_prefix('@') {
            let (site, operand) = leaf.split_once('.').ok_or_else(bad)?;
            return Ok(RewritingOperand::Leaf {
                site: site.parse().map_err(|_| bad())?,
                operand: operand.parse().map_err(|_| bad())?,
            });
        }
        text.parse()
            .map(RewritingOperand::Constant)
            .map_err(|_| bad())
    }
}

impl std::fmt::Display for RewritingStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.operation.name())?;
        self.operands.iter().try_for_each(|o| write!(f, " {o}"))
    }
}

impl FromStr for RewritingStep {
    type Err = ParseStepError;

    fn from_str(text: &str) -> Result<RewritingStep, ParseStepError> {
        let bad = |why: String| ParseStepError {
            text: text.to_owned(),
            why,
        };
        let mut words = text.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let operation = PureOperation::named(name)
            .ok_or_else(|| bad(format!("there is no operation `{name}`")))?;
        let operands: Vec<RewritingOperand> = words.map(str::parse).collect::<Result<_, _>>()?;
        if operands.len() != operation.arity() {
            let (have, takes) = (operands.len(), operation.arity());
            return Err(bad(format!("{name} takes {takes} operands, not {have}")));
        }
        Ok(RewritingStep {
            operation,
            operands,
        })
    }
}

/// One word or line of JSON for what has a text.
macro_rules! as_text {
    ($t:ty) => {
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$t, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
as_text!(RewritingOperand);
as_text!(RewritingStep);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_round_trips_to_the_bit() {
        let text = r#"{"sites":[3,4,9],"steps":["sub @3.0 @3.1","fma $0 $0 0.1","rsqrt $1"],"outputs":{"9":"$2"}}"#;
        let r: Rewriting = serde_json::from_str(text).expect("parses");
        assert_eq!(serde_json::to_string(&r).expect("serialises"), text);
        assert_eq!(r.steps[1].operands[2], RewritingOperand::Constant(0.1));
        for c in [
            f64::INFINITY,
            -0.0,
            5e-324,
            1.0 / 3.0,
            f64::NEG_INFINITY,
            1e300,
        ] {
            let text = RewritingOperand::Constant(c).to_string();
            let RewritingOperand::Constant(back) = text.parse().expect("a number") else {
                panic!("{text} is a number");
            };
            assert_eq!(back.to_bits(), c.to_bits(), "{text}");
        }
        let other = Rewriting {
            outputs: BTreeMap::from([(9, RewritingOperand::Step(1))]),
            ..r.clone()
        };
        assert_ne!(r.id(), other.id());
        assert_eq!(r.id().len(), 8);
    }

    #[test]
    fn what_is_no_step_is_refused_by_name() {
        for (text, part) in [
            ("", "no operation ``"),
            ("frob $0", "no operation `frob`"),
            ("add $0", "add takes 2 operands, not 1"),
            ("add $0 @1", "no operand"),
            ("add $0 x", "no operand"),
            ("neg $-1", "no operand"),
        ] {
            let e = text.parse::<RewritingStep>().expect_err("refused");
            assert!(e.to_string().contains(part), "{text}: {e}");
        }
    }
}
