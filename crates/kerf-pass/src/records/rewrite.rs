//! Accesses to records, to where their fields are stored.
use super::layout::{RUN, RecordField, RecordLayout, Records};
use super::place::{Place, PlaceCode, in_space};
use super::refusal::RecordRefusal;
use super::trace::{Access, Trace};
use kerf_llvm::{Builder, Module, Opcode, Ordering, Type, TypeKind, Value};

/// A buffer of records in a kernel.
pub(super) struct Buffer<'m> {
    pub m: &'m Module,
    /// Its address.
    pub base: Value,
    pub records: &'m Records,
}

/// A part of an access that is one field.
#[derive(Clone, Copy)]
struct Part {
    /// Bytes from the beginning of the access.
    beyond: i64,
    field: PartField,
}

/// Which field a part is.
#[derive(Clone, Copy)]
enum PartField {
    /// This one of the record.
    Known(RecordField),
    /// That which an index says, of so many bytes each.
    Computed(usize),
}

impl PartField {
    fn bytes(self) -> usize {
        match self {
            PartField::Known(f) => f.bytes,
            PartField::Computed(bytes) => bytes,
        }
    }
}

fn kind(i: Value) -> &'static str {
    match i.opcode() {
        Some(Opcode::LLVMLoad) => "a load",
        Some(Opcode::LLVMStore) => "a store",
        _ => "an atomic operation",
    }
}

/// Type of what an access moves.
fn accessed(i: Value) -> Type {
    match i.opcode() {
        Some(Opcode::LLVMStore) => i.operand(0).ty(),
        Some(Opcode::LLVMAtomicCmpXchg) => i.operand(1).ty(),
        _ => i.ty(),
    }
}

/// Whether memory holds just the bits of a type, in order.
fn is_plain(t: Type) -> bool {
    let scalar = |t: Type| t.is_float() || t.is_int() && t.int_bits().is_multiple_of(8);
    scalar(t) || t.is_vector() && scalar(t.element())
}

/// Whether an access may be made in several.
fn is_divisible(i: Value) -> bool {
    let simple =
        |i: Value| !i.is_volatile() && i.ordering() == Ordering::LLVMAtomicOrderingNotAtomic;
    matches!(i.opcode(), Some(Opcode::LLVMLoad | Opcode::LLVMStore)) && simple(i)
}

