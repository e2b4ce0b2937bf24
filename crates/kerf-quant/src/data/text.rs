//! A text as a data set: rows of characters, and at each position the next one to be predicted.
use super::{DataError, Dataset, read_file};
use crate::backend::{Batch, BatchInput};
use crate::graph::InputSpec;
use crate::seed;
use std::path::Path;
use std::sync::Arc;

/// Characters that a model reads at once.
pub const LENGTH: usize = 64;

/// The last tenth of a text is to evaluate on.
const TEST_PART: usize = 10;

/// Part of a text.
#[derive(Debug, Clone)]
pub struct Text {
    name: String,
    tokens: Arc<Vec<u32>>,
    /// Where the part begins, and one past its end.
    span: (usize, usize),
    characters: Arc<Vec<char>>,
}

impl Text {
    /// Parts of a file in UTF-8 to train and to evaluate on. Characters are numbered in the order of their code points.
    pub fn pair(path: &Path) -> Result<(Text, Text), DataError> {
        let corrupt = |what: String| DataError::Corrupt {
            path: path.display().to_string(),
            what,
        };
        let text = String::from_utf8(read_file(path)?).map_err(|e| {
            corrupt(format!(
                "not UTF-8 at byte {}",
                e.utf8_error().valid_up_to()
            ))
        })?;
        let known: std::collections::BTreeSet<char> = text.chars().collect();
        let characters: Vec<char> = known.into_iter().collect();
        let number = |c: char| characters.binary_search(&c).unwrap_or(0) as u32;
        let tokens: Vec<u32> = text.chars().map(number).collect();
        let split = tokens.len() - tokens.len() / TEST_PART;
        if tokens.len() - split <= LENGTH {
            let least = TEST_PART * (LENGTH + 1);
            return Err(corrupt(format!(
                "{} characters; at least {least} are needed",
                tokens.len()
            )));
        }
        let (all, characters) = (Arc::new(tokens), Arc::new(characters));
        let stem = path
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        let of = |what: &str, span| Text {
            name: format!("{stem} {what}"),
            tokens: Arc::clone(&all),
            span,
            characters: Arc::clone(&characters),
        };
        Ok((of("train", (0, split)), of("test", (split, all.len()))))
    }
    /// The characters by their numbers.
    pub fn characters(&self) -> &[char] {
        &self.characters
    }
}

impl Dataset for Text {
    fn name(&self) -> String {
        self.name.clone()
    }
    /// Rows that do not overlap.
    fn len(&self) -> usize {
        (self.span.1 - self.span.0 - 1) / LENGTH
    }
    fn input(&self) -> InputSpec {
        InputSpec::Tokens {
            length: LENGTH,
            count: self.characters.len(),
        }
    }
    fn classes(&self) -> usize {
        self.characters.len()
    }
    /// In training a row begins up to a row's length later, at random.
    fn batch(&self, indices: &[usize], augment: Option<u64>) -> Result<Batch, DataError> {
        let mut input = Vec::with_capacity(indices.len() * LENGTH);
        let mut labels = Vec::with_capacity(indices.len() * LENGTH);
        let last = self.span.1 - LENGTH - 1;
        for i in indices {
            let shift = augment.map_or(0, |s| (seed::step(s, *i as u64) % LENGTH as u64) as usize);
            let at = (self.span.0 + i * LENGTH + shift).min(last);
            input.extend_from_slice(&self.tokens[at..at + LENGTH]);
            labels.extend_from_slice(&self.tokens[at + 1..at + 1 + LENGTH]);
        }
        Ok(Batch {
            rows: indices.len(),
            input: BatchInput::Tokens(input),
            labels,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_what_follows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("verse.txt");
        let text: String = (0..2000)
            .map(|i| char::from(b'a' + (i % 7) as u8))
            .collect();
        std::fs::write(&path, &text).unwrap();
        let (train, test) = Text::pair(&path).unwrap();
        assert_eq!(
            (
                train.classes(),
                train.characters()[0],
                train.name().as_str()
            ),
            (7, 'a', "verse train")
        );
        assert_eq!((train.len(), test.len()), ((1800 - 1) / 64, 199 / 64));
        for data in [&train, &test] {
            let all: Vec<usize> = (0..data.len()).collect();
            for augment in [None, Some(3)] {
                let b = data.batch(&all, augment).unwrap();
                let BatchInput::Tokens(t) = &b.input else {
                    panic!("tokens")
                };
                assert!(t.iter().zip(&b.labels).all(|(a, b)| (a + 1) % 7 == *b));
            }
        }
        std::fs::write(&path, "short").unwrap();
        assert!(
            Text::pair(&path)
                .unwrap_err()
                .to_string()
                .contains("650 are needed")
        );
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(
            Text::pair(&path)
                .unwrap_err()
                .to_string()
                .contains("not UTF-8")
        );
    }
}
