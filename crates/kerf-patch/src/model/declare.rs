//! Declarations as entities: where their types are written, and which are one by C++'s rules.
use super::*;

impl<'a> DeclarationModel<'a> {
    /// Makes an entity of a declaration, or adds a declaration to the one that has its place.
    pub(super) fn add(&mut self, node: &AstNode, kind: DeclarationKind, shape: Shape) {
        let Some(loc) = node.loc.or(node.begin) else {
            return;
        };
        let key = (loc.file, loc.offset, kind == DeclarationKind::Return);
        let entity = *self.by_place.entry(key).or_insert_with(|| {
            self.things.push(Thing {
                name: node.name.clone(),
                kind,
                own: shape.own,
                scalar: shape.scalar,
                lanes: shape.lanes,
                vector: shape.vector,
                types: Vec::new(),
                names: Vec::new(),
                fixed: None,
                held: None,
                shared: false,
            });
            let entity = self.things.len() - 1;
            self.parent.borrow_mut().push(entity);
            entity
        });
        match self.written(node, kind, shape, loc) {
            Ok((token, begin)) => self.add_type(entity, token, (loc.file, begin, loc.offset)),
            Err(why) => self.fix(entity, why),
        }
    }

    /// Adds a place where the type of an entity is written.
    fn add_type(&mut self, entity: Entity, token: Token, name: (usize, usize, usize)) {
        let thing = &mut self.things[entity];
        if !thing.types.contains(&(name.0, token)) {
            thing.types.push((name.0, token));
            thing.names.push(name);
        }
    }

    /// Where the type of a declaration is written, and where the declaration begins; why it cannot be changed.
    fn written(
        &self,
        node: &AstNode,
        kind: DeclarationKind,
        shape: Shape,
        loc: Spot,
    ) -> Result<(Token, usize), FixedReason> {
        let begin = node.begin.ok_or(FixedReason::NoPlace)?;
        let Some(source) = self.sources.get(&loc.file) else {
            let file = self.ast.files.get(loc.file);
            let name = file.map_or_else(String::new, |f| f.display().to_string());
            return Err(FixedReason::ForeignFile(name));
        };
        if loc.via == Via::Macro || begin.file != loc.file {
            return Err(FixedReason::Macro);
        }
        let is_cast = kind == DeclarationKind::Cast;
        let (from, to) = match is_cast {
            // `(double *)p`, `reinterpret_cast<double *>(p)`
            true => {
                let to = node.end.map_or(begin.after(), Spot::after);
                let open = source.text[begin.offset..to].find(['(', '<']);
                let open = open.ok_or(FixedReason::CastForm)?;
                (begin.offset + open + 1, to)
            }
            false => (begin.offset, loc.offset),
        };
        let token = type_token(source, from, to).ok_or(FixedReason::NoType)?;
        let after = source.skip_space(loc.after());
        let says_memory = source.slice(token.to, loc.offset).contains(['*', '&', '('])
            || source.slice(after, after + 1) == "[";
        if !shape.scalar && !shape.vector && !is_cast && !says_memory {
            return Err(FixedReason::TypeName);
        }
        Ok((token, begin.offset))
    }

