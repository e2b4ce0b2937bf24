//! Declarations whose format can change, and which of them have to change together.
//!
//! An entity is one declared thing that holds numbers: a variable, a parameter, a field, what a function gives, the
//! elements behind a pointer. Entities that are one memory, or whose types have to agree for the program to compile,
//! are one class. Instances of a template share their text, so entities are known by their place in it.
pub(crate) mod connect;
#[cfg(test)]
mod connect_tests;
mod declare;
mod launches;

use crate::ast::{Ast, AstNode, Spot, Via, strip};
use crate::host::Copied;
use crate::source::{SourceFile, Token, type_token};
use crate::types::{element, lanes, record_name, scalar, vector};
use kerf_num::Format;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Number of an entity.
pub type Entity = usize;

/// Formats of classes that are not as in the source.
pub type Formats = BTreeMap<Entity, Format>;

/// What a declaration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclarationKind {
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
    pub kind: DeclarationKind,
    /// Format in the source.
    pub own: Format,
    /// Does it hold one number, or is it memory?
    pub scalar: bool,
    /// Numbers in one of its elements, if these are CUDA's vectors: 4 of `double4`.
    pub lanes: Option<u8>,
    /// Does it hold one vector, as opposed to memory with vectors?
    pub vector: bool,
    /// Where its type is written, once for each declaration: file, token.
    pub types: Vec<(usize, Token)>,
    /// Where the declaration begins and the name is, by declaration.
    pub names: Vec<(usize, usize, usize)>,
    /// Why it has to keep its format.
    pub fixed: Option<FixedReason>,
    /// Format that the plan gives the memory that it is.
    pub held: Option<Format>,
    /// A field of records that lie in memory, which others than this function see.
    pub shared: bool,
}

/// Why a declaration keeps its format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixedReason {
    /// clang has no place for it.
    #[error("it is declared nowhere")]
    NoPlace,
    /// It is in a file of others.
    #[error("it is declared in {0}, which is not to be changed")]
    ForeignFile(String),
    /// Its name is in the body of a macro.
    #[error("a macro declares it")]
    Macro,
    /// A cast without parenthesis or angle bracket.
    #[error("a cast of another form")]
    CastForm,
    /// No word of the declaration is its type.
    #[error("its type is not written")]
    NoType,
    /// `typedef double *pointer;`
    #[error("its type is a name for a pointer or an array")]
    TypeName,
    /// A number that launches pass.
    #[error("callers of the kernel pass it")]
    KernelArgument,
    /// A global that host code can name.
    #[error("the host may read or write it")]
    HostVisible,
    /// A parameter of a template's type.
    #[error("it has the type that callers of the template choose")]
    TemplateType,
    /// A pointer of which one side is not known.
    #[error("its address comes from or goes to what is not followed")]
    UnknownAddress,
    /// A method or constructor without a body.
    #[error("its address goes to a function that is not followed")]
    UnknownFunction,
    /// A function without a body.
    #[error("its address goes to {0}")]
    PassedTo(String),
    /// A cast to a pointer to something else.
    #[error("it is seen as another type")]
    Reinterpreted,
    /// A launch whose argument is no variable.
    #[error("the host code passes something that is not followed")]
    UnknownArgument,
    /// Host code that does more with it than allocate, copy and launch.
    #[error("the host code uses its pointer in a way that is not followed")]
    UnknownHostUse,
}

impl Thing {
    /// Is its format what the plan says of memory, not what is computed?
    pub fn is_memory(&self) -> bool {
        let outside = matches!(
            self.kind,
            DeclarationKind::KernelParameter | DeclarationKind::Global
        );
        !self.scalar && !self.vector && outside || self.held.is_some() || self.shared
    }

    /// Its type in a format, as CUDA C++ writes it.
    pub fn word(&self, f: Format) -> String {
        let name = match f {
            Format::F64 => "double",
            Format::F16 => "__half",
            Format::Bf16 => "__nv_bfloat16",
            _ => "float",
        };
        match self.lanes {
            Some(n) => format!("{name}{n}"),
            None => name.to_owned(),
        }
    }
}

/// Is a format one that source only stores numbers in?
pub fn is_stored_only(f: Format) -> bool {
    matches!(f, Format::F16 | Format::Bf16)
}

