//! An implementation as source text that people read: CUDA C++ or C.
use kerf_hardround::format::hex;
use kerf_num::made::{
    ArgumentGuard, CallForm, CodeStep, ErrorMeasure, MadeFunction, StepIndex, StraightLineCode,
    WorkingFormat,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The language of emitted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmittedLanguage {
    /// CUDA C++: a device function.
    Cuda,
    /// C99.
    C,
}

use EmittedLanguage::{C, Cuda};

/// Words of a language and a format.
struct Dialect {
    language: EmittedLanguage,
    format: WorkingFormat,
}

impl Dialect {
    fn float(&self) -> &'static str {
        match self.format {
            WorkingFormat::F64 => "double",
            WorkingFormat::F32 => "float",
        }
    }
    fn integer(&self) -> &'static str {
        match (self.format, self.language) {
            (WorkingFormat::F64, Cuda) => "long long",
            (WorkingFormat::F64, C) => "int64_t",
            (WorkingFormat::F32, Cuda) => "int",
            (WorkingFormat::F32, C) => "int32_t",
        }
    }
    /// The suffix of functions and constants.
    fn suffix(&self) -> &'static str {
        match self.format {
            WorkingFormat::F64 => "",
            WorkingFormat::F32 => "f",
        }
    }
    fn number(&self, x: f64) -> String {
        format!("{}{}", hex(x), self.suffix())
    }
    fn bits(&self, x: &str) -> String {
        match (self.language, self.format) {
            (Cuda, WorkingFormat::F64) => format!("__double_as_longlong({x})"),
            (Cuda, WorkingFormat::F32) => format!("__float_as_int({x})"),
            (C, _) => format!("bits_of({x})"),
        }
    }
    fn reinterpret_bits(&self, bits: &str) -> String {
        match (self.language, self.format) {
            (Cuda, WorkingFormat::F64) => format!("__longlong_as_double({bits})"),
            (Cuda, WorkingFormat::F32) => format!("__int_as_float({bits})"),
            (C, _) => format!("number_of({bits})"),
        }
    }
    /// The bits of a number, as a literal.
    fn literal_bits(&self, x: f64) -> String {
        match self.format {
            WorkingFormat::F64 => format!("{:#x}LL", self.format.bits(x)),
            WorkingFormat::F32 => format!("{:#x}", self.format.bits(x)),
        }
    }
    /// A rounded operation that no compiler fuses with another one.
    fn operation(&self, cuda: &str, c: &str, x: &str, y: &str) -> String {
        match self.language {
            Cuda if self.format == WorkingFormat::F64 => format!("__d{cuda}_rn({x}, {y})"),
            Cuda => format!("__f{cuda}_rn({x}, {y})"),
            C => format!("{x} {c} {y}"),
        }
    }

    fn square_root(&self, x: &str) -> String {
        match (self.language, self.format) {
            (Cuda, WorkingFormat::F64) => format!("__dsqrt_rn({x})"),
            (Cuda, WorkingFormat::F32) => format!("__fsqrt_rn({x})"),
            (C, _) => format!("sqrt{}({x})", self.suffix()),
        }
    }

    fn expression(
        &self,
        code: &StraightLineCode,
        step: &CodeStep,
        name: &dyn Fn(StepIndex) -> String,
    ) -> String {
        use CodeStep::*;
        let f = self.suffix();
        let fraction = self.format.fraction_bits();
        match *step {
            Argument => "x".to_owned(),
            SecondArgument => "y".to_owned(),
            Constant(c) => self.number(c),
            Add(x, y) => self.operation("add", "+", &name(x), &name(y)),
            Sub(x, y) => self.operation("sub", "-", &name(x), &name(y)),
            Mul(x, y) => self.operation("mul", "*", &name(x), &name(y)),
            Fma(x, y, z) => format!("fma{f}({}, {}, {})", name(x), name(y), name(z)),
            NegatedFma(x, y, z) => format!("fma{f}(-{}, {}, {})", name(x), name(y), name(z)),
            Quotient(x, y) => self.operation("div", "/", &name(x), &name(y)),
            SquareRoot(x) => self.square_root(&name(x)),
            Magnitude(x) => format!("fabs{f}({})", name(x)),
            CopySign(x, y) => format!("copysign{f}({}, {})", name(x), name(y)),
            PowerOfTwo(k) => {
                // Unsigned, since bits above the exponent are shifted out.
                let field = format!("{} + {}", self.bits(&name(k)), self.format.exponent_bias());
                let integer = self.integer();
                let unsigned = match self.language {
                    Cuda => format!("unsigned {integer}"),
                    C => format!("u{integer}"),
                };
                self.reinterpret_bits(&format!("({integer})(({unsigned})({field}) << {fraction})"))
            }
            ShiftedExponent { x, split } => {
                let above = format!("({} - {})", self.bits(&name(x)), self.literal_bits(split));
                let shift = self.literal_bits(self.format.integer_shift());
                self.reinterpret_bits(&format!("{shift} + ({above} >> {fraction})"))
            }
            Significand { x, split } => {
                let own = self.bits(&name(x));
                let above = format!("({own} - {})", self.literal_bits(split));
                let mask = match self.format {
                    WorkingFormat::F64 => "~0xfffffffffffffLL",
                    WorkingFormat::F32 => "~0x7fffff",
                };
                self.reinterpret_bits(&format!("{own} - ({above} & {mask})"))
            }
            SelectOdd { shifted, odd, even } => {
                format!(
                    "{} & 1 ? {} : {}",
                    self.bits(&name(shifted)),
                    name(odd),
                    name(even)
                )
            }
            NegateBySecondBit { shifted, value } => {
                format!(
                    "{} & 2 ? -{} : {}",
                    self.bits(&name(shifted)),
                    name(value),
                    name(value)
                )
            }
            SelectLess { x, y, less, other } => {
                let [x, y, less, other] = [x, y, less, other].map(name);
                format!("{x} < {y} ? {less} : {other}")
            }
            TableEntry {
                table,
                shifted,
                first,
            } => {
                let shift = code.format.bits(code.format.integer_shift());
                let offset = shift.wrapping_add(first);
                let end = if self.format == WorkingFormat::F64 {
                    "LL"
                } else {
                    ""
                };
                format!(
                    "table_{table}[{} - {offset:#x}{end}]",
                    self.bits(&name(shifted))
                )
            }
        }
    }
}

