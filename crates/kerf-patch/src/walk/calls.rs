//! Calls: of the user's functions, and of math functions by the name that the plan's variant has.
use super::*;
use crate::marks::MadeHelper;
use crate::model::LOADS;
use crate::model::connect::{SINES, is_object_call};

/// A call of a math function.
#[derive(Clone, Copy)]
struct MathCall<'a> {
    node: &'a AstNode,
    callee: &'a AstNode,
    args: &'a [AstNode],
}

impl<'w, 'a> ExpressionWalk<'w, 'a> {
    pub(super) fn call(&mut self, node: &'a AstNode, want: Want) -> Ty {
        let Some((callee, args)) = node.inner.split_first() else {
            return self.natural(node);
        };
        if let Some(function) = self.model.called(node) {
            return self.call_defined(node, function, want);
        }
        let callee = strip(callee);
        let name = callee.refers_name.as_str();
        if name.starts_with("make_double") && vector(&node.plain).is_some() {
            return self.make(callee, args, want);
        }
        if LOADS.contains(&name)
            && let Some(entity) = args.first().and_then(|a| self.model.memory(a))
        {
            self.indices_of(&args[0]);
            self.used(entity, want);
            return match scalar(&node.plain) {
                Some(_) => self.read(node, entity),
                None if vector(&node.plain).is_some() => ty(self.format(entity)),
                None => Ty::Other,
            };
        }
        if SINES.contains(&name)
            && let [angle, sine, cosine] = args
            && let Some(entity) = self.model.memory(sine)
        {
            self.indices_of(sine);
            self.indices_of(cosine);
            let call = MathCall { node, callee, args };
            return self.sines(call, angle, entity);
        }
        if name.starts_with("__shfl_")
            && scalar(&node.plain).is_some()
            && let [_, value, rest @ ..] = args
        {
            // It returns the format of its value.
            self.visit_all(rest);
            return self.visit(value, want);
        }
        let computes = scalar(&node.plain).is_some();
        if math::is_known(name) && (computes || args.iter().any(|a| scalar(&a.plain).is_some())) {
            return self.math(MathCall { node, callee, args }, want);
        }
        for arg in args {
            match vector(&arg.plain) {
                Some(_) => self.natural_vector(arg, node),
                None => {
                    self.visit(arg, Want::Any);
                }
            }
        }
        self.natural(node)
    }

    /// A call of a function whose body is in the program.
    fn call_defined(&mut self, node: &'a AstNode, function: &'a AstNode, want: Want) -> Ty {
        let (callee, args) = (&node.inner[0], &node.inner[1..]);
        let object = usize::from(is_object_call(node, function));
        if object == 1 {
            self.indices_of(&args[0]);
        } else if node.kind == "CXXMemberCallExpr" {
            self.indices_of(callee);
        }
        let params: Vec<&AstNode> = function.params().collect();
        for (k, arg) in args.iter().skip(object).enumerate() {
            let param = params.get(k).and_then(|p| self.model.entity_of(p));
            self.argument(node, arg, param);
        }
        let is_number = scalar(&node.plain).is_some() || vector(&node.plain).is_some();
        match self.model.return_of(function).filter(|_| is_number) {
            Some(entity) => {
                self.used(entity, want);
                ty(self.format(entity))
            }
            None => self.natural(node),
        }
    }

    fn argument(&mut self, call: &'a AstNode, arg: &'a AstNode, param: Option<Entity>) {
        let Some(param) = param else {
            self.visit(arg, Want::Any);
            return;
        };
        let (thing, want) = (&self.model.things[param], self.format(param).into());
        if thing.vector {
            self.assign_to(arg, call, param);
        } else if thing.scalar {
            let have = self.visit(arg, want);
            self.def(param, have);
        } else if vector(&arg.plain).is_some() {
            // A reference to a vector that is made there.
            self.visit(arg, want);
        } else {
            self.indices_of(arg);
        }
    }

    /// `sincos(x, &s, &c)` in the format that it writes.
    fn sines(&mut self, call: MathCall<'a>, angle: &'a AstNode, entity: Entity) -> Ty {
        let node = call.node;
        let marks = self.marks_of_call(node).iter();
        let made: BTreeSet<Option<MadeHelper>> = marks.clone().map(|m| m.made).collect();
        let wide: Vec<&SourceMark> = marks.filter(|m| m.from == Format::F64).collect();
        self.def(entity, agreed(&wide).map_or(Ty::Flex, ty));
        let format = self.format(entity);
        self.visit(angle, format.into());
        let made = made.first().copied().flatten().filter(|_| made.len() == 1);
        match made {
            Some(f) if !self.cl && f.format == format => {
                self.rewrite_name(call, Spelling::Helper(f.name), true);
            }
            Some(f) => {
                self.say(node, &self.made_elsewhere(call, f));
                self.rename_sines(call, format);
            }
            None => self.rename_sines(call, format),
        }
        Ty::Other
    }

    fn rename_sines(&mut self, call: MathCall<'a>, format: Format) {
        if format == Format::F32 {
            let name = format!("{}f", call.callee.refers_name);
            self.rename(call.node, call.callee, &name);
        }
    }

