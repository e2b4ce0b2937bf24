//! Digests of content.
use sha2::{Digest, Sha256};

/// SHA-256 of bytes, in hex.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|b| format!("{b:02x}")).collect()
}
