//! Threads working together: shared memory, barriers, atomics, shuffles and votes.
//!
//! All of these stand in control flow that is uniform over the block. Every phase on a shared array
//! ends with a barrier, so the next phase may overwrite the array at once.

use super::body::Type;
use super::writer::Writer;

impl Writer<'_> {
    fn barrier(&mut self) {
        let name = "llvm.nvvm.barrier.cta.sync.aligned.all";
        let call = self.call_typed(name, "void", &[("i32", "0")]);
        self.body.line(&call);
    }

    /// The address of element `index` of the kernel's shared array of `ty`, with its type.
    fn shared_element(&mut self, ty: Type, index: &str) -> String {
        self.uses.shared = true;
        self.shared[ty as usize] = true;
        let address = self.body.define(&format!(
            "getelementptr inbounds [{} x {}], ptr addrspace(3) @{}_s{}, i32 0, i32 {index}",
            self.plan.block_threads(),
            ty.ir(),
            self.name,
            ty.buffer()
        ));
        // Compilers cast to the generic space first when the source does not name the space.
        if self.random.chance(20) {
            let generic = self
                .body
                .define(&format!("addrspacecast ptr addrspace(3) {address} to ptr"));
            return format!("ptr {generic}");
        }
        format!("ptr addrspace(3) {address}")
    }

    fn store_shared(&mut self, ty: Type, index: &str, value: &str) {
        let address = self.shared_element(ty, index);
        self.body.line(&format!(
            "store {} {value}, {address}, align {}",
            ty.ir(),
            ty.bytes()
        ));
    }

    fn load_shared(&mut self, ty: Type, index: &str) -> String {
        let address = self.shared_element(ty, index);
        self.body.define(&format!(
            "load {}, {address}, align {}",
            ty.ir(),
            ty.bytes()
        ))
    }

    /// A type that shared arrays have.
    fn shared_type(&mut self) -> Type {
        match self.plan.any(&mut self.random) {
            Type::F16 => Type::I32,
            ty => ty,
        }
    }

    /// Every thread stores a value, and after a barrier reads those of other threads.
    pub(super) fn exchange(&mut self) {
        let ty = self.shared_type();
        let value = self.value(ty);
        self.store_shared(ty, "%tid", &value);
        self.barrier();
        for _ in 0..self.random.within(1, 2) {
            let index = self.index_below("%tid", self.plan.block_threads());
            let value = self.load_shared(ty, &index);
            self.body.keep(ty, &value);
        }
        self.barrier();
    }

    /// A tree reduction over the block, which must have a power of two of threads.
    pub(super) fn reduction(&mut self) {
        self.uses.loops = true;
        self.uses.branches = true;
        let ty = self.shared_type();
        let value = self.value(ty);
        self.store_shared(ty, "%tid", &value);
        self.barrier();
        let number = self.body.fresh();
        let before = self.body.label.clone();
        self.body.jump(&format!("loop{number}"));
        self.body.begin(&format!("loop{number}"));
        let half = self.plan.block_threads() / 2;
        self.body.line(&format!(
            "%stride{number} = phi i32 [ {half}, %{before} ], [ %next{number}, %join{number} ]"
        ));
        self.body.line(&format!(
            "%active{number} = icmp ult i32 %tid, %stride{number}"
        ));
        self.body.line(&format!(
            "br i1 %active{number}, label %then{number}, label %join{number}"
        ));
        self.body.begin(&format!("then{number}"));
        let other = self.body.define(&format!("add i32 %tid, %stride{number}"));
        let a = self.load_shared(ty, "%tid");
        let b = self.load_shared(ty, &other);
        let sum = if ty.is_float() {
            self.float(ty, &format!("fadd {} {a}, {b}", ty.ir()))
        } else {
            let operation = self.random.choose(&["add", "xor"]);
            self.body.define(&format!("{operation} i32 {a}, {b}"))
        };
        self.store_shared(ty, "%tid", &sum);
        self.body.jump(&format!("join{number}"));
        self.body.begin(&format!("join{number}"));
        self.barrier();
        self.body
            .line(&format!("%next{number} = lshr i32 %stride{number}, 1"));
        self.body
            .line(&format!("%more{number} = icmp ne i32 %next{number}, 0"));
        self.body.line(&format!(
            "br i1 %more{number}, label %loop{number}, label %done{number}"
        ));
        self.body.begin(&format!("done{number}"));
        let total = self.load_shared(ty, "0");
        self.body.keep(ty, &total);
        self.barrier();
    }

    /// Atomic updates of shared counters. The one operation of a phase commutes with itself and the
    /// old values are dropped, so the order of the threads does not show.
    pub(super) fn atomics(&mut self) {
        self.uses.atomics = true;
        let ty = Type::I32;
        let start = self.value(ty);
        self.store_shared(ty, "%tid", &start);
        self.barrier();
        let operation = self.random.weighted(&[
            (4, "add"),
            (2, "max"),
            (2, "min"),
            (3, "xor"),
            (1, "umax"),
            (1, "umin"),
            (1, "and"),
            (1, "or"),
        ]);
        let ordering = self.random.choose(&["monotonic", "seq_cst"]);
        let threads = self.plan.block_threads();
        for _ in 0..self.random.within(1, 2) {
            // Few counters, so that threads meet at them.
            let counters = threads.min(self.random.choose(&[1, 4, 16, 32]));
            let value = self.value(ty);
            let source = self.value(ty);
            let index = self.body.define(&format!("urem i32 {source}, {counters}"));
            let address = self.shared_element(ty, &index);
            let update =
                format!("atomicrmw {operation} {address}, i32 {value} {ordering}, align 4");
            if self.plan.branches && self.random.chance(40) {
                self.uses.branches = true;
                let condition = self.condition();
                let number = self.body.fresh();
                self.body.line(&format!(
                    "br i1 {condition}, label %then{number}, label %join{number}"
                ));
                self.body.begin(&format!("then{number}"));
                self.body.define(&update);
                self.body.jump(&format!("join{number}"));
                self.body.begin(&format!("join{number}"));
            } else {
                self.body.define(&update);
            }
        }
        self.barrier();
        for _ in 0..self.random.within(1, 2) {
            let bound = threads.min(self.random.choose(&[4, 32, 1024]));
            let index = self.index_below("%tid", bound);
            let value = self.load_shared(ty, &index);
            self.body.keep(ty, &value);
        }
        self.barrier();
    }

    /// Exchanges a value within the warp, or sums it over the warp.
    pub(super) fn shuffle(&mut self) {
        self.uses.shuffle = true;
        let ty = match self.plan.any(&mut self.random) {
            Type::F16 => Type::I32,
            ty => ty,
        };
        let mut value = self.value(ty);
        if self.random.chance(25) {
            for lane in [16, 8, 4, 2, 1] {
                let other = self.shuffled(ty, "bfly", &value, &lane.to_string(), 31);
                value = if ty.is_float() {
                    self.float(ty, &format!("fadd {} {value}, {other}", ty.ir()))
                } else {
                    self.body.define(&format!("add i32 {value}, {other}"))
                };
            }
            self.body.keep(ty, &value);
            return;
        }
        let mode = self.random.choose(&["up", "down", "bfly", "idx"]);
        let width = self.random.weighted(&[(6, 32), (1, 16), (1, 8), (1, 4)]);
        // The last lane a value may come from, which counts downwards for `up`, and above it the
        // mask that splits the warp into segments.
        let last = if mode == "up" { 0 } else { 31 };
        let clamp = (32 - width) << 8 | last;
        let lane = if mode == "idx" && self.random.chance(60) {
            let source = self.value(Type::I32);
            self.body.define(&format!("and i32 {source}, 31"))
        } else {
            self.random.within(1, width - 1).to_string()
        };
        let value = self.shuffled(ty, mode, &value, &lane, clamp);
        self.body.keep(ty, &value);
    }

    fn shuffled(&mut self, ty: Type, mode: &str, value: &str, lane: &str, clamp: usize) -> String {
        if ty == Type::F64 {
            self.note(ty);
            let value = self.without_nan(ty, value);
            let (low, high) = self.halves(&value);
            let low = self.shuffled(Type::I32, mode, &low, lane, clamp);
            let high = self.shuffled(Type::I32, mode, &high, lane, clamp);
            return self.join(&low, &high);
        }
        self.note(ty);
        let name = format!("llvm.nvvm.shfl.sync.{mode}.{}", ty.suffix());
        let call = self.call_typed(
            &name,
            ty.ir(),
            &[
                ("i32", "-1"),
                (ty.ir(), value),
                ("i32", lane),
                ("i32", &clamp.to_string()),
            ],
        );
        self.body.define(&call)
    }

    /// Collects a condition over the warp.
    pub(super) fn ballot(&mut self) {
        self.uses.shuffle = true;
        let condition = self.condition();
        let name = "llvm.nvvm.vote.ballot.sync";
        let call = self.call_typed(name, "i32", &[("i32", "-1"), ("i1", &condition)]);
        let value = self.body.define(&call);
        self.body.keep(Type::I32, &value);
    }
}