/// The declarations of a program.
pub struct DeclarationModel<'a> {
    /// The tree.
    pub ast: &'a Ast,
    /// Texts of files that may change, by number.
    pub sources: &'a BTreeMap<usize, SourceFile>,
    /// Every declaration by clang's number.
    pub decls: BTreeMap<u64, &'a AstNode>,
    /// Functions with bodies that kernels reach, kernels first.
    pub functions: Vec<&'a AstNode>,
    /// The entities.
    pub things: Vec<Thing>,
    /// Entities by place of the name.
    by_place: BTreeMap<(usize, usize, bool), Entity>,
    /// Definition of each function, by linker name.
    definitions: BTreeMap<&'a str, &'a AstNode>,
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

/// Functions that give what is at an address, whatever its type.
pub(crate) const LOADS: [&str; 6] = ["__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"];

/// Where the value of a vector comes from.
pub(crate) enum Origin {
    /// A declaration.
    Entity(Entity),
    /// It is put together from numbers there.
    Made,
    /// Something that is not followed.
    Unknown,
}

/// Through copies of a vector, beside what clang put in.
pub(crate) fn copied(n: &AstNode) -> &AstNode {
    let mut n = strip(n);
    while n.kind == "CXXConstructExpr" && n.inner.len() == 1 {
        n = strip(&n.inner[0]);
    }
    n
}

impl<'a> DeclarationModel<'a> {
    /// Looks at a program. `sources` are the files that may change, `kernels` the symbols of the kernels.
    pub fn new(
        ast: &'a Ast,
        sources: &'a BTreeMap<usize, SourceFile>,
        kernels: &[String],
    ) -> DeclarationModel<'a> {
        let mut m = DeclarationModel {
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
        for declaration in &ast.top {
            declaration.walk(&mut |n| {
                m.index(n);
                true
            });
        }
        m.reach(kernels);
        m.declare();
        m.connect();
        m.launches();
        m
    }

    /// Remembers a declaration by what others refer to it by.
    fn index(&mut self, n: &'a AstNode) {
        if n.kind.ends_with("Decl") {
            self.decls.insert(n.id, n);
        }
        if n.kind == "FunctionTemplateDecl" {
            let types = n.inner.iter().filter(|p| p.kind == "TemplateTypeParmDecl");
            let names: Vec<&str> = types.map(|p| p.name.as_str()).collect();
            for f in n.inner.iter().filter(|f| f.is_function()) {
                self.parameters.insert(f.id, names.clone());
            }
        }
        if n.is_function() && n.body().is_some() && !n.mangled.is_empty() {
            self.definitions.entry(n.mangled.as_str()).or_insert(n);
        }
        if is_record(n) || n.kind == "ClassTemplateSpecializationDecl" {
            let fields: Vec<u64> = n.fields().map(|f| f.id).collect();
            for f in &fields {
                self.records.insert(*f, fields.clone());
            }
        }
    }