    /// Makes entities of all declarations with numbers that kernels can reach.
    pub(super) fn declare(&mut self) {
        let mut found: Vec<(&'a AstNode, DeclarationKind, Shape)> = Vec::new();
        for f in &self.functions {
            self.find_in_function(f, &mut found);
        }
        let fields = self.decls.values().copied();
        let fields = fields.filter(|d| d.kind == "FieldDecl");
        found.extend(fields.filter_map(|d| Some((d, DeclarationKind::Field, shape(d)?))));
        let globals = self.ast.top.iter().filter(|n| n.kind == "VarDecl");
        found.extend(globals.filter_map(|d| Some((d, DeclarationKind::Global, shape(d)?))));
        for (node, kind, shape) in found {
            self.add(node, kind, shape);
        }
        for t in self.things.iter_mut().filter(|t| t.scalar || t.vector) {
            // A kernel's scalars are what its callers pass: host code that is not seen here.
            if t.kind == DeclarationKind::KernelParameter {
                t.fixed = Some(FixedReason::KernelArgument);
            } else if t.kind == DeclarationKind::Global {
                t.fixed.get_or_insert(FixedReason::HostVisible);
            }
        }
        self.instantiations();
        self.records_in_memory();
        self.templates();
        self.one_declaration();
        self.prototypes();
    }

    /// Parameters, returned numbers, variables and casts of a function and of its prototypes.
    fn find_in_function(
        &self,
        function: &'a AstNode,
        found: &mut Vec<(&'a AstNode, DeclarationKind, Shape)>,
    ) {
        let kind = match self.is_kernel(function) {
            true => DeclarationKind::KernelParameter,
            false => DeclarationKind::Parameter,
        };
        found.extend(function.params().filter_map(|p| Some((p, kind, shape(p)?))));
        // Prototypes have to agree with the definition.
        let prototypes: Vec<&'a AstNode> = match function.mangled.is_empty() {
            true => Vec::new(),
            false => {
                let all = self.decls.values().copied().filter(|d| d.is_function());
                all.filter(|d| d.mangled == function.mangled && d.id != function.id)
                    .collect()
            }
        };
        let params = prototypes.iter().flat_map(|d| d.params());
        found.extend(params.filter_map(|p| Some((p, DeclarationKind::Parameter, shape(p)?))));
        let declared = std::iter::once(function).chain(prototypes);
        found.extend(declared.filter_map(|d| Some((d, DeclarationKind::Return, returned(d)?))));
        let Some(body) = function.body() else { return };
        body.walk(&mut |n| {
            if matches!(n.kind.as_str(), "VarDecl" | "ParmVarDecl")
                && let Some(shape) = shape(n)
            {
                found.push((n, DeclarationKind::Local, shape));
            }
            if is_pointer_cast(n)
                && let Some(own) = element(&n.plain)
            {
                let shape = Shape::memory(own, &n.plain);
                found.push((n, DeclarationKind::Cast, shape));
            }
            true
        });
    }

    /// Fields of records that lie behind pointers or in arrays, and of those that the host fills by name.
    fn records_in_memory(&mut self) {
        let global: BTreeSet<u64> = self.ast.top.iter().map(|n| n.id).collect();
        let mut found: Vec<(String, bool)> = Vec::new();
        for d in self.decls.values() {
            let holds = matches!(d.kind.as_str(), "VarDecl" | "ParmVarDecl") && pointed(&d.plain);
            if holds && element(&d.plain).is_none() {
                let named = d.kind == "VarDecl" && global.contains(&d.id);
                found.push((record_name(&d.plain), named));
            }
        }
        for (name, named) in found {
            let fields = self.record_fields(&name);
            for e in &fields {
                self.things[*e].shared = true;
                let own = self.things[*e].own;
                let first = fields.iter().find(|f| self.things[**f].own == own);
                self.join(*first.unwrap_or(e), *e);
                if named {
                    self.fix(*e, FixedReason::HostVisible);
                }
            }
        }
    }

    /// `template void kernel<double>(double *);` has to agree with the template.
    fn instantiations(&mut self) {
        let mut found: Vec<(Entity, usize, Token, usize)> = Vec::new();
        for f in &self.functions {
            if !self.is_kernel(f) || !self.is_template(f) {
                continue;
            }
            let params: Vec<Option<Entity>> = f.params().map(|p| self.entity_of(p)).collect();
            for (file, s) in self.sources {
                for list in explicit(s, &f.name) {
                    for (e, (from, to)) in params.iter().zip(list) {
                        if let (Some(e), Some(t)) = (e, type_token(s, from, to)) {
                            found.push((*e, *file, t, from));
                        }
                    }
                }
            }
        }
        for (e, file, token, from) in found {
            self.add_type(e, token, (file, from, token.to));
        }
    }

    /// A type that callers of a template decide stays.
    pub(super) fn templates(&mut self) {
        for f in self.functions.clone() {
            if self.is_kernel(f) {
                continue;
            }
            let Some(names) = self.parameters.get(&f.id).cloned() else {
                continue;
            };
            let mut all: Vec<Entity> = f.params().filter_map(|p| self.entity_of(p)).collect();
            all.extend(self.return_of(f));
            for e in all {
                let t = &self.things[e];
                let written = t
                    .types
                    .first()
                    .and_then(|(file, token)| Some(self.sources.get(file)?.word(*token)));
                if written.is_some_and(|w| names.contains(&w)) {
                    self.fix(e, FixedReason::TemplateType);
                }
            }
        }
    }

    /// What `for (double a = 0, b = 1; ...)` declares cannot be taken apart.
    pub(super) fn one_declaration(&mut self) {
        let mut by: BTreeMap<(usize, usize), Entity> = BTreeMap::new();
        let mut joins = Vec::new();
        for (e, t) in self.things.iter().enumerate() {
            for ((file, token), (_, begin, _)) in t.types.iter().zip(&t.names) {
                let Some(s) = self.sources.get(file) else {
                    continue;
                };
                let before = s.text[..*begin].trim_end();
                let header = before
                    .strip_suffix('(')
                    .map(str::trim_end)
                    .is_some_and(|b| b.ends_with("for"));
                if header {
                    match by.get(&(*file, token.from)) {
                        Some(o) => joins.push((*o, e)),
                        None => {
                            by.insert((*file, token.from), e);
                        }
                    }
                }
            }
        }
        for (a, b) in joins {
            self.join(a, b);
        }
    }

    /// A return of one function is one entity, wherever it is declared.
    pub(super) fn prototypes(&mut self) {
        let mut by: BTreeMap<&str, Vec<Entity>> = BTreeMap::new();
        for d in self.decls.values() {
            if d.is_function()
                && !d.mangled.is_empty()
                && let Some(e) = self.return_of(d)
            {
                by.entry(d.mangled.as_str()).or_default().push(e);
            }
        }
        for all in by.values() {
            for e in all {
                self.join(all[0], *e);
            }
        }
        type Params = Vec<Option<Entity>>;
        let pairs: Vec<(Params, Params)> = self
            .decls
            .values()
            .filter(|d| d.is_function() && d.body().is_none())
            .filter_map(|d| {
                let f = self.definitions.get(d.mangled.as_str())?;
                let entities = |f: &AstNode| f.params().map(|p| self.entity_of(p)).collect();
                Some((entities(d), entities(f)))
            })
            .collect();
        for (a, b) in pairs {
            for (x, y) in a.into_iter().zip(b) {
                if let (Some(x), Some(y)) = (x, y) {
                    self.join(x, y);
                }
            }
        }
    }
}

/// What a declaration holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) own: Format,
    pub(super) scalar: bool,
    pub(super) vector: bool,
    pub(super) lanes: Option<u8>,
}

