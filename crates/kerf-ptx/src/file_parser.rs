//! From the text of a PTX file to its variables and functions.
//!
//! Syntax mistakes end the parsing, with the place of the token that does not belong there. An instruction whose operands
//! have a shape of their own (textures, tensor maps) is kept as refused, so that other kernels of the file still work.
use super::body_parser::body;
use super::declarations::{directive_words, parameters, variables};
use super::file_syntax::{FunctionText, Performance, PtxFile, Visibility};
use super::lexer::{Place, Token, file_tokens};
use super::parser::{Parser, show};
use super::refusal::{Lifted, Refusal, refuse};

/// Versions of the instruction set that are read.
const VERSIONS: std::ops::RangeInclusive<(u32, u32)> = (7, 0)..=(9, 0);

/// Parses a file; where it is wrong, and how, otherwise.
pub(super) fn parse_file(text: &str) -> Result<PtxFile, (Place, Refusal)> {
    let (tokens, places) = file_tokens(text)?.into_iter().unzip();
    let mut p = Parser::new(tokens, places);
    let mut file = PtxFile::default();
    let parsed = top_level(&mut p, &mut file);
    parsed.map_err(|why| (p.last_place(), why))?;
    if file.version == (0, 0) {
        let why = "there is no .version: PTX begins with .version and .target".to_owned();
        return Err((Place { line: 1, column: 1 }, Refusal(why)));
    }
    Ok(file)
}

fn top_level(p: &mut Parser, file: &mut PtxFile) -> Lifted<()> {
    while let Some(t) = p.peek() {
        let Token::Word(w) = t else {
            let what = show(t);
            p.take();
            return refuse(format!("{what} begins no directive"));
        };
        match w.as_str() {
            ".version" => version(p, file)?,
            ".target" => file.target = target(p)?,
            ".address_size" => {
                p.take();
                if p.take() != Some(Token::Int(64)) {
                    return refuse("only .address_size 64 is supported");
                }
            }
            ".file" => source_file(p, file)?,
            ".section" | ".loc" | ".alias" | ".pragma" => skip_directive(p)?,
            w if w.starts_with('.') => declaration(p, file)?,
            w => {
                let what = format!("`{w}` begins no directive");
                p.take();
                return refuse(what);
            }
        }
    }
    Ok(())
}

fn version(p: &mut Parser, file: &mut PtxFile) -> Lifted<()> {
    p.take();
    let Some(Token::F64(bits)) = p.take() else {
        return refuse("a .version is two numbers, as in .version 8.3");
    };
    let tenths = (f64::from_bits(bits) * 10.0).round() as u32;
    file.version = (tenths / 10, tenths % 10);
    if VERSIONS.contains(&file.version) {
        return Ok(());
    }
    let (a, b) = file.version;
    refuse(format!("PTX {a}.{b} is not supported; 7.0 to 9.0 are"))
}

fn target(p: &mut Parser) -> Lifted<String> {
    p.take();
    let Some(Token::Word(arch)) = p.take() else {
        return refuse("a .target is an architecture, as in .target sm_90");
    };
    while p.skip(',') {
        p.take();
    }
    Ok(arch)
}

fn source_file(p: &mut Parser, file: &mut PtxFile) -> Lifted<()> {
    p.take();
    let (Some(Token::Int(number)), Some(Token::Text(name))) = (p.take(), p.take()) else {
        return refuse("a .file is a number and a name");
    };
    file.files.insert(number, name);
    while p.skip(',') {
        p.take();
    }
    Ok(())
}

/// A directive that code does not depend on: a line, or a section in braces.
fn skip_directive(p: &mut Parser) -> Lifted<()> {
    let section = p.take() == Some(Token::Word(".section".into()));
    if !section {
        let line = p.last_place().line;
        while p.peek().is_some() && p.place().line == line {
            p.take();
        }
        return Ok(());
    }
    while p.peek().is_some_and(|t| *t != Token::Punct('{')) {
        p.take();
    }
    let mut depth = 0u32;
    loop {
        match p.take() {
            Some(Token::Punct('{')) => depth += 1,
            Some(Token::Punct('}')) => depth -= 1,
            Some(_) => {}
            None => return refuse("a .section has no end"),
        }
        if depth == 0 {
            return Ok(());
        }
    }
}

fn declaration(p: &mut Parser, file: &mut PtxFile) -> Lifted<()> {
    let place = p.place();
    let words = directive_words(p);
    let has = |w: &str| words.iter().any(|x| x == w);
    let visibility = match () {
        () if has("extern") => Visibility::Extern,
        () if has("visible") || has("weak") || has("common") => Visibility::Visible,
        () => Visibility::Internal,
    };
    if has("entry") || has("func") {
        let f = function(p, has("entry"), visibility)?;
        file.functions.push(f);
        return Ok(());
    }
    let mut all = variables(p, &words, place)?;
    all.iter_mut().for_each(|v| v.visibility = visibility);
    file.variables.extend(all);
    Ok(())
}

fn function(p: &mut Parser, entry: bool, visibility: Visibility) -> Lifted<FunctionText> {
    let results = match p.peek() {
        Some(Token::Punct('(')) if !entry => parameters(p)?,
        _ => Vec::new(),
    };
    let place = p.place();
    let name = match p.take() {
        Some(Token::Word(n)) => n,
        Some(t) => return refuse(format!("{} is no name of a function", show(&t))),
        None => return refuse("the file ends before the name of a function"),
    };
    let params = parameters(p)?;
    let performance = performance(p)?;
    let body = match p.peek() {
        Some(Token::Punct('{')) => Some(body(p)?),
        _ => {
            p.expect(';')?;
            None
        }
    };
    Ok(FunctionText {
        place,
        entry,
        visibility,
        name,
        results,
        params,
        performance,
        body,
    })
}

/// Directives between the parameters of a function and its body.
fn performance(p: &mut Parser) -> Lifted<Performance> {
    let mut out = Performance::default();
    while let Some(Token::Word(w)) = p.peek()
        && w.starts_with('.')
    {
        let word = w.clone();
        p.take();
        let numbers = numbers(p);
        match word.as_str() {
            ".maxntid" => out.max_threads = numbers,
            ".reqntid" => out.required_threads = numbers,
            ".minnctapersm" => out.min_blocks = numbers.first().copied(),
            ".maxnctapersm" => {}
            ".maxnreg" => out.max_registers = numbers.first().copied(),
            ".noreturn" | ".unique" => {}
            ".noinline" => out.noinline = true,
            ".pragma" => {
                p.take();
                p.expect(';')?;
            }
            ".reqnctapercluster" | ".explicitcluster" | ".maxclusterrank"
            | ".blocksareclusters" => out.cluster = Some(word),
            _ => return refuse(format!("directive {word} of a function is not supported")),
        }
    }
    Ok(out)
}

fn numbers(p: &mut Parser) -> Vec<u64> {
    let mut out = Vec::new();
    while let Some(Token::Int(n)) = p.peek() {
        out.push(*n);
        p.take();
        if !p.skip(',') {
            break;
        }
    }
    out
}
