//! From words to postfix code, by precedence climbing.

use std::ops::Range;

use super::lex::{Kind, Token, words};
use super::{Binary, Expr, ExprError, ExprOrigin, Inner, MAX_DEPTH, NameUse, PostfixOp, Unary};
use crate::suggest::did_you_mean;

pub(super) fn parse(text: &str) -> Result<Expr, ExprError> {
    let tokens = words(text)?;
    let mut parser = Parser::new(text, &tokens);
    let expr = parser.expression()?;
    match parser.peek().kind {
        Kind::End => Ok(expr),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// What a call of each function compiles to.
#[derive(Clone, Copy)]
enum Function {
    One(Unary),
    Two(Binary),
    /// Two or more arguments, combined pairwise.
    Fold(Binary),
    Select,
}

const FUNCTIONS: [(&str, Function); 14] = [
    ("min", Function::Fold(Binary::Min)),
    ("max", Function::Fold(Binary::Max)),
    ("abs", Function::One(Unary::Abs)),
    ("ceil_div", Function::Two(Binary::CeilDiv)),
    ("select", Function::Select),
    ("pow", Function::Two(Binary::Pow)),
    ("sqrt", Function::One(Unary::Sqrt)),
    ("exp", Function::One(Unary::Exp)),
    ("log", Function::One(Unary::Log)),
    ("log2", Function::One(Unary::Log2)),
    ("sin", Function::One(Unary::Sin)),
    ("cos", Function::One(Unary::Cos)),
    ("floor", Function::One(Unary::Floor)),
    ("ceil", Function::One(Unary::Ceil)),
];

/// An infix operator: how tightly it binds, and what it does (`&&` and `||` jump instead).
enum Infix {
    And,
    Or,
    Compare(Binary),
    Arithmetic(u8, Binary),
}

const COMPARE: u8 = 3;

impl Infix {
    fn from_token(kind: Kind<'_>) -> Option<Infix> {
        let Kind::Sign(sign) = kind else { return None };
        Some(match sign {
            "||" => Infix::Or,
            "&&" => Infix::And,
            "==" => Infix::Compare(Binary::Eq),
            "!=" => Infix::Compare(Binary::NotEq),
            "<" => Infix::Compare(Binary::Less),
            "<=" => Infix::Compare(Binary::LessEq),
            ">" => Infix::Compare(Binary::Greater),
            ">=" => Infix::Compare(Binary::GreaterEq),
            "+" => Infix::Arithmetic(4, Binary::Add),
            "-" => Infix::Arithmetic(4, Binary::Sub),
            "*" => Infix::Arithmetic(5, Binary::Mul),
            "/" => Infix::Arithmetic(5, Binary::Div),
            "%" => Infix::Arithmetic(5, Binary::Rem),
            _ => return None,
        })
    }

    fn precedence(&self) -> u8 {
        match self {
            Infix::Or => 1,
            Infix::And => 2,
            Infix::Compare(_) => COMPARE,
            Infix::Arithmetic(precedence, _) => *precedence,
        }
    }
}

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token<'t>],
    end: Token<'t>,
    next: usize,
    depth: usize,
    code: Vec<PostfixOp>,
    spans: Vec<Range<usize>>,
    names: Vec<NameUse>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, tokens: &'t [Token<'t>]) -> Self {
        Parser {
            text,
            tokens,
            end: Token {
                kind: Kind::End,
                span: text.len()..text.len(),
            },
            next: 0,
            depth: 0,
            code: Vec::new(),
            spans: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Parses one expression from here, as far as it goes.
    pub(super) fn expression(&mut self) -> Result<Expr, ExprError> {
        let start = self.peek().span.start;
        self.binary(1)?;
        let end = match self.next.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(last) => last.span.end.max(start),
            None => start,
        };
        // The pieces of a range are expressions of their own, with places in their own text.
        let own = |span: &Range<usize>| span.start.saturating_sub(start)..span.end - start;
        let names = std::mem::take(&mut self.names);
        let inner = Inner {
            text: self.text[start..end].to_owned(),
            code: std::mem::take(&mut self.code),
            spans: std::mem::take(&mut self.spans).iter().map(own).collect(),
            names: names
                .into_iter()
                .map(|n| NameUse {
                    span: own(&n.span),
                    name: n.name,
                })
                .collect(),
            origin: ExprOrigin::default(),
        };
        Ok(Expr {
            inner: Box::new(inner),
        })
    }

    pub(super) fn peek(&self) -> &Token<'t> {
        self.tokens.get(self.next).unwrap_or(&self.end)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Goes past the sign if it comes next.
    pub(super) fn accept(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek().kind, Kind::Sign(s) if s == sign);
        self.next += usize::from(found);
        found
    }

    pub(super) fn unexpected(&self, expected: &str) -> ExprError {
        let token = self.peek();
        let what = match token.kind {
            Kind::End => "expression ends early".into(),
            _ => format!("unexpected `{}`", &self.text[token.span.clone()]),
        };
        ExprError {
            span: token.span.clone(),
            what,
            expected: expected.into(),
            help: None,
        }
    }

    fn emit(&mut self, op: PostfixOp, span: Range<usize>) -> usize {
        self.code.push(op);
        self.spans.push(span);
        self.code.len() - 1
    }

    /// Makes the jump at `at` lead to what is emitted next.
    fn land(&mut self, at: usize) {
        let here = self.code.len();
        if let Some(
            PostfixOp::Jump(to) | PostfixOp::Unless(to) | PostfixOp::And(to) | PostfixOp::Or(to),
        ) = self.code.get_mut(at)
        {
            *to = here;
        }
    }

    fn binary(&mut self, least: u8) -> Result<(), ExprError> {
        let start = self.peek().span.start;
        self.unary()?;
        let mut compared = false;
        while let Some(infix) = Infix::from_token(self.peek().kind) {
            let precedence = infix.precedence();
            if precedence < least {
                break;
            }
            let sign = self.peek().span.clone();
            if compared && precedence == COMPARE {
                return Err(ExprError {
                    span: sign,
                    what: "chained comparison".into(),
                    expected: "one comparison, or parentheses".into(),
                    help: Some("write `a < b && b < c` for `a < b < c`".into()),
                });
            }
            compared = precedence == COMPARE;
            self.advance();
            let jump = match infix {
                Infix::And => Some(self.emit(PostfixOp::And(0), sign.clone())),
                Infix::Or => Some(self.emit(PostfixOp::Or(0), sign.clone())),
                _ => None,
            };
            self.binary(precedence + 1)?;
            let end = self
                .tokens
                .get(self.next - 1)
                .map_or(sign.end, |t| t.span.end);
            match (infix, jump) {
                (Infix::Compare(op) | Infix::Arithmetic(_, op), _) => {
                    self.emit(PostfixOp::Binary(op), start..end);
                }
                (_, Some(jump)) => {
                    self.emit(PostfixOp::Truth, start..end);
                    self.land(jump);
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    fn unary(&mut self) -> Result<(), ExprError> {
        let span = self.peek().span.clone();
        if self.depth >= MAX_DEPTH {
            return Err(ExprError {
                span,
                what: "expression nested too deeply".into(),
                expected: format!("at most {MAX_DEPTH} levels"),
                help: None,
            });
        }
        self.depth += 1;
        let op = if self.accept("-") {
            Some(PostfixOp::Neg)
        } else if self.accept("!") {
            Some(PostfixOp::Not)
        } else {
            None
        };
        match op {
            Some(op) => {
                self.unary()?;
                self.emit(op, span);
            }
            None => self.primary()?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn primary(&mut self) -> Result<(), ExprError> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Number(value) => {
                self.advance();
                self.emit(PostfixOp::Push(value), token.span);
                Ok(())
            }
            Kind::Name(name) => {
                self.advance();
                if self.accept("(") {
                    return self.call(name, token.span);
                }
                let slot = self.names.len();
                self.names.push(NameUse {
                    name: name.to_owned(),
                    span: token.span.clone(),
                });
                self.emit(PostfixOp::Name(slot), token.span);
                Ok(())
            }
            Kind::Sign("(") => {
                self.advance();
                self.binary(1)?;
                if self.accept(")") {
                    Ok(())
                } else {
                    Err(self.unexpected("`)`"))
                }
            }
            _ => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    /// Compiles a call; its opening parenthesis has been read.
    fn call(&mut self, name: &str, at: Range<usize>) -> Result<(), ExprError> {
        let Some((_, function)) = FUNCTIONS.into_iter().find(|(n, _)| *n == name) else {
            let known = FUNCTIONS.map(|(n, _)| n);
            return Err(ExprError {
                span: at,
                what: format!("unknown function `{name}`"),
                expected: format!("one of {}", known.join(", ")),
                help: did_you_mean(name, known),
            });
        };
        let mut count = 0usize;
        let mut jump = 0;
        if !self.accept(")") {
            loop {
                self.binary(1)?;
                count += 1;
                match (function, count) {
                    (Function::Fold(op), 2..) => {
                        self.emit(PostfixOp::Binary(op), at.clone());
                    }
                    // Only the chosen value is evaluated, so that the other may be undefined.
                    (Function::Select, 1) => jump = self.emit(PostfixOp::Unless(0), at.clone()),
                    (Function::Select, 2) => {
                        let over = self.emit(PostfixOp::Jump(0), at.clone());
                        self.land(jump);
                        jump = over;
                    }
                    (Function::Select, 3) => self.land(jump),
                    _ => {}
                }
                if self.accept(")") {
                    break;
                }
                if !self.accept(",") {
                    return Err(self.unexpected("`,` or `)`"));
                }
            }
        }
        let (fits, takes) = match function {
            Function::One(_) => (count == 1, "1 argument"),
            Function::Two(_) => (count == 2, "2 arguments"),
            Function::Fold(_) => (count >= 2, "2 or more arguments"),
            Function::Select => (count == 3, "3 arguments"),
        };
        if !fits {
            let plural = if count == 1 { "" } else { "s" };
            return Err(ExprError {
                span: at,
                what: format!("`{name}` with {count} argument{plural}"),
                expected: takes.into(),
                help: None,
            });
        }
        match function {
            Function::One(op) => drop(self.emit(PostfixOp::Unary(op), at)),
            Function::Two(op) => drop(self.emit(PostfixOp::Binary(op), at)),
            Function::Fold(_) | Function::Select => {}
        }
        Ok(())
    }
}
