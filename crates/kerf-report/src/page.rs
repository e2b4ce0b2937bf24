//! The page: one HTML file with its style, its script and its data inside.
//!
//! Architecture Invariant: nothing of a user's (source, names, messages) becomes markup. The data is JSON in
//! an inert element, in which `<` is written as an escape; the script puts it in place as text.
use crate::ReportError;
use crate::gather::Gathered;
use crate::markup::{CSS, escaped};

const HTML: &str = include_str!("../assets/page.html");
const JS: &str = include_str!("../assets/page.js");

/// JSON inside a script element: nothing in it can end the element or begin a comment.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The whole page.
pub fn page(g: &Gathered) -> Result<String, ReportError> {
    let data = serde_json::to_string(g).map_err(|e| ReportError::Page(e.to_string()))?;
    let name = g.result.workload.file_name().unwrap_or_default();
    let title = format!("{} - Kerf", name.to_string_lossy());
    // The data comes last: what it contains is not looked at again.
    let parts = [
        ("{{title}}", escaped(&title)),
        ("{{css}}", CSS.to_owned()),
        ("{{js}}", JS.to_owned()),
    ];
    let mut out = HTML.to_owned();
    for (mark, text) in parts {
        out = out.replacen(mark, &text, 1);
    }
    Ok(out.replacen("{{data}}", &inert(&data), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_element() {
        let hostile = r#"</script><script>alert(1)</script><!-- "#;
        let json = serde_json::to_string(hostile).expect("a string");
        let safe = inert(&json);
        assert!(!safe.contains('<'));
        let back: String = serde_json::from_str(&safe).expect("still JSON");
        assert_eq!(back, hostile);
    }

    #[test]
    fn names_are_text() {
        assert_eq!(escaped("<b a='x'>&"), "&lt;b a=&#39;x&#39;&gt;&amp;");
    }

    #[test]
    fn the_parts_do_not_hold_each_others_marks() {
        for part in [CSS, JS] {
            assert!(!part.contains("{{"));
        }
        assert!(!JS.contains("innerHTML"));
        assert!(!JS.contains("</script"));
    }
}
