//! Declarations of variables and parameters.
use super::file_syntax::{Initial, StateSpace, Variable, Visibility};
use super::lexer::{Place, Token};
use super::parser::{Parser, show};
use super::refusal::{Lifted, refuse};
use super::syntax::Operand;
use super::types::Ty;

/// Longest array of a variable, in elements: as large as the memory of a GPU.
const MOST_ELEMENTS: u64 = 1 << 40;

/// Takes directive words, each split at its dots.
pub(super) fn directive_words(p: &mut Parser) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(Token::Word(w)) = p.peek()
        && w.starts_with('.')
    {
        out.extend(w.split('.').skip(1).map(str::to_owned));
        p.take();
        // `.align 8` stands among them.
        if out.last().is_some_and(|w| w == "align")
            && let Some(Token::Int(n)) = p.peek()
        {
            out.push(n.to_string());
            p.take();
        }
    }
    out
}

/// Words of a declaration inside a body, of which the first was taken.
pub(super) fn more_words(p: &mut Parser, first: &str) -> Vec<String> {
    let mut words: Vec<String> = first.split('.').skip(1).map(str::to_owned).collect();
    if words.last().is_some_and(|w| w == "align")
        && let Some(Token::Int(n)) = p.peek()
    {
        words.push(n.to_string());
        p.take();
    }
    words.extend(directive_words(p));
    words
}

/// Variables whose words, the state space and the type, were taken: names, dimensions and contents.
pub(super) fn variables(p: &mut Parser, words: &[String], place: Place) -> Lifted<Vec<Variable>> {
    let mut like = described(words, place)?;
    let mut out = Vec::new();
    loop {
        like.place = p.place();
        out.push(named(p, like.clone())?);
        if !p.skip(',') {
            break;
        }
    }
    p.expect(';')?;
    Ok(out)
}

/// What the words before a name say of a variable or parameter.
fn described(words: &[String], place: Place) -> Lifted<Variable> {
    let mut v = Variable {
        place,
        space: StateSpace::Global,
        visibility: Visibility::Internal,
        align: None,
        ty: Ty::Bits(8),
        lanes: 1,
        name: String::new(),
        dims: Vec::new(),
        initial: None,
        pointer: false,
        points_to: None,
    };
    let (mut typed, mut placed) = (false, false);
    let mut rest = words.iter();
    while let Some(w) = rest.next() {
        let space = match w.as_str() {
            "global" => Some(StateSpace::Global),
            "const" => Some(StateSpace::Const),
            "shared" => Some(StateSpace::Shared),
            "local" => Some(StateSpace::Local),
            "param" => Some(StateSpace::Param),
            _ => None,
        };
        match (w.as_str(), space) {
            // Behind `.ptr`, the space that a parameter points to.
            (_, Some(s)) if v.pointer => v.points_to = Some(s),
            (_, Some(s)) => (v.space, placed) = (s, true),
            ("ptr", _) => v.pointer = true,
            ("align", _) => {
                let bytes = rest.next().and_then(|n| n.parse::<u32>().ok());
                // Behind `.ptr`, of what the parameter points to.
                match bytes.filter(|b| b.is_power_of_two()) {
                    Some(_) if v.pointer => {}
                    Some(b) => v.align = Some(b),
                    None => return refuse("an alignment is no power of two"),
                }
            }
            ("v2", _) => v.lanes = 2,
            ("v4", _) => v.lanes = 4,
            ("extern" | "visible" | "weak" | "common" | "attribute" | "managed", _) => {}
            (w, _) => match Ty::parse(w) {
                Some(t) => (v.ty, typed) = (t, true),
                None => return refuse(format!(".{w} is no type or state space that is supported")),
            },
        }
    }
    match typed && placed {
        true => Ok(v),
        false => refuse("a declaration has no state space or no type"),
    }
}

fn named(p: &mut Parser, mut v: Variable) -> Lifted<Variable> {
    match p.take() {
        Some(Token::Word(n)) => v.name = n,
        Some(t) => return refuse(format!("{} is no name", show(&t))),
        None => return refuse("the file ends in a declaration"),
    }
    while p.skip('[') {
        if p.skip(']') {
            v.dims.push(None);
            continue;
        }
        let Some(Token::Int(n)) = p.take() else {
            return refuse(format!("the length of {} is no number", v.name));
        };
        v.dims.push(Some(n));
        p.expect(']')?;
    }
    let known = v.dims.iter().all(Option::is_some);
    if known && v.elements().is_none_or(|n| n > MOST_ELEMENTS) {
        return refuse(format!("{} is too long", v.name));
    }
    if p.skip('=') {
        v.initial = Some(initial(p, 0)?);
    }
    Ok(v)
}

fn initial(p: &mut Parser, depth: u32) -> Lifted<Initial> {
    if depth > 16 {
        return refuse("an initialiser is nested too deep");
    }
    if p.skip('{') {
        let mut items = Vec::new();
        while !p.skip('}') {
            items.push(initial(p, depth + 1)?);
            if !p.skip(',') {
                p.expect('}')?;
                break;
            }
        }
        return Ok(Initial::List(items));
    }
    let generic = p.peek() == Some(&Token::Word("generic".into()))
        && p.peek_ahead(1) == Some(&Token::Punct('('));
    if generic {
        p.take();
        p.take();
    }
    let value = p.scalar()?;
    if generic {
        p.expect(')')?;
    }
    match value {
        Operand::Name(n) => {
            let bytes = match p.skip('+') {
                true => p.scalar()?,
                false => Operand::Int(0),
            };
            match bytes {
                Operand::Int(b) => Ok(Initial::Address(n, b)),
                _ => refuse("what is added to an address is no number"),
            }
        }
        _ if p.peek() == Some(&Token::Punct('(')) => {
            refuse("single bytes of an address in an initialiser are not supported")
        }
        number => Ok(Initial::Number(number)),
    }
}

/// Parameters in parentheses, of which none may be there.
pub(super) fn parameters(p: &mut Parser) -> Lifted<Vec<Variable>> {
    let mut out = Vec::new();
    if !p.skip('(') || p.skip(')') {
        return Ok(out);
    }
    loop {
        let place = p.place();
        let words = directive_words(p);
        if words.first().is_some_and(|w| w == "reg") {
            return refuse("parameters in registers (.reg) are not supported");
        }
        out.push(named(p, described(&words, place)?)?);
        if !p.skip(',') {
            p.expect(')')?;
            return Ok(out);
        }
    }
}
