//! From tokens to statements.
use super::lexer::{Place, Token, tokens};
use super::refusal::{Lifted, refuse};
use super::syntax::{Instruction, Operand, Statement};
use super::types::Ty;

/// Largest `name<n>` that is declared; ptxas allows more, no inline code needs it.
const MAX_PARAMETERISED: u64 = 4096;

/// Parses a template.
pub(super) fn parse(template: &str) -> Lifted<Vec<Statement>> {
    let mut p = Parser::new(tokens(template)?, Vec::new());
    let mut out = Vec::new();
    let mut depth = 0u32;
    while let Some(t) = p.take() {
        match t {
            Token::Punct(';') => {}
            Token::Punct('{') => {
                depth += 1;
                out.push(Statement::Open);
            }
            Token::Punct('}') if depth > 0 => {
                depth -= 1;
                out.push(Statement::Close);
            }
            Token::Punct('@') => {
                let negated = p.skip('!');
                let predicate = p.scalar()?;
                let Some(Token::Word(name)) = p.take() else {
                    return refuse("a guard stands before no instruction");
                };
                out.push(Statement::Do(
                    p.instruction(name, Some((predicate, negated)))?,
                ));
            }
            Token::Word(w) if w.starts_with('.') => out.extend(p.directive(&w)?),
            Token::Word(w) if p.skip(':') => {
                return refuse(format!(
                    "label {w}: branches inside inline PTX are not supported"
                ));
            }
            Token::Word(w) => out.push(Statement::Do(p.instruction(w, None)?)),
            t => return refuse(format!("{} begins no statement", show(&t))),
        }
    }
    if depth > 0 {
        return refuse("a brace is not closed");
    }
    Ok(out)
}

/// A token, for messages.
pub(super) fn show(t: &Token) -> String {
    match t {
        Token::Arg(n) => format!("operand ${n}"),
        Token::Word(w) => format!("`{w}`"),
        Token::Punct(c) => format!("`{c}`"),
        Token::Text(_) => "a string".to_owned(),
        Token::Int(_) | Token::F16(_) | Token::F32(_) | Token::F64(_) => "a number".to_owned(),
    }
}

/// A walk over tokens.
pub(super) struct Parser {
    tokens: Vec<Token>,
    places: Vec<Place>,
    at: usize,
}

impl Parser {
    /// At the first of these tokens; their places, where they are known.
    pub fn new(tokens: Vec<Token>, places: Vec<Place>) -> Parser {
        Parser {
            tokens,
            places,
            at: 0,
        }
    }

    /// Where the next token is; at the end, where the last one is.
    pub fn place(&self) -> Place {
        let last = self.places.len().saturating_sub(1);
        let at = self.places.get(self.at.min(last));
        at.copied().unwrap_or_default()
    }

    /// Where the token is that was taken last.
    pub fn last_place(&self) -> Place {
        let last = self.places.len().saturating_sub(1);
        let at = self.places.get(self.at.saturating_sub(1).min(last));
        at.copied().unwrap_or_default()
    }

