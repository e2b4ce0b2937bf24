//! Reading an expression.
use super::{ExpressionError, ExpressionValue, Node, Op};

/// Brackets within brackets; more is a mistake, and would use up the stack.
const DEEPEST: usize = 100;

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Value(ExpressionValue),
    Word(String),
    Sign(&'static str),
    End,
}

/// Longer ones first.
const SIGNS: [&str; 21] = [
    "**", "//", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "(", ")",
    "[", "]", ",", "!",
];

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
    names: Vec<String>,
    /// Variables of comprehensions around.
    own: Vec<String>,
}

/// Reads an expression; gives the names in it.
pub fn parse(text: &str) -> Result<(Node, Vec<String>), ExpressionError> {
    let mut r = Reader {
        text,
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        names: Vec::new(),
        own: Vec::new(),
    };
    let node = r.expression()?;
    match r.peek() {
        Token::End => Ok((node, r.names)),
        _ => Err(r.wrong("expected an operator or the end")),
    }
}

fn syntax(text: &str, at: usize, why: impl Into<String>) -> ExpressionError {
    ExpressionError::Syntax {
        at: text[..at.min(text.len())].chars().count() + 1,
        text: text.to_owned(),
        why: why.into(),
    }
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, ExpressionError> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(c) = rest.chars().next() else {
            out.push((at, Token::End));
            return Ok(out);
        };
        let length;
        let token;
        if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            length = number_length(rest);
            let word = rest[..length].replace('_', "");
            token = match (word.parse::<i64>(), word.parse::<f64>()) {
                (Ok(i), _) => Token::Value(ExpressionValue::Int(i)),
                (_, Ok(x)) if x.is_finite() => Token::Value(ExpressionValue::Real(x)),
                _ => return Err(syntax(text, at, format!("`{word}` is no number"))),
            };
        } else if c.is_alphabetic() || c == '_' {
            length = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            token = match &rest[..length] {
                "True" | "true" => Token::Value(ExpressionValue::Bool(true)),
                "False" | "false" => Token::Value(ExpressionValue::Bool(false)),
                word => Token::Word(word.to_owned()),
            };
        } else if c == '"' || c == '\'' {
            let end = rest[1..].find(c);
            let end = end.ok_or_else(|| syntax(text, at, "a quote that is not closed"))?;
            length = end + 2;
            token = Token::Value(ExpressionValue::Text(rest[1..=end].to_owned()));
        } else {
            let sign = SIGNS.into_iter().find(|s| rest.starts_with(s));
            let sign =
                sign.ok_or_else(|| syntax(text, at, format!("`{c}` does not belong here")))?;
            length = sign.len();
            token = Token::Sign(sign);
        }
        out.push((at, token));
        rest = &rest[length..];
    }
}

fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut i = 0;
    while let Some(b) = bytes.get(i) {
        let exponent = i > 0 && matches!(bytes[i - 1], b'e' | b'E');
        match b {
            b'0'..=b'9' | b'.' | b'_' | b'e' | b'E' => i += 1,
            b'+' | b'-' if exponent => i += 1,
            _ => break,
        }
    }
    i
}

