//! Declarations as entities: where their types are written, and which are one by C++'s rules.
use super::*;

impl<'a> DeclarationModel<'a> {
    pub(super) fn add(
        &mut self,
        node: &'a AstNode,
        kind: DeclarationKind,
        shape: Shape,
        function: &str,
    ) {
        let holds_one = shape.scalar || shape.vector;
        let Some(loc) = node.loc.or(node.begin) else {
            return;
        };
        let ret = kind == DeclarationKind::Return;
        let key = (loc.file, loc.offset, ret);
        let e = match self.by_place.get(&key) {
            Some(e) => *e,
            None => {
                self.things.push(Thing {
                    name: node.name.clone(),
                    kind,
                    own: shape.own,
                    scalar: shape.scalar,
                    lanes: shape.lanes,
                    vector: shape.vector,
                    types: Vec::new(),
                    names: Vec::new(),
                    function: function.to_owned(),
                    fixed: None,
                    held: None,
                    shared: false,
                });
                self.parent.borrow_mut().push(self.things.len() - 1);
                self.by_place.insert(key, self.things.len() - 1);
                self.things.len() - 1
            }
        };
        let place = self.written(node, kind, holds_one, loc);
        let t = &mut self.things[e];
        match place {
            Ok((file, token, begin)) => {
                if !t.types.contains(&(file, token)) {
                    t.types.push((file, token));
                    t.names.push((file, begin, loc.offset));
                }
            }
            Err(why) => t.fixed = t.fixed.take().or(Some(why)),
        }
    }

    /// Where the type of a declaration is written; why it cannot be changed.
    pub(super) fn written(
        &self,
        node: &AstNode,
        kind: DeclarationKind,
        holds_one: bool,
        loc: Spot,
    ) -> Result<(usize, Token, usize), String> {
        let begin = node.begin.ok_or("it is declared nowhere")?;
        let Some(s) = self.sources.get(&loc.file) else {
            let file = self.ast.files.get(loc.file);
            let name = file.map_or_else(String::new, |f| f.display().to_string());
            return Err(format!(
                "it is declared in {name}, which is not to be changed"
            ));
        };
        if loc.via == Via::Macro || begin.file != loc.file {
            return Err("a macro declares it".into());
        }
        let (from, to) = match kind {
            DeclarationKind::Cast => (begin.offset, node.end.map_or(begin.after(), Spot::after)),
            _ => (begin.offset, loc.offset),
        };
        let from = match kind {
            DeclarationKind::Cast => {
                // `(double *)p`, `reinterpret_cast<double *>(p)`
                let open = s.text[from..to]
                    .find(['(', '<'])
                    .ok_or("a cast of another form")?;
                from + open + 1
            }
            _ => from,
        };
        let token = type_token(s, from, to).ok_or("its type is not written")?;
        if !holds_one && kind != DeclarationKind::Cast {
            let after = s.skip_space(loc.after());
            let marks = s.slice(token.to, loc.offset).contains(['*', '&', '('])
                || s.slice(after, after + 1) == "[";
            if !marks {
                return Err("its type is a name for a pointer or an array".into());
            }
        }
        Ok((loc.file, token, begin.offset))
    }

    pub(super) fn declare(&mut self) {
        let functions = self.functions.clone();
        let mut all: Vec<(&'a AstNode, DeclarationKind, Shape, String)> = Vec::new();
        for f in &functions {
            let kernel = self.is_kernel(f);
            for p in f.params() {
                let kind = if kernel {
                    DeclarationKind::KernelParameter
                } else {
                    DeclarationKind::Parameter
                };
                if let Some(s) = shape(p) {
                    all.push((p, kind, s, f.name.clone()));
                }
            }
            // Prototypes have to agree with the definition.
            let redeclared = self.decls.values().copied().filter(|d| {
                d.is_function() && d.mangled == f.mangled && !f.mangled.is_empty() && d.id != f.id
            });
            let others: Vec<&'a AstNode> = redeclared.collect();
            for p in others.iter().flat_map(|d| d.params()) {
                if let Some(s) = shape(p) {
                    all.push((p, DeclarationKind::Parameter, s, f.name.clone()));
                }
            }
            for d in std::iter::once(*f).chain(others) {
                if let Some(s) = returned(d) {
                    all.push((d, DeclarationKind::Return, s, f.name.clone()));
                }
            }
            if let Some(b) = f.body() {
                b.walk(&mut |n| {
                    if matches!(n.kind.as_str(), "VarDecl" | "ParmVarDecl")
                        && let Some(s) = shape(n)
                    {
                        all.push((n, DeclarationKind::Local, s, f.name.clone()));
                    }
                    if is_pointer_cast(n)
                        && let Some(own) = element(&n.plain)
                    {
                        let s = Shape::memory(own, &n.plain);
                        all.push((n, DeclarationKind::Cast, s, f.name.clone()));
                    }
                    true
                });
            }
        }
        for d in self.decls.values().copied() {
            if d.kind == "FieldDecl"
                && let Some(s) = shape(d)
            {
                all.push((d, DeclarationKind::Field, s, String::new()));
            }
        }
        for n in &self.ast.top {
            if n.kind == "VarDecl"
                && let Some(s) = shape(n)
            {
                all.push((n, DeclarationKind::Global, s, String::new()));
            }
        }
        for (n, kind, shape, function) in all {
            self.add(n, kind, shape, &function);
        }
        // A kernel's scalars are what its callers pass: host code that is not seen here.
        for t in &mut self.things {
            if t.kind == DeclarationKind::KernelParameter && (t.scalar || t.vector) {
                t.fixed = Some("callers of the kernel pass it".into());
            }
            if t.kind == DeclarationKind::Global && (t.scalar || t.vector) {
                t.fixed = t
                    .fixed
                    .take()
                    .or(Some("the host may read or write it".into()));
            }
        }
        self.instantiations();
        self.records_in_memory();
        self.templates();
        self.one_declaration();
        self.prototypes();
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
                    self.fix(*e, "the host may read or write it");
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
            let t = &mut self.things[e];
            if !t.types.contains(&(file, token)) {
                t.types.push((file, token));
                t.names.push((file, from, token.to));
            }
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
                    self.fix(e, "it has the type that callers of the template choose");
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
                let of = |f: &AstNode| f.params().map(|p| self.entity_of(p)).collect::<Vec<_>>();
                Some((of(d), of(f)))
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
