//! Chosen instructions in other formats: the frame that passes which change formats share.
//!
//! Each chosen instruction is built anew in its format by the pass; all others stay as they are. A value
//! is converted only where formats meet: once for each format that some user wants, however many users
//! there are, from the narrowest form in which it exists exactly, and outside of loops that it does not
//! change in ([`places`]). Phis come first, so that loops close; their incoming values last.
pub(crate) mod places;

use crate::convert;
use crate::format_types::{format_of, typed};
use crate::site_format::SiteFormat;
use kerf_llvm::{Block, Builder, LlvmError, Module, Opcode, Value};
use std::collections::BTreeMap;

/// Chosen instructions, and the format of each.
pub type ChosenFormats = BTreeMap<Value, SiteFormat>;

/// Values in formats.
pub struct FormatEngine<'m> {
    /// The module at work.
    pub m: &'m Module,
    chosen: &'m ChosenFormats,
    /// What chosen instructions became.
    built: BTreeMap<Value, Value>,
    /// Values in formats that are not their own.
    converted: BTreeMap<(Value, SiteFormat), Value>,
    /// Conversions of one instruction, in order, which may be moved.
    made: Vec<Value>,
}

/// How a pass builds one chosen instruction in its format. Phis are the engine's.
pub trait Build {
    /// The instruction's new value: in the format if it was a floating-point value, of its own type
    /// otherwise. A load stays, and what is given is the loaded value; a store stays and is changed.
    fn build(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError>;
}

/// Does every value of one format exist in another?
pub fn contains(outer: SiteFormat, inner: SiteFormat) -> bool {
    use kerf_num::Format::*;
    let word = match (outer.word(), inner.word()) {
        (F64, _) | (F32, F32 | F16 | Bf16) => true,
        (x, y) => x == y,
    };
    match (outer.is_pair(), inner.is_pair()) {
        (_, false) => word,
        (false, true) => false,
        // An f64 pair holds what an f32 pair does, but neither is then in the other's form.
        (true, true) => outer == inner,
    }
}

/// Is it a constant whose value is known here?
pub fn known(v: Value) -> bool {
    let scalar = |v: Value| v.const_real().is_some() || v.is_undef();
    match v.is_constant() && v.ty().is_vector() {
        true => (0..v.ty().lanes()).all(|i| v.lane_constant(i).is_some_and(scalar)),
        false => scalar(v),
    }
}

/// Blocks in an order in which definitions come before uses, but for phis; unreachable ones last.
pub(crate) fn in_order(f: Value) -> Vec<Block> {
    let mut order = crate::shadow::reverse_postorder(f);
    let rest: Vec<Block> = f
        .blocks()
        .into_iter()
        .filter(|b| !order.contains(b))
        .collect();
    order.extend(rest);
    order
}

impl<'m> FormatEngine<'m> {
    /// Format of a value as the module has it now.
    pub fn home(&self, v: Value) -> Option<SiteFormat> {
        self.chosen.get(&v).copied().or_else(|| format_of(v))
    }

    /// A value in its own format.
    fn source(&self, v: Value) -> Option<Value> {
        match self.chosen.contains_key(&v) {
            true => self.built.get(&v).copied(),
            false => Some(v),
        }
    }

    /// Where a value that was only widened comes from.
    fn origin(&self, mut v: Value) -> Value {
        while v.opcode() == Some(Opcode::LLVMFPExt) {
            let x = v.operand(0);
            match (self.home(v), self.home(x)) {
                (Some(outer), Some(inner)) if contains(outer, inner) && !x.is_constant() => v = x,
                _ => break,
            }
        }
        v
    }

