//! Pieces of pages: the style, words as text, tables, figures.
//!
//! Architecture Invariant: every word of the user's goes through [`escaped`].
use std::fmt::Write;

/// The style of all pages.
pub const CSS: &str = include_str!("../assets/page.css");

/// Text inside an element or an attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            // Not taken for a mark of the page's.
            '{' => out += "&#123;",
            c => out.push(c),
        }
    }
    out
}

/// A table; heads that begin with # are of numbers.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let class = |k: usize| match heads[k].strip_prefix('#') {
        Some(_) => " class=\"n\"",
        None => "",
    };
    let mut o = String::from("<div class=\"scroll\"><table><thead><tr>");
    for (k, h) in heads.iter().enumerate() {
        let _ = write!(
            o,
            "<th scope=\"col\"{}>{}</th>",
            class(k),
            escaped(h.trim_start_matches('#'))
        );
    }
    o += "</tr></thead><tbody>";
    for r in rows {
        o += "<tr>";
        for (k, c) in r.iter().enumerate() {
            let _ = write!(o, "<td{}>{}</td>", class(k), escaped(c));
        }
        o += "</tr>";
    }
    o + "</tbody></table></div>"
}

/// A figure with its label and a line about it.
pub fn fact(label: &str, big: &str, more: &str, good: bool) -> String {
    let class = if good { "big good" } else { "big" };
    format!(
        "<div class=\"fact\"><div class=\"label\">{}</div><div class=\"{class}\">{}</div><div class=\"more\">{}</div></div>",
        escaped(label),
        escaped(big),
        escaped(more)
    )
}
