//! Hard cases as test vectors of libraries: the files that the harnesses of CORE-MATH and of LLVM's libc read.
use crate::format::hex;
use crate::function::ElementaryFunction;

/// Whose tests read the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestHarness {
    /// `check_worst` of CORE-MATH reads `src/binary64/F/F.wc`: a number a line, two with a comma of functions of two arguments; lines
    /// that begin with `#` are skipped.
    CoreMath,
    /// A unit test of LLVM's libc, `libc/test/src/math/F_test.cpp`, which compares with MPFR in all rounding modes.
    LlvmLibc,
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorsError {
    /// The harness does not test the function.
    #[error("{harness} has no {function} to test")]
    NoFunction {
        /// The harness.
        harness: &'static str,
        /// The function.
        function: String,
    },
    /// An argument that is infinite or not a number: never hard to round.
    #[error("argument {0} of the list is not finite")]
    NotFinite(usize),
}

impl TestHarness {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TestHarness::CoreMath => "CORE-MATH",
            TestHarness::LlvmLibc => "LLVM's libc",
        }
    }

    /// Whether it tests the function in binary64; of LLVM's libc, whether its MPFR wrapper has the operation.
    pub fn tests(self, f: ElementaryFunction) -> bool {
        use ElementaryFunction::*;
        match self {
            TestHarness::CoreMath => !matches!(f, Sqrt | Rootn(_)),
            TestHarness::LlvmLibc => !matches!(
                f,
                Rsqrt | Erfc | Log2p1 | Log10p1 | Asinpi | Atanpi | Rootn(_)
            ),
        }
    }
}

/// The text of the file.
pub fn test_vectors(
    harness: TestHarness,
    f: ElementaryFunction,
    arguments: &[f64],
) -> Result<String, VectorsError> {
    if !harness.tests(f) {
        return Err(VectorsError::NoFunction {
            harness: harness.name(),
            function: f.name(),
        });
    }
    if let Some(i) = arguments.iter().position(|x| !x.is_finite()) {
        return Err(VectorsError::NotFinite(i + 1));
    }
    Ok(match harness {
        TestHarness::CoreMath => core_math(f, arguments),
        TestHarness::LlvmLibc => llvm_libc(f, arguments),
    })
}

/// The C function that is tested, and its second argument.
fn c_function(f: ElementaryFunction) -> (String, Option<f64>) {
    match f {
        ElementaryFunction::Power(n) => ("pow".into(), Some(f64::from(n))),
        f => (f.name(), None),
    }
}

fn core_math(f: ElementaryFunction, arguments: &[f64]) -> String {
    let second = c_function(f)
        .1
        .map_or(String::new(), |n| format!(",{}", hex(n)));
    let mut out = format!(
        "# {} in binary64: {} arguments that are hard to round\n",
        f.name(),
        arguments.len()
    );
    for x in arguments {
        out += &format!("{}{second}\n", hex(*x));
    }
    out
}

fn llvm_libc(f: ElementaryFunction, arguments: &[f64]) -> String {
    let (name, second) = c_function(f);
    let mut operation = name.clone();
    operation[..1].make_ascii_uppercase();
    let test = format!("LlvmLibc{operation}HardToRoundTest");
    let mut out = format!(
        "// {} arguments of {} that are hard to round.\n\
         #include \"src/math/{name}.h\"\n\
         #include \"test/UnitTest/FPMatcher.h\"\n\
         #include \"test/UnitTest/Test.h\"\n\
         #include \"utils/MPFRWrapper/MPFRUtils.h\"\n\n\
         using {test} = LIBC_NAMESPACE::testing::FPTest<double>;\n\n\
         namespace mpfr = LIBC_NAMESPACE::testing::mpfr;\n\n\
         TEST_F({test}, AllRoundingModes) {{\n  \
         constexpr double INPUTS[] = {{\n",
        arguments.len(),
        f.name()
    );
    for x in arguments {
        out += &format!("      {},\n", hex(*x));
    }
    out += "  };\n  for (double x : INPUTS) {\n";
    out += &match second {
        None => format!(
            "    EXPECT_MPFR_MATCH_ALL_ROUNDING(mpfr::Operation::{operation}, x,\n                                   LIBC_NAMESPACE::{name}(x), 0.5);\n"
        ),
        Some(n) => format!(
            "    mpfr::BinaryInput<double> input{{x, {0}}};\n    EXPECT_MPFR_MATCH_ALL_ROUNDING(mpfr::Operation::{operation}, input,\n                                   LIBC_NAMESPACE::{name}(x, {0}), 0.5);\n",
            hex(n)
        ),
    };
    out + "  }\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::List;

    #[test]
    fn core_math_reads_a_number_a_line() {
        let x = [1.5, -f64::from_bits(1)];
        let exp = test_vectors(TestHarness::CoreMath, ElementaryFunction::Exp, &x).unwrap();
        let lines: Vec<&str> = exp.lines().collect();
        assert!(lines[0].starts_with("# exp in binary64"));
        assert_eq!(lines[1..], ["0x1.8p+0", "-0x0.0000000000001p-1022"]);
        let again = List::parse(&exp, "wc").unwrap();
        assert_eq!(
            (again.function.as_deref(), &again.arguments[..]),
            (Some("exp"), &x[..])
        );
        let cube = test_vectors(TestHarness::CoreMath, ElementaryFunction::Power(3), &x[..1]);
        assert!(cube.unwrap().ends_with("\n0x1.8p+0,0x1.8p+1\n"));
    }

    #[test]
    fn llvm_has_a_unit_test() {
        let text = test_vectors(TestHarness::LlvmLibc, ElementaryFunction::Expm1, &[1.5]).unwrap();
        for part in [
            "#include \"src/math/expm1.h\"",
            "TEST_F(LlvmLibcExpm1HardToRoundTest, AllRoundingModes) {",
            "      0x1.8p+0,\n",
            "mpfr::Operation::Expm1, x,",
            "LIBC_NAMESPACE::expm1(x), 0.5);",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        let power = test_vectors(TestHarness::LlvmLibc, ElementaryFunction::Power(-2), &[1.5]);
        assert!(power.unwrap().contains("LIBC_NAMESPACE::pow(x, -0x1p+1)"));
    }

    #[test]
    fn what_has_no_vectors() {
        let refused = |h, f| test_vectors(h, f, &[1.5]).is_err();
        assert!(refused(TestHarness::CoreMath, ElementaryFunction::Rootn(5)));
        assert!(refused(TestHarness::LlvmLibc, ElementaryFunction::Erfc));
        let infinite = test_vectors(
            TestHarness::CoreMath,
            ElementaryFunction::Exp,
            &[1.0, f64::INFINITY],
        );
        assert_eq!(infinite, Err(VectorsError::NotFinite(2)));
    }
}
