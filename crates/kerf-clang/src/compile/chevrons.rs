//! Launches as nvcc takes them and clang does not: brackets that a formatter has pulled apart
//! (`f << <grid, block >> > (x)`), and sizes in braces (`f<<<grid, {32, 4, 1}>>>(x)`).
//!
//! Where a source has them, clang is shown another under the same name: the brackets together, at the same length,
//! and `dim3` before the braces.
use std::path::{Path, PathBuf};

/// The source with launches as clang takes them; none where there is nothing to do.
pub(super) fn mended(source: &str) -> Option<String> {
    let joined = joined(source);
    let named = named(joined.as_deref().unwrap_or(source));
    named.or(joined)
}

/// The brackets of launches together.
fn joined(source: &str) -> Option<String> {
    let mut out = source.as_bytes().to_vec();
    for (pair, single, left) in [(b"<<", b'<', false), (b">>", b'>', true)] {
        let mut at = 0;
        while at + 2 < out.len() {
            if &out[at..at + 2] != pair {
                at += 1;
                continue;
            }
            let blank = out[at + 2..].iter().take_while(|c| **c == b' ').count();
            let end = at + 2 + blank;
            // Neither a shift (`a << b`) nor brackets that stand together already.
            if blank > 0 && out.get(end) == Some(&single) {
                let (from, to) = if left {
                    (at, at + 3)
                } else {
                    (end - 2, end + 1)
                };
                out[at..=end].fill(b' ');
                out[from..to].fill(single);
            }
            at = end;
        }
    }
    (out != source.as_bytes()).then(|| String::from_utf8_lossy(&out).into_owned())
}

/// `dim3` before braces that are the first or second argument of a launch.
fn named(source: &str) -> Option<String> {
    let bytes = source.as_bytes();
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(open) = source[from..].find("<<<") {
        let start = from + open + 3;
        from = start;
        let (mut depth, mut fresh, mut argument) = (0, true, 0);
        let mut here = Vec::new();
        for (i, &c) in bytes.iter().enumerate().skip(start) {
            match c {
                b'>' if depth == 0 && bytes[i..].starts_with(b">>>") => {
                    places.append(&mut here);
                    from = i + 3;
                    break;
                }
                // A launch ends before the statement does.
                b';' => break,
                b',' if depth == 0 => {
                    argument += 1;
                    fresh = true;
                    continue;
                }
                b'{' if depth == 0 && fresh && argument < 2 => {
                    here.push(i);
                    depth += 1;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            fresh &= c.is_ascii_whitespace();
        }
    }
    let mut out = source.to_owned();
    for at in places.iter().rev() {
        out.insert_str(*at, "dim3");
    }
    (!places.is_empty()).then_some(out)
}

/// The files that clang's errors are in.
pub(super) fn accused(messages: &str) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = Vec::new();
    for line in messages.lines() {
        let Some((place, _)) = line.split_once(": error: ") else {
            continue;
        };
        let file = place.rsplitn(3, ':').nth(2).map(PathBuf::from);
        out.extend(file.filter(|f| !out.contains(f)));
    }
    out
}

/// Writes what makes clang read a text where it is told to read a file; gives the file for `-ivfsoverlay`.
pub(super) fn overlay(dir: &Path, texts: &[(PathBuf, String)]) -> std::io::Result<PathBuf> {
    let mut roots = Vec::new();
    for (i, (file, text)) in texts.iter().enumerate() {
        let content = dir.join(format!("mended{i}.cu"));
        std::fs::write(&content, text)?;
        roots.push(serde_json::json!({
            "type": "file",
            "name": std::path::absolute(file)?,
            "external-contents": content,
        }));
    }
    let map = serde_json::json!({
        "version": 0,
        "use-external-names": false,
        "roots": roots,
    });
    let file = dir.join("overlay.json");
    std::fs::write(&file, map.to_string())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{accused, mended};
    use std::path::PathBuf;

    #[test]
    fn brackets_are_joined_and_nothing_moves() {
        let text = "f << <g, b >> > (x);\nh <<  < g, b, 0, s>> >(y);";
        let now = mended(text).expect("changes");
        assert_eq!(now, "f  <<<g, b >>>  (x);\nh   <<< g, b, 0, s>>> (y);");
        assert_eq!(now.len(), text.len());
    }

    #[test]
    fn sizes_in_braces_are_named() {
        let text = "f<2><<<g, {X, 4, 1}, 0, s>>>(x); g<<< {a[0], 1},\n {b(1, 2)} >>>({1});";
        let want =
            "f<2><<<g, dim3{X, 4, 1}, 0, s>>>(x); g<<< dim3{a[0], 1},\n dim3{b(1, 2)} >>>({1});";
        assert_eq!(mended(text).as_deref(), Some(want));
    }

    #[test]
    fn shifts_and_usual_launches_stay() {
        for text in [
            "a << b >> c;",
            "f<<<g, b>>>(x);",
            "f<<<dim3{1, 2}, dim3({1})>>>(x);",
            "f<<<g, b, 0, {}>>>(x);",
            "s << \"<\" << 3;",
            "// <<<\nint a[] = {1}; x >>> y",
            "<<",
            ">> ",
        ] {
            assert_eq!(mended(text), None, "{text}");
        }
    }

    #[test]
    fn errors_name_their_files() {
        let text = "/a b/c.cuh:3:4: error: expected expression\nnote\nd.cu:1:2: error: x\nd.cu:9:2: error: y: error: z";
        assert_eq!(accused(text), ["/a b/c.cuh", "d.cu"].map(PathBuf::from));
    }
}
