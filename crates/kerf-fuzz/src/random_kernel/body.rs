//! The text of one function under construction and the values its next instruction may use.

use super::random::Random;

/// The types values of a kernel have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    F64,
    F32,
    F16,
    I32,
}

impl Type {
    pub(super) const ALL: [Type; 4] = [Type::F64, Type::F32, Type::F16, Type::I32];

    /// The name in IR.
    pub(super) fn ir(self) -> &'static str {
        match self {
            Type::F64 => "double",
            Type::F32 => "float",
            Type::F16 => "half",
            Type::I32 => "i32",
        }
    }

    /// The suffix in the names of overloaded intrinsics.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Type::F64 => "f64",
            Type::F32 => "f32",
            Type::F16 => "f16",
            Type::I32 => "i32",
        }
    }

    /// The suffix in the names of the kernel's parameters and of its shared arrays.
    pub(super) fn buffer(self) -> &'static str {
        match self {
            Type::F64 => "64",
            Type::F32 => "32",
            Type::F16 => "16",
            Type::I32 => "I",
        }
    }

    /// Size in bytes, which is the alignment as well.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Type::F64 => 8,
            Type::F32 | Type::I32 => 4,
            Type::F16 => 2,
        }
    }

    pub(super) fn is_float(self) -> bool {
        self != Type::I32
    }
}

/// A value the following instructions may use.
struct Value {
    name: String,
    used: bool,
}

/// How many values of each type were visible at some point; see [`Body::mark`].
pub(super) type Mark = [usize; 4];

/// The instructions of a function so far, with the values visible at the end of them.
#[derive(Default)]
pub(super) struct Body {
    /// Instructions after the allocas.
    pub(super) text: String,
    /// Allocas, which all stand at the head of the entry block.
    pub(super) allocas: String,
    /// The block the next instruction goes to.
    pub(super) label: String,
    /// Floating-point instructions written.
    pub(super) float_instructions: usize,
    next: usize,
    values: [Vec<Value>; 4],
}

impl Body {
    pub(super) fn new() -> Self {
        Body {
            label: "entry".to_owned(),
            ..Body::default()
        }
    }

    /// A number no other name of the function has.
    pub(super) fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Writes one instruction without a result.
    pub(super) fn line(&mut self, instruction: &str) {
        self.text.push_str("  ");
        self.text.push_str(instruction);
        self.text.push('\n');
    }

    /// Writes one instruction and returns the name of its result.
    pub(super) fn define(&mut self, instruction: &str) -> String {
        let name = format!("%v{}", self.fresh());
        self.line(&format!("{name} = {instruction}"));
        name
    }

    /// Ends the current block with a jump to `label`.
    pub(super) fn jump(&mut self, label: &str) {
        self.line(&format!("br label %{label}"));
    }

    /// Begins the block `label`.
    pub(super) fn begin(&mut self, label: &str) {
        self.text.push_str(label);
        self.text.push_str(":\n");
        label.clone_into(&mut self.label);
    }

    /// Makes `name` visible to the following instructions.
    pub(super) fn keep(&mut self, ty: Type, name: &str) {
        self.values[ty as usize].push(Value {
            name: name.to_owned(),
            used: false,
        });
    }

    /// The extent of what is visible now, to be handed to [`Body::leave`] at the end of a region
    /// whose values do not dominate what follows it.
    pub(super) fn mark(&self) -> Mark {
        Type::ALL.map(|ty| self.values[ty as usize].len())
    }

    /// Hides every value that became visible since `mark`.
    pub(super) fn leave(&mut self, mark: Mark) {
        for ty in Type::ALL {
            self.values[ty as usize].truncate(mark[ty as usize]);
        }
    }

    /// A visible value: a yet unused one half of the time, lest most of the kernel be dead code,
    /// otherwise a recent one rather than an old one.
    pub(super) fn pick(&mut self, random: &mut Random, ty: Type) -> Option<String> {
        let values = &mut self.values[ty as usize];
        if values.is_empty() {
            return None;
        }
        let unused = if random.chance(50) {
            values.iter().rposition(|value| !value.used)
        } else {
            None
        };
        let index = unused.unwrap_or_else(|| {
            let back = random.below(values.len());
            let back = back.min(random.below(values.len()));
            values.len() - 1 - back
        });
        values[index].used = true;
        Some(values[index].name.clone())
    }

    /// The last unused value that became visible since `mark`.
    pub(super) fn unused_since(&mut self, ty: Type, mark: Mark) -> Option<String> {
        let value = self.values[ty as usize]
            .iter_mut()
            .skip(mark[ty as usize])
            .rev()
            .find(|value| !value.used)?;
        value.used = true;
        Some(value.name.clone())
    }

    /// Takes up to `limit` of the values that are visible and yet unused, oldest first.
    pub(super) fn take_unused(&mut self, ty: Type, limit: usize) -> Vec<String> {
        self.values[ty as usize]
            .iter_mut()
            .filter(|value| !value.used)
            .take(limit)
            .map(|value| {
                value.used = true;
                value.name.clone()
            })
            .collect()
    }
}
