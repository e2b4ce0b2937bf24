//! Numbers as words, alike in every report.

/// An error or a tolerance.
pub fn number(x: Option<f64>) -> String {
    match x {
        Some(0.0) => "0".into(),
        Some(x) => format!("{x:.2e}"),
        None => "infinite".into(),
    }
}

/// A tolerance as somebody would write it.
pub fn bound(x: f64) -> String {
    let whole = format!("{x:e}");
    if whole.len() <= 8 {
        whole
    } else {
        format!("{x:.2e}")
    }
}

/// Lines, the first few.
pub fn lines(all: &[u32]) -> String {
    let few: Vec<String> = all.iter().take(4).map(u32::to_string).collect();
    let more = if all.len() > 4 { ", ..." } else { "" };
    match all.len() {
        0 => String::new(),
        1 => format!("line {}", few[0]),
        _ => format!("lines {}{more}", few.join(", ")),
    }
}
