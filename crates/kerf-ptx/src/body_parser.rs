//! From the text of a function's body to its statements.
use super::declarations::{more_words, variables};
use super::file_syntax::{BodyStatement, CallStatement, SourceLine};
use super::lexer::{Place, Token};
use super::parser::{Parser, show};
use super::refusal::{Lifted, refuse};
use super::syntax::Operand;
use super::types::Ty;

/// A body, from its brace to the one that closes it.
pub(super) fn body(p: &mut Parser) -> Lifted<Vec<(BodyStatement, Place)>> {
    p.expect('{')?;
    let mut out = Vec::new();
    let mut depth = 1u32;
    loop {
        let place = p.place();
        let Some(t) = p.take() else {
            return refuse("a function has no end: a brace is not closed");
        };
        match t {
            Token::Punct(';') => {}
            Token::Punct('{') => {
                depth += 1;
                out.push((BodyStatement::Open, place));
            }
            Token::Punct('}') => {
                depth -= 1;
                if depth == 0 {
                    return Ok(out);
                }
                out.push((BodyStatement::Close, place));
            }
            Token::Punct('@') => {
                let negated = p.skip('!');
                let predicate = p.scalar()?;
                match p.take() {
                    Some(Token::Word(name)) => {
                        out.push((instruction(p, name, Some((predicate, negated)))?, place));
                    }
                    _ => return refuse("a guard stands before no instruction"),
                }
            }
            Token::Word(w) if w.starts_with('.') => {
                out.extend(directive(p, &w, place)?.into_iter().map(|s| (s, place)));
            }
            Token::Word(w) if p.skip(':') => out.push((label(p, w)?, place)),
            Token::Word(w) => out.push((instruction(p, w, None)?, place)),
            t => return refuse(format!("{} begins no statement", show(&t))),
        }
    }
}

/// A label; one before a list of targets names the list.
fn label(p: &mut Parser, name: String) -> Lifted<BodyStatement> {
    match p.peek() {
        Some(Token::Word(w)) if w == ".branchtargets" => {
            p.take();
            let mut targets = Vec::new();
            loop {
                match p.take() {
                    Some(Token::Word(t)) => targets.push(t),
                    _ => return refuse("a branch target is no label"),
                }
                if !p.skip(',') {
                    p.expect(';')?;
                    return Ok(BodyStatement::Targets(name, targets));
                }
            }
        }
        Some(Token::Word(w)) if w == ".callprototype" || w == ".calltargets" => {
            skip_statement(p);
            Ok(BodyStatement::Label(name))
        }
        _ => Ok(BodyStatement::Label(name)),
    }
}

fn skip_statement(p: &mut Parser) {
    while p.peek().is_some() && !p.skip(';') {
        p.take();
    }
}

fn directive(p: &mut Parser, word: &str, place: Place) -> Lifted<Vec<BodyStatement>> {
    match word.split('.').nth(1).unwrap_or_default() {
        "loc" => Ok(vec![BodyStatement::Location(location(p)?)]),
        "pragma" => {
            p.take();
            p.expect(';')?;
            Ok(Vec::new())
        }
        "reg" => Ok(vec![registers(p, word)?]),
        "local" | "shared" | "param" | "global" | "const" => {
            let words = more_words(p, word);
            let all = variables(p, &words, place)?;
            Ok(all.into_iter().map(BodyStatement::Variable).collect())
        }
        _ => refuse(format!("directive {word} in a function is not supported")),
    }
}

/// `.loc file line column`, and where it was inlined.
fn location(p: &mut Parser) -> Lifted<SourceLine> {
    let mut number = || match p.take() {
        Some(Token::Int(n)) => Ok(n),
        _ => refuse("a .loc is three numbers"),
    };
    let (file, line, column) = (number()?, number()?, number()?);
    let mut out = SourceLine {
        file,
        line: line as u32,
        column: column as u32,
        inlined_at: None,
    };
    while p.skip(',') {
        match p.take() {
            Some(Token::Word(w)) if w == "function_name" => {
                p.take();
                if p.skip('+') {
                    p.take();
                }
            }
            Some(Token::Word(w)) if w == "inlined_at" => {
                let (Some(Token::Int(f)), Some(Token::Int(l)), Some(Token::Int(c))) =
                    (p.take(), p.take(), p.take())
                else {
                    return refuse("the inlined_at of a .loc is three numbers");
                };
                out.inlined_at = Some((f, l as u32, c as u32));
            }
            _ => return refuse("a .loc has a part that is not known"),
        }
    }
    Ok(out)
}

fn registers(p: &mut Parser, word: &str) -> Lifted<BodyStatement> {
    let words = more_words(p, word);
    let ty = match words.as_slice() {
        [_, t] => Ty::parse(t),
        _ => None,
    };
    let Some(ty) = ty else {
        let all = words[1..].join(".");
        return refuse(format!("registers of type .{all} are not supported"));
    };
    let mut names = Vec::new();
    loop {
        let Some(Token::Word(name)) = p.take() else {
            return refuse("a .reg has no register name");
        };
        let count = match p.skip('<') {
            false => None,
            true => match p.take() {
                Some(Token::Int(n)) => {
                    p.expect('>')?;
                    Some(n)
                }
                _ => return refuse("the number of registers is no number"),
            },
        };
        names.push((name, count));
        if !p.skip(',') {
            p.expect(';')?;
            return Ok(BodyStatement::Registers(ty, names));
        }
    }
}

fn instruction(
    p: &mut Parser,
    name: String,
    guard: Option<(Operand, bool)>,
) -> Lifted<BodyStatement> {
    if name.split('.').next() == Some("call") {
        return Ok(BodyStatement::Call(call(p, guard)?));
    }
    let line = p.last_place().line;
    match p.instruction(name.clone(), guard) {
        Ok(i) => Ok(BodyStatement::Do(i)),
        // The statement ends somewhere: what is behind it is code again. One that does not end in its
        // line was not finished.
        Err(why) => {
            let here = p.last_place().line;
            skip_statement(p);
            match here == line && p.peek().is_some() {
                true => Ok(BodyStatement::Unknown(name, why.0)),
                false => Err(why),
            }
        }
    }
}

/// `call (result), function, (arguments), targets;`
fn call(p: &mut Parser, guard: Option<(Operand, bool)>) -> Lifted<CallStatement> {
    let mut out = CallStatement {
        guard,
        callee: Operand::Sink,
        results: Vec::new(),
        arguments: Vec::new(),
    };
    if p.peek() == Some(&Token::Punct('(')) {
        out.results = list(p)?;
        p.expect(',')?;
    }
    out.callee = p.scalar()?;
    if p.skip(',') {
        if p.peek() == Some(&Token::Punct('(')) {
            out.arguments = list(p)?;
        } else {
            p.scalar()?;
        }
        if p.skip(',') {
            p.scalar()?;
        }
    }
    p.expect(';')?;
    Ok(out)
}

fn list(p: &mut Parser) -> Lifted<Vec<Operand>> {
    p.expect('(')?;
    let mut out = Vec::new();
    while !p.skip(')') {
        out.push(p.scalar()?);
        if !p.skip(',') {
            p.expect(')')?;
            break;
        }
    }
    Ok(out)
}