impl Shape {
    /// Of memory with numbers.
    pub(super) fn memory(own: Format, t: &str) -> Shape {
        Shape {
            own,
            scalar: false,
            vector: false,
            lanes: lanes(t),
        }
    }

    fn from_type(t: &str) -> Option<Shape> {
        if let Some(own) = scalar(t) {
            let one = Shape::memory(own, t);
            return Some(Shape {
                scalar: true,
                ..one
            });
        }
        if let Some((own, _)) = vector(t) {
            let one = Shape::memory(own, t);
            return Some(Shape {
                vector: true,
                ..one
            });
        }
        element(t).map(|own| Shape::memory(own, t))
    }
}

/// What a declaration holds, if it is numbers.
pub(super) fn shape(n: &AstNode) -> Option<Shape> {
    Shape::from_type(&n.plain)
}

/// What a function gives, if it is numbers.
pub(super) fn returned(f: &AstNode) -> Option<Shape> {
    let end = f.plain.find('(')?;
    Shape::from_type(f.plain[..end].trim())
}

/// Parameters of each explicit instantiation of a function: from, to.
fn explicit(s: &SourceFile, name: &str) -> Vec<Vec<(usize, usize)>> {
    let all = s.tokens(0, s.text.len());
    let word = |k: usize| all.get(k).map_or("", |t| s.word(*t));
    let mut out = Vec::new();
    for k in (0..all.len()).filter(|k| word(*k) == "template" && word(k + 1) != "<") {
        let end = (k..all.len())
            .find(|j| matches!(word(*j), ";" | "{"))
            .unwrap_or(k);
        let Some(named) = (k..end).find(|j| word(*j) == name) else {
            continue;
        };
        let Some(open) = (named..end).find(|j| word(*j) == "(") else {
            continue;
        };
        let (mut list, mut depth, mut from) = (Vec::new(), 0, all[open].to);
        for t in &all[open..end] {
            let one = s.word(*t);
            match one {
                "(" | "<" => depth += 1,
                ")" | ">" => depth -= 1,
                _ => {}
            }
            let last = depth == 0 && one == ")";
            if last || depth == 1 && one == "," {
                list.push((from, t.from));
                from = t.to;
            }
            if last {
                break;
            }
        }
        out.push(list);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn explicit_instantiations_are_found() {
        let text = "template <class T> void k(T *a, int n) {}\ntemplate void k<double>(double *, int);\ntemplate __global__ void other<float>(float *);\n";
        let s = SourceFile::new(Path::new("/k.cu"), text.to_owned());
        let found = explicit(&s, "k");
        assert_eq!(found.len(), 1);
        let words: Vec<&str> = found[0]
            .iter()
            .map(|(a, b)| s.slice(*a, *b).trim())
            .collect();
        assert_eq!(words, ["double *", "int"]);
    }
}