impl Buffer<'_> {
    fn record_bytes(&self) -> i64 {
        self.records.bytes() as i64
    }

    fn place(&self, pointer: Value) -> Place {
        Place::new(self.m, pointer, self.base, self.record_bytes())
    }

    /// The fields that bytes from a place on are.
    fn parts(
        &self,
        p: &Place,
        bytes: u64,
        what: (&'static str, Type),
    ) -> Result<Vec<Part>, RecordRefusal> {
        let (access, t) = what;
        let mut out = Vec::new();
        let mut beyond = 0;
        if p.is_computed() {
            let field = self.records.uniform().ok_or(RecordRefusal::ComputedField)?;
            while beyond < bytes as i64 {
                let field = PartField::Computed(field);
                out.push(Part { beyond, field });
                beyond += field.bytes() as i64;
            }
            return match beyond == bytes as i64 {
                true => Ok(out),
                false => Err(RecordRefusal::OtherSize {
                    accessed: t.print(),
                    bytes: field,
                }),
            };
        }
        let offset = p.constant.rem_euclid(self.record_bytes());
        while beyond < bytes as i64 {
            let at = (offset + beyond).rem_euclid(self.record_bytes());
            let left = bytes as i64 - beyond;
            let field = self.records.field_at(at as usize);
            let Some(field) = field.filter(|f| f.bytes as i64 <= left) else {
                return Err(RecordRefusal::PartOfField {
                    access,
                    accessed: t.print(),
                    offset,
                });
            };
            out.push(Part {
                beyond,
                field: PartField::Known(field),
            });
            beyond += field.bytes as i64;
        }
        Ok(out)
    }

    /// Whether an access lies in one padded record, and can stay one.
    fn stays_whole(&self, p: &Place, parts: &[Part]) -> bool {
        let bytes: usize = parts.iter().map(|p| p.field.bytes()).sum();
        let offset = p.constant.rem_euclid(self.record_bytes());
        self.records.layout() == RecordLayout::Padded
            && !p.is_computed()
            && offset + bytes as i64 <= self.record_bytes()
    }

    /// What an access has to be made of; the reason if it cannot be made.
    fn check_access(&self, a: &Access) -> Result<(), RecordRefusal> {
        let (i, t) = (a.instruction, accessed(a.instruction));
        let p = self.place(i.operand(a.operand));
        let parts = self.parts(&p, self.m.size_of(t), (kind(i), t))?;
        let several = parts.len() > 1 && !self.stays_whole(&p, &parts);
        if several && !is_plain(t) {
            return Err(RecordRefusal::AccessedAs {
                accessed: t.print(),
            });
        }
        if several && !is_divisible(i) {
            return Err(RecordRefusal::Indivisible);
        }
        let own = parts.iter().map(|p| p.field.bytes()).max().unwrap_or(1);
        if p.is_computed() && (i.align() as usize) < own {
            return Err(RecordRefusal::LowAlignment { bytes: i.align() });
        }
        Ok(())
    }

    /// Whether all that is done with the buffer can be done; the reason if not.
    pub fn check(&self, t: &Trace) -> Result<(), RecordRefusal> {
        for a in &t.accesses {
            self.check_access(a)?;
        }
        for u in &t.pieces {
            self.ends(*u, t).try_for_each(|end| {
                let bytes = u.operand(2).const_int().unwrap_or(0);
                let what = ("a copy", u.operand(end).ty());
                let place = self.place(u.operand(end));
                // Nothing says that such a copy begins at a field.
                match place.is_computed() {
                    true => Err(RecordRefusal::CopiedWhole),
                    false => self.parts(&place, bytes, what).map(|_| ()),
                }
            })?;
        }
        Ok(())
    }

    /// The operands of a copy or a filling that lead to the buffer.
    fn ends(&self, u: Value, t: &Trace) -> impl Iterator<Item = u32> {
        let fill = u
            .callee_name()
            .is_some_and(|n| n.starts_with("llvm.memset."));
        let count = if fill { 1 } else { 2 };
        let mine: Vec<u32> = (0..count)
            .filter(|n| t.pointers.contains(&u.operand(*n)))
            .collect();
        mine.into_iter()
    }

    /// RecordField by field, all read before any is written, in place of a copy or a filling.
    pub fn split(&self, u: Value, t: &Trace) -> Result<(), RecordRefusal> {
        let Some(end) = self.ends(u, t).next() else {
            return Ok(());
        };
        let bytes = u.operand(2).const_int().unwrap_or(0);
        let what = ("a copy", u.operand(end).ty());
        let parts = self.parts(&self.place(u.operand(end)), bytes, what)?;
        let b = Builder::before(u);
        let at = |p: Value, part: &Part| b.offset(p, b.i64(part.beyond as u64));
        let word = |part: &Part| b.int_ty(8 * part.field.bytes() as u32);
        let fill = u
            .callee_name()
            .is_some_and(|n| n.starts_with("llvm.memset."));
        let read = |part: &Part| match fill {
            true => word(part).zero(),
            false => {
                let v = b.load(word(part), at(u.operand(1), part));
                v.set_align(part.field.bytes() as u32);
                v
            }
        };
        let values: Vec<Value> = parts.iter().map(read).collect();
        for (part, v) in parts.iter().zip(values) {
            let s = b.store(v, at(u.operand(0), part));
            s.set_align(part.field.bytes() as u32);
        }
        u.erase();
        Ok(())
    }

    /// Address of a byte of a record, or of a field.
    fn address(&self, code: &PlaceCode, p: &Place, part: &Part, like: Value) -> Value {
        let b = code.b;
        let i64 = |n: usize| b.i64(n as u64);
        let base = in_space(b, self.base, like);
        let (record, field) = match part.field {
            PartField::Known(_) => {
                let (record, offset) = code.known(p, part.beyond);
                (record, Ok(offset as usize))
            }
            PartField::Computed(bytes) => {
                let (record, field) = code.computed(p, part.beyond, bytes as i64);
                (record, Err(b.mul(field, i64(bytes))))
            }
        };
        let size = part.field.bytes();
        let (start, scale) = match self.records.layout() {
            RecordLayout::Padded => (b.mul(record, i64(self.records.padded_bytes())), 1),
            RecordLayout::Planes => {
                // Lanes are as far apart as fields are large; so much less than records.
                let lane = b.and(record, i64(RUN - 1));
                let nearer = b.mul(lane, b.i64((size as i64 - self.record_bytes()) as u64));
                let records = b.mul(record, i64(self.records.bytes()));
                (b.add(records, nearer), RUN)
            }
        };
        match field {
            Ok(offset) => b.offset(b.offset(base, start), i64(offset * scale)),
            Err(offset) => b.offset(base, b.add(start, b.mul(offset, i64(scale)))),
        }
    }

    /// Bytes that an access to a part is aligned to.
    fn alignment(&self, p: &Place, part: &Part) -> u32 {
        match (self.records.layout(), part.field) {
            (RecordLayout::Padded, PartField::Known(_)) => {
                let offset = (p.constant + part.beyond).rem_euclid(self.record_bytes());
                self.records.padded_alignment(offset as usize) as u32
            }
            (_, field) => field.bytes() as u32,
        }
    }

    /// Makes an access, which [`Buffer::check`] has passed, where the fields are.
    pub fn access(&self, a: &Access) -> Result<(), RecordRefusal> {
        let (i, t) = (a.instruction, accessed(a.instruction));
        let pointer = i.operand(a.operand);
        let p = self.place(pointer);
        let parts = self.parts(&p, self.m.size_of(t), (kind(i), t))?;
        let b = Builder::before(i);
        let code = PlaceCode {
            b: &b,
            base: self.base,
            record: self.record_bytes(),
        };
        let Some(first) = parts.first() else {
            return Ok(()); // nothing is accessed
        };
        if parts.len() == 1 || self.stays_whole(&p, &parts) {
            i.set_operand(a.operand, self.address(&code, &p, first, pointer));
            i.set_align(self.alignment(&p, first));
            return Ok(());
        }
        let place = |part: &Part| {
            let at = self.address(&code, &p, part, pointer);
            (at, self.alignment(&p, part))
        };
        match i.opcode() {
            Some(Opcode::LLVMLoad) => load(&b, i, &parts, place),
            _ => store(&b, i, &parts, place),
        }
        Ok(())
    }
}

