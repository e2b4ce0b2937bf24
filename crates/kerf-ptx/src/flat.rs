//! A body without scopes: every register and variable under a name of its own, statements in basic blocks.
use super::file_syntax::{BodyStatement, CallStatement, SourceLine, Variable};
use super::lexer::Place;
use super::refusal::Refusal;
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use std::collections::{BTreeMap, HashMap};

/// What a statement does.
#[derive(Debug, Clone)]
pub(super) enum FlatOp {
    /// An instruction.
    Do(Instruction),
    /// A call.
    Call(CallStatement),
    /// A statement that is refused: its name, and why.
    Unknown(String, String),
}

/// A statement with its place.
#[derive(Debug, Clone)]
pub(super) struct FlatStatement {
    /// What it does.
    pub op: FlatOp,
    /// Where it is.
    pub place: Place,
    /// Where it came from, by `.loc`.
    pub source: Option<SourceLine>,
}

/// A body.
#[derive(Debug, Default)]
pub(super) struct FlatBody {
    /// Types of registers by name; only of those that a statement names.
    pub registers: BTreeMap<String, Ty>,
    /// Variables of the function, under their new names.
    pub variables: Vec<Variable>,
    /// Basic blocks; control falls from one into the next.
    pub blocks: Vec<Vec<FlatStatement>>,
    /// Blocks by label.
    pub labels: HashMap<String, usize>,
    /// Lists of branch targets by label.
    pub targets: HashMap<String, Vec<String>>,
}

#[derive(Default)]
struct Scope {
    /// Distinguishes names of this scope from those of others.
    mark: String,
    registers: HashMap<String, Ty>,
    families: Vec<(String, u64, Ty)>,
    variables: HashMap<String, String>,
}

impl Scope {
    fn register(&self, name: &str) -> Option<Ty> {
        let family = |(prefix, count, ty): &(String, u64, Ty)| {
            let digits = name.strip_prefix(prefix.as_str())?;
            let plain = digits == "0" || !digits.starts_with('0');
            let number = digits.parse::<u64>().ok().filter(|_| plain)?;
            (number < *count).then_some(*ty)
        };
        let one = self.registers.get(name).copied();
        one.or_else(|| self.families.iter().rev().find_map(family))
    }
}

struct Flattener {
    out: FlatBody,
    scopes: Vec<Scope>,
    opened: usize,
    source: Option<SourceLine>,
}

/// Does control never pass on to the statement behind this one, or only if a guard fails?
pub(super) fn ends_block(op: &FlatOp) -> bool {
    match op {
        FlatOp::Do(i) => matches!(i.opcode(), "bra" | "brx" | "ret" | "exit"),
        _ => false,
    }
}

/// Takes the scopes out of a body.
pub(super) fn flatten(body: &[(BodyStatement, Place)]) -> Result<FlatBody, (Place, Refusal)> {
    let mut f = Flattener {
        out: FlatBody::default(),
        scopes: vec![Scope::default()],
        opened: 0,
        source: None,
    };
    f.out.blocks.push(Vec::new());
    for (s, place) in body {
        f.statement(s, *place).map_err(|why| (*place, why))?;
    }
    Ok(f.out)
}

impl Flattener {
    fn statement(&mut self, s: &BodyStatement, place: Place) -> Result<(), Refusal> {
        match s {
            BodyStatement::Open => {
                self.opened += 1;
                self.scopes.push(Scope {
                    mark: format!("'{}", self.opened),
                    ..Scope::default()
                });
            }
            BodyStatement::Close => {
                self.scopes.pop();
            }
            BodyStatement::Registers(ty, names) => {
                if let Some(scope) = self.scopes.last_mut() {
                    for (name, count) in names {
                        match count {
                            Some(n) => scope.families.push((name.clone(), *n, *ty)),
                            None => _ = scope.registers.insert(name.clone(), *ty),
                        }
                    }
                }
            }
            BodyStatement::Variable(v) => {
                if let Some(scope) = self.scopes.last_mut() {
                    let new = format!("{}{}", v.name, scope.mark);
                    scope.variables.insert(v.name.clone(), new.clone());
                    self.out.variables.push(Variable {
                        name: new,
                        ..v.clone()
                    });
                }
            }
            BodyStatement::Label(name) => {
                self.begin_block();
                let block = self.out.blocks.len() - 1;
                if self.out.labels.insert(name.clone(), block).is_some() {
                    return Err(Refusal(format!("label {name} is there twice")));
                }
            }
            BodyStatement::Location(at) => self.source = Some(*at),
            BodyStatement::Targets(name, all) => {
                self.out.targets.insert(name.clone(), all.clone());
            }
            BodyStatement::Do(i) => {
                let i = self.instruction(i);
                self.push(FlatOp::Do(i), place);
            }
            BodyStatement::Call(c) => {
                let c = self.call(c);
                self.push(FlatOp::Call(c), place);
            }
            BodyStatement::Unknown(name, why) => {
                self.push(FlatOp::Unknown(name.clone(), why.clone()), place);
            }
        }
        Ok(())
    }

    fn begin_block(&mut self) {
        if self.out.blocks.last().is_some_and(|b| !b.is_empty()) {
            self.out.blocks.push(Vec::new());
        }
    }

    fn push(&mut self, op: FlatOp, place: Place) {
        let ends = ends_block(&op);
        let source = self.source;
        if let Some(block) = self.out.blocks.last_mut() {
            block.push(FlatStatement { op, place, source });
        }
        if ends {
            self.out.blocks.push(Vec::new());
        }
    }

    fn instruction(&mut self, i: &Instruction) -> Instruction {
        let operands = i.operands.iter().map(|o| self.operand(o)).collect();
        Instruction {
            guard: self.guard(&i.guard),
            operands,
            ..i.clone()
        }
    }

    fn call(&mut self, c: &CallStatement) -> CallStatement {
        CallStatement {
            guard: self.guard(&c.guard),
            callee: self.operand(&c.callee),
            results: c.results.iter().map(|o| self.operand(o)).collect(),
            arguments: c.arguments.iter().map(|o| self.operand(o)).collect(),
        }
    }

    fn guard(&mut self, g: &Option<(Operand, bool)>) -> Option<(Operand, bool)> {
        g.as_ref().map(|(o, negated)| (self.operand(o), *negated))
    }

    fn operand(&mut self, o: &Operand) -> Operand {
        let each = |f: &mut Flattener, o: &Operand| Box::new(f.operand(o));
        match o {
            Operand::Name(n) => Operand::Name(self.name(n)),
            Operand::Vector(all) => Operand::Vector(all.iter().map(|o| self.operand(o)).collect()),
            Operand::Memory(base, offset) => Operand::Memory(each(self, base), each(self, offset)),
            Operand::Not(p) => Operand::Not(each(self, p)),
            Operand::Pair(p, q) => Operand::Pair(each(self, p), each(self, q)),
            Operand::Beyond(base, bytes) => Operand::Beyond(each(self, base), *bytes),
            Operand::Arg(_)
            | Operand::Int(_)
            | Operand::F16(_)
            | Operand::F32(_)
            | Operand::F64(_)
            | Operand::Sink => o.clone(),
        }
    }

    /// The name that a register or variable of the function has from now on; names of others stay.
    fn name(&mut self, n: &str) -> String {
        for scope in self.scopes.iter().rev() {
            if let Some(v) = scope.variables.get(n) {
                return v.clone();
            }
            if let Some(ty) = scope.register(n) {
                let new = format!("{n}{}", scope.mark);
                self.out.registers.insert(new.clone(), ty);
                return new;
            }
        }
        n.to_owned()
    }
}