impl Reader<'_> {
    fn peek(&self) -> &Token {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens
            .get(self.at.min(last))
            .map_or(&Token::End, |t| &t.1)
    }
    fn wrong(&self, why: impl Into<String>) -> ExpressionError {
        let last = self.tokens.len().saturating_sub(1);
        let at = self.tokens.get(self.at.min(last)).map_or(0, |t| t.0);
        syntax(self.text, at, why)
    }
    fn sign(&mut self, s: &str) -> bool {
        let is = matches!(self.peek(), Token::Sign(x) if *x == s);
        self.at += usize::from(is);
        is
    }
    fn word(&mut self, w: &str) -> bool {
        let is = matches!(self.peek(), Token::Word(x) if x == w);
        self.at += usize::from(is);
        is
    }
    fn close(&mut self, s: &str) -> Result<(), ExpressionError> {
        match self.sign(s) {
            true => Ok(()),
            false => Err(self.wrong(format!("expected `{s}`"))),
        }
    }

    fn expression(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("too many brackets within brackets"));
        }
        let yes = self.or()?;
        let out = match self.word("if") {
            true => {
                let condition = self.or()?;
                if !self.word("else") {
                    return Err(self.wrong("expected `else`"));
                }
                let no = self.expression()?;
                Node::Choice(Box::new(yes), Box::new(condition), Box::new(no))
            }
            false => yes,
        };
        self.depth -= 1;
        Ok(out)
    }
    fn or(&mut self) -> Result<Node, ExpressionError> {
        let mut a = self.and()?;
        while self.word("or") || self.sign("||") {
            a = Node::Or(Box::new(a), Box::new(self.and()?));
        }
        Ok(a)
    }
    fn and(&mut self) -> Result<Node, ExpressionError> {
        let mut a = self.not()?;
        while self.word("and") || self.sign("&&") {
            a = Node::And(Box::new(a), Box::new(self.not()?));
        }
        Ok(a)
    }
    fn not(&mut self) -> Result<Node, ExpressionError> {
        let mut times = 0;
        while self.word("not") || self.sign("!") {
            times += 1;
        }
        let mut a = self.comparison()?;
        for _ in 0..times {
            a = Node::Not(Box::new(a));
        }
        Ok(a)
    }
    fn comparison(&mut self) -> Result<Node, ExpressionError> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let op = if self.sign("<=") {
                Op::AtMost
            } else if self.sign(">=") {
                Op::AtLeast
            } else if self.sign("==") {
                Op::Equal
            } else if self.sign("!=") {
                Op::Other
            } else if self.sign("<") {
                Op::Less
            } else if self.sign(">") {
                Op::More
            } else if self.own_in() {
                Op::In
            } else if self.not_in() {
                Op::NotIn
            } else {
                break;
            };
            rest.push((op, self.sum()?));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => Node::Chain(Box::new(first), rest),
        })
    }
    fn own_in(&mut self) -> bool {
        self.word("in")
    }
    fn not_in(&mut self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|t| &t.1);
        let is = matches!(self.peek(), Token::Word(x) if x == "not")
            && matches!(next, Some(Token::Word(x)) if x == "in");
        self.at += 2 * usize::from(is);
        is
    }
    fn sum(&mut self) -> Result<Node, ExpressionError> {
        let mut a = self.term()?;
        loop {
            let op = if self.sign("+") {
                Op::Add
            } else if self.sign("-") {
                Op::Subtract
            } else {
                return Ok(a);
            };
            a = Node::Binary(op, Box::new(a), Box::new(self.term()?));
        }
    }
    fn term(&mut self) -> Result<Node, ExpressionError> {
        let mut a = self.factor()?;
        loop {
            let op = if self.sign("*") {
                Op::Multiply
            } else if self.sign("//") {
                Op::Floor
            } else if self.sign("/") {
                Op::Divide
            } else if self.sign("%") {
                Op::Remainder
            } else {
                return Ok(a);
            };
            a = Node::Binary(op, Box::new(a), Box::new(self.factor()?));
        }
    }
    fn factor(&mut self) -> Result<Node, ExpressionError> {
        let mut negative = false;
        while matches!(self.peek(), Token::Sign("-" | "+")) {
            negative ^= self.sign("-");
            self.sign("+");
        }
        let base = self.atom()?;
        let power = match self.sign("**") {
            true => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(self.wrong("too many powers of powers"));
                }
                let exponent = self.factor()?;
                self.depth -= 1;
                Node::Binary(Op::Power, Box::new(base), Box::new(exponent))
            }
            false => base,
        };
        Ok(match negative {
            true => Node::Negate(Box::new(power)),
            false => power,
        })
    }
    fn atom(&mut self) -> Result<Node, ExpressionError> {
        let token = self.peek().clone();
        match token {
            Token::Value(v) => {
                self.at += 1;
                Ok(Node::Value(v))
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                // A tuple is a list here.
                if self.sign(",") {
                    return self.list(inner, ")");
                }
                self.close(")")?;
                Ok(inner)
            }
            Token::Sign("[") => {
                self.at += 1;
                self.brackets()
            }
            Token::Word(w)
                if !["and", "or", "not", "in", "if", "else", "for"].contains(&w.as_str()) =>
            {
                self.at += 1;
                if self.sign("(") {
                    return self.arguments(w);
                }
                if let Some(i) = self.own.iter().rposition(|o| *o == w) {
                    return Ok(Node::Own(i));
                }
                let known = self.names.iter().position(|n| *n == w);
                Ok(Node::Name(known.unwrap_or_else(|| {
                    self.names.push(w);
                    self.names.len() - 1
                })))
            }
            _ => Err(self.wrong("expected a number, a name or a bracket")),
        }
    }
    fn arguments(&mut self, name: String) -> Result<Node, ExpressionError> {
        let mut args = Vec::new();
        if !self.sign(")") {
            loop {
                args.push(self.expression()?);
                if !self.sign(",") {
                    break;
                }
            }
            self.close(")")?;
        }
        Ok(Node::Call(name, args))
    }
    fn list(&mut self, first: Node, end: &str) -> Result<Node, ExpressionError> {
        let mut all = vec![first];
        while !self.sign(end) {
            all.push(self.expression()?);
            if !self.sign(",") {
                self.close(end)?;
                break;
            }
        }
        Ok(Node::List(all))
    }
    fn brackets(&mut self) -> Result<Node, ExpressionError> {
        if self.sign("]") {
            return Ok(Node::List(Vec::new()));
        }
        // A comprehension names its variable after its element.
        if let Some(variable) = self.comprehension() {
            self.own.push(variable);
            let element = self.expression()?;
            self.own.pop();
            self.at += 2;
            if !self.word("in") {
                return Err(self.wrong("expected `in`"));
            }
            let list = self.or()?;
            let condition = match self.word("if") {
                true => {
                    let name = self.tokens_variable();
                    self.own.push(name);
                    let c = self.or()?;
                    self.own.pop();
                    Some(Box::new(c))
                }
                false => None,
            };
            self.close("]")?;
            return Ok(Node::Each(Box::new(element), Box::new(list), condition));
        }
        let first = self.expression()?;
        if self.sign(",") {
            return self.list(first, "]");
        }
        self.close("]")?;
        Ok(Node::List(vec![first]))
    }
    /// The variable of the comprehension that begins here, if one does.
    fn comprehension(&self) -> Option<String> {
        let mut depth = 0;
        for (i, (_, t)) in self.tokens.iter().enumerate().skip(self.at) {
            match t {
                Token::Sign("(" | "[") => depth += 1,
                Token::Sign(")" | "]") if depth == 0 => return None,
                Token::Sign(")" | "]") => depth -= 1,
                Token::Sign(",") if depth == 0 => return None,
                Token::Word(w) if w == "for" && depth == 0 => {
                    return match self.tokens.get(i + 1) {
                        Some((_, Token::Word(name))) => Some(name.clone()),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        None
    }
    /// The variable of the comprehension whose `for` stands before.
    fn tokens_variable(&self) -> String {
        let before = self.tokens[..self.at].iter().enumerate().rev();
        let found = before
            .filter(|(_, (_, t))| matches!(t, Token::Word(w) if w == "for"))
            .map(|(i, _)| i)
            .next();
        match found.and_then(|i| self.tokens.get(i + 1)) {
            Some((_, Token::Word(name))) => name.clone(),
            _ => String::new(),
        }
    }
}
