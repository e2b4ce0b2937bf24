//! Lifts a whole function: its registers, basic blocks, branches and returns.
//!
//! Inside a block, registers are values as they are in an asm statement. Between blocks a register lives in a stack slot
//! of the type that it is used as; LLVM makes these slots SSA values again. A register that nothing was written to
//! holds zero, so that runs repeat.
use super::file_syntax::{FunctionText, StateSpace, Variable};
use super::flat::{FlatBody, FlatOp, FlatStatement, ends_block, flatten};
use super::inference::float_registers;
use super::lexer::Place;
use super::lifter::{Lifter, Symbols};
use super::refusal::{Lifted, Refusal, refuse};
use super::registers::{Binding, Registers, reinterpret};
use super::signature::Signatures;
use super::source_lines::SourceLines;
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{Block, Builder, IntPred, Module, Value};

/// A refused statement: its text, where it is, and why.
#[derive(Debug, Clone)]
pub(super) struct RefusedStatement {
    /// Opcode with modifiers, or what else it is.
    pub text: String,
    /// Where it is.
    pub at: FlatStatement,
    /// Why.
    pub why: String,
}

/// Refused statements of one function that are told.
const MOST_REFUSALS: usize = 50;

/// What all functions of a file have in common.
pub(super) struct FileContext<'a> {
    /// The module.
    pub m: &'a Module,
    /// Addresses of the file's variables.
    pub symbols: &'a Symbols,
    /// Functions by name.
    pub signatures: &'a Signatures,
}

/// The emission of one function.
pub(super) struct FunctionLifter<'a> {
    pub(super) context: &'a FileContext<'a>,
    text: &'a FunctionText,
    pub(super) f: Value,
    pub(super) lifter: Lifter,
    body: FlatBody,
    blocks: Vec<Block>,
    /// Where slots are made.
    entry_end: Value,
    lines: &'a mut SourceLines,
}

/// Gives `f` the body of `text`; what was refused otherwise.
pub(super) fn define(
    context: &FileContext,
    text: &FunctionText,
    f: Value,
    lines: &mut SourceLines,
) -> Result<(), Vec<RefusedStatement>> {
    let whole = |place: Place, why: Refusal| {
        let op = FlatOp::Unknown(String::new(), String::new());
        let at = FlatStatement {
            op,
            place,
            source: None,
        };
        vec![RefusedStatement {
            text: text.name.clone(),
            at,
            why: why.0,
        }]
    };
    let body = text.body.as_deref().unwrap_or_default();
    let body = flatten(body).map_err(|(place, why)| whole(place, why))?;
    let entry = context.m.append_block(f, "");
    let entry_end = Builder::at_end(entry).unreachable();
    lines.enter(f, text, &body);
    lines.locate(entry_end, text.place, None);
    let mut l = FunctionLifter {
        lifter: Lifter {
            b: Builder::before(entry_end),
            anchor: entry_end,
            regs: Registers::default(),
            carry: None,
            guard: None,
            side_effects: false,
            symbols: Some(context.symbols.clone()),
        },
        context,
        text,
        f,
        blocks: Vec::new(),
        entry_end,
        body,
        lines,
    };
    l.prologue().map_err(|why| whole(text.place, why))?;
    let refused = l.emit_blocks();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(refused),
    }
}

