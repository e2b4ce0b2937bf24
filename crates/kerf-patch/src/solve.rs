//! Which declarations become narrower, and the edits that make the program so.
//!
//! Memory that the plan holds in f16 or bf16 becomes `__half` or `__nv_bfloat16`; what is computed is f32 at least.
//! A class is in f32 where the plan holds its memory so; or where all that is assigned to it is computed in f32, so that
//! nothing is lost; or where every use of it wants f32, so that it would be rounded anyway. All classes that may
//! change begin as f32, and those for which neither holds are taken out until all that is left agrees.
use crate::ast::TextRange;
use crate::edits::{Clash, Edits};
use crate::marks::Marks;
use crate::model::{DeclarationModel, Entity, Formats, Thing, is_stored_only};
use crate::source::SourceFile;
use crate::walk::{CLASH, ExpressionWalk, Ty, Unsaid, Want};
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
fn candidates(model: &DeclarationModel, cl: bool) -> (Formats, BTreeSet<Entity>) {
    let mut members: BTreeMap<Entity, Vec<&Thing>> = BTreeMap::new();
    for (entity, thing) in model.things.iter().enumerate() {
        members.entry(model.class(entity)).or_default().push(thing);
    }
    let (mut held, mut free) = (Formats::new(), BTreeSet::new());
    for (class, things) in members {
        let own = model.things[class].own;
        if things.iter().any(|t| t.own != own || t.fixed.is_some()) {
            continue;
        }
        let memory: Vec<&&Thing> = things.iter().filter(|t| t.is_memory()).collect();
        if memory.is_empty() {
            if own == Format::F64 {
                free.insert(class);
            }
            continue;
        }
        // Memory that the host or other threads see is as the plan holds it.
        let asked = memory.iter().filter(|t| t.held.is_some() || !t.shared);
        let wanted = asked.map(|t| t.held.unwrap_or(own));
        let Some(mut format) = wanted.max_by_key(|f| f.bytes()) else {
            continue;
        };
        // There are no vectors of three or four halves, and OpenCL C loads halves by functions only.
        if is_stored_only(format) && (cl || things.iter().any(|t| t.lanes.is_some())) {
            format = Format::F32;
        }
        if format.bytes() < own.bytes() {
            held.insert(class, format);
        }
    }
    (held, free)
}

type Types = BTreeMap<Entity, Vec<Ty>>;
type Wants = BTreeMap<Entity, Vec<Want>>;

