//! Which declarations become f32, and the edits that make the program so.
//!
//! A class is in f32 where the plan holds its memory so; or where all that is assigned to it is computed in f32, so that
//! nothing is lost; or where every use of it wants f32, so that it would be rounded anyway. All classes that may
//! change begin as f32, and those for which neither holds are taken out until all that is left agrees.
use crate::edits::Edits;
use crate::marks::Marks;
use crate::model::{Entity, Model, Thing};
use crate::walk::{Ty, Unsaid, Walk, Want};
use kerf_num::Format;
use std::collections::{BTreeMap, BTreeSet};

/// What became of a program.
pub struct Solved {
    /// Classes in f32.
    pub narrow: BTreeSet<Entity>,
    /// The edits.
    pub edits: Edits,
    /// Functions that the source needs and does not have.
    pub helpers: BTreeSet<&'static str>,
    /// What the plan asks for and source does not say.
    pub unsaid: BTreeSet<Unsaid>,
}

/// Classes that the plan decides about, in f32 or not; and those that may be.
fn candidates(m: &Model) -> (BTreeSet<Entity>, BTreeSet<Entity>) {
    let mut members: BTreeMap<Entity, Vec<Entity>> = BTreeMap::new();
    for e in 0..m.things.len() {
        members.entry(m.class(e)).or_default().push(e);
    }
    let (mut held, mut free) = (BTreeSet::new(), BTreeSet::new());
    for (class, all) in members {
        let things = || all.iter().map(|e| &m.things[*e]);
        if things().any(|t| t.own != Format::F64 || t.fixed.is_some()) {
            continue;
        }
        match things().any(Thing::is_memory) {
            // Memory that the host or other threads see is as the plan holds it.
            true => {
                let mut asked = things()
                    .filter(|t| t.is_memory() && (t.held.is_some() || !t.shared))
                    .peekable();
                let known = asked.peek().is_some();
                if known && asked.all(|t| t.held.is_some_and(|h| h != Format::F64)) {
                    held.insert(class);
                }
            }
            false => {
                free.insert(class);
            }
        }
    }
    (held, free)
}

/// The largest part of `some` for all of which a condition holds, with `sure` in f32 too.
fn largest(
    w: &dyn Fn(&BTreeSet<Entity>) -> (Types, Wants),
    some: &BTreeSet<Entity>,
    sure: &BTreeSet<Entity>,
    holds: &dyn Fn(&[Ty], &[Want]) -> bool,
) -> BTreeSet<Entity> {
    let mut left = some.clone();
    loop {
        let (defs, uses) = w(&sure.union(&left).copied().collect());
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

type Types = BTreeMap<Entity, Vec<Ty>>;
type Wants = BTreeMap<Entity, Vec<Want>>;

/// Finds formats and edits.
pub fn solve(m: &Model, marks: &Marks, cl: bool) -> Solved {
    let (mut narrow, mut free) = candidates(m);
    let walk = |narrow: &BTreeSet<Entity>| {
        let mut w = Walk::new(m, marks, narrow, cl, false);
        w.run();
        (w.defs, w.uses)
    };
    // One after the other, not together: a value that is rounded because a copy of it is f32 must not make the copy f32.
    loop {
        let exact = |defs: &[Ty], _: &[Want]| defs.contains(&Ty::F32) && !defs.contains(&Ty::F64);
        let mut more = largest(&walk, &free, &narrow, &exact);
        narrow.extend(&more);
        free.retain(|c| !more.contains(c));
        let rounded =
            |_: &[Ty], uses: &[Want]| !uses.is_empty() && uses.iter().all(|u| *u == Want::F32);
        let also = largest(&walk, &free, &narrow, &rounded);
        narrow.extend(&also);
        free.retain(|c| !also.contains(c));
        more.extend(&also);
        if more.is_empty() {
            break;
        }
    }
    let mut w = Walk::new(m, marks, &narrow, cl, true);
    w.run();
    let mut edits = w.edits.take().unwrap_or_default();
    let mut unsaid = std::mem::take(&mut w.unsaid);
    let mut helpers = std::mem::take(&mut w.helpers);
    for (_, c) in m.copies.iter().filter(|c| narrow.contains(&m.class(c.0))) {
        if c.edit(&mut edits).is_ok() {
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
    m: &Model,
    narrow: &BTreeSet<Entity>,
    edits: &mut Edits,
    unsaid: &mut BTreeSet<Unsaid>,
) {
    type Declared = (usize, usize, bool);
    let mut by: BTreeMap<(usize, usize, usize), Vec<Declared>> = BTreeMap::new();
    for (e, t) in m.things.iter().enumerate() {
        let small = narrow.contains(&m.class(e)) && t.own == Format::F64;
        for ((file, token), (_, begin, name)) in t.types.iter().zip(&t.names) {
            by.entry((*file, token.from, token.to))
                .or_default()
                .push((*name, *begin, small));
        }
    }
    for ((file, from, to), mut names) in by {
        names.sort_unstable();
        if names.iter().all(|n| !n.2) {
            continue;
        }
        let Some(s) = m.sources.get(&file) else {
            continue;
        };
        let word = |small: bool| if small { "float" } else { s.slice(from, to) };
        let mut done = Ok(());
        if names[0].2 {
            done = done.and(edits.replace(file, from, to, "float"));
        }
        let mut before = names[0].2;
        for (name, begin, small) in names.iter().skip(1).copied() {
            if small == before {
                continue;
            }
            before = small;
            let comma = s.text[..name].rfind(',').filter(|c| *c > to);
            let Some(comma) = comma else { continue };
            let start = s.skip_space(comma + 1);
            let lead = s.slice(begin, from).to_owned();
            let new = format!(";\n{}{lead}{} ", s.indent(begin), word(small));
            done = done.and(edits.replace(file, comma, start, &new));
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