    /// Why a call is not computed by its made function.
    fn made_elsewhere(&self, call: MathCall<'a>, f: MadeHelper) -> String {
        let language = if self.cl { "OpenCL C" } else { "source" };
        format!(
            "{} is computed by a made function in {} in the plan, and by the library's in {language}",
            call.callee.refers_name, f.format
        )
    }

    fn marks_of_call(&self, call: &AstNode) -> &'w [SourceMark] {
        self.marks_at(call.begin.map(|b| (b.file, b.shown)))
    }

    fn math(&mut self, call: MathCall<'a>, want: Want) -> Ty {
        let own = scalar(&call.node.plain).unwrap_or(Format::F64);
        let marks = self.marks_of_call(call.node).iter();
        let marks: Vec<&SourceMark> = marks.filter(|m| m.from == own).collect();
        let planned = agreed(&marks);
        let want = match (own, planned) {
            (Format::F64, Some(planned)) => planned.into(),
            (Format::F64, None) => want,
            _ => Want::F32,
        };
        let made = self.math_arguments(call, own, want);
        if self.edits.is_none() {
            return match (own, planned) {
                (Format::F32, _) => Ty::F32,
                (_, Some(planned)) => ty(planned),
                (_, None) => Ty::Flex,
            };
        }
        let variants: BTreeSet<Option<MathVariant>> = marks
            .iter()
            .filter(|m| !is_arithmetic(&m.op) || m.variant.is_some())
            .map(|m| m.variant)
            .collect();
        if variants.len() > 1 {
            self.say(call.node, SEVERAL_VARIANTS);
        }
        let functions: BTreeSet<Option<MadeHelper>> = marks
            .iter()
            .filter(|m| !is_arithmetic(&m.op))
            .map(|m| m.made)
            .collect();
        match functions.first().copied().flatten() {
            Some(f) if functions.len() == 1 => self.spell_made(call, made, f),
            _ => self.spell(call, made, only_variant(&variants)),
        }
        if functions.len() > 1 {
            self.say(call.node, SEVERAL_VARIANTS);
        }
        ty(made)
    }

    /// Arguments of a math function that shall be computed in a format; the format of the overload that they select.
    fn math_arguments(&mut self, call: MathCall<'a>, own: Format, want: Want) -> Format {
        let (mut any_f64, mut first_f32) = (false, None);
        for arg in call.args {
            let mut have = self.visit(arg, want);
            if scalar(&arg.plain).is_none() {
                continue;
            }
            if want == Want::F32 && own == Format::F64 {
                have = self.coerce(arg, call.node, have, want);
            }
            any_f64 |= have == Ty::F64;
            if have == Ty::F32 {
                first_f32 = first_f32.or(Some(arg));
            }
        }
        match (own, want) {
            (Format::F32, _) => Format::F32,
            (_, Want::F32) if !any_f64 => Format::F32,
            (_, Want::Any) if !any_f64 && first_f32.is_some() => Format::F32,
            _ => {
                // Without an f64 argument, the overload for f32 would be taken.
                if let Some(arg) = first_f32.filter(|_| want == Want::F64 && !any_f64) {
                    self.coerce(arg, call.node, Ty::F32, Want::F64);
                }
                Format::F64
            }
        }
    }

    /// Writes the name of the made function that computes a call.
    fn spell_made(&mut self, call: MathCall<'a>, format: Format, f: MadeHelper) {
        if self.cl || f.format != format {
            self.say(call.node, &self.made_elsewhere(call, f));
            self.spell(call, format, None);
            return;
        }
        self.rewrite_name(call, Spelling::Helper(f.name), true);
    }

    /// Writes the name of the function that computes a call in a format and by a variant.
    fn spell(&mut self, call: MathCall<'a>, made: Format, variant: Option<MathVariant>) {
        let MathCall { node, callee, .. } = call;
        let name = callee.refers_name.as_str();
        let spelling = match math::call(name, self.cl, made, variant) {
            Some(spelling) => spelling,
            None => {
                let by = variant.map_or_else(String::new, |v| v.to_string());
                self.say(
                    node,
                    &format!("no function computes {name} by {by} in {made}"),
                );
                math::call(name, self.cl, made, None).unwrap_or(Spelling::Name(None))
            }
        };
        self.rewrite_name(call, spelling, variant.is_some());
    }

    /// Writes another name of a function; a qualified one, which has its f32 version by the same name, only where it
    /// is another function.
    fn rewrite_name(&mut self, call: MathCall<'a>, spelling: Spelling, is_other: bool) {
        let MathCall { node, callee, .. } = call;
        let name = callee.refers_name.as_str();
        let new = match spelling {
            Spelling::Name(None) => return,
            Spelling::Name(Some(new)) | Spelling::Helper(new) => new,
        };
        let Some(begin) = callee.begin else { return };
        let Some(source) = self.source(begin.file) else {
            return;
        };
        let qualified = callee.end.filter(|e| e.offset != begin.offset);
        if qualified.is_some() && !is_other {
            return;
        }
        let last = qualified.unwrap_or(begin);
        if source.at(last) != name || last.via == Via::Macro {
            self.say(node, NAME_IN_MACRO);
            return;
        }
        let range = TextRange {
            to: last.after(),
            ..begin.range()
        };
        let done = self.edit(node, |e| e.replace(range, new));
        if done && let Spelling::Helper(helper) = spelling {
            self.helpers.insert(helper);
        }
    }
}