/// The largest part of `classes` for all of which a condition holds on what is assigned to them and what their uses
/// want, once they and `sure` are narrow. `walk` gives both under some formats.
fn largest(
    walk: &dyn Fn(&Formats) -> (Types, Wants),
    classes: &BTreeSet<Entity>,
    sure: &Formats,
    holds: &dyn Fn(&[Ty], &[Want]) -> bool,
) -> BTreeSet<Entity> {
    let mut left = classes.clone();
    loop {
        let (defs, uses) = walk(&with(sure, &left));
        let before = left.len();
        left.retain(|class| {
            let defs = defs.get(class).map_or(&[][..], Vec::as_slice);
            let uses = uses.get(class).map_or(&[][..], Vec::as_slice);
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
    all.extend(more.iter().map(|class| (*class, Format::F32)));
    all
}

/// Is all that is assigned to a class computed in f32?
fn is_exact(defs: &[Ty], _: &[Want]) -> bool {
    defs.contains(&Ty::F32) && !defs.contains(&Ty::F64)
}

/// Does every use of a class round it to f32?
fn is_rounded(_: &[Ty], uses: &[Want]) -> bool {
    !uses.is_empty() && uses.iter().all(|u| *u == Want::F32)
}

/// Finds formats and edits.
pub fn solve(model: &DeclarationModel, marks: &Marks, cl: bool) -> Solved {
    let (mut narrow, mut free) = candidates(model, cl);
    let walk = |narrow: &Formats| {
        let mut walk = ExpressionWalk::new(model, marks, narrow, cl, false);
        walk.run();
        (walk.defs, walk.uses)
    };
    // One after the other, not together: a value that is rounded because a copy of it is f32 must not make the copy f32.
    loop {
        let before = free.len();
        for holds in [is_exact, is_rounded] {
            let more = largest(&walk, &free, &narrow, &holds);
            narrow = with(&narrow, &more);
            free.retain(|class| !more.contains(class));
        }
        if free.len() == before {
            break;
        }
    }
    let mut walk = ExpressionWalk::new(model, marks, &narrow, cl, true);
    walk.run();
    let (mut helpers, mut unsaid) = (walk.helpers, walk.unsaid);
    let mut edits = walk.edits.unwrap_or_default();
    for (entity, copy) in &model.copies {
        if let Some(format) = narrow.get(&model.class(*entity)) {
            let to = model.things[*entity].word(*format);
            if copy.edit(&to, &mut edits).is_ok() {
                helpers.insert(copy.helper());
            }
        }
    }
    declarations(model, &narrow, &mut edits, &mut unsaid);
    Solved {
        narrow,
        edits,
        helpers,
        unsaid,
    }
}

/// A name that a declaration with one type declares.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Declarator {
    /// Byte of the name.
    name: usize,
    /// Byte where the declaration begins.
    begin: usize,
    /// Its type, where that changes.
    new_type: Option<String>,
}

/// Types of declarations. Where only some names of one declaration change, it becomes several.
fn declarations(
    model: &DeclarationModel,
    narrow: &Formats,
    edits: &mut Edits,
    unsaid: &mut BTreeSet<Unsaid>,
) {
    let mut by_type: BTreeMap<(usize, usize, usize), Vec<Declarator>> = BTreeMap::new();
    for (entity, thing) in model.things.iter().enumerate() {
        let new = narrow.get(&model.class(entity));
        let new = new.filter(|f| **f != thing.own);
        for ((file, token), (_, begin, name)) in thing.types.iter().zip(&thing.names) {
            let declarators = by_type.entry((*file, token.from, token.to));
            declarators.or_default().push(Declarator {
                name: *name,
                begin: *begin,
                new_type: new.map(|f| thing.word(*f)),
            });
        }
    }
    for ((file, from, to), mut declarators) in by_type {
        let Some(source) = model.sources.get(&file) else {
            continue;
        };
        declarators.sort_unstable();
        let range = TextRange { file, from, to };
        if let Err(clash) = retype(source, range, &declarators, edits) {
            unsaid.insert(Unsaid {
                file,
                line: source.position(clash.offset).0,
                why: CLASH.into(),
            });
        }
    }
}

/// Changes the type of one declaration; a name with another type than the one before it gets a declaration of its own.
fn retype(
    source: &SourceFile,
    old_type: TextRange,
    declarators: &[Declarator],
    edits: &mut Edits,
) -> Result<(), Clash> {
    let TextRange { file, from, to } = old_type;
    let mut done = Ok(());
    let mut previous = &None;
    for (k, declarator) in declarators.iter().enumerate() {
        let new = &declarator.new_type;
        if new == std::mem::replace(&mut previous, new) {
            continue;
        }
        let word = new.as_deref().unwrap_or(source.slice(from, to));
        if k == 0 {
            done = done.and(edits.replace(old_type, word));
            continue;
        }
        let comma = source.text[..declarator.name].rfind(',');
        let Some(comma) = comma.filter(|c| *c > to) else {
            continue;
        };
        let separator = TextRange {
            file,
            from: comma,
            to: source.skip_space(comma + 1),
        };
        let indent = source.indent(declarator.begin);
        let qualifiers = source.slice(declarator.begin, from);
        let text = format!(";\n{indent}{qualifiers}{word} ");
        done = done.and(edits.replace(separator, &text));
    }
    done
}
