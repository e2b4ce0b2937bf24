//! From byte offsets of a text to lines and columns.

/// Where the lines of a text start.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let after_newline = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines {
            text,
            starts: std::iter::once(0).chain(after_newline).collect(),
        }
    }

    /// Line and column of an offset, both from 1; columns count characters.
    pub(crate) fn at(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = line
            .checked_sub(1)
            .and_then(|l| self.starts.get(l))
            .copied()
            .unwrap_or(0);
        let end = offset.min(self.text.len());
        let before = self.text.as_bytes().get(start..end).unwrap_or_default();
        // Counting the bytes that start a character works even if the offset is inside one.
        let characters = before.iter().filter(|&&b| b & 0xc0 != 0x80).count();
        (line, characters + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let lines = Lines::new("ab\nπc\n");
        assert_eq!(lines.at(0), (1, 1));
        assert_eq!(lines.at(2), (1, 3));
        assert_eq!(lines.at(3), (2, 1));
        assert_eq!(lines.at(5), (2, 2));
        assert_eq!(lines.at(7), (3, 1));
        assert_eq!(lines.at(1000), (3, 1));
        assert_eq!(Lines::new("").at(0), (1, 1));
    }
}
