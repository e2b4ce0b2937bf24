//! The record of a search: a header, then a line for each group of units ([`crate::group`]), with what the phases saw, what
//! was found, and a hash. It is the journal that a search resumes from, and what is verified afterwards.
use crate::group::GroupRecord;
pub use crate::unit_record::{Header, SCHEMA, UnitRecord, Written};
use std::io::BufRead;

/// What is wrong with a certificate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CertificateError {
    /// The first line.
    #[error("the first line is not the header of a certificate: {0}")]
    Header(String),
    /// Another version.
    #[error("the certificate is of schema {0}, this version reads {SCHEMA}")]
    Schema(String),
    /// A line within.
    #[error("line {0}: {1}")]
    Line(usize, String),
}

/// A certificate as far as it goes.
#[derive(Debug, Clone)]
pub struct CertificateRecord {
    /// What was asked.
    pub header: Header,
    /// Groups of units that are whole and whose hash is right.
    pub groups: Vec<GroupRecord>,
    /// Bytes up to the end of the last whole line: what follows was cut off while being written.
    pub whole: u64,
}

impl CertificateRecord {
    /// Reads one. A last line without an end is left out.
    pub fn parse(text: &str) -> Result<CertificateRecord, CertificateError> {
        let mut groups = Vec::new();
        let read = read(text.as_bytes(), |g| groups.push(g))?;
        let (header, whole) =
            read.ok_or_else(|| CertificateError::Header("it has no end".into()))?;
        Ok(CertificateRecord {
            header,
            groups,
            whole,
        })
    }
}

/// Reads a certificate line by line: gives its header and the bytes of its whole lines, and each group to `each`. None
/// where not even the first line is whole.
pub fn read(
    mut input: impl BufRead,
    mut each: impl FnMut(GroupRecord),
) -> Result<Option<(Header, u64)>, CertificateError> {
    let mut header: Option<Header> = None;
    let (mut whole, mut line) = (0, String::new());
    for n in 1.. {
        line.clear();
        let bytes = input.read_line(&mut line);
        let bytes = bytes.map_err(|e| CertificateError::Line(n, e.to_string()))?;
        if !line.ends_with('\n') {
            break;
        }
        whole += bytes as u64;
        let Some(of) = &header else {
            let first: Header =
                serde_json::from_str(&line).map_err(|e| CertificateError::Header(e.to_string()))?;
            if first.schema != SCHEMA {
                return Err(CertificateError::Schema(first.schema));
            }
            header = Some(first);
            continue;
        };
        let group: GroupRecord =
            serde_json::from_str(&line).map_err(|e| CertificateError::Line(n, e.to_string()))?;
        if group.digest(of) != group.hash {
            let what = format!(
                "the hash of the units from {} on is not that of their content",
                group.unit
            );
            return Err(CertificateError::Line(n, what));
        }
        each(group);
    }
    Ok(header.map(|h| (h, whole)))
}
