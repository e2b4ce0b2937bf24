//! Chosen instructions in other formats: the frame that passes which change formats share.
//!
//! Each chosen instruction is built anew in its format by the pass; all others stay as they are. A value
//! is converted only where formats meet: once for each format that some user wants, right after its
//! definition, however many users there are. Phis come first, so that loops close; their incoming
//! values last.
use crate::site_format::SiteFormat;
use kerf_ir::llvm::{Block, Builder, LlvmError, Module, Opcode, Type, Value};
use std::collections::BTreeMap;

/// Chosen instructions, and the format of each.
pub type Chosen = BTreeMap<Value, SiteFormat>;

/// Values in formats.
pub struct Engine<'m> {
    /// The module at work.
    pub m: &'m Module,
    chosen: &'m Chosen,
    /// What chosen instructions became.
    built: BTreeMap<Value, Value>,
    /// Values in formats that are not their own.
    converted: BTreeMap<(Value, SiteFormat), Value>,
}

/// How a pass builds one chosen instruction in its format. Phis are the engine's.
pub trait Build {
    /// The instruction's new value: in the format if it was a floating-point value, of its own type
    /// otherwise.
    fn build(
        &self,
        e: &mut Engine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError>;
    /// A value from one format in another.
    fn convert(&self, e: &Engine, b: &Builder, v: Value, from: SiteFormat, to: SiteFormat)
    -> Value;
}

/// Type of a value in a format.
pub fn type_of(m: &Module, f: SiteFormat) -> Type {
    let word = m.float_ty(f.word());
    if f.is_pair() { word.vector(2) } else { word }
}

/// Blocks in an order in which definitions come before uses, but for phis; unreachable ones last.
fn in_order(f: Value) -> Vec<Block> {
    let mut order = crate::shadow::reverse_postorder(f);
    let rest: Vec<Block> = f
        .blocks()
        .into_iter()
        .filter(|b| !order.contains(b))
        .collect();
    order.extend(rest);
    order
}

impl<'m> Engine<'m> {
    /// Format of a value as the module has it now.
    fn home(&self, v: Value) -> Option<SiteFormat> {
        self.chosen
            .get(&v)
            .copied()
            .or_else(|| v.ty().format().map(SiteFormat::from))
    }

    /// A value in a format.
    pub fn get(
        &mut self,
        pass: &dyn Build,
        v: Value,
        want: SiteFormat,
    ) -> Result<Value, LlvmError> {
        let missing = || LlvmError(format!("no value in {want} for {}", v.print()));
        let have = self.home(v).ok_or_else(missing)?;
        let source = match self.chosen.contains_key(&v) {
            true => *self.built.get(&v).ok_or_else(missing)?,
            false => v,
        };
        if have == want {
            return Ok(source);
        }
        if let Some(c) = self.converted.get(&(v, want)) {
            return Ok(*c);
        }
        let known = source.const_real().is_some() || source.is_undef();
        if !known && want.is_pair() && have.word().bytes() < want.word().bytes() && !have.is_pair()
        {
            // By way of the word, which other users may want as well.
            let word = SiteFormat::from(want.word());
            let w = self.get(pass, v, word)?;
            let at = after(w).ok_or_else(missing)?;
            let c = pass.convert(self, &Builder::before(at), w, word, want);
            self.converted.insert((v, want), c);
            return Ok(c);
        }
        let c = if source.is_constant() && !known {
            return Err(missing());
        } else if known {
            // Nothing is emitted for a constant, so any place will do.
            pass.convert(self, &Builder::of_constants(self.m), source, have, want)
        } else {
            let at = after(source).ok_or_else(missing)?;
            pass.convert(self, &Builder::before(at), source, have, want)
        };
        self.converted.insert((v, want), c);
        Ok(c)
    }
}

impl Engine<'_> {
    /// A value that one word of a pair format holds exactly, as that word: one that stays as it is and
    /// is no wider, or a short enough constant.
    pub fn word(
        &mut self,
        pass: &dyn Build,
        v: Value,
        pair: SiteFormat,
    ) -> Result<Option<Value>, LlvmError> {
        let Some(own) = v.ty().format().filter(|_| !self.chosen.contains_key(&v)) else {
            return Ok(None);
        };
        let short = v.const_real().is_some_and(|c| f64::from(c as f32) == c);
        match own.bytes() <= pair.word().bytes() || short {
            true => self.get(pass, v, pair.word().into()).map(Some),
            false => Ok(None),
        }
    }
}

/// The first instruction that a definition reaches in its own block.
fn after(v: Value) -> Option<Value> {
    if v.is_argument() {
        return v.argument_function().blocks().first()?.first_non_phi();
    }
    match v.opcode()? {
        Opcode::LLVMPHI => v.block().first_non_phi(),
        _ => v.next(),
    }
}

/// Rebuilds the chosen instructions of the module's functions.
pub fn rewrite(m: &Module, chosen: &Chosen, pass: &dyn Build) -> Result<(), LlvmError> {
    let mut e = Engine {
        m,
        chosen,
        built: BTreeMap::new(),
        converted: BTreeMap::new(),
    };
    let functions: Vec<Value> = m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .collect();
    let work: Vec<(Value, SiteFormat)> = functions
        .into_iter()
        .flat_map(in_order)
        .flat_map(Block::instructions)
        .filter_map(|i| chosen.get(&i).map(|f| (i, *f)))
        .collect();
    let is_phi = |i: Value| i.opcode() == Some(Opcode::LLVMPHI);
    for (i, f) in work.iter().filter(|w| is_phi(w.0)) {
        let p = Builder::before(*i).phi(type_of(m, *f));
        e.built.insert(*i, p);
    }
    for (i, f) in work.iter().filter(|w| !is_phi(w.0)) {
        let new = pass.build(&mut e, &Builder::before(*i), *i, *f)?;
        e.built.insert(*i, new);
    }
    for (i, f) in work.iter().filter(|w| is_phi(w.0)) {
        for (v, from) in i.incoming() {
            let new = e.get(pass, v, *f)?;
            e.built[i].add_incoming(&[(new, from)]);
        }
    }
    // Users that stay as they are want the value in the format that it had.
    for (i, _) in &work {
        let own = i.ty().format().map(SiteFormat::from);
        let mut users = i.users();
        users.sort_unstable();
        users.dedup();
        for u in users.into_iter().filter(|u| !chosen.contains_key(u)) {
            let v = match own {
                Some(own) => e.get(pass, *i, own)?,
                None => e.built[i],
            };
            for (k, op) in (0u32..).zip(u.operands()) {
                if op == *i {
                    u.set_operand(k, v);
                }
            }
        }
    }
    for (i, _) in &work {
        i.replace_with(i.ty().poison());
    }
    for (i, _) in &work {
        i.erase();
    }
    Ok(())
}
