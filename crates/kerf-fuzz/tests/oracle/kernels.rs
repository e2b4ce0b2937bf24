//! Kernels of arithmetic, loops and branches over all formats, denser than the differential tests'.
use super::Random;
use kerf_fuzz::random_kernel::{RandomKernel, Uses};
use std::fmt::Write;

struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    count: usize,
    /// Values by type: double, float.
    values: [Vec<String>; 2],
    block: String,
}

const TYPES: [&str; 2] = ["double", "float"];

impl Writer<'_> {
    fn fresh(&mut self) -> usize {
        self.count += 1;
        self.count
    }
    fn define(&mut self, t: usize, text: &str) -> String {
        let name = format!("%v{}", self.fresh());
        let _ = writeln!(self.text, "  {name} = {text}");
        self.values[t].push(name.clone());
        name
    }
    fn operand(&mut self, t: usize) -> String {
        const CONSTANTS: [&str; 6] = ["0.5", "-3.0", "1.0e2", "0.0", "7.0", "-0.125"];
        match self.random.below(8) {
            0 => CONSTANTS[self.random.below(6)].to_owned(),
            _ => {
                let n = self.values[t].len();
                self.values[t][n - 1 - self.random.below(n.min(6))].clone()
            }
        }
    }
    fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
        name.clone_into(&mut self.block);
    }
    fn condition(&mut self) -> String {
        let t = self.random.below(2);
        let (a, b) = (self.operand(t), self.operand(t));
        let p = ["olt", "ogt", "ule", "one", "ord"][self.random.below(5)];
        let name = format!("%c{}", self.fresh());
        let _ = writeln!(self.text, "  {name} = fcmp {p} {} {a}, {b}", TYPES[t]);
        name
    }
    fn operation(&mut self) {
        let t = self.random.below(2);
        let ty = TYPES[t];
        let (a, b, c) = (self.operand(t), self.operand(t), self.operand(t));
        let suffix = ["f64", "f32"][t];
        let text = match self.random.below(13) {
            0..=2 => format!("fadd {ty} {a}, {b}"),
            3 => format!("fsub {ty} {a}, {b}"),
            4 | 5 => format!("fmul {ty} {a}, {b}"),
            6 => format!("fdiv {ty} {a}, {b}"),
            7 | 8 => format!("call {ty} @llvm.fma.{suffix}({ty} {a}, {ty} {b}, {ty} {c})"),
            9 => format!("fneg {ty} {a}"),
            10 => {
                let c = self.condition();
                format!("select i1 {c}, {ty} {a}, {ty} {b}")
            }
            11 => {
                let a = self.operand(1 - t);
                match t {
                    0 => format!("fpext float {a} to double"),
                    _ => format!("fptrunc double {a} to float"),
                }
            }
            _ => format!("sitofp i32 %n to {ty}"),
        };
        self.define(t, &text);
    }
    fn operations(&mut self, most: usize) {
        for _ in 0..1 + self.random.below(most) {
            self.operation();
        }
    }
    /// `if` and `else`, with a phi of each type behind them.
    fn branch(&mut self, depth: usize) {
        let c = self.condition();
        let n = self.fresh();
        let _ = writeln!(self.text, "  br i1 {c}, label %then{n}, label %else{n}");
        let known = self.values.clone();
        let mut ends = Vec::new();
        for side in ["then", "else"] {
            self.label(&format!("{side}{n}"));
            self.values.clone_from(&known);
            self.statements(depth + 1);
            ends.push(([self.operand(0), self.operand(1)], self.block.clone()));
            let _ = writeln!(self.text, "  br label %join{n}");
        }
        self.label(&format!("join{n}"));
        self.values = known;
        for t in 0..2 {
            let from: Vec<String> = ends
                .iter()
                .map(|(v, b)| format!("[ {}, %{b} ]", v[t]))
                .collect();
            self.define(t, &format!("phi {} {}", TYPES[t], from.join(", ")));
        }
    }
    /// A loop of a few iterations that carries a number of each type.
    fn repeat(&mut self, depth: usize) {
        let n = self.fresh();
        let before = self.block.clone();
        let starts = [self.operand(0), self.operand(1)];
        let trips = 1 + self.random.below(5);
        let _ = writeln!(self.text, "  br label %loop{n}");
        let head = std::mem::take(&mut self.text);
        let known = self.values.clone();
        self.block = format!("loop{n}");
        for t in 0..2 {
            self.values[t].push(format!("%s{n}.{t}"));
        }
        self.statements(depth + 1);
        let ends: Vec<String> = (0..2)
            .map(|t| {
                let x = self.operand(t);
                self.define(t, &format!("fadd {} %s{n}.{t}, {x}", TYPES[t]))
            })
            .collect();
        let last = self.block.clone();
        let body = std::mem::replace(&mut self.text, head);
        let _ = writeln!(self.text, "loop{n}:");
        let _ = writeln!(
            self.text,
            "  %i{n} = phi i32 [ 0, %{before} ], [ %j{n}, %{last} ]"
        );
        for t in 0..2 {
            let _ = writeln!(
                self.text,
                "  %s{n}.{t} = phi {} [ {}, %{before} ], [ {}, %{last} ]",
                TYPES[t], starts[t], ends[t]
            );
        }
        self.text.push_str(&body);
        let _ = writeln!(self.text, "  %j{n} = add i32 %i{n}, 1");
        let _ = writeln!(self.text, "  %more{n} = icmp ult i32 %j{n}, {trips}");
        let _ = writeln!(
            self.text,
            "  br i1 %more{n}, label %loop{n}, label %done{n}"
        );
        self.label(&format!("done{n}"));
        self.values = known;
        for (t, end) in ends.into_iter().enumerate() {
            self.values[t].push(end);
        }
    }
    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(4) {
                0 if depth < 3 => self.branch(depth),
                1 if depth < 3 => self.repeat(depth),
                _ => self.operations(4),
            }
        }
    }
}