/// The type of a part of an access: a lane of its vector where lanes are parts, and else an integer.
fn part_type(b: &Builder, t: Type, part: &Part) -> (Type, bool) {
    let bits = 8 * part.field.bytes() as u32;
    let lane = |t: Type| match t.kind() {
        TypeKind::LLVMDoubleTypeKind => 64,
        TypeKind::LLVMFloatTypeKind => 32,
        TypeKind::LLVMHalfTypeKind | TypeKind::LLVMBFloatTypeKind => 16,
        _ => t.int_bits(),
    };
    match t.is_vector() && lane(t.element()) == bits {
        true => (t.element(), true),
        false => (b.int_ty(bits), false),
    }
}

/// Bits of all parts together.
fn whole_bits(parts: &[Part]) -> u32 {
    parts.iter().map(|p| 8 * p.field.bytes() as u32).sum()
}

fn load(b: &Builder, i: Value, parts: &[Part], place: impl Fn(&Part) -> (Value, u32)) {
    let t = i.ty();
    let lanes = parts.iter().all(|p| part_type(b, t, p).1);
    let word = b.int_ty(whole_bits(parts));
    let mut whole = if lanes { t.poison() } else { word.zero() };
    for (k, part) in (0..).zip(parts) {
        let (at, align) = place(part);
        let v = match lanes {
            true => b.load(t.element(), at),
            false => b.load(b.int_ty(8 * part.field.bytes() as u32), at),
        };
        v.set_align(align);
        if i.is_marked("invariant.load") {
            v.mark("invariant.load");
        }
        whole = match lanes {
            true => b.set_lane(whole, v, k),
            false => {
                let by = word.int(8 * part.beyond as u64);
                b.or(whole, b.shl(b.zext_or_trunc(v, word), by))
            }
        };
    }
    i.become_value(b.bitcast(whole, t));
}

fn store(b: &Builder, i: Value, parts: &[Part], place: impl Fn(&Part) -> (Value, u32)) {
    let v = i.operand(0);
    let lanes = parts.iter().all(|p| part_type(b, v.ty(), p).1);
    let word = b.int_ty(whole_bits(parts));
    for (k, part) in (0..).zip(parts) {
        let (at, align) = place(part);
        let x = match lanes {
            true => b.lane(v, k),
            false => {
                let bits = b.bitcast(v, word);
                let by = word.int(8 * part.beyond as u64);
                let own = b.int_ty(8 * part.field.bytes() as u32);
                b.zext_or_trunc(b.lshr(bits, by), own)
            }
        };
        b.store(x, at).set_align(align);
    }
    i.erase();
}
