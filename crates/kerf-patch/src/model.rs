//! Declarations whose format can change, and which of them have to change together.
//!
//! An entity is one declared thing that holds numbers: a variable, a parameter, a field, what a function gives, the
//! elements behind a pointer. Entities that are one memory, or whose types have to agree for the program to compile,
//! are one class. Instances of a template share their text, so entities are known by their place in it.
use crate::ast::{Ast, Node, Spot, Via};
use crate::host::{self, Copied};
use crate::source::{Source, Token, type_token};
use kerf_num::Format;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Number of an entity.
pub type Entity = usize;

/// What a declaration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A variable of a function.
    Local,
    /// A parameter of a device function.
    Parameter,
    /// A parameter of a kernel.
    KernelParameter,
    /// A field.
    Field,
    /// A variable outside of functions, or in shared memory.
    Global,
    /// What a function gives.
    Return,
    /// The type in a cast of a pointer.
    Cast,
}

/// One declared thing.
#[derive(Debug, Clone)]
pub struct Thing {
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Format in the source.
    pub own: Format,
    /// Does it hold one number, or is it memory?
    pub scalar: bool,
    /// Where its type is written, once for each declaration: file, token.
    pub types: Vec<(usize, Token)>,
    /// Where the declaration begins and the name is, by declaration.
    pub names: Vec<(usize, usize, usize)>,
    /// Function that it is in.
    pub function: String,
    /// Why it has to keep its format.
    pub fixed: Option<String>,
    /// Format that the plan gives the memory that it is.
    pub held: Option<Format>,
}

/// The declarations of a program.
pub struct Model<'a> {
    /// The tree.
    pub ast: &'a Ast,
    /// Texts of files that may change, by number.
    pub sources: &'a BTreeMap<usize, Source>,
    /// Every declaration by clang's number.
    pub decls: BTreeMap<u64, &'a Node>,
    /// Functions with bodies that kernels reach, kernels first.
    pub functions: Vec<&'a Node>,
    /// The entities.
    pub things: Vec<Thing>,
    /// Entities by place of the name.
    by_place: BTreeMap<(usize, usize, bool), Entity>,
    /// Definition of each function, by linker name.
    definitions: BTreeMap<&'a str, &'a Node>,
    /// Record of a field, by the field's number; the record's fields.
    records: BTreeMap<u64, Vec<u64>>,
    parent: RefCell<Vec<Entity>>,
    /// Copies of the host code, by the entity of the device pointer.
    pub copies: Vec<(Entity, Copied)>,
    /// Names of template parameters, by function.
    parameters: BTreeMap<u64, Vec<&'a str>>,
    /// Symbols of the kernels.
    kernels: BTreeSet<String>,
}

/// A type without qualifiers.
fn bare(t: &str) -> String {
    let words: Vec<&str> = t
        .split_whitespace()
        .filter(|w| {
            !matches!(
                *w,
                "const" | "volatile" | "__restrict" | "__restrict__" | "restrict" | "__global"
                    | "__local" | "__private" | "__constant" | "struct"
            )
        })
        .collect();
    words.join(" ").replace("__restrict", "")
}

/// Format of a scalar type.
pub fn scalar(t: &str) -> Option<Format> {
    match bare(t).as_str() {
        "double" => Some(Format::F64),
        "float" => Some(Format::F32),
        _ => None,
    }
}

/// Format of what a pointer, array or reference is of, at any depth.
pub fn element(t: &str) -> Option<Format> {
    let t = bare(t);
    let cut = t.find(['*', '[', '&', '('])?;
    scalar(&t[..cut])
}

/// The record that a type, or a pointer to it, names.
fn record_name(t: &str) -> String {
    let t = bare(t);
    let cut = t.find(['*', '[', '&', '(']).unwrap_or(t.len());
    t[..cut].trim().to_owned()
}

