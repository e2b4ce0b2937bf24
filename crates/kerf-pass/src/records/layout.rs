//! Where the fields of records lie: as the program has them, in planes, or padded. Kernels and the host compute it by the same rule.
use super::refusal::RecordRefusal;
use kerf_npy::scalar::Scalar;
use kerf_num::StorageFormat;
use serde::{Deserialize, Serialize};

/// Records whose fields are stored together in planes: one for each thread of a warp.
pub const RUN: usize = 32;

/// The widest access of a GPU, in bytes.
const WIDEST: usize = 16;

/// The most fields that a record may have.
const MOST_FIELDS: usize = 64;

/// How the records of a buffer are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordLayout {
    /// Of each [`RUN`] neighbouring records, all first fields, then all second ones, and so on.
    Planes,
    /// Record by record, each at a multiple of 16 bytes, or of a smaller power of two where it is smaller.
    Padded,
}

impl std::fmt::Display for RecordLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            RecordLayout::Planes => "planes",
            RecordLayout::Padded => "padded",
        })
    }
}

/// A word that names no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown layout `{0}`; there are planes and padded")]
pub struct UnknownLayout(String);

impl std::str::FromStr for RecordLayout {
    type Err = UnknownLayout;

    fn from_str(s: &str) -> Result<RecordLayout, UnknownLayout> {
        let all = [RecordLayout::Planes, RecordLayout::Padded];
        let named = |l: &RecordLayout| l.to_string() == s;
        all.into_iter()
            .find(named)
            .ok_or_else(|| UnknownLayout(s.into()))
    }
}

/// What a plan says of a buffer of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPlan {
    /// Types of the fields of a record, as the program has them in memory.
    pub fields: Vec<Scalar>,
    /// How records are stored.
    pub layout: RecordLayout,
}

impl std::fmt::Display for RecordPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.fields.iter().map(|s| s.name()).collect();
        write!(f, "{} of [{}]", self.layout, names.join(", "))
    }
}

/// A field of a record of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordField {
    /// Bytes from the record's beginning.
    pub offset: usize,
    /// Bytes of it, a power of two.
    pub bytes: usize,
}

/// Records in the sizes that memory has them in, and how they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    fields: Vec<RecordField>,
    layout: RecordLayout,
}

impl Records {
    /// The records of a plan, in a narrower format where the buffer is held in one.
    pub fn new(plan: &RecordPlan, held: Option<StorageFormat>) -> Result<Records, RecordRefusal> {
        let count = plan.fields.len();
        if !(2..=MOST_FIELDS).contains(&count) {
            return Err(RecordRefusal::FieldCount {
                count,
                most: MOST_FIELDS,
            });
        }
        let bytes = |s: &Scalar| held.map_or(s.bytes(), |f| f.bytes());
        let mut fields = Vec::new();
        let mut offset = 0;
        for s in &plan.fields {
            let bytes = bytes(s);
            if offset % bytes != 0 {
                return Err(RecordRefusal::Unaligned { offset, bytes });
            }
            fields.push(RecordField { offset, bytes });
            offset += bytes;
        }
        let widest = fields.iter().map(|f| f.bytes).max().unwrap_or(1);
        if offset % widest != 0 {
            return Err(RecordRefusal::Unaligned {
                offset,
                bytes: widest,
            });
        }
        Ok(Records {
            fields,
            layout: plan.layout,
        })
    }

    /// How they are stored.
    pub fn layout(&self) -> RecordLayout {
        self.layout
    }

    /// The fields, in the program's order.
    pub fn fields(&self) -> &[RecordField] {
        &self.fields
    }

    /// Bytes of a record of the program.
    pub fn bytes(&self) -> usize {
        self.fields.last().map_or(0, |f| f.offset + f.bytes)
    }

    /// Bytes from a record to the next where records are padded.
    pub fn padded_bytes(&self) -> usize {
        match self.bytes() {
            n if n < WIDEST => n.next_power_of_two(),
            n => n.next_multiple_of(WIDEST),
        }
    }

    /// Bytes of each field, if all have as many.
    pub fn uniform(&self) -> Option<usize> {
        let first = self.fields.first()?.bytes;
        self.fields
            .iter()
            .all(|f| f.bytes == first)
            .then_some(first)
    }

    /// The field that begins at a byte of a record.
    pub fn field_at(&self, offset: usize) -> Option<RecordField> {
        self.fields.iter().find(|f| f.offset == offset).copied()
    }

    /// The largest power of two, up to 16, that divides where an access at a byte of a padded record begins.
    pub fn padded_alignment(&self, offset: usize) -> usize {
        let all = self.padded_bytes() | offset | WIDEST;
        1 << all.trailing_zeros()
    }