    /// The next token, which stays.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The next token but `ahead`, which stays.
    pub fn peek_ahead(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    /// Takes the next token.
    pub fn take(&mut self) -> Option<Token> {
        let t = self.tokens.get(self.at).cloned();
        self.at += 1;
        t
    }

    /// Takes this character; was it there?
    pub fn skip(&mut self, c: char) -> bool {
        let there = self.tokens.get(self.at) == Some(&Token::Punct(c));
        self.at += usize::from(there);
        there
    }

    /// Takes this character, which must be there.
    pub fn expect(&mut self, c: char) -> Lifted<()> {
        if self.skip(c) {
            return Ok(());
        }
        match self.take() {
            Some(t) => refuse(format!("{} stands where `{c}` should", show(&t))),
            None => refuse(format!("the text ends where `{c}` should be")),
        }
    }

    /// `.reg` and `.pragma`; all else declares memory or code.
    fn directive(&mut self, word: &str) -> Lifted<Option<Statement>> {
        let mut parts: Vec<String> = word.split('.').skip(1).map(str::to_owned).collect();
        match parts.first().map(String::as_str) {
            Some("pragma") => {
                self.take();
                self.expect(';')?;
                return Ok(None);
            }
            Some("reg") => {}
            _ => return refuse(format!("directive {word} is not supported")),
        }
        if parts.len() == 1 {
            match self.take() {
                Some(Token::Word(w)) => parts.extend(w.split('.').skip(1).map(str::to_owned)),
                _ => return refuse("a .reg has no type"),
            }
        }
        let [_, ty] = parts.as_slice() else {
            return refuse(format!(
                "registers of type .{} are not supported",
                parts[1..].join(".")
            ));
        };
        let Some(ty) = Ty::parse(ty) else {
            return refuse(format!("registers of type .{ty} are not supported"));
        };
        let mut names = Vec::new();
        loop {
            match self.take() {
                Some(Token::Word(n)) if self.skip('<') => {
                    let count = match self.take() {
                        Some(Token::Int(c)) if c <= MAX_PARAMETERISED => c,
                        _ => return refuse("a .reg has an odd number of registers"),
                    };
                    self.expect('>')?;
                    names.extend((0..count).map(|i| format!("{n}{i}")));
                }
                Some(Token::Word(n)) => names.push(n),
                _ => return refuse("a .reg has an odd register name"),
            }
            if !self.skip(',') {
                self.expect(';')?;
                return Ok(Some(Statement::Registers(ty, names)));
            }
        }
    }

    /// An instruction whose name was taken, up to its semicolon.
    pub fn instruction(
        &mut self,
        name: String,
        guard: Option<(Operand, bool)>,
    ) -> Lifted<Instruction> {
        let modifiers = name.split('.').skip(1).map(str::to_owned).collect();
        let mut operands = Vec::new();
        if !self.skip(';') {
            // Textures and the like have operands of other shapes: the opcode says more than they.
            if let Err(why) = self.operands(&mut operands) {
                let opcode = name.split('.').next().unwrap_or_default();
                if matches!(opcode, "tex" | "tld4" | "txq" | "suld" | "sust" | "sured") {
                    return refuse(format!("{name}: textures and surfaces are not supported"));
                }
                return refuse(format!("{name} is not supported ({})", why.0));
            }
        }
        Ok(Instruction {
            guard,
            name,
            modifiers,
            operands,
        })
    }

    fn operands(&mut self, out: &mut Vec<Operand>) -> Lifted<()> {
        loop {
            out.push(self.operand()?);
            if !self.skip(',') {
                return self.expect(';');
            }
        }
    }

    /// One operand.
    pub fn operand(&mut self) -> Lifted<Operand> {
        if self.skip('{') {
            let mut items = vec![self.scalar()?];
            while self.skip(',') {
                items.push(self.scalar()?);
            }
            self.expect('}')?;
            return Ok(Operand::Vector(items));
        }
        if self.skip('[') {
            let base = self.scalar()?;
            // A minus belongs to the number.
            let minus = self.tokens.get(self.at) == Some(&Token::Punct('-'));
            let shifted = minus || self.skip('+');
            let offset = if shifted {
                self.scalar()?
            } else {
                Operand::Int(0)
            };
            self.expect(']')?;
            return Ok(Operand::Memory(Box::new(base), Box::new(offset)));
        }
        if self.skip('!') {
            return Ok(Operand::Not(Box::new(self.scalar()?)));
        }
        let first = self.scalar()?;
        if self.skip('|') {
            let second = self.scalar()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        if matches!(first, Operand::Name(_)) && self.skip('+') {
            let Operand::Int(bytes) = self.scalar()? else {
                return refuse("what is added to a name is no number");
            };
            return Ok(Operand::Beyond(Box::new(first), bytes));
        }
        Ok(first)
    }

    /// A register, a symbol or a number.
    pub fn scalar(&mut self) -> Lifted<Operand> {
        let minus = self.skip('-');
        let o = match self.take() {
            Some(Token::Int(v)) if minus => Operand::Int(v.wrapping_neg()),
            Some(Token::F64(v)) if minus => Operand::F64((-f64::from_bits(v)).to_bits()),
            Some(t) if minus => return refuse(format!("{} has a sign", show(&t))),
            Some(Token::Arg(n)) => Operand::Arg(n),
            Some(Token::Word(w)) if w == "_" => Operand::Sink,
            Some(Token::Word(w)) => Operand::Name(w),
            Some(Token::Int(v)) => Operand::Int(v),
            Some(Token::F16(v)) => Operand::F16(v),
            Some(Token::F32(v)) => Operand::F32(v),
            Some(Token::F64(v)) => Operand::F64(v),
            Some(t) => return refuse(format!("{} is no operand", show(&t))),
            None => return refuse("the text ends inside an instruction"),
        };
        Ok(o)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Instruction {
        let all = parse(text).unwrap();
        let mut found = all.into_iter().filter_map(|s| match s {
            Statement::Do(i) => Some(i),
            _ => None,
        });
        let first = found.next().unwrap();
        assert_eq!(found.next(), None);
        first
    }

    fn name(n: &str) -> Operand {
        Operand::Name(n.into())
    }

    fn why(text: &str) -> String {
        parse(text).unwrap_err().0
    }

    #[test]
    fn reads_an_instruction() {
        let i = only("{add.rn.f16x2 $0,$1, -3;\n}");
        assert_eq!(
            (i.opcode(), i.modifiers.join(" ").as_str()),
            ("add", "rn f16x2")
        );
        let minus_three = Operand::Int(3u64.wrapping_neg());
        assert_eq!(i.operands, [Operand::Arg(0), Operand::Arg(1), minus_three]);
        assert_eq!(i.guard, None);
    }

    #[test]
    fn reads_registers_in_both_spellings() {
        let s = parse("{.reg.b32 f, ULP;\n .reg .pred %p; .reg .u16 r<3>;}").unwrap();
        let names = |n: &[&str]| n.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(
            s,
            [
                Statement::Open,
                Statement::Registers(Ty::Bits(32), names(&["f", "ULP"])),
                Statement::Registers(Ty::Pred, names(&["%p"])),
                Statement::Registers(Ty::Uint(16), names(&["r0", "r1", "r2"])),
                Statement::Close,
            ]
        );
    }

    #[test]
    fn reads_guards() {
        assert_eq!(only("@p mov.u32 $0, 1;").guard, Some((name("p"), false)));
        assert_eq!(only("@!%p1 trap;").guard, Some((name("%p1"), true)));
    }

    #[test]
    fn reads_vectors_addresses_and_pairs() {
        let i = only("ld.global.v2.f32 {$0, _}, [$2+16];");
        assert_eq!(
            i.operands[0],
            Operand::Vector(vec![Operand::Arg(0), Operand::Sink])
        );
        let at = |base, k| Operand::Memory(Box::new(base), Box::new(Operand::Int(k)));
        assert_eq!(i.operands[1], at(Operand::Arg(2), 16));
        assert_eq!(only("st.b8 [a-1], 0;").operands[0], at(name("a"), u64::MAX));
        let i = only("setp.eq.and.s32 p|q, $0, $1, !c;");
        assert_eq!(
            i.operands[0],
            Operand::Pair(Box::new(name("p")), Box::new(name("q")))
        );
        assert_eq!(i.operands[3], Operand::Not(Box::new(name("c"))));
    }

    #[test]
    fn drops_pragmas_and_empty_statements() {
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(
            parse(" ;; // nothing\n .pragma \"nounroll\"; ").unwrap(),
            []
        );
    }

    #[test]
    fn says_what_it_refuses() {
        assert!(why("again: bra again;").contains("label again"));
        assert!(why("tex.2d.v4.f32.f32 {$0,$1,$2,$3}, [$4, {$5,$6}];").contains("tex.2d"));
        assert!(why(".shared .b32 x;").contains(".shared"));
        assert!(why(".reg .v2 .f32 x;").contains(".v2"));
        assert!(why("{mov.u32 $0, 1;").contains("brace"));
        assert!(why("}").contains('}'));
        assert!(why("mov.u32 $0, 1").contains("mov.u32"));
    }

    #[test]
    fn never_panics() {
        let pieces = [
            "{",
            "}",
            ";",
            ",",
            "[",
            "]",
            "@",
            "!",
            "|",
            "+",
            "-",
            "$0",
            "$1",
            "$$",
            "$",
            "${",
            "_",
            "add.f16",
            ".reg",
            ".b32",
            ".reg.pred",
            "p",
            "%p",
            "<",
            ">",
            "4",
            "0f3F800000",
            "0x",
            "1.5",
            ":",
            "::",
            "\"",
            "/*",
            "*/",
            "//",
            "\n",
            " ",
            "mov",
            ".",
            "ld.global",
            "\u{e9}",
        ];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
                if state & (1 << 40) != 0 {
                    text.push(' ');
                }
            }
            let _ = parse(&text);
        }
    }
}
