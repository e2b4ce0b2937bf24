//! Reading clang's JSON in the order it was written: its locations leave out what the one before said.

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// Null, true, false and numbers, as text.
    Plain(String),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Members in their order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A member.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(all) => all.iter().find(|m| m.0 == key).map(|m| &m.1),
            _ => None,
        }
    }
    /// Text of a member.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Json::Text(t) | Json::Plain(t) => Some(t),
            _ => None,
        }
    }
    /// A number.
    pub fn number(&self, key: &str) -> Option<usize> {
        self.text(key)?.parse().ok()
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

/// Reads one value; none where the text is not JSON.
pub fn read(text: &[u8]) -> Option<Json> {
    Reader { text, at: 0 }.value(0)
}

/// Nesting beyond this is no program's.
const DEEPEST: usize = 4000;

impl Reader<'_> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, c: u8) -> Option<()> {
        self.space();
        (self.text.get(self.at) == Some(&c)).then(|| self.at += 1)
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut out = Vec::new();
        loop {
            let c = *self.text.get(self.at)?;
            self.at += 1;
            match c {
                b'"' => return Some(String::from_utf8_lossy(&out).into_owned()),
                b'\\' => {
                    let e = *self.text.get(self.at)?;
                    self.at += 1;
                    match e {
                        b'n' => out.push(b'\n'),
                        b't' => out.push(b'\t'),
                        b'r' => out.push(b'\r'),
                        b'u' => {
                            let hex = std::str::from_utf8(self.text.get(self.at..self.at + 4)?);
                            let code = u32::from_str_radix(hex.ok()?, 16).ok()?;
                            self.at += 4;
                            let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                            out.extend(c.to_string().bytes());
                        }
                        other => out.push(other),
                    }
                }
                c => out.push(c),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.space();
        Some(match self.text.get(self.at)? {
            b'"' => Json::Text(self.string()?),
            b'{' => {
                self.at += 1;
                let mut all = Vec::new();
                if self.take(b'}').is_some() {
                    return Some(Json::Object(all));
                }
                loop {
                    self.space();
                    let key = self.string()?;
                    self.take(b':')?;
                    all.push((key, self.value(depth + 1)?));
                    if self.take(b',').is_none() {
                        self.take(b'}')?;
                        return Some(Json::Object(all));
                    }
                }
            }
            b'[' => {
                self.at += 1;
                let mut all = Vec::new();
                if self.take(b']').is_some() {
                    return Some(Json::List(all));
                }
                loop {
                    all.push(self.value(depth + 1)?);
                    if self.take(b',').is_none() {
                        self.take(b']')?;
                        return Some(Json::List(all));
                    }
                }
            }
            _ => {
                let from = self.at;
                let ends = |c: &u8| matches!(c, b',' | b'}' | b']') || c.is_ascii_whitespace();
                while self.text.get(self.at).is_some_and(|c| !ends(c)) {
                    self.at += 1;
                }
                Json::Plain(String::from_utf8_lossy(&self.text[from..self.at]).into_owned())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        let j = read(br#" { "z": [1, {"a": "q\"\u0041"}], "b": true, "e": {} } "#);
        let j = j.expect("JSON");
        let Json::Object(all) = &j else {
            panic!("an object")
        };
        assert_eq!(all[0].0, "z");
        assert_eq!(j.text("b"), Some("true"));
        let Some(Json::List(z)) = j.get("z") else {
            panic!("a list")
        };
        assert_eq!(z[1].text("a"), Some("q\"A"));
        assert!(read(b"{\"a\": ").is_none());
    }
}
