//! A kernel with its device functions and shared arrays, from the first load to the last store.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::body::{Body, Type};
use super::control::{Place, Statement};
use super::expression::float_constant;
use super::plan::Plan;
use super::random::Random;
use super::writer::{Function, Writer};
use super::{RandomKernel, Uses};

/// Attributes of device functions.
pub(super) const NOT_INLINED: &str = "noinline nounwind";

/// Writes the kernel `@k<index>` of the module of `seed` at the end of `module`.
pub(super) fn write_kernel(
    seed: u64,
    index: usize,
    module: &mut String,
    declarations: &mut BTreeSet<String>,
) -> RandomKernel {
    let mut random = Random::stream(seed, index as u64);
    let plan = Plan::draw(&mut random);
    let math_calls_left = random.within(1, 4);
    let mut writer = Writer {
        random,
        plan,
        uses: Uses::default(),
        name: format!("k{index}"),
        declarations,
        body: Body::new(),
        functions: Vec::new(),
        shared: [false; 4],
        math_calls_left,
        local_arrays_left: 3,
        in_kernel: false,
        text: String::new(),
    };
    if writer.plan.calls {
        writer.device_functions();
    }
    writer.kernel();
    writer.finish(module)
}

impl Writer<'_> {
    fn device_functions(&mut self) {
        for number in 0..self.random.within(1, 2) {
            let name = format!("{}_f{number}", self.name);
            self.plain_function(name);
        }
        if self.plan.recursion {
            let name = format!("{}_r", self.name);
            self.recursive_function(name);
        }
    }

    fn begin_function(&mut self, function: &Function) {
        self.body = Body::new();
        let mut parameters = Vec::new();
        for (position, ty) in function.parameters.iter().enumerate() {
            parameters.push(format!("{} %p{position}", ty.ir()));
            self.body.keep(*ty, &format!("%p{position}"));
        }
        if function.recursive {
            parameters.push("i32 %depth".to_owned());
        }
        let _ = writeln!(
            self.text,
            "define internal {} @{}({}) {NOT_INLINED} {{\nentry:",
            function.result.ir(),
            function.name,
            parameters.join(", ")
        );
    }

    fn end_function(&mut self) {
        self.text.push_str(&self.body.allocas);
        self.text.push_str(&self.body.text);
        self.text.push_str("}\n\n");
    }

    fn plain_function(&mut self, name: String) {
        let result = self.plan.any(&mut self.random);
        let mut parameters = vec![result, Type::I32];
        for _ in 0..self.random.within(1, 2) {
            parameters.push(self.plan.float(&mut self.random));
        }
        let function = Function {
            name,
            result,
            parameters,
            recursive: false,
        };
        self.begin_function(&function);
        for _ in 0..self.random.within(3, 6) {
            self.any_statement(Place::FUNCTION);
        }
        let value = self.expression_of(result);
        self.body.line(&format!("ret {} {value}", result.ir()));
        self.end_function();
        self.functions.push(function);
    }

    fn recursive_function(&mut self, name: String) {
        let ty = self.plan.float(&mut self.random);
        let t = ty.ir();
        let function = Function {
            name,
            result: ty,
            parameters: vec![ty, ty],
            recursive: true,
        };
        // Plain arithmetic only: device stacks are small, and a math function takes much of one.
        let calls_left = std::mem::take(&mut self.math_calls_left);
        self.begin_function(&function);
        self.body.line("%stop = icmp slt i32 %depth, 1");
        self.body.line("br i1 %stop, label %base, label %step");
        self.body.begin("base");
        let mark = self.body.mark();
        let value = self.expression_of(ty);
        self.body.line(&format!("ret {t} {value}"));
        self.body.leave(mark);
        self.body.begin("step");
        for _ in 0..self.random.within(1, 3) {
            self.expression_of(ty);
        }
        let first = self.operand(ty);
        let second = self.other_operand(ty, &first);
        self.body.line("%less = sub i32 %depth, 1");
        let deeper = self.body.define(&format!(
            "call {t} @{}({t} {first}, {t} {second}, i32 %less)",
            function.name
        ));
        self.body.keep(ty, &deeper);
        // What follows the call uses its result, or the recursion would be dead code.
        let operation = self.random.choose(&["fadd", "fsub", "fmul"]);
        let other = self.other_operand(ty, &deeper);
        let value = self.float(ty, &format!("{operation} {t} {deeper}, {other}"));
        self.body.line(&format!("ret {t} {value}"));
        self.end_function();
        self.math_calls_left = calls_left;
        self.functions.push(function);
    }

    fn kernel(&mut self) {
        let in_functions = self.functions.len();
        self.body = Body::new();
        self.in_kernel = true;
        // The work inside the functions counts, but is called from a few places only.
        self.plan.float_instructions -= (4 * in_functions).min(12);
        self.prologue();
        for statement in self.required() {
            if self.body.float_instructions < self.plan.float_instructions {
                for _ in 0..self.random.within(0, 2) {
                    self.any_statement(Place::KERNEL);
                }
            }
            self.statement(statement, Place::KERNEL);
        }
        while self.body.float_instructions < self.plan.float_instructions {
            self.any_statement(Place::KERNEL);
        }
        self.epilogue();
        let _ = writeln!(
            self.text,
            "define ptx_kernel void @{}(ptr %in64, ptr %in32, ptr %in16, ptr %inI, \
             ptr %out64, ptr %out32, ptr %out16, ptr %outI) convergent nounwind {{\nentry:",
            self.name
        );
        self.end_function();
    }

    /// One statement of every planned feature, in random order.
    fn required(&mut self) -> Vec<Statement> {
        let plan = &self.plan;
        let mut statements = Vec::new();
        let mut require = |planned: bool, statement: Statement| {
            if planned {
                statements.push(statement);
            }
        };
        require(plan.math, Statement::Math);
        require(plan.approx, Statement::ApproxMath);
        require(plan.vector_loads, Statement::VectorLoad);
        require(plan.local_arrays, Statement::LocalArray);
        require(plan.shared, Statement::Exchange);
        require(plan.atomics, Statement::Atomics);
        require(plan.shuffle, Statement::Shuffle);
        require(plan.branches, Statement::Branch);
        require(plan.loops, Statement::Loop);
        require(plan.calls, Statement::Call);
        let tree = plan.loops && plan.branches && plan.shared;
        require(
            tree && plan.block_threads().is_power_of_two() && self.random.chance(75),
            Statement::Reduction,
        );
        require(plan.branches && self.random.chance(35), Statement::Switch);
        require(plan.shuffle && self.random.chance(35), Statement::Ballot);
        self.random.shuffle(&mut statements);
        statements
    }

    /// Reads a special register of the device.
    fn register(&mut self, name: &str) -> String {
        let call = self.call_typed(&format!("llvm.nvvm.read.ptx.sreg.{name}"), "i32", &[]);
        self.body.define(&call)
    }

    /// The linear index over the axes of `index` within the extents in `count`.
    fn linear(&mut self, index: &str, count: &str, extents: [u32; 3]) -> String {
        let mut linear = self.register(&format!("{index}.x"));
        let mut before = String::new();
        for (axis, previous) in [("y", "x"), ("z", "y")] {
            // Extents are read from the device, or known to the compiler.
            let extent = if self.random.chance(60) {
                self.register(&format!("{count}.{previous}"))
            } else {
                extents[usize::from(previous == "y")].to_string()
            };
            before = if before.is_empty() {
                extent
            } else {
                self.body.define(&format!("mul i32 {before}, {extent}"))
            };
            let along = self.register(&format!("{index}.{axis}"));
            let offset = self.body.define(&format!("mul i32 {along}, {before}"));
            linear = self.body.define(&format!("add i32 {linear}, {offset}"));
        }
        linear
    }

    /// Computes the thread's indices and loads its inputs.
    fn prologue(&mut self) {
        let thread = self.linear("tid", "ntid", self.plan.block);
        let block = self.linear("ctaid", "nctaid", self.plan.grid);
        let threads = self.plan.block_threads();
        self.body.line(&format!("%tid = add i32 {thread}, 0"));
        self.body.line(&format!("%cta = add i32 {block}, 0"));
        let first = self.body.define(&format!("mul i32 %cta, {threads}"));
        self.body.line(&format!("%gid = add i32 {first}, %tid"));
        self.body.line("%own = zext i32 %gid to i64");
        for ty in Type::ALL {
            let value = self.load_input(ty, "%own");
            self.body.keep(ty, &value);
        }
        if self.random.chance(25) {
            self.body.keep(Type::I32, "%gid");
        }
        for _ in 0..self.random.within(1, 3) {
            self.neighbour();
        }
    }

    /// Stores one result of every format.
    fn epilogue(&mut self) {
        let approx = self.uses.approx_f32;
        let hashed = self.random.chance(if approx { 30 } else { 80 });
        let mut left = Vec::new();
        let mut results = Vec::new();
        for ty in [Type::F64, Type::F32, Type::F16] {
            if !self.plan.floats.contains(&ty) {
                // A format without arithmetic copies its input.
                let copied = self.body.pick(&mut self.random, ty);
                results.push((ty, copied.unwrap_or_else(|| float_constant(ty, 1.0))));
                continue;
            }
            let mut unused = self.body.take_unused(ty, 7);
            if hashed {
                left.extend(unused.iter().skip(1).map(|value| (ty, value.clone())));
                unused.truncate(1);
            }
            results.push((ty, self.sum(ty, unused)));
        }
        let unused = self.body.take_unused(Type::I32, 8);
        let mut integer = self.value(Type::I32);
        for value in unused {
            integer = self.body.define(&format!("xor i32 {integer}, {value}"));
        }
        // A hash makes every value count that a sum with a larger one would hide.
        for (ty, value) in left {
            let bits = self.bits(ty, &value);
            let mixed = self.body.define(&format!("xor i32 {integer}, {bits}"));
            integer = self.body.define(&format!("mul i32 {mixed}, 16777619"));
        }
        results.push((Type::I32, integer));
        for (ty, value) in results {
            let address = self.element(ty, "out", "%own");
            self.body.line(&format!(
                "store {} {value}, ptr {address}, align {}",
                ty.ir(),
                ty.bytes()
            ));
        }
        self.body.line("ret void");
    }

    fn sum(&mut self, ty: Type, values: Vec<String>) -> String {
        let mut values = values.into_iter();
        let mut sum = match values.next() {
            Some(value) => value,
            None => self.value(ty),
        };
        for value in values {
            // One NaN must not swallow all the others.
            let value = if self.random.chance(50) {
                self.clamp(ty, &value, 1000.0)
            } else {
                self.without_nan(ty, &value)
            };
            sum = self.float(ty, &format!("fadd {} {sum}, {value}", ty.ir()));
        }
        sum
    }

    fn finish(self, module: &mut String) -> RandomKernel {
        let threads = self.plan.block_threads();
        let mut shared_bytes = 0;
        // Wider types come first, so the arrays lie without gaps.
        for ty in Type::ALL {
            if self.shared[ty as usize] {
                shared_bytes += threads * ty.bytes();
                let _ = writeln!(
                    module,
                    "@{}_s{} = internal addrspace(3) global [{threads} x {}] undef, align {}",
                    self.name,
                    ty.buffer(),
                    ty.ir(),
                    ty.bytes()
                );
            }
        }
        module.push('\n');
        module.push_str(&self.text);
        RandomKernel {
            name: self.name,
            uses: self.uses,
            block: self.plan.block,
            grid: self.plan.grid,
            shared_bytes,
        }
    }
}
