//! Writing the counters into the program.
use super::addresses::{self, SampledAccesses};
use super::fields::{self, BLOCK_FIELDS, FIELDS, join};
use super::flush::{FlushFunctions, joining, put};
use super::lanes::{self, Noted};
use super::local::{Locals, MOST_SITES};
use super::recorders::Recorders;
use super::sampled_values::{before_if_chosen, before_if_recorded, is_chosen};
use super::told::{self, Terms, lost, see, terms, told, told_of_argument};
use super::values::{arguments, field_of, lanes, larger, values};
use super::{CountDevice, Detail};
use kerf_ir::address::touched;
use kerf_ir::sites::{classify, float_shape};
use kerf_llvm::{Builder, Module, Opcode, RmwOp, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

/// A thread's own count.
struct Own {
    /// Where it goes in the end.
    to: Value,
    numbers: OwnNumbers,
}

/// Where a thread's own count is.
enum OwnNumbers {
    /// In variables.
    Variables(Vec<Value>),
    /// In a record of its own, by address.
    Record(Value),
}

pub(super) struct Pass<'m> {
    m: &'m Module,
    blocks: Value,
    sites: Value,
    addresses: (Value, &'m SampledAccesses),
    warps: (Value, &'m Noted),
    next_block: u64,
    next_site: u64,
    flush: FlushFunctions,
    detail: Detail,
    locals: Locals<'m>,
    /// On a GPU, what takes values.
    recorders: Option<Recorders<'m>>,
    /// Functions that take a value, or a sum, straight into a site's record: by name.
    apart: BTreeMap<String, Value>,
}

impl<'m> Pass<'m> {
    pub(super) fn new(
        m: &'m Module,
        blocks: Value,
        sites: Value,
        addresses: (Value, &'m SampledAccesses),
        warps: (Value, &'m Noted),
        (detail, device): (Detail, CountDevice),
    ) -> Pass<'m> {
        Pass {
            m,
            blocks,
            sites,
            addresses,
            warps,
            next_block: 0,
            next_site: 0,
            flush: FlushFunctions::new(m, device),
            detail,
            locals: Locals::new(m),
            recorders: (device == CountDevice::Gpu).then(|| Recorders::new(m)),
            apart: BTreeMap::new(),
        }
    }

    /// Takes an execution of a site straight into its record, by functions: variables of a thread's own are quicker where a
    /// site runs often, but those of many sites take minutes to compile.
    fn see_apart(&mut self, b: &Builder, i: Value, op: &str, to: Value) {
        for v in values(i) {
            for x in lanes(b, v) {
                let Some(f) = x.ty().format() else { continue };
                let see = self.function_apart("see", f, 1, |b, args| told(b, args[0]));
                b.call(see, &[to, x]);
            }
        }
        for (x, (what, own)) in arguments(i).into_iter().zip(told::ARGUMENTS) {
            let Some(f) = x.ty().format() else { continue };
            let see = self.function_apart(what, f, 1, |b, args| told_of_argument(b, args[0], own));
            b.call(see, &[to, x]);
        }
        let Some(t) = terms(i, op) else { return };
        let (x, y) = t.summands(b);
        for ((x, y), r) in lanes(b, x).into_iter().zip(lanes(b, y)).zip(lanes(b, i)) {
            let Some(f) = r.ty().format() else { continue };
            let lose = self.function_apart("lost", f, 3, |b, args| {
                vec![(fields::CANCELLATION, lost(b, args[0], args[1], args[2], f))]
            });
            b.call(lose, &[to, x, y, r]);
        }
    }

    fn function_apart(
        &mut self,
        what: &str,
        format: Format,
        numbers: usize,
        of: impl Fn(&Builder, &[Value]) -> Vec<(usize, Value)>,
    ) -> Value {
        let m = self.m;
        let name = format!("__kerf_count_{what}_{format}");
        *self.apart.entry(name.clone()).or_insert_with(|| {
            let (f, b) = joining(m, &name, numbers, m.float_ty(format));
            let args = f.params();
            for (field, v) in of(&b, &args[1..]) {
                let p = b.offset(args[0], b.i64(8 * field as u64));
                put(m, f, &b, join(field), p, b.zext_or_trunc(v, m.int_ty(64)));
            }
            b.ret(None);
            f
        })
    }

    /// Instruments one function. Only kernels tell what warps do: others may be called several times.
    pub(super) fn function(&mut self, f: Value, kernel: bool) {
        let Some(first) = f.blocks().first().and_then(|b| b.first()) else {
            return;
        };
        let is_site = |i: &Value| classify(*i).is_some();
        let sites = f.instructions().into_iter().filter(is_site).count();
        // As they are before anything is put in.
        let each: Vec<(Vec<Value>, Value)> = f
            .blocks()
            .into_iter()
            .filter_map(|b| Some((b.instructions(), b.first_non_phi()?)))
            .collect();
        let entry = Builder::before(first);
        let at = addresses::Own::new(&entry, self.addresses.0);
        let notes = kernel && self.detail != Detail::Executions;
        let warp = notes.then(|| self.warps.1.own(&entry));
        let some = self.detail == Detail::SampledValues && self.recorders.is_some();
        let chosen = some.then(|| is_chosen(&entry));
        let mut frame = Frame {
            counts: each.iter().map(|_| variable(&entry)).collect(),
            entry,
            first: self.next_block,
            sites,
            at,
            warp,
            chosen,
            seen: Vec::new(),
            own: Vec::new(),
            rounds: Vec::new(),
        };
        for (existing, start) in each {
            self.count_block(&mut frame, &existing, start);
            if self.detail.has_values() {
                self.see_sites(&mut frame, existing, start);
            }
        }
        if let Some(chosen) = frame.chosen {
            before_if_chosen(self.m, first, chosen, |b| {
                frame.records().for_each(|r| Recorders::empty(b, r));
            });
        }
        for seen in std::mem::take(&mut frame.seen) {
            self.record(frame.chosen, &seen);
        }
        let ends = |i: &Value| {
            i.opcode() == Some(Opcode::LLVMRet)
                || i.callee_name().as_deref() == Some("llvm.nvvm.exit")
        };
        for end in f.instructions().into_iter().filter(ends) {
            self.flush_frame(end, &frame);
        }
    }

    /// Counts executions of a block, and notes addresses of its accesses.
    fn count_block(&mut self, frame: &mut Frame, existing: &[Value], start: Value) {
        let i64t = self.m.int_ty(64);
        let sampled = self.addresses.1;
        let b = Builder::before(start);
        let here = self.next_block;
        self.next_block += 1;
        let to = b.offset(self.blocks, b.i64(8 * BLOCK_FIELDS as u64 * here));
        let count = frame.count(here as usize);
        let sum = b.add(b.load(i64t, count), b.i64(1));
        b.store(sum, count);
        // What not every round of a loop goes through is told apart by rounds: threads of a warp that run it together do so
        // in the same one.
        let head = self.warps.1.in_rounds(here as usize);
        let counted = head.map(|h| b.load(i64t, frame.count(h)));
        let round = frame.at.round(&b, sampled, counted.unwrap_or(sum));
        if let Some(w) = &frame.warp {
            let noted = counted.map(|counted| {
                let noted = variable(&frame.entry);
                b.store(w.round(&b, b.load(i64t, noted), counted), noted);
                noted
            });
            frame.rounds.push((here, count, noted));
        }
        let mut places = sampled.places[here as usize].iter();
        for i in existing {
            for pointer in touched(self.m, *i).into_iter().map(|t| t.pointer) {
                if let Some(Some(place)) = places.next() {
                    let before = Builder::before(*i);
                    frame.at.note(&before, sampled, &round, *place, pointer);
                }
            }
        }
        let numbers = OwnNumbers::Variables(vec![count]);
        frame.own.push((self.flush.block, Own { to, numbers }));
    }

    /// Takes what the sites of a block see into variables, or straight into their records.
    fn see_sites(&mut self, frame: &mut Frame, existing: Vec<Value>, start: Value) {
        let b = Builder::before(start);
        let sites = frame.sites;
        let executions = frame.count(self.next_block as usize - 1);
        for i in existing {
            let Some((op, format, _)) = classify(i) else {
                continue;
            };
            let to = b.offset(self.sites, b.i64(8 * FIELDS as u64 * self.next_site));
            self.next_site += 1;
            // Phis come before everything else in a block; what is not a value may be its end.
            let at = match i.opcode() {
                Some(Opcode::LLVMPHI) => start,
                _ if float_shape(i.ty()).is_none() => i,
                _ => match i.next() {
                    Some(next) => next,
                    None => continue,
                },
            };
            let record = match (&self.recorders, sites > MOST_SITES) {
                (_, true) => SiteRecordAt::Joint(to),
                (Some(recorders), false) => {
                    let record = recorders.record(&frame.entry);
                    if frame.chosen.is_none() {
                        Recorders::empty(&frame.entry, record);
                    }
                    let numbers = OwnNumbers::Record(record);
                    frame.own.push((self.flush.site, Own { to, numbers }));
                    SiteRecordAt::Own(record)
                }
                (None, false) => {
                    let at = Builder::before(at);
                    let variables = self.see_in_place(frame, &at, i, (&op, format));
                    let numbers = OwnNumbers::Variables(variables);
                    frame.own.push((self.flush.site, Own { to, numbers }));
                    continue;
                }
            };
            frame.seen.push(SeenSite {
                site: i,
                op,
                format,
                at,
                executions,
                record,
            });
        }
    }

    /// Takes executions of a site into a record: all, or those that are recorded of chosen warps.
    fn record(&mut self, chosen: Option<Value>, s: &SeenSite) {
        let Some(chosen) = chosen else {
            return self.see(&Builder::before(s.at), s);
        };
        before_if_recorded(self.m, s.at, (chosen, s.executions), |b| {
            let one = b.i64(1);
            let (SiteRecordAt::Own(record) | SiteRecordAt::Joint(record)) = s.record;
            let field = field_of(b, record, fields::RECORDED);
            match s.record {
                SiteRecordAt::Own(_) => {
                    b.store(b.add(b.load(self.m.int_ty(64), field), one), field);
                }
                SiteRecordAt::Joint(_) => {
                    b.atomic_rmw_relaxed(RmwOp::LLVMAtomicRMWBinOpAdd, field, one);
                }
            }
            self.see(b, s);
        });
    }

    fn see(&mut self, b: &Builder, s: &SeenSite) {
        match (s.record, &mut self.recorders) {
            (SiteRecordAt::Own(record), Some(recorders)) => {
                recorders.see(b, s.site, (&s.op, s.format), record);
            }
            (SiteRecordAt::Own(record) | SiteRecordAt::Joint(record), _) => {
                self.see_apart(b, s.site, &s.op, record);
            }
        }
    }

    /// Takes an execution of a site into variables, by code that stands there; gives the variables.
    fn see_in_place(
        &mut self,
        frame: &Frame,
        at: &Builder,
        i: Value,
        (op, format): (&str, Format),
    ) -> Vec<Value> {
        let sites = frame.sites;
        let mut slots: Vec<Value> = (0..FIELDS).map(|_| variable(&frame.entry)).collect();
        self.locals.variables(&frame.entry, &mut slots, sites);
        for v in values(i) {
            for x in lanes(at, v) {
                see(at, x, &slots);
            }
        }
        for (x, (_, own)) in arguments(i).into_iter().zip(told::ARGUMENTS) {
            told::take(at, told_of_argument(at, x, own), &slots);
        }
        if let Some(t) = terms(i, op) {
            cancellation(at, i, &t, format, slots[fields::CANCELLATION]);
        }
        self.locals.see(at, i, op, format, &slots, sites);
        slots
    }

    /// Where a function ends: adds a thread's own counts to those of all.
    fn flush_frame(&self, end: Value, frame: &Frame) {
        let i64t = self.m.int_ty(64);
        let join = |b: &Builder, (flush, o): &(Value, Own)| {
            let mut args = vec![o.to];
            match &o.numbers {
                OwnNumbers::Variables(all) => args.extend(all.iter().map(|s| b.load(i64t, *s))),
                OwnNumbers::Record(record) => args.push(*record),
            }
            b.call(*flush, &args);
        };
        let of_some = |o: &&(Value, Own)| {
            frame.chosen.is_some() && matches!(o.1.numbers, OwnNumbers::Record(_))
        };
        let (some, all): (Vec<_>, Vec<_>) = frame.own.iter().partition(of_some);
        if let Some(chosen) = frame.chosen {
            before_if_chosen(self.m, end, chosen, |b| {
                some.into_iter().for_each(|o| join(b, o));
            });
        }
        let b = &Builder::before(end);
        all.into_iter().for_each(|o| join(b, o));
        let Some(w) = &frame.warp else {
            return;
        };
        let looked_at = b.zext_or_trunc(w.looked_at, i64t);
        for (block, count, noted) in &frame.rounds {
            let to = b.offset(self.warps.0, b.i64(self.warps.1.stride() * block));
            let count = b.mul(b.load(i64t, *count), looked_at);
            let noted = noted.map_or(i64t.zero(), |n| b.mul(b.load(i64t, n), looked_at));
            b.call(self.flush.warp, &[b.offset(to, w.at), noted, count]);
        }
    }
}

/// A thread's own numbers in one function.
struct Frame {
    /// At the function's beginning, where its variables are made.
    entry: Builder,
    /// Number of the function's first block.
    first: u64,
    /// Executions of each block.
    counts: Vec<Value>,
    /// How many sites the function has.
    sites: usize,
    at: addresses::Own,
    warp: Option<lanes::Own>,
    /// Where values of some warps are recorded: whether those of this one are.
    chosen: Option<Value>,
    /// Sites whose values go into records.
    seen: Vec<SeenSite>,
    /// What is added at the end, and by which function.
    own: Vec<(Value, Own)>,
    /// Blocks of a kernel: number, executions, and rounds of its loop where they are noted.
    rounds: Vec<(u64, Value, Option<Value>)>,
}

/// A site whose values go into a record.
struct SeenSite {
    site: Value,
    op: String,
    format: Format,
    /// Where its values are there.
    at: Value,
    /// The variable that counts executions of its block.
    executions: Value,
    record: SiteRecordAt,
}

/// Where a site's record is.
#[derive(Clone, Copy)]
enum SiteRecordAt {
    /// A thread's own, joined with those of others in the end.
    Own(Value),
    /// That of all threads.
    Joint(Value),
}

impl Frame {
    /// Records of a thread's own.
    fn records(&self) -> impl Iterator<Item = Value> {
        self.own.iter().filter_map(|(_, o)| match o.numbers {
            OwnNumbers::Record(r) => Some(r),
            OwnNumbers::Variables(_) => None,
        })
    }

    /// Executions of a block of this function, by its number.
    fn count(&self, block: usize) -> Value {
        self.counts[block - self.first as usize]
    }
}

/// A variable of a thread's own, zero at first.
fn variable(entry: &Builder) -> Value {
    let i64t = entry.int_ty(64);
    let a = entry.alloca(i64t);
    entry.store(i64t.zero(), a);
    a
}

/// Takes the bits that a sum lost in front into a site's variable.
fn cancellation(b: &Builder, i: Value, t: &Terms, f: Format, slot: Value) {
    let (x, y) = t.summands(b);
    for ((x, y), r) in lanes(b, x).into_iter().zip(lanes(b, y)).zip(lanes(b, i)) {
        let lost = lost(b, x, y, r, f);
        let old = b.load(b.int_ty(64), slot);
        b.store(larger(b, lost, old), slot);
    }
}
