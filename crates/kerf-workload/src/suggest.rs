//! "Did you mean": the known word nearest to one that is not known.

/// Words longer than this are not compared: nobody mistypes them by a letter, and the comparison
/// takes time with the product of the lengths.
const LONGEST: usize = 40;

/// The candidate a mistyped word most likely stands for, if any is near enough: by insertions, deletions, substitutions and
/// swaps of neighbours, letter case ignored.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let allowed = match length {
        0 | 1 => 0,
        n => (n / 3).max(1),
    };
    let word = word.to_ascii_lowercase();
    let distance = |c: &str| strsim::osa_distance(&word, &c.to_ascii_lowercase());
    let short = |c: &&str| length <= LONGEST && c.chars().count() <= LONGEST;
    let all = candidates.into_iter().filter(short);
    all.map(|c| (distance(c), c))
        .filter(|(far, _)| *far <= allowed)
        .min_by_key(|(far, _)| *far)
        .map(|(_, c)| c)
}

/// ``did you mean `x`?``, for a mistake's help.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|c| format!("did you mean `{c}`?"))
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