    /// A value in a format.
    pub fn get(&mut self, v: Value, want: SiteFormat) -> Result<Value, LlvmError> {
        let missing = || LlvmError(format!("no value in {want} for {}", v.print()));
        if self.home(v) == Some(want) {
            return self.source(v).ok_or_else(missing);
        }
        let v = self.origin(v);
        let have = self.home(v).ok_or_else(missing)?;
        let source = self.source(v).ok_or_else(missing)?;
        if have == want {
            return Ok(source);
        }
        if let Some(c) = self.converted.get(&(v, want)) {
            return Ok(*c);
        }
        let c = if known(source) {
            // Nothing is emitted for a constant, so any place will do.
            convert::convert(self.m, &Builder::of_constants(self.m), source, have, want)
        } else if source.is_constant() {
            return Err(missing());
        } else {
            let small = |f: SiteFormat| f.word().bytes() == 2;
            let way = if have.is_pair() {
                None
            } else if want.is_pair() && have.word().bytes() < want.word().bytes() {
                // By way of the word, which other users may want as well.
                Some(SiteFormat::from(want.word()))
            } else {
                (small(have) && small(want)).then_some(SiteFormat::F32)
            };
            let (from, x) = match way {
                Some(w) => (w, self.get(v, w)?),
                None => (have, source),
            };
            let at = after(x).ok_or_else(missing)?;
            let c = convert::convert(self.m, &Builder::before(at), x, from, want);
            if c.is_instruction() && c.operand(0) == x {
                self.made.push(c);
            }
            c
        };
        self.converted.insert((v, want), c);
        Ok(c)
    }

    /// A value rounded to one format and given in another that holds it.
    pub fn rounded(
        &mut self,
        v: Value,
        to: SiteFormat,
        want: SiteFormat,
    ) -> Result<Value, LlvmError> {
        let o = self.origin(v);
        if self.home(o).is_some_and(|have| contains(to, have)) {
            return self.get(o, want);
        }
        let r = self.get(v, to)?;
        // What was just made is a value of its own, whose conversions are remembered too.
        self.get(r, want)
    }

    /// A value that one word of a pair format holds exactly, as that word: one that stays as it is and
    /// is no wider, or a short enough constant.
    pub fn word(&mut self, v: Value, pair: SiteFormat) -> Result<Option<Value>, LlvmError> {
        let Some(own) = self.home(self.origin(v)).filter(|f| !f.is_pair()) else {
            return Ok(None);
        };
        let short = v.const_real().is_some_and(|c| f64::from(c as f32) == c);
        match own.word().bytes() <= pair.word().bytes() || short {
            true => self.get(v, pair.word().into()).map(Some),
            false => Ok(None),
        }
    }
}

/// The first instruction that a definition reaches in its own block.
pub(crate) fn after(v: Value) -> Option<Value> {
    if v.is_argument() {
        return v.argument_function().blocks().first()?.first_non_phi();
    }
    match v.opcode()? {
        Opcode::LLVMPHI => v.block().first_non_phi(),
        _ => v.next(),
    }
}

/// Does it stay, whatever format its value gets?
fn stays(i: Value) -> bool {
    matches!(i.opcode(), Some(Opcode::LLVMLoad | Opcode::LLVMStore))
}

/// Rebuilds the chosen instructions of the module's functions.
pub fn rewrite(m: &Module, chosen: &ChosenFormats, pass: &dyn Build) -> Result<(), LlvmError> {
    let mut e = FormatEngine {
        m,
        chosen,
        built: BTreeMap::new(),
        converted: BTreeMap::new(),
        made: Vec::new(),
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
        let p = Builder::before(*i).phi(typed(m, *f, i.ty()));
        e.built.insert(*i, p);
    }
    for (i, f) in work.iter().filter(|w| !is_phi(w.0)) {
        let new = pass.build(&mut e, &Builder::before(*i), *i, *f)?;
        e.built.insert(*i, new);
    }
    for (i, f) in work.iter().filter(|w| is_phi(w.0)) {
        for (v, from) in i.incoming() {
            let new = e.get(v, *f)?;
            e.built[i].add_incoming(&[(new, from)]);
        }
    }
    // Users that stay as they are want the value in the format that it had.
    for (i, _) in &work {
        let own = format_of(*i);
        let mut users = i.users();
        users.sort_unstable();
        users.dedup();
        users.retain(|u| !chosen.contains_key(u) && *u != e.built[i]);
        for u in users {
            let v = match own {
                Some(own) => e.get(*i, own)?,
                None => e.built[i],
            };
            for (k, op) in (0u32..).zip(u.operands()) {
                if op == *i {
                    u.set_operand(k, v);
                }
            }
        }
    }
    let gone: Vec<Value> = work.iter().map(|w| w.0).filter(|i| !stays(*i)).collect();
    for i in &gone {
        i.replace_with(i.ty().poison());
    }
    for i in &gone {
        i.erase();
    }
    places::settle(&e.made);
    Ok(())
}