    /// Where a field of a record is stored.
    pub fn place(&self, record: usize, f: RecordField) -> usize {
        match self.layout {
            RecordLayout::Planes => {
                let (run, lane) = (record / RUN, record % RUN);
                run * RUN * self.bytes() + RUN * f.offset + lane * f.bytes
            }
            RecordLayout::Padded => record * self.padded_bytes() + f.offset,
        }
    }

    /// Bytes of a buffer that has so many in the program.
    pub fn stored_bytes(&self, bytes: usize) -> usize {
        let records = bytes.div_ceil(self.bytes());
        match self.layout {
            RecordLayout::Planes => records.next_multiple_of(RUN) * self.bytes(),
            RecordLayout::Padded => records * self.padded_bytes(),
        }
    }

    /// Where a pointer into the middle of a buffer leads; none where what begins there is not laid out as a buffer is.
    pub fn stored_offset(&self, offset: usize) -> Option<usize> {
        let unit = match self.layout {
            RecordLayout::Planes => RUN * self.bytes(),
            RecordLayout::Padded => self.bytes(),
        };
        offset
            .is_multiple_of(unit)
            .then(|| self.stored_bytes(offset))
    }

    /// Content as it is stored; what no field is has zeros.
    pub fn store(&self, program: &[u8]) -> Vec<u8> {
        let mut out = vec![0; self.stored_bytes(program.len())];
        for (k, record) in program.chunks_exact(self.bytes()).enumerate() {
            for f in &self.fields {
                let at = self.place(k, *f);
                out[at..at + f.bytes].copy_from_slice(&record[f.offset..f.offset + f.bytes]);
            }
        }
        out
    }

    /// Content as the program has it, of so many bytes.
    pub fn load(&self, stored: &[u8], bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        for (k, record) in out.chunks_exact_mut(self.bytes()).enumerate() {
            for f in &self.fields {
                let at = self.place(k, *f);
                record[f.offset..f.offset + f.bytes].copy_from_slice(&stored[at..at + f.bytes]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(fields: &[Scalar], layout: RecordLayout) -> Records {
        let plan = RecordPlan {
            fields: fields.to_vec(),
            layout,
        };
        Records::new(&plan, None).expect("records")
    }

    #[test]
    fn content_comes_back_and_no_two_fields_share_a_byte() {
        let mixed = [Scalar::F64, Scalar::F32, Scalar::I16, Scalar::U16];
        for fields in [&[Scalar::F64; 3][..], &[Scalar::F32; 2], &mixed] {
            for layout in [RecordLayout::Planes, RecordLayout::Padded] {
                let r = records(fields, layout);
                for count in [1, 31, 32, 70] {
                    let n = count * r.bytes();
                    // No byte is zero, so that what is lost shows.
                    let content: Vec<u8> = (0..n).map(|k| (k % 255) as u8 + 1).collect();
                    let stored = r.store(&content);
                    assert_eq!(stored.len(), r.stored_bytes(n));
                    assert_eq!(stored.iter().filter(|b| **b != 0).count(), n);
                    assert_eq!(r.load(&stored, n), content);
                }
            }
        }
    }

    #[test]
    fn planes_have_a_field_of_neighbours_side_by_side() {
        let r = records(&[Scalar::F64; 3], RecordLayout::Planes);
        let y = r.fields()[1];
        assert_eq!(r.place(0, y), 32 * 8);
        assert_eq!(r.place(31, y), 32 * 8 + 31 * 8);
        assert_eq!(r.place(32, y), 32 * 24 + 32 * 8);
        assert_eq!(r.stored_offset(32 * 24), Some(32 * 24));
        assert_eq!(r.stored_offset(24), None);
    }

    #[test]
    fn padded_records_begin_where_wide_accesses_may() {
        let r = records(&[Scalar::F64; 3], RecordLayout::Padded);
        assert_eq!((r.padded_bytes(), r.padded_alignment(8)), (32, 8));
        assert_eq!(r.padded_alignment(16), 16);
        let r = records(&[Scalar::F32; 3], RecordLayout::Padded);
        assert_eq!((r.padded_bytes(), r.padded_alignment(0)), (16, 16));
        let r = records(&[Scalar::F16; 3], RecordLayout::Padded);
        assert_eq!((r.padded_bytes(), r.padded_alignment(0)), (8, 8));
    }

    #[test]
    fn fields_that_are_not_aligned_are_refused() {
        for fields in [&[Scalar::F32, Scalar::F64][..], &[Scalar::F64, Scalar::F32]] {
            let plan = RecordPlan {
                fields: fields.to_vec(),
                layout: RecordLayout::Planes,
            };
            let refused = Records::new(&plan, None);
            assert!(matches!(refused, Err(RecordRefusal::Unaligned { .. })));
        }
    }
}
