//! Lines of reports: those of the source that `.loc` names, or those of the PTX file itself.
use super::file_syntax::{FunctionText, SourceLine};
use super::flat::FlatBody;
use super::lexer::Place;
use kerf_llvm::{DebugLines, DebugPlace, DebugScope, Module, Value};
use std::collections::{BTreeMap, HashMap};

/// Where statements of a file came from.
pub(super) struct SourceLines {
    lines: DebugLines,
    main: String,
    files: BTreeMap<u64, String>,
    current: Option<CurrentFunction>,
}

struct CurrentFunction {
    scope: DebugScope,
    /// The file that the function is in.
    file: String,
    parts: HashMap<String, DebugScope>,
    /// Functions that were inlined, by file.
    inlined: HashMap<String, DebugScope>,
}

impl SourceLines {
    /// For a module that was read from `main`, with its numbered sources.
    pub fn new(m: &Module, main: &str, files: &BTreeMap<u64, String>) -> SourceLines {
        SourceLines {
            lines: DebugLines::new(m, main),
            main: main.to_owned(),
            files: files.clone(),
            current: None,
        }
    }

    /// Goes on with function `f`.
    pub fn enter(&mut self, f: Value, text: &FunctionText, body: &FlatBody) {
        let statements = body.blocks.iter().flatten();
        let own = statements.filter_map(|s| s.source).find_map(|s| {
            let (file, line) = match s.inlined_at {
                Some((file, line, _)) => (file, line),
                None => (s.file, s.line),
            };
            Some((self.files.get(&file)?.clone(), line))
        });
        let (file, line) = own.unwrap_or_else(|| (self.main.clone(), text.place.line));
        let scope = self.lines.scope(&text.name, &file, line);
        self.lines.attach(f, scope);
        self.current = Some(CurrentFunction {
            scope,
            file,
            parts: HashMap::new(),
            inlined: HashMap::new(),
        });
    }

    /// Says again that `f`, whose body was taken away, is the current function.
    pub fn attach_again(&self, f: Value) {
        if let Some(c) = &self.current {
            self.lines.attach(f, c.scope);
        }
    }

    /// Says where an instruction came from.
    pub fn locate(&mut self, instruction: Value, place: Place, source: Option<&SourceLine>) {
        let Some(c) = &mut self.current else {
            return;
        };
        let lines = &mut self.lines;
        let mut part = |c: &mut CurrentFunction, file: &str| {
            let (whole, own) = (c.scope, c.file == file);
            let entry = c.parts.entry(file.to_owned());
            *entry.or_insert_with(|| match own {
                true => whole,
                false => lines.part(whole, file),
            })
        };
        let named = source.and_then(|s| Some((s, self.files.get(&s.file)?)));
        let (at, outer) = match named {
            None => (
                DebugPlace {
                    scope: part(c, &self.main),
                    line: place.line,
                    column: place.column,
                },
                None,
            ),
            Some((s, file)) => {
                let outer = s
                    .inlined_at
                    .and_then(|(f, line, column)| Some((self.files.get(&f)?, line, column)));
                let outer = outer.map(|(f, line, column)| DebugPlace {
                    scope: part(c, f),
                    line,
                    column,
                });
                let scope = match outer {
                    None => part(c, file),
                    Some(_) => *c
                        .inlined
                        .entry(file.clone())
                        .or_insert_with(|| lines.scope("inlined", file, s.line)),
                };
                let at = DebugPlace {
                    scope,
                    line: s.line,
                    column: s.column,
                };
                (at, outer)
            }
        };
        self.lines.locate(instruction, at, outer);
    }

    /// The place of a statement in the PTX file, for messages.
    pub fn shown(&self, place: Place) -> String {
        format!("{}:{}:{}", self.main, place.line, place.column)
    }
}