/// Names of steps: a step that takes the value of its own name for the last time takes over the variable.
struct Naming {
    names: Vec<String>,
    assigns: Vec<bool>,
}

fn naming(made: &MadeFunction) -> Naming {
    let code = &made.code;
    let mut last_use = vec![0; code.steps.len()];
    let results = [Some(code.result), code.second_result];
    for (i, step) in code.steps.iter().enumerate() {
        step.operands().into_iter().for_each(|o| last_use[o] = i);
    }
    // A result is used at the end.
    for r in results.into_iter().flatten() {
        last_use[r] = code.steps.len();
    }
    let mut counts = BTreeMap::new();
    let parameters: &[&str] = match made.form() {
        CallForm::OneArgument => &[],
        CallForm::TwoArguments => &["y"],
        CallForm::TwoResults => &["sine", "cosine"],
    };
    counts.extend(parameters.iter().map(|p| (*p, 1)));
    let mut naming = Naming {
        names: Vec::new(),
        assigns: Vec::new(),
    };
    for (i, step) in code.steps.iter().enumerate() {
        let own = code.names[i];
        let is_constant = |o: StepIndex| !code.is_operation(o);
        let taken = step
            .operands()
            .into_iter()
            .find(|o| code.names[*o] == own && last_use[*o] == i && !is_constant(*o));
        naming.assigns.push(taken.is_some());
        naming.names.push(match taken {
            Some(o) => naming.names[o].clone(),
            None if is_constant(i) => own.to_owned(),
            None => {
                let n = counts.entry(own).and_modify(|n| *n += 1).or_insert(1);
                if *n == 1 {
                    own.to_owned()
                } else {
                    format!("{own}{n}")
                }
            }
        });
    }
    naming
}

/// The condition that an argument is between two numbers.
fn between(d: &Dialect, x: &str, [from, to]: [f64; 2]) -> String {
    format!("{x} >= {} && {x} <= {}", d.number(from), d.number(to))
}

