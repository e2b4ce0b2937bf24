//! Statements and structured control flow: branches, switches and loops.

use super::body::{Mark, Type};
use super::expression::float_constant;
use super::writer::Writer;

/// Where a statement stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Whether all threads of the block arrive here together.
    pub(super) uniform: bool,
    /// Loops around.
    pub(super) loops: usize,
    /// Branches and loops around.
    pub(super) depth: usize,
}

impl Place {
    /// The outermost level of a kernel.
    pub(super) const KERNEL: Place = Place {
        uniform: true,
        loops: 0,
        depth: 0,
    };

    /// The outermost level of a device function, which may be called by a part of the threads.
    pub(super) const FUNCTION: Place = Place {
        uniform: false,
        loops: 1,
        depth: 1,
    };
}

/// The kinds of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Expression,
    Neighbour,
    Math,
    ApproxMath,
    VectorLoad,
    LocalArray,
    Call,
    Branch,
    Switch,
    Loop,
    Exchange,
    Reduction,
    Atomics,
    Shuffle,
    Ballot,
}

impl Writer<'_> {
    /// Writes a random statement that may stand at `place`.
    pub(super) fn any_statement(&mut self, place: Place) {
        let plan = &self.plan;
        let mut choices = vec![(60, Statement::Expression)];
        let mut offer = |allowed: bool, weight: usize, statement: Statement| {
            if allowed {
                choices.push((weight, statement));
            }
        };
        let room = self.body.float_instructions < plan.float_instructions;
        let kernel = self.in_kernel;
        offer(kernel, 5, Statement::Neighbour);
        offer(plan.math && self.math_calls_left > 0, 5, Statement::Math);
        offer(kernel && plan.vector_loads, 3, Statement::VectorLoad);
        let arrays = plan.local_arrays && self.local_arrays_left > 0;
        offer(kernel && arrays, 3, Statement::LocalArray);
        offer(kernel && plan.calls, 4, Statement::Call);
        let nest = room && place.depth < 3;
        offer(plan.branches && nest, 5, Statement::Branch);
        offer(plan.branches && nest, 2, Statement::Switch);
        let loops = nest && place.loops < 2;
        offer(plan.loops && loops, 5, Statement::Loop);
        if kernel && place.uniform && room {
            // Inside uniform loops and branches there are few statements, so these weigh more.
            let weight = if place.depth > 0 { 14 } else { 4 };
            offer(plan.shared, weight, Statement::Exchange);
            offer(plan.atomics, weight / 2, Statement::Atomics);
            offer(plan.shuffle, weight, Statement::Shuffle);
            offer(plan.shuffle, weight / 2, Statement::Ballot);
        }
        let statement = self.random.weighted(&choices);
        self.statement(statement, place);
    }

    /// Writes a statement of the given kind.
    pub(super) fn statement(&mut self, statement: Statement, place: Place) {
        match statement {
            Statement::Expression => self.expression(),
            Statement::Neighbour => self.neighbour(),
            Statement::Math => self.math_call(false),
            Statement::ApproxMath => self.math_call(true),
            Statement::VectorLoad => self.vector_load(),
            Statement::LocalArray => self.local_array(),
            Statement::Call => self.function_call(),
            Statement::Branch => self.branch(place),
            Statement::Switch => self.switch(place),
            Statement::Loop => self.loop_statement(place),
            Statement::Exchange => self.exchange(),
            Statement::Reduction => self.reduction(),
            Statement::Atomics => self.atomics(),
            Statement::Shuffle => self.shuffle(),
            Statement::Ballot => self.ballot(),
        }
    }

    /// Writes a few statements at `place`, with a new value of every one of `types` at their end.
    fn region(&mut self, place: Place, types: &[Type], mark: Mark) -> Vec<String> {
        let room = self.body.float_instructions < self.plan.float_instructions;
        for _ in 0..self.random.within(1, if room { 4 } else { 2 }) {
            self.any_statement(place);
        }
        types
            .iter()
            .map(|&ty| match self.body.unused_since(ty, mark) {
                Some(value) => value,
                None => self.expression_of(ty),
            })
            .collect()
    }

    fn carried_types(&mut self) -> Vec<Type> {
        (0..self.random.within(1, 3))
            .map(|_| self.plan.any(&mut self.random))
            .collect()
    }

    /// An integer that all threads of the block agree on.
    fn uniform_integer(&mut self) -> String {
        if self.random.chance(40) {
            return "%cta".to_owned();
        }
        let index = self.random.below(self.plan.threads() as usize);
        self.load_input(Type::I32, &index.to_string())
    }

    /// A condition, and whether all threads of the block agree on it.
    fn branch_condition(&mut self, place: Place) -> (String, bool) {
        if place.uniform && self.random.chance(35) {
            let value = self.uniform_integer();
            let bit = self.random.choose(&[1, 1, 2, 4]);
            let masked = self.body.define(&format!("and i32 {value}, {bit}"));
            let condition = self.body.define(&format!("icmp eq i32 {masked}, 0"));
            return (condition, true);
        }
        (self.condition(), false)
    }

    fn inside(place: Place, uniform: bool, loops: usize) -> Place {
        Place {
            uniform: place.uniform && uniform,
            loops: place.loops + loops,
            depth: place.depth + 1,
        }
    }

    fn branch(&mut self, place: Place) {
        self.uses.branches = true;
        let (condition, uniform) = self.branch_condition(place);
        let place = Self::inside(place, uniform, 0);
        let types = self.carried_types();
        let number = self.body.fresh();
        let two_sided = self.random.chance(70);
        let mut incoming: Vec<(Vec<String>, String)> = Vec::new();
        let otherwise = if two_sided { "else" } else { "join" };
        if !two_sided {
            let values = types.iter().map(|&ty| self.operand(ty)).collect();
            incoming.push((values, self.body.label.clone()));
        }
        self.body.line(&format!(
            "br i1 {condition}, label %then{number}, label %{otherwise}{number}"
        ));
        let sides: &[&str] = if two_sided {
            &["then", "else"]
        } else {
            &["then"]
        };
        for side in sides {
            self.body.begin(&format!("{side}{number}"));
            let mark = self.body.mark();
            let values = self.region(place, &types, mark);
            incoming.push((values, self.body.label.clone()));
            self.body.leave(mark);
            self.body.jump(&format!("join{number}"));
        }
        self.merge(&format!("join{number}"), &types, &incoming);
    }

    fn switch(&mut self, place: Place) {
        self.uses.branches = true;
        let uniform = place.uniform && self.random.chance(30);
        let selector = if uniform {
            self.uniform_integer()
        } else {
            self.value(Type::I32)
        };
        let cases = self.random.within(2, 3);
        // Four values for two or three cases, so that the default is taken too.
        let selector = self.body.define(&format!("and i32 {selector}, 3"));
        let place = Self::inside(place, uniform, 0);
        let types = self.carried_types();
        let number = self.body.fresh();
        let table: Vec<String> = (0..cases)
            .map(|case| format!("i32 {case}, label %case{number}_{case}"))
            .collect();
        self.body.line(&format!(
            "switch i32 {selector}, label %default{number} [ {} ]",
            table.join(" ")
        ));
        let mut labels: Vec<String> = (0..cases)
            .map(|case| format!("case{number}_{case}"))
            .collect();
        labels.push(format!("default{number}"));
        let mut incoming = Vec::new();
        for label in &labels {
            self.body.begin(label);
            let mark = self.body.mark();
            let values = self.region(place, &types, mark);
            incoming.push((values, self.body.label.clone()));
            self.body.leave(mark);
            self.body.jump(&format!("join{number}"));
        }
        self.merge(&format!("join{number}"), &types, &incoming);
    }

    /// Begins the block `label` with one phi for each of `types`.
    fn merge(&mut self, label: &str, types: &[Type], incoming: &[(Vec<String>, String)]) {
        self.body.begin(label);
        for (position, &ty) in types.iter().enumerate() {
            let sources: Vec<String> = incoming
                .iter()
                .map(|(values, from)| format!("[ {}, %{from} ]", values[position]))
                .collect();
            let value = self
                .body
                .define(&format!("phi {} {}", ty.ir(), sources.join(", ")));
            self.body.keep(ty, &value);
        }
    }

    /// The number of iterations as an operand, and whether all threads of the block agree on it.
    /// With `maybe_none` it may be zero.
    fn trip_count(&mut self, place: Place, maybe_none: bool) -> (String, bool) {
        let uniform = place.uniform && self.random.chance(30);
        if !uniform && self.random.chance(50) {
            return (self.random.within(1, 8).to_string(), true);
        }
        let value = if uniform {
            self.uniform_integer()
        } else {
            self.value(Type::I32)
        };
        let mask = self.random.choose(&[3, 7]);
        let mut count = self.body.define(&format!("and i32 {value}, {mask}"));
        if !maybe_none {
            count = self.body.define(&format!("add i32 {count}, 1"));
        }
        (count, uniform)
    }

    fn loop_statement(&mut self, place: Place) {
        self.uses.loops = true;
        let checked_first = self.random.chance(50);
        let (count, uniform) = self.trip_count(place, checked_first);
        // Leaving early on a condition of the thread's own values makes the loop divergent.
        let early = checked_first && self.random.chance(25);
        let place = Self::inside(place, uniform && !early, 1);
        let types = self.carried_types();
        let number = self.body.fresh();
        let starts: Vec<String> = types.iter().map(|&ty| self.operand(ty)).collect();
        let before = self.body.label.clone();
        self.body.jump(&format!("loop{number}"));

        // The phis name values of the loop's end, so the rest is written before them.
        let text = std::mem::take(&mut self.body.text);
        let mark = self.body.mark();
        let index = format!("%i{number}");
        let carried: Vec<String> = (0..types.len())
            .map(|position| format!("%carried{number}_{position}"))
            .collect();
        self.body.label = format!("loop{number}");
        for (name, &ty) in carried.iter().zip(&types) {
            self.body.keep(ty, name);
        }
        self.body.keep(Type::I32, &index);
        if checked_first {
            let mut more = self.body.define(&format!("icmp ult i32 {index}, {count}"));
            if early {
                let condition = self.stay_condition(&types, &carried);
                more = self.body.define(&format!("and i1 {more}, {condition}"));
            }
            self.body.line(&format!(
                "br i1 {more}, label %body{number}, label %done{number}"
            ));
            self.body.begin(&format!("body{number}"));
        }
        let computed = self.region(place, &types, mark);
        let ends: Vec<String> = types
            .iter()
            .zip(&carried)
            .zip(computed)
            .map(|((&ty, old), new)| self.accumulate(ty, old, new))
            .collect();
        let next = self.body.define(&format!("add i32 {index}, 1"));
        let last = self.body.label.clone();
        if checked_first {
            self.body.jump(&format!("loop{number}"));
        } else {
            let more = self.body.define(&format!("icmp ult i32 {next}, {count}"));
            self.body.line(&format!(
                "br i1 {more}, label %loop{number}, label %done{number}"
            ));
        }
        let rest = std::mem::replace(&mut self.body.text, text);

        self.body.begin(&format!("loop{number}"));
        self.body.line(&format!(
            "{index} = phi i32 [ 0, %{before} ], [ {next}, %{last} ]"
        ));
        for (position, ty) in types.iter().enumerate() {
            self.body.line(&format!(
                "{} = phi {} [ {}, %{before} ], [ {}, %{last} ]",
                carried[position],
                ty.ir(),
                starts[position],
                ends[position]
            ));
        }
        self.body.text.push_str(&rest);
        self.body.leave(mark);
        self.body.begin(&format!("done{number}"));
        let results = if checked_first { &carried } else { &ends };
        for (&ty, result) in types.iter().zip(results) {
            self.body.keep(ty, result);
        }
    }

    /// A condition for another iteration that holds at first for most threads.
    fn stay_condition(&mut self, types: &[Type], carried: &[String]) -> String {
        let first_float = types.iter().zip(carried).find(|(ty, _)| ty.is_float());
        let Some((&ty, value)) = first_float else {
            return self.condition();
        };
        let t = ty.ir();
        let name = format!("llvm.fabs.{}", ty.suffix());
        let call = self.call(&name, ty, &[(ty, value.clone())]);
        let magnitude = self.float(ty, &call);
        let bound = self.random.choose(&[8.0, 100.0, 1e4]);
        let bound = float_constant(ty, bound);
        let predicate = self.random.choose(&["olt", "ult", "ole", "ule"]);
        self.float(ty, &format!("fcmp {predicate} {t} {magnitude}, {bound}"))
    }

    /// The value an accumulator has after an iteration that computed `new`: mostly a combination
    /// with the old one, so that every iteration counts.
    fn accumulate(&mut self, ty: Type, old: &str, new: String) -> String {
        let new = if new == old {
            self.expression_of(ty)
        } else {
            new
        };
        if self.random.chance(25) {
            return new;
        }
        if ty == Type::I32 {
            let operation = self.random.choose(&["add", "xor", "sub"]);
            return self.body.define(&format!("{operation} i32 {old}, {new}"));
        }
        let t = ty.ir();
        if self.random.chance(40) {
            let factor = self.constant(ty);
            let arguments = [(ty, old.to_owned()), (ty, factor), (ty, new)];
            let call = self.call(&format!("llvm.fma.{}", ty.suffix()), ty, &arguments);
            return self.float(ty, &call);
        }
        let operation = self.random.choose(&["fadd", "fadd", "fsub", "fmul"]);
        self.float(ty, &format!("{operation} {t} {old}, {new}"))
    }
}
