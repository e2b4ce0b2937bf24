//! Units one after the other, as a line of the certificate: sums, cases, and a digest of the pieces, which are derived
//! again when the certificate is verified.
use crate::leaf::{Piece, PieceMethod};
use crate::search::PhaseCounts;
use crate::unit_record::{Header, UnitRecord, Written, record_hash, short_hash};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ops::Range;

/// Exact cases that are listed, of each group.
const LISTED: usize = 16;

/// Tests of a group on intervals of one length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TestSummary {
    /// Arguments of an interval.
    pub n: u64,
    /// Pieces.
    pub pieces: u64,
    /// The least ratio, over all pieces, of a bound that was used to what it has to be at least: d to 2 eps + R + s, R to
    /// what F'' says, s to what truncation costs. Not below 1.
    pub margin: f64,
}

/// A line of the certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Number of the first unit.
    pub unit: u64,
    /// Number of units.
    pub units: u64,
    /// First argument of the first unit, by magnitude.
    pub first: String,
    /// Number of arguments.
    pub length: u64,
    /// Arguments by how they were dealt with.
    pub methods: BTreeMap<String, u64>,
    /// The tests.
    pub tests: Vec<TestSummary>,
    /// Digest of the pieces of all units.
    pub pieces: String,
    /// What the phases saw.
    pub counts: PhaseCounts,
    /// Hard cases: argument, k, round bit, repeated bit, sign and binade of the value.
    pub cases: Vec<String>,
    /// Number of exact cases among the arguments that were looked at.
    pub exact: u64,
    /// The first of them.
    pub exact_first: Vec<String>,
    /// Hash of header and group.
    #[serde(default)]
    pub hash: String,
}

impl PieceMethod {
    /// Its name, without bounds.
    pub fn name(&self) -> &'static str {
        match self {
            PieceMethod::Test { .. } => "test",
            PieceMethod::Walk => "walk",
            PieceMethod::Evaluate => "evaluate",
            PieceMethod::AllHard => "all-hard",
            PieceMethod::NoneHard => "none-hard",
            PieceMethod::Overflow => "overflow",
            PieceMethod::Underflow => "underflow",
        }
    }
}

/// A digest of pieces, as far as they do not depend on the device: whether a smooth piece is tested or walked is
/// the device's choice.
#[derive(Default)]
pub struct PiecesDigest(Sha256);

impl PiecesDigest {
    /// Adds a unit's pieces.
    pub fn add(&mut self, pieces: &[Piece]) {
        for p in pieces {
            let method = match p.method {
                PieceMethod::Test { .. } => "walk",
                m => m.name(),
            };
            let (low, high) = p.second.unwrap_or((0.0, 0.0));
            self.0.update(method);
            for word in [
                p.first,
                p.length,
                low.to_bits(),
                high.to_bits(),
                p.error.to_bits(),
            ] {
                self.0.update(word.to_le_bytes());
            }
        }
        self.0.update("\n");
    }
    /// The first 12 bytes, hexadecimal.
    pub fn text(self) -> String {
        short_hash(self.0)
    }
}

/// How much larger the bounds of a test are than they have to be, at least.
fn margin(p: &Piece, eps: f64) -> Option<(u64, f64)> {
    let PieceMethod::Test { n, r, s, d } = p.method else {
        return None;
    };
    let (low, high) = p.second?;
    let nf = n as f64;
    let bend = (high.max(0.0) - low.min(0.0)) * nf * nf / 8.0;
    let truncation = 2.0 * (nf + 1.0) * 2f64.powi(-52);
    // NaN becomes 0, which is too small: f64::min would drop it.
    let ratio = |is: f64, has_to_be: f64| match has_to_be > 0.0 {
        true => (is / has_to_be).max(0.0),
        false => f64::MAX,
    };
    let least = ratio(d, 2.0 * eps + r + s).min(ratio(s, truncation));
    Some((n, least.min(ratio(r, bend))))
}

impl GroupRecord {
    /// Of units that follow each other, in order; none where there are none.
    pub fn new(header: &Header, units: &[UnitRecord]) -> Option<GroupRecord> {
        let first = units.first()?;
        let eps = 2f64.powi(-(header.bits as i32));
        let mut g = GroupRecord {
            unit: first.unit,
            units: units.len() as u64,
            first: first.first.clone(),
            length: 0,
            methods: BTreeMap::new(),
            tests: Vec::new(),
            pieces: String::new(),
            counts: PhaseCounts::default(),
            cases: Vec::new(),
            exact: 0,
            exact_first: Vec::new(),
            hash: String::new(),
        };
        let mut digest = PiecesDigest::default();
        let mut tests: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
        for u in units {
            g.length += u.length;
            g.counts.add(&u.counts);
            g.cases.extend(u.cases.iter().map(Written::line));
            g.exact += u.exact;
            let room = LISTED - g.exact_first.len();
            g.exact_first
                .extend(u.exact_first.iter().take(room).cloned());
            digest.add(&u.pieces);
            for p in &u.pieces {
                *g.methods.entry(p.method.name().into()).or_default() += p.length;
                if let Some((n, m)) = margin(p, eps) {
                    let sum = tests.entry(n).or_insert((0, f64::MAX));
                    *sum = (sum.0 + 1, sum.1.min(m));
                }
            }
        }
        let summary = |(n, (pieces, margin))| TestSummary { n, pieces, margin };
        g.tests = tests.into_iter().map(summary).collect();
        g.pieces = digest.text();
        g.hash = g.digest(header);
        Some(g)
    }

    /// Numbers of its units.
    pub fn range(&self) -> Range<u64> {
        self.unit..self.unit.saturating_add(self.units)
    }

    /// What the hash has to be.
    pub fn digest(&self, header: &Header) -> String {
        let bare = GroupRecord {
            hash: String::new(),
            ..self.clone()
        };
        record_hash(header, &bare)
    }
}
