//! Launches whose brackets a formatter has pulled apart: `f << <grid, block >> > (x)`.
//!
//! nvcc takes them, clang does not. Where a source has them, clang is shown one in which they stand
//! together, of the same length, under the same name.
use std::path::Path;

/// The source with the brackets of launches together; none where there is nothing to do.
pub(super) fn joined(source: &str) -> Option<String> {
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

/// Writes what makes clang read `text` where it is told to read `source`; gives the file for
/// `-ivfsoverlay`.
pub(super) fn overlay(
    dir: &Path,
    source: &Path,
    text: &str,
) -> std::io::Result<std::path::PathBuf> {
    let content = dir.join("joined.cu");
    std::fs::write(&content, text)?;
    let map = serde_json::json!({
        "version": 0,
        "use-external-names": false,
        "roots": [{
            "type": "file",
            "name": std::path::absolute(source)?,
            "external-contents": content,
        }],
    });
    let file = dir.join("overlay.json");
    std::fs::write(&file, map.to_string())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn brackets_are_joined_and_nothing_moves() {
        let text = "f << <g, b >> > (x);\nh <<  < g, b, 0, s>> >(y);";
        let now = joined(text).expect("changes");
        assert_eq!(now, "f  <<<g, b >>>  (x);\nh   <<< g, b, 0, s>>> (y);");
        assert_eq!(now.len(), text.len());
    }

    #[test]
    fn shifts_and_usual_launches_stay() {
        for text in [
            "a << b >> c;",
            "f<<<g, b>>>(x);",
            "s << \"<\" << 3;",
            "<<",
            ">> ",
        ] {
            assert_eq!(joined(text), None, "{text}");
        }
    }
}
