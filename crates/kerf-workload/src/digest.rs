//! Digests of buffers.
//!
//! Without NaNs and padding a digest is the beginning of the plain SHA-256 of the bytes. NaNs are
//! made one pattern first, because devices differ in the payload and sign they give them, and
//! padding is made zero, because it is never written.

use sha2::{Digest, Sha256};

use crate::elem::ElemType;
use crate::scalar::Scalar;

/// Bytes copied at a time to be made canonical.
const CHUNK: usize = 1 << 16;

/// 16 hexadecimal digits that identify the contents of a buffer.
pub fn digest(bytes: &[u8], elem: &ElemType) -> String {
    let mut hash = Sha256::new();
    let scalars = elem.scalars();
    let used: usize = scalars.iter().map(|(_, s)| s.bytes()).sum();
    if !elem.has_float() && used == elem.size() {
        hash.update(bytes);
    } else {
        let size = elem.size().max(1);
        let chunk = (CHUNK / size).max(1) * size;
        let mut copy = Vec::with_capacity(chunk.min(bytes.len()));
        for part in bytes.chunks(chunk) {
            copy.clear();
            copy.extend_from_slice(part);
            for element in copy.chunks_mut(size) {
                canonical(element, &scalars);
            }
            hash.update(&copy);
        }
    }
    let full = hash.finalize();
    full.iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// Makes NaNs one pattern and padding zero.
fn canonical(element: &mut [u8], scalars: &[(usize, Scalar)]) {
    let mut end = 0;
    for (offset, scalar) in scalars {
        if let Some(padding) = element.get_mut(end..*offset) {
            padding.fill(0);
        }
        end = offset + scalar.bytes();
        if let Some(bytes) = element.get_mut(*offset..end) {
            canonical_nan(bytes, *scalar);
        }
    }
    if let Some(padding) = element.get_mut(end..) {
        padding.fill(0);
    }
}

fn canonical_nan(bytes: &mut [u8], scalar: Scalar) {
    // A NaN is what lies above infinity once the sign is gone.
    let nan = match (scalar, &*bytes) {
        (Scalar::F16, &[a, b]) => u16::from_le_bytes([a, b]) & 0x7fff > 0x7c00,
        (Scalar::Bf16, &[a, b]) => u16::from_le_bytes([a, b]) & 0x7fff > 0x7f80,
        (Scalar::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        (Scalar::F64, &[a, b, c, d, e, f, g, h]) => {
            f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan()
        }
        _ => false,
    };
    if !nan {
        return;
    }
    let quiet: u64 = match scalar {
        Scalar::F16 => 0x7e00,
        Scalar::Bf16 => 0x7fc0,
        Scalar::F32 => 0x7fc0_0000,
        _ => 0x7ff8_0000_0000_0000,
    };
    for (to, from) in bytes.iter_mut().zip(quiet.to_le_bytes()) {
        *to = from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(s: Scalar) -> ElemType {
        ElemType::Scalar(s)
    }

    #[test]
    fn plain_bytes_are_plain_sha256() {
        // printf abc | sha256sum
        assert_eq!(digest(b"abc", &scalar(Scalar::U8)), "ba7816bf8f01cfea");
        assert_eq!(digest(b"", &scalar(Scalar::F64)), "e3b0c44298fc1c14");
        let ones = 1f32.to_le_bytes().repeat(40_000);
        let plain: String = Sha256::digest(&ones)
            .iter()
            .take(8)
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(digest(&ones, &scalar(Scalar::F32)), plain);
        assert_eq!(digest(&ones, &ElemType::Vector(Scalar::F32, 4)), plain);
    }

    #[test]
    fn all_nans_are_one() {
        let same = |s: Scalar, a: &[u8], b: &[u8]| {
            assert_eq!(digest(a, &scalar(s)), digest(b, &scalar(s)), "{s}");
        };
        same(
            Scalar::F64,
            &f64::NAN.to_le_bytes(),
            &(-f64::NAN).to_le_bytes(),
        );
        same(
            Scalar::F64,
            &f64::NAN.to_le_bytes(),
            &0x7ff0_0000_0000_0001u64.to_le_bytes(),
        );
        same(
            Scalar::F32,
            &0x7fff_ffffu32.to_le_bytes(),
            &0xffc0_0000u32.to_le_bytes(),
        );
        same(
            Scalar::F16,
            &0x7c01u16.to_le_bytes(),
            &0xfe00u16.to_le_bytes(),
        );
        same(
            Scalar::Bf16,
            &0x7f81u16.to_le_bytes(),
            &0xffc0u16.to_le_bytes(),
        );
    }

    #[test]
    fn everything_else_differs() {
        let f = |v: f64| digest(&v.to_le_bytes(), &scalar(Scalar::F64));
        let all = [
            f(0.0),
            f(-0.0),
            f(1.0),
            f(f64::INFINITY),
            f(-f64::INFINITY),
            f(f64::NAN),
        ];
        let unique: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
        let nan = f32::NAN.to_le_bytes();
        let other = (-f32::NAN).to_le_bytes();
        assert_ne!(
            digest(&nan, &scalar(Scalar::U32)),
            digest(&other, &scalar(Scalar::U32))
        );
    }

    #[test]
    fn padding_does_not_count() {
        let elem = ElemType::Struct(vec![scalar(Scalar::I8), scalar(Scalar::F32)]);
        let a = [1, 0, 0, 0, 0, 0, 128, 63];
        let b = [1, 9, 9, 9, 0, 0, 128, 63];
        assert_eq!(digest(&a, &elem), digest(&b, &elem));
        let c = [2, 0, 0, 0, 0, 0, 128, 63];
        assert_ne!(digest(&a, &elem), digest(&c, &elem));
    }

    #[test]
    fn incomplete_elements_count() {
        let elem = scalar(Scalar::F64);
        assert_ne!(digest(&[1, 2, 3], &elem), digest(&[1, 2, 4], &elem));
    }
}