    /// Finds functions with bodies from the kernels on.
    fn reach(&mut self, kernels: &[String]) {
        let mut left: Vec<&'a AstNode> = kernels
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
    pub fn definition(&self, f: &'a AstNode) -> Option<&'a AstNode> {
        match f.body() {
            Some(_) => Some(f),
            None => self.definitions.get(f.mangled.as_str()).copied(),
        }
    }

    /// Is a function a kernel of the workload?
    pub fn is_kernel(&self, f: &AstNode) -> bool {
        self.kernels.contains(&f.mangled) || self.kernels.contains(&f.name)
    }

    /// Is a function an instance of a template?
    pub fn is_template(&self, f: &AstNode) -> bool {
        self.parameters.contains_key(&f.id)
    }

    /// The entity of a declaration.
    pub fn entity_of(&self, d: &AstNode) -> Option<Entity> {
        let loc = d.loc?;
        self.by_place.get(&(loc.file, loc.offset, false)).copied()
    }

    /// The entity of what a function gives.
    pub fn return_of(&self, f: &AstNode) -> Option<Entity> {
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

    fn fix(&mut self, entity: Entity, why: FixedReason) {
        self.things[entity].fixed.get_or_insert(why);
    }

    /// The entity that an expression of a pointer, array or number's place is of.
    pub fn memory(&self, n: &AstNode) -> Option<Entity> {
        let n = strip(n);
        match n.kind.as_str() {
            "DeclRefExpr" => self.entity_of(self.decls.get(&n.refers?)?),
            // `v.x` is a part of `v`.
            "MemberExpr"
                if n.inner
                    .first()
                    .is_some_and(|b| lanes(&strip(b).plain).is_some()) =>
            {
                self.memory(n.inner.first()?)
            }
            "MemberExpr" => self.entity_of(self.decls.get(&n.refers?)?),
            "CXXConstructExpr" if n.inner.len() == 1 => self.memory(&n.inner[0]),
            "CXXOperatorCallExpr" => {
                let c = strip(n.inner.first()?);
                match c.refers_name.as_str() {
                    "operator=" => self.memory(n.inner.get(1)?),
                    _ => self.return_of(self.decls.get(&c.refers?)?),
                }
            }
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
                let c = strip(n.inner.first()?);
                if LOADS.contains(&c.refers_name.as_str()) {
                    return self.memory(n.inner.get(1)?);
                }
                self.return_of(self.decls.get(&c.refers?)?)
            }
            "CXXMemberCallExpr" => {
                self.return_of(self.decls.get(&strip(n.inner.first()?).refers?)?)
            }
            _ if is_pointer_cast(n) => {
                let b = n.begin?;
                let own = self.by_place.get(&(b.file, b.offset, false)).copied();
                own.or_else(|| self.memory(n.inner.last()?))
            }
            _ => None,
        }
    }

    /// Where a vector comes from.
    pub(crate) fn origin(&self, n: &AstNode) -> Origin {
        let n = copied(n);
        let callee = n
            .inner
            .first()
            .map_or("", |c| strip(c).refers_name.as_str());
        match n.kind.as_str() {
            "InitListExpr" | "ImplicitValueInitExpr" | "CXXFunctionalCastExpr" => Origin::Made,
            "CXXConstructExpr" | "CXXTemporaryObjectExpr" => Origin::Made,
            "CallExpr" if callee.starts_with("make_") => Origin::Made,
            _ => self.memory(n).map_or(Origin::Unknown, Origin::Entity),
        }
    }

    /// Says in which format the plan holds a kernel's parameter or array.
    pub fn hold(&mut self, kernel: &str, name: &str, format: Option<Format>) {
        // `v.2` is the second copy of an array of an inlined function.
        let plain = name.split('.').next().unwrap_or(name);
        let kernel_node = self
            .functions
            .iter()
            .copied()
            .find(|f| f.mangled == kernel || f.name == kernel);
        let param = kernel_node.and_then(|k| {
            let by_number: Option<usize> = name.parse().ok();
            let mut all = k.params().enumerate();
            all.find(|(n, p)| p.name == name || by_number == Some(*n))
                .map(|p| p.1)
        });
        let mut found: Vec<Entity> = param.and_then(|p| self.entity_of(p)).into_iter().collect();
        if let Some(p) = param
            && found.is_empty()
        {
            found = self.record_fields(&record_name(&p.plain));
        }
        if param.is_none() {
            let arrays = self.things.iter().enumerate().filter(|(_, t)| {
                !t.scalar
                    && t.name == plain
                    && matches!(t.kind, DeclarationKind::Local | DeclarationKind::Global)
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
    pub fn pointed_fields(&self, p: &AstNode) -> Vec<Entity> {
        match p.plain.contains('*') && element(&p.plain).is_none() {
            true => self.record_fields(&record_name(&p.plain)),
            false => Vec::new(),
        }
    }

    fn record_fields(&self, name: &str) -> Vec<Entity> {
        let records = self
            .decls
            .values()
            .filter(|n| is_record(n) && n.name == name);
        let fields = records.flat_map(|r| r.fields());
        let mut all: Vec<Entity> = fields.filter_map(|f| self.entity_of(f)).collect();
        all.dedup();
        all
    }
}

fn is_record(n: &AstNode) -> bool {
    matches!(n.kind.as_str(), "CXXRecordDecl" | "RecordDecl")
}

fn pointed(t: &str) -> bool {
    t.contains('*') || t.contains('[')
}

/// A cast of a pointer that the source writes.
pub fn is_pointer_cast(n: &AstNode) -> bool {
    matches!(
        n.kind.as_str(),
        "CStyleCastExpr" | "CXXReinterpretCastExpr" | "CXXStaticCastExpr" | "CXXConstCastExpr"
    ) && n.plain.contains('*')
}
