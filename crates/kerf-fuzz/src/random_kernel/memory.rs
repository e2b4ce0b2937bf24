//! Loads from the input buffers, local arrays and calls of device functions.

use super::body::Type;
use super::writer::{Function, Writer};

impl Writer<'_> {
    /// The address of element `index`, an `i64`, of the buffer parameter `parameter`.
    pub(super) fn element(&mut self, ty: Type, parameter: &str, index: &str) -> String {
        self.body.define(&format!(
            "getelementptr inbounds {}, ptr %{parameter}{}, i64 {index}",
            ty.ir(),
            ty.buffer()
        ))
    }

    /// Loads element `index`, an `i64`, of the input buffer of `ty`.
    pub(super) fn load_input(&mut self, ty: Type, index: &str) -> String {
        let address = self.element(ty, "in", index);
        self.body.define(&format!(
            "load {}, ptr {address}, align {}",
            ty.ir(),
            ty.bytes()
        ))
    }

    /// An index below `bound` as `i32`: next to `own`, or taken from a value.
    pub(super) fn index_below(&mut self, own: &str, bound: u32) -> String {
        let start = match self.random.below(5) {
            0 | 1 => {
                let step = self.random.within(1, bound.max(2) as usize - 1);
                self.body.define(&format!("add i32 {own}, {step}"))
            }
            2 => {
                let factor = self.random.choose(&[3, 5, 7, 11, 13]);
                let product = self.body.define(&format!("mul i32 {own}, {factor}"));
                let step = self.random.below(32);
                self.body.define(&format!("add i32 {product}, {step}"))
            }
            3 => self.body.define(&format!("sub i32 {}, {own}", bound - 1)),
            _ => self.value(Type::I32),
        };
        if bound.is_power_of_two() {
            self.body.define(&format!("and i32 {start}, {}", bound - 1))
        } else {
            self.body.define(&format!("urem i32 {start}, {bound}"))
        }
    }

    /// Loads the input of another thread.
    pub(super) fn neighbour(&mut self) {
        let ty = self.plan.any(&mut self.random);
        let index = self.index_below("%gid", self.plan.threads());
        let index = self.body.define(&format!("zext i32 {index} to i64"));
        let value = self.load_input(ty, &index);
        self.body.keep(ty, &value);
    }

    /// Loads two doubles or four floats at once.
    pub(super) fn vector_load(&mut self) {
        let formats: Vec<Type> = [Type::F64, Type::F32]
            .into_iter()
            .filter(|ty| self.plan.floats.contains(ty))
            .collect();
        if formats.is_empty() {
            return;
        }
        let ty = self.random.choose(&formats);
        let lanes = 16 / ty.bytes();
        let index = self.index_below("%gid", self.plan.threads());
        // The number of threads is a multiple of four, so the whole vector is in the buffer.
        let index = self.body.define(&format!("and i32 {index}, -{lanes}"));
        let index = self.body.define(&format!("zext i32 {index} to i64"));
        let address = self.element(ty, "in", &index);
        let vector = format!("<{lanes} x {}>", ty.ir());
        let loaded = self
            .body
            .define(&format!("load {vector}, ptr {address}, align 16"));
        for lane in 0..lanes {
            let value = self
                .body
                .define(&format!("extractelement {vector} {loaded}, i32 {lane}"));
            self.body.keep(ty, &value);
        }
    }

    /// Fills a local array and reads it at indices known at run time only.
    pub(super) fn local_array(&mut self) {
        self.local_arrays_left = self.local_arrays_left.saturating_sub(1);
        let ty = self.plan.any(&mut self.random);
        let length = self.random.choose(&[4usize, 8]);
        let (t, bytes) = (ty.ir(), ty.bytes());
        let array = format!("%array{}", self.body.fresh());
        self.body.allocas.push_str(&format!(
            "  {array} = alloca [{length} x {t}], align {bytes}\n"
        ));
        for index in 0..length {
            let value = self.operand(ty);
            let address = self.local_element(&array, ty, length, &index.to_string());
            self.body
                .line(&format!("store {t} {value}, ptr {address}, align {bytes}"));
        }
        if self.random.chance(50) {
            let index = self.local_index(length);
            let value = self.operand(ty);
            let address = self.local_element(&array, ty, length, &index);
            self.body
                .line(&format!("store {t} {value}, ptr {address}, align {bytes}"));
        }
        for _ in 0..self.random.within(1, 2) {
            let index = self.local_index(length);
            let address = self.local_element(&array, ty, length, &index);
            let value = self
                .body
                .define(&format!("load {t}, ptr {address}, align {bytes}"));
            self.body.keep(ty, &value);
        }
    }

    fn local_index(&mut self, length: usize) -> String {
        let value = self.value(Type::I32);
        self.body
            .define(&format!("and i32 {value}, {}", length - 1))
    }

    fn local_element(&mut self, array: &str, ty: Type, length: usize, index: &str) -> String {
        self.body.define(&format!(
            "getelementptr inbounds [{length} x {}], ptr {array}, i64 0, i32 {index}",
            ty.ir()
        ))
    }

    /// Calls one of the kernel's device functions.
    pub(super) fn function_call(&mut self) {
        if self.functions.is_empty() {
            return;
        }
        let index = self.random.below(self.functions.len());
        self.call_function(&self.functions[index].clone());
    }

    /// Calls the device function `function`.
    pub(super) fn call_function(&mut self, function: &Function) {
        let mut arguments = Vec::new();
        for &ty in &function.parameters {
            let value = self.operand(ty);
            arguments.push(format!("{} {value}", ty.ir()));
        }
        if function.recursive {
            // The depth, bounded since stacks of device threads are small.
            let depth = if self.random.chance(50) {
                self.random.within(1, 4).to_string()
            } else {
                let value = self.value(Type::I32);
                self.body.define(&format!("and i32 {value}, 3"))
            };
            arguments.push(format!("i32 {depth}"));
        }
        let value = self.body.define(&format!(
            "call {} @{}({})",
            function.result.ir(),
            function.name,
            arguments.join(", ")
        ));
        self.body.keep(function.result, &value);
    }
}
