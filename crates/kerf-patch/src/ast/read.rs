//! clang's JSON as a tree.
use super::{Ast, AstNode, Spot, Via, clean};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A location as clang prints it: the file is left out where it is that of the location before.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PrintedLocation {
    offset: Option<usize>,
    file: Option<String>,
    tok_len: usize,
    is_macro_arg_expansion: bool,
    spelling_loc: Option<Box<PrintedLocation>>,
    expansion_loc: Option<Box<PrintedLocation>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PrintedRange {
    begin: PrintedLocation,
    end: PrintedLocation,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PrintedType {
    qual_type: String,
    desugared_qual_type: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PrintedReference {
    id: Option<String>,
    name: String,
}

/// A node as clang prints it, without its children.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PrintedNode {
    id: String,
    kind: String,
    loc: PrintedLocation,
    range: PrintedRange,
    name: String,
    mangled_name: String,
    opcode: String,
    cast_kind: String,
    value: Value,
    r#type: PrintedType,
    referenced_decl: PrintedReference,
    referenced_member_decl: Option<String>,
}

/// Resolves locations in the order in which clang printed them.
struct LocationReader {
    folder: PathBuf,
    known: BTreeMap<String, usize>,
    files: Vec<PathBuf>,
    /// File of the last location.
    file: usize,
    /// File of the last node's name.
    declared_in: usize,
}

impl LocationReader {
    fn enter_file(&mut self, name: &str) {
        if let Some(known) = self.known.get(name) {
            self.file = *known;
            return;
        }
        let path = clean(&self.folder.join(name));
        self.file = match self.files.iter().position(|f| *f == path) {
            Some(known) => known,
            None => {
                self.files.push(path);
                self.files.len() - 1
            }
        };
        self.known.insert(name.to_owned(), self.file);
    }

    /// A location that is written in a file.
    fn written(&mut self, printed: &PrintedLocation) -> Option<Spot> {
        if let Some(name) = &printed.file {
            self.enter_file(name);
        }
        let offset = printed.offset?;
        Some(Spot {
            file: self.file,
            offset,
            len: printed.tok_len,
            via: Via::Text,
            shown: offset,
        })
    }

    fn spot(&mut self, printed: &PrintedLocation) -> Option<Spot> {
        let Some(spelling) = &printed.spelling_loc else {
            return self.written(printed);
        };
        let spelling = self.written(spelling);
        let printed = printed.expansion_loc.as_ref()?;
        let expansion = self.written(printed)?;
        let (spot, via) = match spelling.filter(|_| printed.is_macro_arg_expansion) {
            Some(spelling) => (spelling, Via::Argument),
            None => (expansion, Via::Macro),
        };
        let shown = expansion.shown;
        Some(Spot { via, shown, ..spot })
    }

    fn node(&mut self, printed: PrintedNode) -> AstNode {
        let desugared = printed.r#type.desugared_qual_type;
        let referenced = printed.referenced_decl;
        let member = printed.referenced_member_decl;
        let loc = self.spot(&printed.loc);
        self.declared_in = self.file;
        AstNode {
            id: parse_id(&printed.id),
            kind: printed.kind,
            loc,
            begin: self.spot(&printed.range.begin),
            end: self.spot(&printed.range.end),
            name: printed.name,
            plain: desugared.unwrap_or(printed.r#type.qual_type),
            opcode: printed.opcode,
            cast: printed.cast_kind,
            value: match printed.value {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => other.to_string(),
            },
            mangled: printed.mangled_name,
            refers: member.or(referenced.id).as_deref().map(parse_id),
            refers_name: referenced.name,
            inner: Vec::new(),
        }
    }
}

fn parse_id(hex: &str) -> u64 {
    u64::from_str_radix(hex.trim_start_matches("0x"), 16).unwrap_or(0)
}

/// Declarations with more levels than this are left out: no program needs them, and walks over the tree recurse.
const DEEPEST: usize = 2000;

/// Reads the declarations of clang's outermost list that are in the user's files.
///
/// LLVM prints one member a line and indents by two blanks, and clang prints the children of a node, `inner`, after its
/// other members. So the lines from a node's `{` to its `inner` or its `}` are one JSON object without children, and no
/// more than that is held as text. Declarations of headers are only searched for names of files.
pub(crate) fn read(
    output: impl Read,
    folder: &Path,
    is_users: impl Fn(&Path) -> bool,
) -> std::io::Result<Ast> {
    let mut locations = LocationReader {
        folder: folder.to_owned(),
        known: BTreeMap::new(),
        files: vec![PathBuf::new()],
        file: 0,
        declared_in: 0,
    };
    let mut lines = BufReader::with_capacity(1 << 20, output);
    let (mut line, mut text, mut top) = (Vec::new(), Vec::new(), Vec::new());
    // Nodes whose children are being read, the outermost first.
    let mut parents: Vec<AstNode> = Vec::new();
    let (mut skipping, mut included) = (false, false);
    while lines.read_until(b'\n', &mut line)? > 0 {
        let member = line.trim_ascii();
        let indent = line.len() - line.trim_ascii_start().len();
        let node_indent = 4 + 4 * parents.len();
        let mut complete = None;
        if skipping {
            if let Some(name) = member.strip_prefix(b"\"file\": ")
                // The file that included the location's is not the location's.
                && !std::mem::take(&mut included)
            {
                let name = name.strip_suffix(b",").unwrap_or(name);
                locations.enter_file(&serde_json::from_slice::<String>(name)?);
            }
            included |= member.starts_with(b"\"includedFrom\"");
            skipping = indent != 4 || !member.starts_with(b"}");
        } else if text.is_empty() {
            if indent == node_indent && member.starts_with(b"{}") {
                // A child that is left out, such as the condition of `for (;;)`.
                complete = Some(AstNode::default());
            } else if indent == node_indent && member.starts_with(b"{") {
                text.extend_from_slice(member);
            } else if member.starts_with(b"}") && indent + 4 == node_indent {
                complete = parents.pop();
            }
        } else if indent == node_indent && member.starts_with(b"}")
            || indent == node_indent + 2 && member.starts_with(b"\"inner\"")
        {
            text.pop_if(|c| *c == b',');
            text.push(b'}');
            let node = locations.node(serde_json::from_slice(&text)?);
            text.clear();
            let has_children = !member.starts_with(b"}");
            if parents.is_empty() && !is_users(&locations.files[locations.declared_in]) {
                skipping = has_children;
            } else if parents.len() == DEEPEST {
                parents.clear();
                skipping = true;
            } else if has_children {
                parents.push(node);
            } else {
                complete = Some(node);
            }
        } else {
            text.extend_from_slice(member);
        }
        if let Some(node) = complete {
            match parents.last_mut() {
                Some(parent) => parent.inner.push(node),
                None => top.push(node),
            }
        }
        line.clear();
    }
    Ok(Ast {
        files: locations.files,
        top,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that clang prints, with one name in its body.
    fn printed(file: &str, name: &str) -> String {
        format!(
            r#"    {{
      "id": "0x1f",
      "kind": "FunctionDecl",
      "loc": {{
        {file}
        "offset": 5,
        "tokLen": 1
      }},
      "range": {{
        "begin": {{
          "offset": 0,
          "tokLen": 4
        }},
        "end": {{
          "spellingLoc": {{
            "file": "macros.h",
            "offset": 90,
            "tokLen": 2,
            "includedFrom": {{
              "file": "main.cu"
            }}
          }},
          "expansionLoc": {{
            "file": "main.cu",
            "offset": 9,
            "tokLen": 3
          }}
        }}
      }},
      "name": "{name}",
      "type": {{
        "desugaredQualType": "double ()",
        "qualType": "real ()"
      }},
      "inner": [
        {{
          "id": "0x20",
          "kind": "CharacterLiteral",
          "value": 97
        }},
        {{}}
      ]
    }},
"#
        )
    }

    fn tree(declarations: &[String]) -> Ast {
        let text = format!("{{\n  \"inner\": [\n{}  ]\n}}\n", declarations.concat());
        read(text.as_bytes(), Path::new("/p"), |p| p.ends_with("main.cu")).expect("a tree")
    }

    #[test]
    fn names_are_read_in_all_scripts() {
        // 𝑥 as itself and as the surrogate pair that JSON has for it; a quote, and what is no pair.
        for (printed_name, want) in [
            ("größe_𝑥", "größe_𝑥"),
            (r"\ud835\udc65\u0041", "𝑥A"),
            (r#"operator\"\"_km"#, "operator\"\"_km"),
        ] {
            let ast = tree(&[printed(r#""file": "main.cu","#, printed_name)]);
            assert_eq!(ast.top[0].name, want);
        }
    }

    #[test]
    fn declarations_of_headers_are_left_out_and_their_files_remembered() {
        // The last location before the second function is in main.cu, which it therefore does not name.
        let ast = tree(&[printed(r#""file": "other.h","#, "f"), printed("", "g")]);
        let names: Vec<&str> = ast.top.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["g"]);
        let g = &ast.top[0];
        let main = ast.files.iter().position(|f| f == Path::new("/p/main.cu"));
        assert_eq!(g.loc.map(|l| (Some(l.file), l.offset)), Some((main, 5)));
        let end = g.end.expect("an end");
        assert_eq!((Some(end.file), end.offset, end.via), (main, 9, Via::Macro));
        assert_eq!((g.id, g.plain.as_str()), (0x1f, "double ()"));
        assert_eq!(g.inner[0].value, "97");
        assert_eq!(g.inner[1].kind, "");
    }

    #[test]
    fn deep_expressions_are_read_and_endless_ones_left_out() {
        for (depth, want) in [(1900, 2), (2100, 1)] {
            let mut text = String::from(
                "    {\n      \"loc\": {\n        \"file\": \"main.cu\"\n      },\n      \"kind\": \"VarDecl\"",
            );
            for level in 0..depth {
                let pad = " ".repeat(6 + 4 * level);
                text +=
                    &format!(",\n{pad}\"inner\": [\n{pad}  {{\n{pad}    \"kind\": \"ParenExpr\"");
            }
            for level in (0..depth).rev() {
                let pad = " ".repeat(6 + 4 * level);
                text += &format!("\n{pad}  }}\n{pad}]");
            }
            let ast = tree(&[text + "\n    },\n", printed("", "g")]);
            assert_eq!(ast.top.len(), want, "{depth}");
        }
    }
}