fn guard(made: &MadeFunction, d: &Dialect) -> String {
    let magnitude = |x: &str| format!("fabs{}({x})", d.suffix());
    match made.guard {
        ArgumentGuard::Between { from, to } => between(d, "x", [from, to]),
        ArgumentGuard::Magnitude { from: 0.0, to } => {
            format!("{} <= {}", magnitude("x"), d.number(to))
        }
        ArgumentGuard::Magnitude { from, to } => between(d, &magnitude("x"), [from, to]),
        ArgumentGuard::Rectangle { x, y, larger_from } => {
            let mut text = format!("{} && {}", between(d, "x", x), between(d, "y", y));
            if larger_from > 0.0 {
                let least = d.number(larger_from);
                let (x, y) = (magnitude("x"), magnitude("y"));
                let _ = write!(text, " && ({x} >= {least} || {y} >= {least})");
            }
            text
        }
    }
}

fn comment(made: &MadeFunction) -> String {
    let called = match made.form() {
        CallForm::OneArgument => "(x)",
        CallForm::TwoArguments => "(x, y)",
        CallForm::TwoResults => "(x, &sine, &cosine)",
    };
    let second = made.second.map_or(String::new(), |[from, to]| {
        format!(", y from {from:e} to {to:e}")
    });
    let mut text = format!(
        "// {}{called} for x from {:e} to {:e}{second} in {}. {} error: {:e} was asked for, at most {:.3e} is proven",
        made.function,
        made.from,
        made.to,
        made.format().name(),
        capitalised(&made.measure.to_string()),
        made.error,
        made.bound
    );
    if made.measure == ErrorMeasure::Relative {
        let tiny = match made.form() {
            CallForm::TwoArguments => "the smallest subnormal number",
            _ => "half of the smallest subnormal number",
        };
        let _ = write!(
            text,
            "\n// where the value is a normal number; below, {tiny} is added"
        );
    }
    let _ = write!(text, ".\n// Reduction: {}. ", made.reduction);
    let slots = made.code.slots();
    let _ = match (made.degree, made.pieces) {
        (0, 1) => writeln!(text, "{slots} operations."),
        (degree, 1) => writeln!(text, "Degree {degree}. {slots} operations."),
        (degree, n) => writeln!(
            text,
            "{n} polynomials of degree {degree}. {slots} operations."
        ),
    };
    text.push_str(
        "// Other arguments, and NaN, take the library's function. Compile without -ffast-math",
    );
    text.push_str(" and with -ffp-contract=off:\n// each operation is rounded once.\n");
    text
}

fn capitalised(s: &str) -> String {
    let mut c = s.chars();
    c.next().map_or(String::new(), |f| {
        f.to_uppercase().collect::<String>() + c.as_str()
    })
}

fn tables(code: &StraightLineCode, d: &Dialect, name: &str) -> String {
    let mut text = String::new();
    let qualifier = match d.language {
        Cuda => "__device__ static const",
        C => "static const",
    };
    for (i, table) in code.tables.iter().enumerate() {
        let _ = writeln!(
            text,
            "{qualifier} {} {name}_table_{i}[{}] = {{",
            d.float(),
            table.len()
        );
        for row in table.chunks(4) {
            let row: Vec<String> = row.iter().map(|x| d.number(*x)).collect();
            let _ = writeln!(text, "    {},", row.join(", "));
        }
        text.push_str("};\n");
    }
    text
}

/// Conversions between numbers and bits, which C has no functions for.
fn c_conversions(d: &Dialect) -> String {
    let (float, integer) = (d.float(), d.integer());
    let mut text = String::new();
    for (name, from, to) in [("bits_of", float, integer), ("number_of", integer, float)] {
        let _ = writeln!(text, "static inline {to} {name}({from} x) {{");
        let _ = writeln!(
            text,
            "    {to} y;\n    memcpy(&y, &x, sizeof y);\n    return y;\n}}"
        );
    }
    text
}

/// How a function is written: its parameters, and the library's function for arguments outside.
struct Signature {
    returned: &'static str,
    parameters: String,
    /// The library's function of the parameters.
    library: String,
}

