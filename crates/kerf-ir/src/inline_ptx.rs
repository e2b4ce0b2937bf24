//! stub
use crate::llvm::Module;
/// stub
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Unlifted { /// f
pub function: String, /// t
pub text: String, /// r
pub reason: String, /// l
pub location: Option<String> }
/// stub
pub fn lift(_m: &Module) -> Vec<Unlifted> { Vec::new() }
