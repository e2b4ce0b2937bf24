//! Element types, as a buffer's `type` writes them.

use super::reader::Reader;
use super::tree::{Kind, Node};
use crate::elem::ElemType;
use crate::scalar::Scalar;
use crate::suggest::did_you_mean;

/// What C, CUDA and numpy call the scalar types.
const FOREIGN: [(&str, Scalar); 26] = [
    ("double", Scalar::F64),
    ("float64", Scalar::F64),
    ("float", Scalar::F32),
    ("float32", Scalar::F32),
    ("half", Scalar::F16),
    ("__half", Scalar::F16),
    ("float16", Scalar::F16),
    ("bfloat", Scalar::Bf16),
    ("bfloat16", Scalar::Bf16),
    ("__nv_bfloat16", Scalar::Bf16),
    ("char", Scalar::I8),
    ("int8", Scalar::I8),
    ("uchar", Scalar::U8),
    ("bool", Scalar::U8),
    ("uint8", Scalar::U8),
    ("short", Scalar::I16),
    ("int16", Scalar::I16),
    ("ushort", Scalar::U16),
    ("uint16", Scalar::U16),
    ("int", Scalar::I32),
    ("int32", Scalar::I32),
    ("uint", Scalar::U32),
    ("unsigned", Scalar::U32),
    ("long", Scalar::I64),
    ("int64", Scalar::I64),
    ("size_t", Scalar::U64),
];

/// Reads a type: a name, or a list of types for a struct.
pub(super) fn element(reader: &mut Reader<'_>, node: &Node) -> Option<ElemType> {
    match &node.kind {
        Kind::Text(text) => {
            let elem = ElemType::parse(text);
            if elem.is_none() {
                reader.mistake(
                    node.span.clone(),
                    format!("unknown type `{text}`"),
                    "f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64, \
                     with x2 x3 x4 x8 x16 for vectors",
                    suggestion(text),
                );
            }
            elem
        }
        Kind::List(fields) if !fields.is_empty() => {
            // All fields are read before giving up, to report every mistake.
            let fields: Vec<_> = fields.iter().map(|f| element(reader, f)).collect();
            fields
                .into_iter()
                .collect::<Option<_>>()
                .map(ElemType::Struct)
        }
        Kind::List(_) => {
            let what = "struct without fields";
            reader.mistake(node.span.clone(), what, "a list of types", None);
            None
        }
        _ => {
            let expected = "a string such as \"f64\", or a list of types for a struct";
            reader.wrong_kind(node, "`type`", expected);
            None
        }
    }
}

fn suggestion(text: &str) -> Option<String> {
    let foreign = |name: &str| FOREIGN.iter().find(|(n, _)| *n == name).map(|(_, s)| *s);
    if let Some(scalar) = foreign(text) {
        return Some(format!("`{text}` is written `{scalar}`"));
    }
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let width = text.get(name.len()..).unwrap_or_default();
    if let Some(scalar) = foreign(name) {
        let vector = format!("{scalar}x{width}");
        if ElemType::parse(&vector).is_some() {
            return Some(format!("`{text}` is written `{vector}`"));
        }
    }
    did_you_mean(text, Scalar::ALL.map(Scalar::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let says = |text: &str| suggestion(text).unwrap_or_default();
        assert_eq!(says("double"), "`double` is written `f64`");
        assert_eq!(says("float4"), "`float4` is written `f32x4`");
        assert_eq!(says("uchar3"), "`uchar3` is written `u8x3`");
        assert_eq!(says("F64"), "did you mean `f64`?");
        assert_eq!(says("f46"), "did you mean `f64`?");
        assert_eq!(says("matrix"), "");
    }
}
