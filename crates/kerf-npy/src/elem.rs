//! Element types of buffers and their layout in memory, by the rules of C and CUDA.

use std::fmt;

use crate::scalar::Scalar;

/// What one element of a buffer is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ElemType {
    /// A scalar.
    Scalar(Scalar),
    /// A short vector of 2, 3, 4, 8 or 16 scalars, such as `float4`.
    Vector(Scalar, u32),
    /// A struct with these fields.
    Struct(Vec<ElemType>),
}

impl ElemType {
    /// Widths a vector type may have.
    pub const WIDTHS: [u32; 5] = [2, 3, 4, 8, 16];

    /// Reads a scalar or vector type: `f64`, `f32x4`. `None` if the text names no type.
    pub fn parse(text: &str) -> Option<ElemType> {
        if let Ok(scalar) = text.parse() {
            return Some(ElemType::Scalar(scalar));
        }
        let (scalar, width) = text.split_once('x')?;
        let scalar = scalar.parse().ok()?;
        ElemType::WIDTHS
            .into_iter()
            .find(|w| w.to_string() == width)
            .map(|w| ElemType::Vector(scalar, w))
    }

    /// Size of one element in bytes, padding included.
    pub fn size(&self) -> usize {
        match self {
            ElemType::Scalar(s) => s.bytes(),
            ElemType::Vector(s, n) => s.bytes() * *n as usize,
            ElemType::Struct(fields) => {
                let end = fields
                    .iter()
                    .fold(0, |at, f| round_to_multiple(at, f.align()) + f.size());
                round_to_multiple(end, self.align())
            }
        }
    }

    /// Alignment in bytes. A vector is aligned to its size, at most 16, and a 3-vector as its
    /// scalar, as CUDA's are; a struct as its most aligned field.
    pub fn align(&self) -> usize {
        match self {
            ElemType::Scalar(s) | ElemType::Vector(s, 3) => s.bytes(),
            ElemType::Vector(..) => self.size().min(16),
            ElemType::Struct(fields) => fields.iter().map(ElemType::align).max().unwrap_or(1),
        }
    }

    /// Offset in bytes of each field of a struct; `[0]` for other types.
    pub fn field_offsets(&self) -> Vec<usize> {
        let ElemType::Struct(fields) = self else {
            return vec![0];
        };
        let mut at = 0;
        let place = |f: &ElemType| {
            let start = round_to_multiple(at, f.align());
            at = start + f.size();
            start
        };
        fields.iter().map(place).collect()
    }

    /// Every scalar of one element with its offset in bytes, in memory order.
    pub fn scalars(&self) -> Vec<(usize, Scalar)> {
        let mut list = Vec::new();
        self.collect_scalars(0, &mut list);
        list
    }

    /// How many scalars one element holds.
    pub fn scalar_count(&self) -> usize {
        match self {
            ElemType::Scalar(_) => 1,
            ElemType::Vector(_, n) => *n as usize,
            ElemType::Struct(fields) => fields.iter().map(ElemType::scalar_count).sum(),
        }
    }

    /// The scalar type of a scalar or vector; `None` for a struct.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            ElemType::Scalar(s) | ElemType::Vector(s, _) => Some(*s),
            ElemType::Struct(_) => None,
        }
    }

    /// Whether any scalar of an element is a float.
    pub fn has_float(&self) -> bool {
        match self {
            ElemType::Scalar(s) | ElemType::Vector(s, _) => s.is_float(),
            ElemType::Struct(fields) => fields.iter().any(ElemType::has_float),
        }
    }

    /// The same with all its scalars of one format.
    pub fn with_floats(&self, f: kerf_num::Format) -> ElemType {
        let scalar = match f {
            kerf_num::Format::F64 => Scalar::F64,
            kerf_num::Format::F32 => Scalar::F32,
            kerf_num::Format::F16 => Scalar::F16,
            kerf_num::Format::Bf16 => Scalar::Bf16,
        };
        match self {
            ElemType::Scalar(_) => ElemType::Scalar(scalar),
            ElemType::Vector(_, n) => ElemType::Vector(scalar, *n),
            ElemType::Struct(fields) => {
                ElemType::Struct(fields.iter().map(|t| t.with_floats(f)).collect())
            }
        }
    }

    fn collect_scalars(&self, base: usize, list: &mut Vec<(usize, Scalar)>) {
        match self {
            ElemType::Scalar(s) => list.push((base, *s)),
            ElemType::Vector(s, n) => {
                list.extend((0..*n as usize).map(|i| (base + i * s.bytes(), *s)));
            }
            ElemType::Struct(fields) => {
                for (field, offset) in fields.iter().zip(self.field_offsets()) {
                    field.collect_scalars(base + offset, list);
                }
            }
        }
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElemType::Scalar(s) => write!(f, "{s}"),
            ElemType::Vector(s, n) => write!(f, "{s}x{n}"),
            ElemType::Struct(fields) => {
                f.write_str("[")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{field}")?;
                }
                f.write_str("]")
            }
        }
    }
}