/// Through casts that clang made and parentheses.
pub fn strip(n: &Node) -> &Node {
    let mut n = n;
    loop {
        let through = matches!(
            n.kind.as_str(),
            "ImplicitCastExpr"
                | "ParenExpr"
                | "ExprWithCleanups"
                | "MaterializeTemporaryExpr"
                | "CXXBindTemporaryExpr"
                | "ConstantExpr"
                | "SubstNonTypeTemplateParmExpr"
        );
        match n.inner.last().filter(|_| through) {
            Some(c) => n = c,
            None => return n,
        }
    }
}

impl<'a> Model<'a> {
    /// Looks at a program. `sources` are the files that may change, `kernels` the symbols of the kernels.
    pub fn new(
        ast: &'a Ast,
        sources: &'a BTreeMap<usize, Source>,
        kernels: &[String],
    ) -> Model<'a> {
        let mut m = Model {
            ast,
            sources,
            decls: BTreeMap::new(),
            functions: Vec::new(),
            things: Vec::new(),
            by_place: BTreeMap::new(),
            definitions: BTreeMap::new(),
            records: BTreeMap::new(),
            parent: RefCell::default(),
            copies: Vec::new(),
            parameters: BTreeMap::new(),
            kernels: kernels.iter().cloned().collect(),
        };
        for n in &ast.top {
            n.walk(&mut |n| {
                if n.kind.ends_with("Decl") {
                    m.decls.insert(n.id, n);
                }
                if n.kind == "FunctionTemplateDecl" {
                    let names: Vec<&str> = n
                        .inner
                        .iter()
                        .filter(|p| p.kind == "TemplateTypeParmDecl")
                        .map(|p| p.name.as_str())
                        .collect();
                    for f in n.inner.iter().filter(|f| f.is_function()) {
                        m.parameters.insert(f.id, names.clone());
                    }
                }
                if n.is_function() && n.body().is_some() && !n.mangled.is_empty() {
                    m.definitions.entry(n.mangled.as_str()).or_insert(n);
                }
                if matches!(n.kind.as_str(), "CXXRecordDecl" | "RecordDecl" | "ClassTemplateSpecializationDecl") {
                    let fields: Vec<u64> = n
                        .inner
                        .iter()
                        .filter(|f| f.kind == "FieldDecl")
                        .map(|f| f.id)
                        .collect();
                    for f in &fields {
                        m.records.insert(*f, fields.clone());
                    }
                }
                true
            });
        }
        m.reach(kernels);
        m.declare();
        m.connect();
        m.launches();
        m
    }

    /// Pointers that host code of this source passes to kernels.
    fn launches(&mut self) {
        let mut calls: Vec<(&'a Node, &'a Node)> = Vec::new();
        for d in self.decls.values().copied().filter(|d| d.is_function()) {
            let Some(b) = d.body() else { continue };
            b.walk(&mut |n| {
                if n.kind == "CUDAKernelCallExpr" {
                    calls.push((d, n));
                }
                true
            });
        }
        let mut pointers: BTreeMap<u64, Entity> = BTreeMap::new();
        for (f, call) in &calls {
            let kernel = call.inner.first().and_then(|c| self.decls.get(&strip(c).refers?)).copied();
            let Some(kernel) = kernel.and_then(|k| self.definition(k)) else {
                continue;
            };
            let args = call.inner.iter().skip(1).filter(|a| !is_config(a));
            for (p, a) in kernel.params().zip(args) {
                let Some(e) = self.entity_of(p).filter(|e| !self.things[*e].scalar) else {
                    continue;
                };
                let d = host::variable(a).and_then(|v| self.decls.get(&v)).copied();
                match d.filter(|d| d.kind == "VarDecl" && element(&d.plain) == Some(self.things[e].own)) {
                    Some(d) => {
                        let own = self.things[e].own;
                        self.add(d, Kind::Local, own, false, &f.name);
                        if let Some(h) = self.entity_of(d) {
                            self.join(e, h);
                            pointers.insert(d.id, h);
                        }
                    }
                    None => self.fix(e, "the host code passes something that is not followed"),
                }
            }
        }
        self.follow(&pointers);
    }

    /// Everything that host code does with pointers that it passes to kernels.
    fn follow(&mut self, pointers: &BTreeMap<u64, Entity>) {
        let mut fixes: Vec<Entity> = Vec::new();
        let mut joins: Vec<(Entity, Entity)> = Vec::new();
        let mut copies: Vec<(Entity, Copied)> = Vec::new();
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        for d in self.decls.values().filter(|d| d.is_function()) {
            let Some(b) = d.body() else { continue };
            b.walk(&mut |n| {
                if n.kind == "DeclRefExpr"
                    && let Some(p) = n.refers.filter(|r| pointers.contains_key(r))
                {
                    *seen.entry(p).or_default() += 1;
                }
                if n.kind == "CUDAKernelCallExpr" {
                    for a in n.inner.iter().skip(1).filter(|a| !is_config(a)) {
                        if let Some(p) = host::variable(a).filter(|p| pointers.contains_key(p)) {
                            *known.entry(p).or_default() += 1;
                        }
                    }
                }
                if n.kind == "CallExpr" {
                    for a in n.inner.iter().skip(1) {
                        let Some(p) = host::variable(a).filter(|p| pointers.contains_key(p)) else {
                            continue;
                        };
                        let e = pointers[&p];
                        match host::of_call(n, p, self.sources) {
                            host::Use::Harmless => {}
                            host::Use::Copy(c) => copies.push((e, c)),
                            host::Use::With(all) => {
                                for o in all {
                                    match pointers.get(&o) {
                                        Some(o) => joins.push((e, *o)),
                                        None => fixes.push(e),
                                    }
                                }
                            }
                            host::Use::Other => fixes.push(e),
                        }
                        *known.entry(p).or_default() += 1;
                    }
                }
                true
            });
        }
        for (p, e) in pointers {
            if seen.get(p) != known.get(p) {
                fixes.push(*e);
            }
        }
        for (a, b) in joins {
            self.join(a, b);
        }
        for e in fixes {
            self.fix(e, "the host code uses its pointer in a way that is not followed");
        }
        self.copies = copies;
    }

    fn reach(&mut self, kernels: &[String]) {
        let mut left: Vec<&'a Node> = kernels
            .iter()
            .rev()
            .filter_map(|k| self.definitions.get(k.as_str()).copied())
            .collect();
        let mut seen = BTreeSet::new();
        while let Some(f) = left.pop() {
            if !seen.insert(f.id) {
                continue;
            }
            self.functions.push(f);
            let mut called = Vec::new();
            f.walk(&mut |n| {
                if let Some(d) = n.refers.and_then(|r| self.decls.get(&r))
                    && d.is_function()
                    && let Some(g) = self.definition(d)
                {
                    called.push(g);
                }
                true
            });
            left.extend(called.into_iter().rev());
        }
    }

    /// The declaration with the body.
    pub fn definition(&self, f: &'a Node) -> Option<&'a Node> {
        match f.body() {
            Some(_) => Some(f),
            None => self.definitions.get(f.mangled.as_str()).copied(),
        }
    }

    /// Is a function a kernel of the workload?
    pub fn is_kernel(&self, f: &Node) -> bool {
        self.kernels.contains(&f.mangled) || self.kernels.contains(&f.name)
    }

    fn add(&mut self, node: &'a Node, kind: Kind, own: Format, holds_one: bool, function: &str) {
        let Some(loc) = node.loc.or(node.begin) else {
            return;
        };
        let ret = kind == Kind::Return;
        let key = (loc.file, loc.offset, ret);
        let e = match self.by_place.get(&key) {
            Some(e) => *e,
            None => {
                self.things.push(Thing {
                    name: node.name.clone(),
                    kind,
                    own,
                    scalar: holds_one,
                    types: Vec::new(),
                    names: Vec::new(),
                    function: function.to_owned(),
                    fixed: None,
                    held: None,
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
    fn written(
        &self,
        node: &Node,
        kind: Kind,
        holds_one: bool,
        loc: Spot,
    ) -> Result<(usize, Token, usize), String> {
        let begin = node.begin.ok_or("it is declared nowhere")?;
        let Some(s) = self.sources.get(&loc.file) else {
            let file = self.ast.files.get(loc.file);
            let name = file.map_or_else(String::new, |f| f.display().to_string());
            return Err(format!("it is declared in {name}, which is not to be changed"));
        };
        if loc.via == Via::Macro || begin.file != loc.file {
            return Err("a macro declares it".into());
        }
        let (from, to) = match kind {
            Kind::Cast => (begin.offset, node.end.map_or(begin.after(), Spot::after)),
            _ => (begin.offset, loc.offset),
        };
        let from = match kind {
            Kind::Cast => {
                // `(double *)p`, `reinterpret_cast<double *>(p)`
                let open = s.text[from..to].find(['(', '<']).ok_or("a cast of another form")?;
                from + open + 1
            }
            _ => from,
        };
        let token = type_token(s, from, to).ok_or("its type is not written")?;
        if !holds_one && kind != Kind::Cast {
            let after = s.skip_space(loc.after());
            let marks = s.slice(token.to, loc.offset).contains(['*', '&', '('])
                || s.slice(after, after + 1) == "[";
            if !marks {
                return Err("its type is a name for a pointer or an array".into());
            }
        }
        Ok((loc.file, token, begin.offset))
    }

    fn declare(&mut self) {
        let functions = self.functions.clone();
        let mut all: Vec<(&'a Node, Kind, Format, bool, String)> = Vec::new();
        for f in &functions {
            let kernel = self.is_kernel(f);
            for p in f.params() {
                let kind = if kernel {
                    Kind::KernelParameter
                } else {
                    Kind::Parameter
                };
                if let Some((own, one)) = shape(p) {
                    all.push((p, kind, own, one, f.name.clone()));
                }
            }
            // Prototypes have to agree with the definition.
            let redeclared = self.decls.values().copied().filter(|d| {
                d.is_function() && d.mangled == f.mangled && !f.mangled.is_empty() && d.id != f.id
            });
            let others: Vec<&'a Node> = redeclared.collect();
            for d in std::iter::once(*f).chain(others) {
                if let Some(own) = returned(d) {
                    all.push((d, Kind::Return, own.0, own.1, f.name.clone()));
                }
            }
            if let Some(b) = f.body() {
                b.walk(&mut |n| {
                    if n.kind == "VarDecl" || n.kind == "ParmVarDecl" {
                        if let Some((own, one)) = shape(n) {
                            all.push((n, Kind::Local, own, one, f.name.clone()));
                        }
                    }
                    if is_pointer_cast(n) && element(&n.plain).is_some() {
                        let own = element(&n.plain).unwrap_or(Format::F64);
                        all.push((n, Kind::Cast, own, false, f.name.clone()));
                    }
                    true
                });
            }
        }
        for d in self.decls.values().copied() {
            if d.kind == "FieldDecl"
                && let Some((own, one)) = shape(d)
            {
                all.push((d, Kind::Field, own, one, String::new()));
            }
        }
        for n in &self.ast.top {
            if n.kind == "VarDecl"
                && let Some((own, one)) = shape(n)
            {
                all.push((n, Kind::Global, own, one, String::new()));
            }
        }
        for (n, kind, own, one, function) in all {
            self.add(n, kind, own, one, &function);
        }
        // A kernel's scalars are what its callers pass: host code that is not seen here.
        for t in &mut self.things {
            if t.kind == Kind::KernelParameter && t.scalar {
                t.fixed = Some("callers of the kernel pass it".into());
            }
            if t.kind == Kind::Global && t.scalar {
                t.fixed = t.fixed.take().or(Some("the host may read or write it".into()));
            }
        }
        self.templates();
        self.one_declaration();
        self.prototypes();
    }

    /// A type that callers of a template decide stays.
    fn templates(&mut self) {
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
                let written = t.types.first().and_then(|(file, token)| Some(self.sources.get(file)?.word(*token)));
                if written.is_some_and(|w| names.contains(&w)) {
                    self.fix(e, "it has the type that callers of the template choose");
                }
            }
        }
    }

    /// What `for (double a = 0, b = 1; ...)` declares cannot be taken apart.
    fn one_declaration(&mut self) {
        let mut by: BTreeMap<(usize, usize), Entity> = BTreeMap::new();
        let mut joins = Vec::new();
        for (e, t) in self.things.iter().enumerate() {
            for ((file, token), (_, begin, _)) in t.types.iter().zip(&t.names) {
                let Some(s) = self.sources.get(file) else { continue };
                let before = s.text[..*begin].trim_end();
                let header = before.strip_suffix('(').map(str::trim_end).is_some_and(|b| b.ends_with("for"));
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
    fn prototypes(&mut self) {
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
        let pairs: Vec<(Vec<Option<Entity>>, Vec<Option<Entity>>)> = self
            .decls
            .values()
            .filter(|d| d.is_function() && d.body().is_none())
            .filter_map(|d| {
                let f = self.definitions.get(d.mangled.as_str())?;
                let of = |f: &Node| f.params().map(|p| self.entity_of(p)).collect::<Vec<_>>();
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

    /// The entity of a declaration.
    pub fn entity_of(&self, d: &Node) -> Option<Entity> {
        let loc = d.loc?;
        self.by_place.get(&(loc.file, loc.offset, false)).copied()
    }

    /// The entity of what a function gives.
    pub fn return_of(&self, f: &Node) -> Option<Entity> {
        let loc = f.loc?;
        self.by_place.get(&(loc.file, loc.offset, true)).copied()
    }

    /// The class of an entity.
    pub fn class(&self, e: Entity) -> Entity {
        let mut p = self.parent.borrow_mut();
        let mut i = e;
        while p[i] != i {
            p[i] = p[p[i]];
            i = p[i];
        }
        i
    }

    fn join(&self, a: Entity, b: Entity) {
        let (a, b) = (self.class(a), self.class(b));
        self.parent.borrow_mut()[a.max(b)] = a.min(b);
    }

    fn fix(&mut self, e: Entity, why: &str) {
        let t = &mut self.things[e];
        t.fixed = t.fixed.take().or_else(|| Some(why.to_owned()));
    }

    /// The entity that an expression of a pointer, array or number's place is of.
    pub fn memory(&self, n: &Node) -> Option<Entity> {
        let n = strip(n);
        match n.kind.as_str() {
            "DeclRefExpr" => self.entity_of(self.decls.get(&n.refers?)?),
            "MemberExpr" => self.entity_of(self.decls.get(&n.refers?)?),
            "ArraySubscriptExpr" => n.inner.iter().find_map(|c| match pointed(&c.plain) {
                true => self.memory(c),
                false => None,
            }),
            "UnaryOperator" if matches!(n.opcode.as_str(), "*" | "&" | "++" | "--") => {
                self.memory(n.inner.first()?)
            }
            "BinaryOperator" if matches!(n.opcode.as_str(), "+" | "-" | "=") => n
                .inner
                .iter()
                .find(|c| pointed(&c.plain))
                .and_then(|c| self.memory(c)),
            "ConditionalOperator" => self.memory(n.inner.get(1)?),
            "CallExpr" => {
                let d = self.decls.get(&strip(n.inner.first()?).refers?)?;
                self.return_of(d)
            }
            _ if is_pointer_cast(n) => {
                let b = n.begin?;
                let own = self.by_place.get(&(b.file, b.offset, false)).copied();
                own.or_else(|| self.memory(n.inner.last()?))
            }
            _ => None,
        }
    }

    /// Joins what pointers make one memory; fixes what goes where nothing is seen.
    fn connect(&mut self) {
        let functions = self.functions.clone();
        let joins: RefCell<Vec<(Entity, Entity)>> = RefCell::default();
        let fixes: RefCell<Vec<(Entity, String)>> = RefCell::default();
        let pair = |a: Option<Entity>, b: Option<Entity>| match (a, b) {
            (Some(a), Some(b)) => joins.borrow_mut().push((a, b)),
            (Some(a), None) | (None, Some(a)) => {
                fixes.borrow_mut().push((a, "its address comes from or goes to what is not followed".into()));
            }
            (None, None) => {}
        };
        for f in &functions {
            let Some(body) = f.body() else { continue };
            let gives = self.return_of(f);
            body.walk(&mut |n| {
                let memory = |n: &Node| element(&n.plain).is_some();
                match n.kind.as_str() {
                    "VarDecl" if memory(n) => {
                        let init = n.inner.iter().find(|c| c.kind.ends_with("Expr") || c.kind.ends_with("Operator"));
                        let list = init.is_some_and(|i| {
                            matches!(strip(i).kind.as_str(), "InitListExpr" | "CXXConstructExpr" | "ImplicitValueInitExpr")
                        });
                        if let Some(i) = init.filter(|_| !list) {
                            pair(self.entity_of(n), self.memory(i));
                        }
                    }
                    "BinaryOperator" if n.opcode == "=" && memory(n) && n.plain.contains('*') => {
                        pair(self.memory(&n.inner[0]), self.memory(&n.inner[1]));
                    }
                    "ConditionalOperator" if memory(n) && n.plain.contains('*') => {
                        pair(self.memory(&n.inner[1]), self.memory(&n.inner[2]));
                    }
                    "ReturnStmt" => {
                        if let Some(v) = n.inner.first().filter(|v| memory(v)) {
                            pair(gives, self.memory(v));
                        }
                    }
                    "CallExpr" => {
                        let callee = n.inner.first().map(strip);
                        let d = callee.and_then(|c| self.decls.get(&c.refers?)).copied();
                        let own = d.filter(|d| d.is_function()).and_then(|d| self.definition(d));
                        let name = callee.map_or("", |c| c.refers_name.as_str());
                        let mut params: Vec<Option<&Node>> = own.map_or_else(Vec::new, |f| f.params().map(Some).collect());
                        params.resize(n.inner.len(), None);
                        for (arg, p) in n.inner.iter().skip(1).zip(params) {
                            match p {
                                Some(p) if element(&p.plain).is_some() => {
                                    pair(self.entity_of(p), self.memory(arg));
                                }
                                None if memory(arg) && arg.plain.contains('*') && !OVERLOADED.contains(&name) => {
                                    if let Some(e) = self.memory(arg) {
                                        fixes.borrow_mut().push((e, format!("its address goes to {name}")));
                                    }
                                }
                                _ => {}
                            }
                        }
                    }
                    "CXXOperatorCallExpr" | "CXXMemberCallExpr" | "CXXConstructExpr" => {
                        for arg in n.inner.iter().filter(|a| memory(a)) {
                            if let Some(e) = self.memory(arg) {
                                fixes.borrow_mut().push((e, "its address goes to a function that is not followed".into()));
                            }
                        }
                    }
                    _ if is_pointer_cast(n) => {
                        let from = n.inner.last();
                        let inner = from.and_then(|i| self.memory(i)).filter(|_| from.is_some_and(|f| element(&strip(f).plain).is_some()));
                        match (element(&n.plain), inner) {
                            (Some(a), Some(e)) if Some(a) == from.and_then(|f| element(&strip(f).plain)) => {
                                pair(self.memory(n), Some(e));
                            }
                            (_, Some(e)) => fixes.borrow_mut().push((e, "it is seen as another type".into())),
                            _ => {}
                        }
                    }
                    _ => {}
                }
                true
            });
            // Fields of records that lie in memory have the format of that memory.
            body.walk(&mut |n| {
                if n.kind == "MemberExpr"
                    && let Some(field) = n.refers
                    && let Some(base) = n.inner.first()
                    && let Some(e) = self.decls.get(&field).and_then(|d| self.entity_of(d))
                    && in_memory(base)
                {
                    let all = self.records.get(&field).cloned().unwrap_or_default();
                    for f in all {
                        if let Some(o) = self.decls.get(&f).and_then(|d| self.entity_of(d)) {
                            joins.borrow_mut().push((e, o));
                        }
                    }
                }
                true
            });
        }
        for (a, b) in joins.into_inner() {
            // Two formats of the source stay two.
            if self.things[a].own == self.things[b].own {
                self.join(a, b);
            }
        }
        for (e, why) in fixes.into_inner() {
            self.fix(e, &why);
        }
    }

    /// Says in which format the plan holds a kernel's parameter or array.
    pub fn hold(&mut self, kernel: &str, name: &str, format: Option<Format>) {
        // `v.2` is the second copy of an array of an inlined function.
        let plain = name.split('.').next().unwrap_or(name);
        let kernel_node = self.functions.iter().copied().find(|f| f.mangled == kernel || f.name == kernel);
        let param = kernel_node.and_then(|k| {
            let by_number: Option<usize> = name.parse().ok();
            let mut all = k.params().enumerate();
            all.find(|(n, p)| p.name == name || by_number == Some(*n)).map(|p| p.1)
        });
        let mut found: Vec<Entity> = param.and_then(|p| self.entity_of(p)).into_iter().collect();
        if let Some(p) = param
            && found.is_empty()
        {
            found = self.record_fields(&record_name(&p.plain));
        }
        if param.is_none() {
            let arrays = self.things.iter().enumerate().filter(|(_, t)| {
                !t.scalar && t.name == plain && matches!(t.kind, Kind::Local | Kind::Global)
            });
            found = arrays.map(|t| t.0).collect();
        }
        for e in found {
            let t = &mut self.things[e];
            let wanted = format.unwrap_or(t.own);
            // What is wanted in two formats has the wider one.
            t.held = Some(match t.held {
                Some(h) if h.bytes() >= wanted.bytes() => h,
                _ => wanted,
            });
        }
    }

    /// Fields of the record that a parameter points to.
    pub fn pointed_fields(&self, p: &Node) -> Vec<Entity> {
        match p.plain.contains('*') && element(&p.plain).is_none() {
            true => self.record_fields(&record_name(&p.plain)),
            false => Vec::new(),
        }
    }

    fn record_fields(&self, name: &str) -> Vec<Entity> {
        let is = |n: &&&Node| {
            matches!(n.kind.as_str(), "CXXRecordDecl" | "RecordDecl") && n.name == name
        };
        let records = self.decls.values().filter(is);
        let fields = records.flat_map(|r| r.inner.iter()).filter(|f| f.kind == "FieldDecl");
        let mut all: Vec<Entity> = fields.filter_map(|f| self.entity_of(f)).collect();
        all.dedup();
        all
    }
}

/// Functions that have a version for each format of what they are given the address of.
const OVERLOADED: [&str; 12] = [
    "atomicAdd", "atomicAdd_block", "atomicAdd_system", "__ldg", "__ldcg", "__ldca", "__ldcs", "__stcg", "__stcs",
    "__stwb", "__stwt", "__ldlu",
];

/// Is a record, whose member is taken, behind a pointer or in an array?
fn in_memory(base: &Node) -> bool {
    let b = strip(base);
    match b.kind.as_str() {
        "ArraySubscriptExpr" | "UnaryOperator" => true,
        "DeclRefExpr" => b.plain.contains('*') || b.plain.contains('&'),
        "MemberExpr" => b.inner.first().is_some_and(in_memory),
        _ => false,
    }
}

/// The grid and block of a launch.
fn is_config(n: &Node) -> bool {
    n.kind == "CallExpr"
        && n.inner.first().is_some_and(|c| {
            let name = strip(c).refers_name.as_str();
            name.contains("ConfigureCall") || name.contains("CallConfiguration")
        })
}

fn pointed(t: &str) -> bool {
    t.contains('*') || t.contains('[')
}

/// A cast of a pointer that the source writes.
pub fn is_pointer_cast(n: &Node) -> bool {
    matches!(
        n.kind.as_str(),
        "CStyleCastExpr" | "CXXReinterpretCastExpr" | "CXXStaticCastExpr" | "CXXConstCastExpr"
    ) && n.plain.contains('*')
}

/// Format of a declaration, and whether it is one number.
fn shape(n: &Node) -> Option<(Format, bool)> {
    match scalar(&n.plain) {
        Some(f) => Some((f, true)),
        None => element(&n.plain).map(|f| (f, false)),
    }
}

/// Format of what a function gives, and whether it is one number.
fn returned(f: &Node) -> Option<(Format, bool)> {
    let end = f.plain.find('(')?;
    let t = f.plain[..end].trim();
    match scalar(t) {
        Some(f) => Some((f, true)),
        None => element(t).map(|f| (f, false)),
    }
}
