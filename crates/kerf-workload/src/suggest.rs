//! "Did you mean": the known word nearest to one that is not known.

/// Words longer than this are not compared: nobody mistypes them by a letter, and the comparison
/// takes time with the product of the lengths.
const LONGEST: usize = 40;

/// The candidate a mistyped word most likely stands for, if any is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().collect();
    let allowed = match word.len() {
        0 | 1 => 0,
        n => (n / 3).max(1),
    };
    candidates
        .into_iter()
        .filter_map(|c| {
            let letters: Vec<char> = c.chars().collect();
            let far = distance(&word, &letters)?;
            (far <= allowed).then_some((far, c))
        })
        .min_by_key(|&(far, _)| far)
        .map(|(_, c)| c)
}

/// ``did you mean `x`?``, for a mistake's help.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|c| format!("did you mean `{c}`?"))
}

/// Insertions, deletions, substitutions and swaps of neighbours from `a` to `b`, letter case
/// ignored; `None` if either word is too long to compare.
fn distance(a: &[char], b: &[char]) -> Option<usize> {
    if a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    let same = |x: char, y: char| x.eq_ignore_ascii_case(&y);
    let mut two_back: Vec<usize> = Vec::new();
    let mut back: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let cost = usize::from(!same(x, y));
            let mut best = (back[j] + cost).min(back[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && same(x, b[j - 1]) && same(a[i - 1], y) {
                best = best.min(two_back[j - 1] + 1);
            }
            row.push(best);
        }
        two_back = std::mem::replace(&mut back, row);
    }
    back.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        let known = ["buffer", "launch", "sizes", "n"];
        assert_eq!(nearest("bufer", known), Some("buffer"));
        assert_eq!(nearest("buffers", known), Some("buffer"));
        assert_eq!(nearest("lanuch", known), Some("launch"));
        assert_eq!(nearest("Sizes", known), Some("sizes"));
        assert_eq!(nearest("N", known), Some("n"));
    }

    #[test]
    fn far_words_are_not() {
        assert_eq!(nearest("frobnicate", ["buffer", "n"]), None);
        assert_eq!(nearest("", ["n"]), None);
        assert_eq!(nearest("q", ["n"]), None);
        assert_eq!(nearest("x", ["bx", "spot"]), None);
        assert_eq!(nearest(&"x".repeat(50), ["x".repeat(50).as_str()]), None);
    }
}