fn signature(made: &MadeFunction, d: &Dialect) -> Signature {
    let (float, library) = (d.float(), made.library_name());
    let (returned, parameters, arguments) = match made.form() {
        CallForm::OneArgument => (float, format!("{float} x"), "x"),
        CallForm::TwoArguments => (float, format!("{float} x, {float} y"), "x, y"),
        CallForm::TwoResults => (
            "void",
            format!("{float} x, {float} *sine, {float} *cosine"),
            "x, sine, cosine",
        ),
    };
    // C has neither sincos nor rhypot.
    let f = d.suffix();
    let library = match (made.form(), d.language) {
        (CallForm::TwoResults, C) => format!("*sine = sin{f}(x), *cosine = cos{f}(x)"),
        (CallForm::TwoArguments, C) if made.function == "rhypot" => {
            format!("1 / hypot{f}(x, y)")
        }
        _ => format!("{library}({arguments})"),
    };
    Signature {
        returned,
        parameters,
        library,
    }
}

/// An implementation as a function called `name`.
pub fn source_text(made: &MadeFunction, language: EmittedLanguage, name: &str) -> String {
    let code = &made.code;
    let d = Dialect {
        language,
        format: code.format,
    };
    let naming = naming(made);
    let value_name = |i: StepIndex| match code.steps[i] {
        CodeStep::Constant(c) => d.number(c),
        _ => naming.names[i].clone(),
    };
    let mut text = String::new();
    if language == C {
        text.push_str("#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n");
        text.push_str(&c_conversions(&d));
        text.push('\n');
    }
    text.push_str(&tables(code, &d, name));
    text.push_str(&comment(made));
    let qualifier = if language == Cuda { "__device__ " } else { "" };
    let Signature {
        returned,
        parameters,
        library,
    } = signature(made, &d);
    let _ = writeln!(text, "{qualifier}{returned} {name}({parameters}) {{");
    let inside = guard(made, &d);
    // Compilers compute a pure call beside the code, and select, unless the branch is said to be rare.
    let outside = match language {
        Cuda => format!("__builtin_expect(!({inside}), 0)"),
        C => format!("!({inside})"),
    };
    let has_two_results = code.second_result.is_some();
    // On a GPU the code is computed for every argument, as in plans: compilers unroll and interleave what has no exit in its
    // middle. A table has no entry for arguments outside.
    let library_last = language == Cuda
        && code.tables.is_empty()
        && (has_two_results || code.is_operation(code.result));
    if !library_last {
        let _ = match has_two_results {
            true => writeln!(
                text,
                "    if ({outside}) {{\n        {library};\n        return;\n    }}"
            ),
            false => writeln!(text, "    if ({outside}) return {library};"),
        };
    }
    for (i, step) in code.steps.iter().enumerate() {
        if !code.is_operation(i) {
            continue;
        }
        let expression = d.expression(code, step, &value_name);
        let expression = expression.replace("table_", &format!("{name}_table_"));
        let declared = if naming.assigns[i] {
            String::new()
        } else {
            format!("{} ", d.float())
        };
        let _ = writeln!(text, "    {declared}{} = {expression};", naming.names[i]);
    }
    text.push_str(&ending(
        made,
        &value_name,
        library_last.then_some((&outside, &library)),
    ));
    text.push_str("}\n");
    text
}

/// The last lines of a function: what it gives, or leaves behind its pointers. `last` has the condition and the call of the library's function.
fn ending(
    made: &MadeFunction,
    value_name: &dyn Fn(StepIndex) -> String,
    last: Option<(&String, &String)>,
) -> String {
    let result = value_name(made.code.result);
    match (made.code.second_result, last) {
        (None, None) => format!("    return {result};\n"),
        (None, Some((outside, library))) => {
            format!("    if ({outside}) {result} = {library};\n    return {result};\n")
        }
        (Some(second), last) => {
            let second = value_name(second);
            let mut text = format!("    *sine = {result};\n    *cosine = {second};\n");
            if let Some((outside, library)) = last {
                let _ = writeln!(text, "    if ({outside}) {library};");
            }
            text
        }
    }
}
