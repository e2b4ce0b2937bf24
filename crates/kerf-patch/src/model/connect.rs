//! Entities that are one memory: what pointers are given, and where addresses go.
use super::*;

/// What functions say about memory.
#[derive(Default)]
struct Links {
    /// Entities that are one memory.
    joins: Vec<(Entity, Entity)>,
    /// Those that keep their format, and why.
    fixes: Vec<(Entity, FixedReason)>,
    /// Fields of records that lie in memory.
    fields: Vec<Entity>,
}

impl Links {
    /// Two addresses that are of one memory; what only one of them is known of is fixed.
    fn pair(&mut self, a: Option<Entity>, b: Option<Entity>) {
        match (a, b) {
            (Some(a), Some(b)) => self.joins.push((a, b)),
            (Some(a), None) | (None, Some(a)) => self.fix(a, FixedReason::UnknownAddress),
            (None, None) => {}
        }
    }

    fn fix(&mut self, entity: Entity, why: FixedReason) {
        self.fixes.push((entity, why));
    }
}

/// Does an expression have the address of numbers?
fn is_address(n: &AstNode) -> bool {
    element(&n.plain).is_some()
}

impl<'a> DeclarationModel<'a> {
    /// Joins what pointers make one memory; fixes what goes where nothing is seen.
    pub(super) fn connect(&mut self) {
        let mut links = Links::default();
        for f in &self.functions {
            let Some(body) = f.body() else { continue };
            let returned = self.return_of(f);
            body.walk(&mut |n| {
                self.link(n, returned, &mut links);
                self.link_field(n, &mut links);
                true
            });
        }
        for (a, b) in links.joins {
            // Two formats of the source stay two.
            if self.things[a].own == self.things[b].own {
                self.join(a, b);
            }
        }
        for (e, why) in links.fixes {
            self.fix(e, why);
        }
        for e in links.fields {
            self.things[e].shared = true;
        }
    }

    /// What one expression or declaration says; `returned` is what its function returns.
    fn link(&self, n: &AstNode, returned: Option<Entity>, links: &mut Links) {
        match n.kind.as_str() {
            "VarDecl" if is_address(n) => self.link_variable(n, links),
            "BinaryOperator" if n.opcode == "=" && is_address(n) && n.plain.contains('*') => {
                links.pair(self.memory(&n.inner[0]), self.memory(&n.inner[1]));
            }
            "ConditionalOperator" if is_address(n) && n.plain.contains('*') => {
                links.pair(self.memory(&n.inner[1]), self.memory(&n.inner[2]));
            }
            "ReturnStmt" => {
                if let Some(v) = n.inner.first().filter(|v| is_address(v)) {
                    links.pair(returned, self.memory(v));
                }
            }
            "CallExpr" | "CXXOperatorCallExpr" | "CXXMemberCallExpr"
                if n.kind == "CallExpr" || self.called(n).is_some() =>
            {
                self.link_call(n, links);
            }
            "CXXOperatorCallExpr" | "CXXMemberCallExpr" | "CXXConstructExpr" => {
                for arg in n.inner.iter().filter(|a| is_address(a)) {
                    if let Some(e) = self.memory(arg) {
                        links.fix(e, FixedReason::UnknownFunction);
                    }
                }
            }
            _ if is_pointer_cast(n) => self.link_cast(n, links),
            _ => {}
        }
    }

    /// A pointer is what it begins as.
    fn link_variable(&self, n: &AstNode, links: &mut Links) {
        let init = n
            .inner
            .iter()
            .find(|c| c.kind.ends_with("Expr") || c.kind.ends_with("Operator"));
        let list = init.is_some_and(|i| {
            matches!(
                strip(i).kind.as_str(),
                "InitListExpr" | "CXXConstructExpr" | "ImplicitValueInitExpr"
            )
        });
        if let Some(i) = init.filter(|_| !list) {
            links.pair(self.entity_of(n), self.memory(i));
        }
    }

