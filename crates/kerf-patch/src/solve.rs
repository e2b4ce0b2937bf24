//! Which declarations become narrower, and the edits that make the program so.
//!
//! Memory that the plan holds in f16 or bf16 becomes `__half` or `__nv_bfloat16`; what is computed is f32 at least.
//! A class is in f32 where the plan holds its memory so; or where all that is assigned to it is computed in f32, so that
//! nothing is lost; or where every use of it wants f32, so that it would be rounded anyway. All classes that may
//! change begin as f32, and those for which neither holds are taken out until all that is left agrees.
use crate::edits::Edits;
use crate::marks::Marks;
use crate::model::{DeclarationModel, Entity, Formats, Thing, is_stored_only};
use crate::walk::{ExpressionWalk, Ty, Unsaid, Want};
use kerf_num::Format;
use std::collections::{BTreeMap, BTreeSet};

/// What became of a program.
pub struct Solved {
    /// Classes that become narrower, and what they become.
    pub narrow: Formats,
    /// The edits.
    pub edits: Edits,
    /// Functions that the source needs and does not have.
    pub helpers: BTreeSet<&'static str>,
    /// What the plan asks for and source does not say.
    pub unsaid: BTreeSet<Unsaid>,
}

/// Classes that the plan decides about, with their formats; and those that may be in f32.
fn candidates(m: &DeclarationModel, cl: bool) -> (Formats, BTreeSet<Entity>) {
    let mut members: BTreeMap<Entity, Vec<Entity>> = BTreeMap::new();
    for e in 0..m.things.len() {
        members.entry(m.class(e)).or_default().push(e);
    }
    let (mut held, mut free) = (Formats::new(), BTreeSet::new());
    for (class, all) in members {
        let things = || all.iter().map(|e| &m.things[*e]);
        let own = m.things[class].own;
        if things().any(|t| t.own != own || t.fixed.is_some()) {
            continue;
        }
        match things().any(Thing::is_memory) {
            // Memory that the host or other threads see is as the plan holds it.
            true => {
                let asked = things().filter(|t| t.is_memory() && (t.held.is_some() || !t.shared));
                let wanted = asked
                    .map(|t| t.held.unwrap_or(own))
                    .max_by_key(|f| f.bytes());
                let Some(mut f) = wanted else { continue };
                // There are no vectors of three or four halves, and OpenCL C loads halves by functions only.
                if is_stored_only(f) && (cl || things().any(|t| t.lanes.is_some())) {
                    f = Format::F32;
                }
                if f.bytes() < own.bytes() {
                    held.insert(class, f);
                }
            }
            false if own == Format::F64 => {
                free.insert(class);
            }
            false => {}
        }
    }
    (held, free)
}

/// The largest part of `some` for all of which a condition holds, with `sure` in f32 too.
fn largest(
    w: &dyn Fn(&Formats) -> (Types, Wants),
    some: &BTreeSet<Entity>,
    sure: &Formats,
    holds: &dyn Fn(&[Ty], &[Want]) -> bool,
) -> BTreeSet<Entity> {
    let mut left = some.clone();
    loop {
        let (defs, uses) = w(&with(sure, &left));
        let before = left.len();
        left.retain(|c| {
            let defs = defs.get(c).map_or(&[][..], Vec::as_slice);
            let uses = uses.get(c).map_or(&[][..], Vec::as_slice);
            holds(defs, uses)
        });
        if left.len() == before {
            return left;
        }
    }
}

/// Formats with more classes in f32.
fn with(sure: &Formats, more: &BTreeSet<Entity>) -> Formats {
    let mut all = sure.clone();
    all.extend(more.iter().map(|c| (*c, Format::F32)));
    all
}

type Types = BTreeMap<Entity, Vec<Ty>>;
type Wants = BTreeMap<Entity, Vec<Want>>;

/// Finds formats and edits.
pub fn solve(m: &DeclarationModel, marks: &Marks, cl: bool) -> Solved {
    let (mut narrow, mut free) = candidates(m, cl);
    let walk = |narrow: &Formats| {
        let mut w = ExpressionWalk::new(m, marks, narrow, cl, false);
        w.run();
        (w.defs, w.uses)
    };
    // One after the other, not together: a value that is rounded because a copy of it is f32 must not make the copy f32.
    loop {
        let exact = |defs: &[Ty], _: &[Want]| defs.contains(&Ty::F32) && !defs.contains(&Ty::F64);
        let mut more = largest(&walk, &free, &narrow, &exact);
        narrow = with(&narrow, &more);
        free.retain(|c| !more.contains(c));
        let rounded =
            |_: &[Ty], uses: &[Want]| !uses.is_empty() && uses.iter().all(|u| *u == Want::F32);
        let also = largest(&walk, &free, &narrow, &rounded);
        narrow = with(&narrow, &also);
        free.retain(|c| !also.contains(c));
        more.extend(&also);
        if more.is_empty() {
            break;
        }
    }
    let mut w = ExpressionWalk::new(m, marks, &narrow, cl, true);
    w.run();
    let mut edits = w.edits.take().unwrap_or_default();
    let mut unsaid = std::mem::take(&mut w.unsaid);
    let mut helpers = std::mem::take(&mut w.helpers);
    for (e, c) in m
        .copies
        .iter()
        .filter(|c| narrow.contains_key(&m.class(c.0)))
    {
        let to = m.things[*e].word(narrow[&m.class(*e)]);
        if c.edit(&to, &mut edits).is_ok() {
            helpers.insert(c.helper());
        }
    }
    declarations(m, &narrow, &mut edits, &mut unsaid);
    Solved {
        narrow,
        edits,
        helpers,
        unsaid,
    }
}

/// Types of declarations. Where only some names of one declaration change, it becomes several.
fn declarations(
    m: &DeclarationModel,
    narrow: &Formats,
    edits: &mut Edits,
    unsaid: &mut BTreeSet<Unsaid>,
) {
    type Declared = (usize, usize, Option<String>);
    let mut by: BTreeMap<(usize, usize, usize), Vec<Declared>> = BTreeMap::new();
    for (e, t) in m.things.iter().enumerate() {
        let new = narrow.get(&m.class(e)).filter(|f| **f != t.own);
        let new = new.map(|f| t.word(*f));
        for ((file, token), (_, begin, name)) in t.types.iter().zip(&t.names) {
            by.entry((*file, token.from, token.to))
                .or_default()
                .push((*name, *begin, new.clone()));
        }
    }
    for ((file, from, to), mut names) in by {
        names.sort_unstable();
        if names.iter().all(|n| n.2.is_none()) {
            continue;
        }
        let Some(s) = m.sources.get(&file) else {
            continue;
        };
        let mut done = Ok(());
        if let Some(new) = &names[0].2 {
            done = done.and(edits.replace(file, from, to, new));
        }
        let mut before = &names[0].2;
        for (name, begin, new) in names.iter().skip(1) {
            if new == before {
                continue;
            }
            before = new;
            let (name, begin) = (*name, *begin);
            let comma = s.text[..name].rfind(',').filter(|c| *c > to);
            let Some(comma) = comma else { continue };
            let start = s.skip_space(comma + 1);
            let lead = s.slice(begin, from).to_owned();
            let word = new.as_deref().unwrap_or(s.slice(from, to));
            let text = format!(";\n{}{lead}{word} ", s.indent(begin));
            done = done.and(edits.replace(file, comma, start, &text));
        }
        if let Err(c) = done {
            unsaid.insert(Unsaid {
                file,
                line: s.position(c.offset).0,
                why: "two uses of this text want different things".into(),
            });
        }
    }
}
