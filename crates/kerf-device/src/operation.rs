//! The catalogue of operations that a profile may speak of.
//!
//! A key is `FUNCTION.FORMAT`, or `FUNCTION.FORMAT.VARIANT`: `fma.f32`, `exp.f64`, `exp.f32.sfu`,
//! `add.dw32.cmp`; conversions are `convert.FROM.TO`; memory operations name the place instead of a
//! format: `load.shared`, `atomic_add.global.f32`.

/// What kind of operation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationClass {
    /// Addition to fused multiply-add, minimum; one instruction where the format is native.
    Arithmetic,
    /// Division, roots and elementary functions.
    Function,
    /// From one format to another.
    Conversion,
    /// Compare and select.
    Select,
    /// Shuffles, loads and atomics.
    Memory,
}

/// Which implementation of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionVariant {
    /// The IEEE operation, libdevice's function, or the proven double-word algorithm.
    Accurate,
    /// The special-function unit's approximation, `.approx.ftz`.
    Sfu,
    /// The formulas of composite precision (Taufer et al. 2010), without renormalisation.
    Cmp,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The key in a profile.
    pub key: String,
    /// Its kind.
    pub class: OperationClass,
    /// `add`, `exp`, `convert`, `load`.
    pub function: &'static str,
    /// Format of the result (of the argument in a conversion), or place in memory.
    pub format: &'static str,
    /// Format that a conversion gives, or element of a memory operation.
    pub to: Option<&'static str>,
    /// Which implementation.
    pub variant: FunctionVariant,
}

/// Formats with arithmetic of their own; `dw32` and `dw64` are double words of f32 and f64.
pub const FORMATS: [&str; 9] = [
    "f16", "bf16", "f16x2", "bf16x2", "f32", "f64", "dw32", "dw64", "i32",
];

/// Formats between which conversions are measured.
pub const CONVERTED: [&str; 6] = ["f16", "bf16", "f32", "f64", "i32", "i64"];

/// Functions with an accurate f32 and f64 version and one on the special-function unit.
pub const FUNCTIONS: [&str; 13] = [
    "div", "rcp", "sqrt", "rsqrt", "pow", "exp", "log", "sin", "cos", "tan", "tanh", "exp2", "log2",
];

/// Double-precision functions that the special-function unit can begin.
pub const SFU_F64: [&str; 4] = ["div", "rcp", "sqrt", "rsqrt"];

fn plain(class: OperationClass, function: &'static str, format: &'static str) -> Operation {
    Operation {
        key: format!("{function}.{format}"),
        class,
        function,
        format,
        to: None,
        variant: FunctionVariant::Accurate,
    }
}

fn with(variant: FunctionVariant, o: Operation) -> Operation {
    let suffix = match variant {
        FunctionVariant::Accurate => return o,
        FunctionVariant::Sfu => "sfu",
        FunctionVariant::Cmp => "cmp",
    };
    Operation {
        key: format!("{}.{suffix}", o.key),
        variant,
        ..o
    }
}

fn between(
    class: OperationClass,
    function: &'static str,
    from: &'static str,
    to: &'static str,
) -> Operation {
    Operation {
        key: format!("{function}.{from}.{to}"),
        to: Some(to),
        ..plain(class, function, from)
    }
}

/// All operations, in the order in which tables list them.
pub fn catalogue() -> Vec<Operation> {
    use OperationClass::*;
    let mut all = Vec::new();
    for format in FORMATS {
        for function in ["add", "mul", "fma", "min"] {
            all.push(plain(Arithmetic, function, format));
        }
        if format == "i32" {
            all.push(plain(Arithmetic, "logic", format));
        }
        if format.starts_with("dw") {
            for function in ["add", "mul", "div"] {
                all.push(with(
                    FunctionVariant::Cmp,
                    plain(Arithmetic, function, format),
                ));
            }
        }
    }
    for format in ["f16", "bf16", "dw32", "dw64"] {
        for function in ["div", "sqrt"] {
            all.push(plain(Function, function, format));
        }
    }
    for format in ["dw32", "dw64"] {
        for function in ["exp", "log", "sin", "cos"] {
            all.push(plain(Function, function, format));
        }
    }
    for function in FUNCTIONS {
        all.push(plain(Function, function, "f32"));
        all.push(with(FunctionVariant::Sfu, plain(Function, function, "f32")));
        all.push(plain(Function, function, "f64"));
        if SFU_F64.contains(&function) {
            all.push(with(FunctionVariant::Sfu, plain(Function, function, "f64")));
        }
    }
    for function in ["exp2", "tanh"] {
        all.push(with(FunctionVariant::Sfu, plain(Function, function, "f16")));
        all.push(with(
            FunctionVariant::Sfu,
            plain(Function, function, "bf16"),
        ));
    }
    for from in CONVERTED {
        for to in CONVERTED {
            // Between integers there is nothing to round.
            if from != to && !(from.starts_with('i') && to.starts_with('i')) {
                all.push(between(Conversion, "convert", from, to));
            }
        }
    }
    for format in ["f16", "bf16", "f32", "f64", "i32"] {
        all.push(plain(Select, "select", format));
    }
    all.push(plain(Memory, "shuffle", "b32"));
    for place in ["shared", "l1", "l2", "dram"] {
        all.push(plain(Memory, "load", place));
    }
    for place in ["shared", "global"] {
        for element in ["i32", "f32", "f64"] {
            all.push(between(Memory, "atomic_add", place, element));
        }
    }
    all
}

/// The operation with a key.
pub fn find(key: &str) -> Option<Operation> {
    catalogue().into_iter().find(|o| o.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique() {
        let mut keys: Vec<_> = catalogue().into_iter().map(|o| o.key).collect();
        let n = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), n);
        assert!(find("exp.f32.sfu").is_some());
        assert!(find("convert.f64.f16").is_some());
        assert!(find("exp.f64.sfu").is_none());
    }
}