    /// Parameters are what they are given.
    fn link_call(&self, n: &AstNode, links: &mut Links) {
        let own = self.called(n);
        let callee = n.inner.first().map(strip);
        let name = callee.map_or("", |c| c.refers_name.as_str());
        let mut params: Vec<Option<&AstNode>> =
            own.map_or_else(Vec::new, |f| f.params().map(Some).collect());
        params.resize(n.inner.len(), None);
        if own.is_none()
            && SINES.contains(&name)
            && let [_, _, a, b, ..] = n.inner.as_slice()
        {
            links.pair(self.memory(a), self.memory(b));
            return;
        }
        let object = usize::from(own.is_some_and(|f| is_object_call(n, f)));
        for (arg, p) in n.inner.iter().skip(1 + object).zip(params) {
            match p {
                Some(p) if is_reference(&p.plain) && lanes(&p.plain).is_some() => {
                    // A reference to a vector is its memory; one that is made there has any format.
                    match self.origin(arg) {
                        Origin::Entity(b) => links.pair(self.entity_of(p), Some(b)),
                        Origin::Made => {}
                        Origin::Unknown => links.pair(self.entity_of(p), None),
                    }
                }
                Some(p) if element(&p.plain).is_some() => {
                    links.pair(self.entity_of(p), self.memory(arg));
                }
                None if is_address(arg)
                    && arg.plain.contains('*')
                    && !OVERLOADED.contains(&name) =>
                {
                    if let Some(e) = self.memory(arg) {
                        links.fix(e, FixedReason::PassedTo(name.to_owned()));
                    }
                }
                _ => {}
            }
        }
    }

    /// A cast to the same format is the same memory; one to another is not followed.
    fn link_cast(&self, n: &AstNode, links: &mut Links) {
        let from = n.inner.last();
        let inner = from
            .and_then(|i| self.memory(i))
            .filter(|_| from.is_some_and(|f| element(&strip(f).plain).is_some()));
        match (element(&n.plain), inner) {
            (Some(a), Some(e)) if Some(a) == from.and_then(|f| element(&strip(f).plain)) => {
                links.pair(self.memory(n), Some(e));
            }
            (_, Some(e)) => links.fix(e, FixedReason::Reinterpreted),
            _ => {}
        }
    }

    /// Fields of records that lie in memory have the format of that memory.
    fn link_field(&self, n: &AstNode, links: &mut Links) {
        if n.kind == "MemberExpr"
            && let Some(field) = n.refers
            && let Some(base) = n.inner.first()
            && let Some(e) = self.decls.get(&field).and_then(|d| self.entity_of(d))
            && in_memory(base)
        {
            links.fields.push(e);
            for f in self.records.get(&field).into_iter().flatten() {
                if let Some(o) = self.decls.get(f).and_then(|d| self.entity_of(d)) {
                    links.joins.push((e, o));
                }
            }
        }
    }

    /// The function with a body that an expression calls.
    pub(crate) fn called(&self, n: &AstNode) -> Option<&'a AstNode> {
        let c = strip(n.inner.first()?);
        let d = self.decls.get(&c.refers?).copied()?;
        self.definition(d).filter(|_| d.is_function())
    }
}

/// A reference, not a pointer?
pub(crate) fn is_reference(t: &str) -> bool {
    t.contains('&') && !t.contains('*')
}

/// Is an operator called that is a method, whose object is the first argument?
pub(crate) fn is_object_call(n: &AstNode, f: &AstNode) -> bool {
    n.kind == "CXXOperatorCallExpr" && f.kind == "CXXMethodDecl"
}

/// Functions that write sine and cosine to two addresses of one format.
pub(crate) const SINES: [&str; 2] = ["sincos", "sincospi"];

/// Functions that have a version for each format of what they are given the address of.
const OVERLOADED: [&str; 13] = [
    "__ldcv",
    "atomicAdd",
    "atomicAdd_block",
    "atomicAdd_system",
    "__ldg",
    "__ldcg",
    "__ldca",
    "__ldcs",
    "__stcg",
    "__stcs",
    "__stwb",
    "__stwt",
    "__ldlu",
];

/// Is a record, whose member is taken, behind a pointer or in an array?
pub(super) fn in_memory(base: &AstNode) -> bool {
    let b = strip(base);
    match b.kind.as_str() {
        "ArraySubscriptExpr" | "UnaryOperator" => true,
        "DeclRefExpr" => b.plain.contains('*') || b.plain.contains('&'),
        "MemberExpr" => b.inner.first().is_some_and(in_memory),
        _ => false,
    }
}