fn round_to_multiple(at: usize, of: usize) -> usize {
    at.div_ceil(of) * of
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn t(text: &str) -> ElemType {
        ElemType::parse(text).unwrap()
    }

    #[test]
    fn vectors_follow_cuda() {
        // Name, size, alignment, from the CUDA programming guide's table of built-in types.
        let table = [
            ("i8x2", 2, 2),
            ("u8x3", 3, 1),
            ("u8x4", 4, 4),
            ("i16x2", 4, 4),
            ("i16x3", 6, 2),
            ("i16x4", 8, 8),
            ("f16x2", 4, 4),
            ("bf16x2", 4, 4),
            ("i32x2", 8, 8),
            ("i32x3", 12, 4),
            ("i32x4", 16, 16),
            ("f32x2", 8, 8),
            ("f32x3", 12, 4),
            ("f32x4", 16, 16),
            ("f64x2", 16, 16),
            ("f64x3", 24, 8),
            ("f64x4", 32, 16),
            ("i64x2", 16, 16),
            ("u64x4", 32, 16),
        ];
        for (name, size, align) in table {
            assert_eq!((t(name).size(), t(name).align()), (size, align), "{name}");
            assert_eq!(t(name).to_string(), name);
        }
    }

    #[test]
    fn struct_layouts_computed_by_hand() {
        let s = ElemType::Struct;
        let table = [
            (
                s(vec![t("f64"), t("i32"), t("f32x4")]),
                vec![0, 8, 16],
                32,
                16,
            ),
            (s(vec![t("u8"), t("f64"), t("u8")]), vec![0, 8, 16], 24, 8),
            (
                s(vec![t("u8"), t("u8"), t("i16"), t("i32")]),
                vec![0, 1, 2, 4],
                8,
                4,
            ),
            (s(vec![t("f32x3"), t("f32")]), vec![0, 12], 16, 4),
            (s(vec![t("f32x3"), t("f64x2")]), vec![0, 16], 32, 16),
            (s(vec![t("i8"), t("f16x2"), t("i8")]), vec![0, 4, 8], 12, 4),
            (
                s(vec![t("i8"), s(vec![t("i8"), t("i64")]), t("i32")]),
                vec![0, 8, 24],
                32,
                8,
            ),
        ];
        for (elem, offsets, size, align) in table {
            assert_eq!(elem.field_offsets(), offsets, "{elem}");
            assert_eq!((elem.size(), elem.align()), (size, align), "{elem}");
        }
    }

    #[test]
    fn scalars_of_a_nested_struct() {
        let inner = ElemType::Struct(vec![t("i8"), t("i64")]);
        let outer = ElemType::Struct(vec![t("i8"), inner, t("f32x2")]);
        let expected = [
            (0, Scalar::I8),
            (8, Scalar::I8),
            (16, Scalar::I64),
            (24, Scalar::F32),
            (28, Scalar::F32),
        ];
        assert_eq!(outer.scalars(), expected);
        assert_eq!(outer.scalar_count(), expected.len());
        assert_eq!(outer.to_string(), "[i8, [i8, i64], f32x2]");
    }

    #[test]
    fn names_that_are_no_types() {
        for bad in [
            "", "f", "f65", "f32x", "f32x1", "f32x5", "f32x04", "xf32", "f32x4x4",
        ] {
            assert_eq!(ElemType::parse(bad), None, "{bad}");
        }
    }

    fn any_elem() -> impl Strategy<Value = ElemType> {
        let leaf = (0..12usize, 0..6usize).prop_map(|(s, w)| match w {
            5 => ElemType::Scalar(Scalar::ALL[s]),
            w => ElemType::Vector(Scalar::ALL[s], ElemType::WIDTHS[w]),
        });
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop::collection::vec(inner, 1..5).prop_map(ElemType::Struct)
        })
    }

    proptest! {
        #[test]
        fn layouts_obey_the_rules(elem in any_elem()) {
            prop_assert_eq!(elem.size() % elem.align(), 0);
            let scalars = elem.scalars();
            prop_assert_eq!(scalars.len(), elem.scalar_count());
            let mut end = 0;
            for (offset, scalar) in scalars {
                prop_assert_eq!(offset % scalar.bytes(), 0);
                prop_assert!(offset >= end);
                end = offset + scalar.bytes();
            }
            prop_assert!(end <= elem.size() && elem.size() - end < 16);
        }
    }
}
