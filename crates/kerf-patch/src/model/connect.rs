//! Entities that are one memory: what pointers are given, and where addresses go.
use super::*;

impl<'a> Model<'a> {
    /// Joins what pointers make one memory; fixes what goes where nothing is seen.
    pub(super) fn connect(&mut self) {
        let functions = self.functions.clone();
        let joins: RefCell<Vec<(Entity, Entity)>> = RefCell::default();
        let fixes: RefCell<Vec<(Entity, String)>> = RefCell::default();
        let fields: RefCell<Vec<Entity>> = RefCell::default();
        let pair = |a: Option<Entity>, b: Option<Entity>| match (a, b) {
            (Some(a), Some(b)) => joins.borrow_mut().push((a, b)),
            (Some(a), None) | (None, Some(a)) => {
                fixes.borrow_mut().push((
                    a,
                    "its address comes from or goes to what is not followed".into(),
                ));
            }
            (None, None) => {}
        };
        for f in &functions {
            let Some(body) = f.body() else { continue };
            let gives = self.return_of(f);
            body.walk(&mut |n| {
                let memory = |n: &Node| element(&n.plain).is_some();
                // A reference to a vector is its memory; one that is made there has any format.
                let refers = |a: Option<Entity>, from: &Node| match self.origin(from) {
                    Origin::Entity(b) => pair(a, Some(b)),
                    Origin::Made => {}
                    Origin::Unknown => pair(a, None),
                };
                match n.kind.as_str() {
                    "VarDecl" if memory(n) => {
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
                    "CallExpr" | "CXXOperatorCallExpr" | "CXXMemberCallExpr"
                        if n.kind == "CallExpr" || self.called(n).is_some() =>
                    {
                        let callee = n.inner.first().map(strip);
                        let d = callee.and_then(|c| self.decls.get(&c.refers?)).copied();
                        let own = d
                            .filter(|d| d.is_function())
                            .and_then(|d| self.definition(d));
                        let name = callee.map_or("", |c| c.refers_name.as_str());
                        let mut params: Vec<Option<&Node>> =
                            own.map_or_else(Vec::new, |f| f.params().map(Some).collect());
                        params.resize(n.inner.len(), None);
                        if own.is_none()
                            && SINES.contains(&name)
                            && let [_, _, a, b, ..] = n.inner.as_slice()
                        {
                            pair(self.memory(a), self.memory(b));
                            return true;
                        }
                        let object = usize::from(own.is_some_and(|f| is_object_call(n, f)));
                        for (arg, p) in n.inner.iter().skip(1 + object).zip(params) {
                            match p {
                                Some(p) if is_reference(&p.plain) && lanes(&p.plain).is_some() => {
                                    refers(self.entity_of(p), arg);
                                }
                                Some(p) if element(&p.plain).is_some() => {
                                    pair(self.entity_of(p), self.memory(arg));
                                }
                                None if memory(arg)
                                    && arg.plain.contains('*')
                                    && !OVERLOADED.contains(&name) =>
                                {
                                    if let Some(e) = self.memory(arg) {
                                        fixes
                                            .borrow_mut()
                                            .push((e, format!("its address goes to {name}")));
                                    }
                                }
                                _ => {}
                            }
                        }
                    }
                    "CXXOperatorCallExpr" | "CXXMemberCallExpr" | "CXXConstructExpr" => {
                        for arg in n.inner.iter().filter(|a| memory(a)) {
                            if let Some(e) = self.memory(arg) {
                                fixes.borrow_mut().push((
                                    e,
                                    "its address goes to a function that is not followed".into(),
                                ));
                            }
                        }
                    }
                    _ if is_pointer_cast(n) => {
                        let from = n.inner.last();
                        let inner = from
                            .and_then(|i| self.memory(i))
                            .filter(|_| from.is_some_and(|f| element(&strip(f).plain).is_some()));
                        match (element(&n.plain), inner) {
                            (Some(a), Some(e))
                                if Some(a) == from.and_then(|f| element(&strip(f).plain)) =>
                            {
                                pair(self.memory(n), Some(e));
                            }
                            (_, Some(e)) => fixes
                                .borrow_mut()
                                .push((e, "it is seen as another type".into())),
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
                    fields.borrow_mut().push(e);
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
        for e in fields.into_inner() {
            self.things[e].shared = true;
        }
    }
}

impl<'a> Model<'a> {
    /// The function with a body that an expression calls.
    pub(crate) fn called(&self, n: &Node) -> Option<&'a Node> {
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
pub(crate) fn is_object_call(n: &Node, f: &Node) -> bool {
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
pub(super) fn in_memory(base: &Node) -> bool {
    let b = strip(base);
    match b.kind.as_str() {
        "ArraySubscriptExpr" | "UnaryOperator" => true,
        "DeclRefExpr" => b.plain.contains('*') || b.plain.contains('&'),
        "MemberExpr" => b.inner.first().is_some_and(in_memory),
        _ => false,
    }
}
