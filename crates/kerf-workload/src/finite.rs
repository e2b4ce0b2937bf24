//! Whether the floating-point values of a buffer are finite.

use crate::elem::ElemType;
use crate::generate::perturb::format_of;

/// Whether no float scalar of the elements is NaN or infinite. Integers always are finite.
pub fn all_finite(bytes: &[u8], elem: &ElemType) -> bool {
    let scalars = elem.scalars();
    let floats: Vec<_> = scalars
        .iter()
        .filter_map(|(at, s)| Some((*at, format_of(*s)?)))
        .collect();
    bytes.chunks_exact(elem.size().max(1)).all(|element| {
        floats.iter().all(|(at, format)| {
            let mut word = [0u8; 8];
            word[..format.bytes()].copy_from_slice(&element[*at..at + format.bytes()]);
            format.decode(u64::from_le_bytes(word)).is_finite()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_and_an_infinity_are_seen_and_integers_are_not_taken_for_them() {
        let f32s = ElemType::parse("f32").expect("a type");
        let of = |v: &[f32]| -> Vec<u8> { v.iter().flat_map(|x| x.to_le_bytes()).collect() };
        assert!(all_finite(&of(&[0.0, -1.0, f32::MAX]), &f32s));
        assert!(!all_finite(&of(&[0.0, f32::NAN]), &f32s));
        assert!(!all_finite(&of(&[f32::NEG_INFINITY, 0.0]), &f32s));
        let integers = ElemType::parse("i32").expect("a type");
        assert!(all_finite(&of(&[f32::NAN]), &integers));
        assert!(all_finite(&[], &f32s));
    }
}