/// A kernel `k0` with the parameters of [`kerf_fuzz::random_kernel`]'s.
pub fn kernel(random: &mut Random) -> (String, RandomKernel) {
    let mut w = Writer {
        random,
        text: String::new(),
        count: 0,
        values: [vec!["%x".into()], vec!["%y".into()]],
        block: "entry".into(),
    };
    w.statements(0);
    // Everything that is there at the end goes into the results.
    let mut ends = [String::from("0.0"), String::from("0.0")];
    for (t, end) in ends.iter_mut().enumerate() {
        for v in w.values[t].clone() {
            *end = w.define(t, &format!("fadd {} {end}, {v}", TYPES[t]));
        }
    }
    let [d, f] = ends;
    let ir = format!(
        r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare double @llvm.fma.f64(double, double, double)
declare float @llvm.fma.f32(float, float, float)
define ptx_kernel void @k0(ptr %in64, ptr %in32, ptr %in16, ptr %inI, ptr %out64, ptr %out32, ptr %out16, ptr %outI) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %tid to i64
  %p64 = getelementptr inbounds double, ptr %in64, i64 %at
  %x = load double, ptr %p64
  %p32 = getelementptr inbounds float, ptr %in32, i64 %at
  %y = load float, ptr %p32
  %pI = getelementptr inbounds i32, ptr %inI, i64 %at
  %n = load i32, ptr %pI
{}
  %q64 = getelementptr inbounds double, ptr %out64, i64 %at
  store double {d}, ptr %q64
  %q32 = getelementptr inbounds float, ptr %out32, i64 %at
  store float {f}, ptr %q32
  ret void
}}
"#,
        w.text
    );
    let k = RandomKernel {
        name: "k0".into(),
        uses: Uses::default(),
        block: [32, 1, 1],
        grid: [1, 1, 1],
        shared_bytes: 0,
    };
    (ir, k)
}