impl FunctionLifter<'_> {
    /// Parameters, variables, results and registers.
    fn prologue(&mut self) -> Lifted<()> {
        self.context
            .signatures
            .bind_parameters(self.text, self.f, &mut self.lifter)?;
        for v in std::mem::take(&mut self.body.variables) {
            let address = self.variable(&v)?;
            if let Some(symbols) = &mut self.lifter.symbols {
                symbols.insert(v.name.clone(), address);
            }
        }
        let kinds = float_registers(&self.body);
        let registers = std::mem::take(&mut self.body.registers);
        for (name, ty) in &registers {
            self.lifter.regs.declare(*ty, std::slice::from_ref(name));
            let i = self.lifter.regs.all.len() - 1;
            let kind = kinds.get(name).copied();
            let t = kind.unwrap_or(Ty::Bits(ty.width())).llvm(&self.lifter.b);
            let slot = self.lifter.b.alloca(t);
            self.lifter.b.store(t.zero(), slot);
            let r = &mut self.lifter.regs.all[i];
            (r.kind, r.slot) = (kind, Some(slot));
        }
        self.body.registers = registers;
        for _ in 0..self.body.blocks.len() {
            let block = self.context.m.append_block(self.f, "");
            self.blocks.push(block);
        }
        let first = self.blocks.first().copied();
        if let Some(first) = first {
            let b = Builder::before(self.entry_end);
            b.br(first);
        }
        self.entry_end.erase();
        Ok(())
    }

    /// A variable of the function: memory of the thread, or of the block.
    fn variable(&mut self, v: &Variable) -> Lifted<Value> {
        let Some(elements) = v.elements() else {
            return refuse(format!("{} has no length", v.name));
        };
        match v.space {
            StateSpace::Local | StateSpace::Param => {
                let bytes = elements * v.element_bytes();
                let b = &self.lifter.b;
                let p = b.alloca(b.int_ty(8).array(bytes));
                p.set_align(v.alignment());
                Ok(p)
            }
            _ => {
                let name = format!("{}.{}", self.text.name, v.name.replace('\'', "."));
                super::variables::define(self.context.m, v, &name)
            }
        }
    }

    fn emit_blocks(&mut self) -> Vec<RefusedStatement> {
        let mut refused = Vec::new();
        let blocks = std::mem::take(&mut self.body.blocks);
        for (k, statements) in blocks.iter().enumerate() {
            self.begin(k);
            let mut open = true;
            for s in statements {
                self.lines
                    .locate(self.lifter.anchor, s.place, s.source.as_ref());
                self.lifter.b = Builder::before(self.lifter.anchor);
                let done = match ends_block(&s.op) {
                    true => {
                        open = false;
                        self.terminator(s, k)
                    }
                    false => self.statement(s),
                };
                if let Err(why) = done
                    && refused.len() < MOST_REFUSALS
                {
                    refused.push(RefusedStatement {
                        text: statement_text(&s.op),
                        at: s.clone(),
                        why: why.0,
                    });
                }
            }
            if open {
                self.store_registers();
                self.fall_from(k);
            }
        }
        refused
    }

    /// Goes to the beginning of block `k`, where every register is in its slot.
    fn begin(&mut self, k: usize) {
        let anchor = Builder::at_end(self.blocks[k]).unreachable();
        self.lines.locate(anchor, self.text.place, None);
        self.lifter.anchor = anchor;
        self.lifter.b = Builder::before(anchor);
        self.lifter.carry = None;
        let regs = &mut self.lifter.regs;
        for (i, _) in std::mem::take(&mut regs.changes) {
            (regs.all[i].value, regs.all[i].widened) = (None, None);
        }
    }

    /// Loads the registers that an operand names, where they were not used in the block yet.
    fn touch(&mut self, o: &Operand) {
        match o {
            Operand::Vector(all) => all.iter().for_each(|o| self.touch(o)),
            Operand::Memory(p, q) | Operand::Pair(p, q) => {
                self.touch(p);
                self.touch(q);
            }
            Operand::Not(p) => self.touch(p),
            Operand::Name(_) => {
                if let Ok(Some(Binding::Register(i))) = self.lifter.regs.find(o) {
                    let r = self.lifter.regs.all[i];
                    if let (None, Some(slot)) = (r.value, r.slot) {
                        let v = self.lifter.b.load(slot.allocated_type(), slot);
                        self.lifter.regs.set(i, v);
                    }
                }
            }
            _ => {}
        }
    }

    fn touch_all(&mut self, guard: &Option<(Operand, bool)>, operands: &[Operand]) {
        if let Some((p, _)) = guard {
            self.touch(p);
        }
        operands.iter().for_each(|o| self.touch(o));
    }

    fn statement(&mut self, s: &FlatStatement) -> Lifted<()> {
        match &s.op {
            FlatOp::Do(i) => {
                self.touch_all(&i.guard, &i.operands);
                self.lifter.guarded(i.clone())
            }
            FlatOp::Call(c) => {
                self.touch_all(&c.guard, &c.arguments);
                self.touch_all(&None, &c.results);
                self.call(c)
            }
            FlatOp::Unknown(_, why) => refuse(why.clone()),
        }
    }

    /// Puts what was written in a block into the slots.
    fn store_registers(&mut self) {
        let b = Builder::before(self.lifter.anchor);
        for (i, _) in self.lifter.regs.changed_since(0) {
            let r = self.lifter.regs.all[i];
            if let (Some(v), Some(slot)) = (r.value, r.slot) {
                b.store(reinterpret(&b, v, slot.allocated_type()), slot);
            }
        }
    }

    fn label(&self, o: &Operand) -> Lifted<Block> {
        let Operand::Name(name) = o else {
            return refuse("a branch goes to something that is no label");
        };
        match self.body.labels.get(name) {
            Some(k) => Ok(self.blocks[*k]),
            None => refuse(format!("there is no label {name}")),
        }
    }

    /// Goes on behind block `k`; behind the last one, the function returns.
    fn fall_from(&mut self, k: usize) {
        let b = Builder::before(self.lifter.anchor);
        match self.blocks.get(k + 1) {
            Some(next) => _ = b.br(*next),
            None => self.give_back(&b),
        }
        self.lifter.anchor.erase();
    }

    fn give_back(&self, b: &Builder) {
        self.context
            .signatures
            .give_back(self.text, &self.lifter, b);
    }

    /// `bra`, `brx.idx`, `ret`, `exit`
    fn terminator(&mut self, s: &FlatStatement, k: usize) -> Lifted<()> {
        let FlatOp::Do(i) = &s.op else {
            return refuse("a block ends with no branch");
        };
        self.touch_all(&i.guard, &i.operands);
        let condition = match &i.guard {
            None => None,
            Some((p, negated)) => {
                let p = self.lifter.read(p, Ty::Pred)?;
                let not = self.lifter.b.int_ty(1).int(u64::from(*negated));
                Some(self.lifter.b.xor(p, not))
            }
        };
        let index = match i.opcode() {
            "brx" => Some(self.lifter.read(&i.operand(0)?, Ty::Uint(32))?),
            _ => None,
        };
        self.store_registers();
        let b = Builder::before(self.lifter.anchor);
        let mut leave = self.lifter.anchor;
        if let Some(c) = condition {
            let next = match self.blocks.get(k + 1) {
                Some(next) => *next,
                None => return refuse("a guarded branch is the last statement"),
            };
            if i.opcode() == "bra" {
                b.cond_br(c, self.label(&i.operand(0)?)?, next);
                self.lifter.anchor.erase();
                return Ok(());
            }
            let taken = self.context.m.append_block(self.f, "");
            b.cond_br(c, taken, next);
            leave = Builder::at_end(taken).unreachable();
            leave.copy_debug_loc(self.lifter.anchor);
            self.lifter.anchor.erase();
        }
        let b = Builder::before(leave);
        self.leave(i, index, &b)?;
        leave.erase();
        Ok(())
    }

    /// Leaves a block without a condition.
    fn leave(&mut self, i: &Instruction, index: Option<Value>, b: &Builder) -> Lifted<()> {
        match (i.opcode(), index) {
            ("bra", _) => _ = b.br(self.label(&i.operand(0)?)?),
            ("brx", Some(index)) => self.jump_by(i, index, b)?,
            ("exit", _) if !self.text.entry => {
                // A thread that exits in a function leaves the kernel, once the function is inlined there.
                b.asm_effect("exit;");
                b.unreachable();
            }
            _ => self.give_back(b),
        }
        Ok(())
    }

    /// A jump by a table: a comparison for each target, which LLVM makes a switch.
    fn jump_by(&mut self, i: &Instruction, index: Value, b: &Builder) -> Lifted<()> {
        let Operand::Name(table) = i.operand(1)? else {
            return refuse("brx.idx names no list of targets");
        };
        let Some(targets) = self.body.targets.get(&table).cloned() else {
            return refuse(format!("there is no list of targets {table}"));
        };
        let blocks: Vec<Block> = targets
            .iter()
            .map(|t| self.label(&Operand::Name(t.clone())))
            .collect::<Lifted<_>>()?;
        let Some((last, others)) = blocks.split_last() else {
            return refuse("a list of targets is empty");
        };
        for (n, target) in others.iter().enumerate() {
            let here = b.icmp(IntPred::LLVMIntEQ, index, index.ty().int(n as u64));
            let next = self.context.m.append_block(self.f, "");
            b.cond_br(here, *target, next);
            b.move_to_end(next);
        }
        b.br(*last);
        Ok(())
    }
}

/// What a refused statement is called.
fn statement_text(op: &FlatOp) -> String {
    match op {
        FlatOp::Do(i) => i.name.clone(),
        FlatOp::Call(c) => match &c.callee {
            Operand::Name(n) => format!("call {n}"),
            _ => "call".to_owned(),
        },
        FlatOp::Unknown(name, _) => name.clone(),
    }
}
