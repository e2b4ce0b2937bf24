//! What is written of a search: its header, hard cases, and units as processes hand them to each other.
use crate::confirm::ConfirmedValue;
use crate::format::{BinadeGrid, BinaryFormat, hex, parse};
use crate::function::ElementaryFunction;
use crate::leaf::{FoundCases, HardCase, Piece, PieceMethod, Query};
use crate::search::PhaseCounts;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Name of the format of certificates.
pub const SCHEMA: &str = "kerf.hardround-certificate/2";
/// Exact cases that are listed, of each unit.
const LISTED: usize = 16;

/// The first line: what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The function.
    pub function: String,
    /// Format of arguments and results.
    pub format: String,
    /// Start of the range.
    pub from: String,
    /// Its end, not in it.
    pub to: String,
    /// Identical bits.
    pub bits: u32,
    /// Units of work.
    pub units: u64,
    /// Device that searched.
    pub device: String,
    /// Whether the range is the whole domain, without what follows from exact symmetries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

impl Header {
    /// For a search.
    pub fn new(q: &Query, from: f64, to: f64, units: u64, device: &str) -> Header {
        Header {
            schema: SCHEMA.into(),
            function: q.function.name(),
            format: q.format.name.into(),
            from: hex(from),
            to: hex(to),
            bits: q.bits,
            units,
            device: device.into(),
            all: false,
        }
    }
    /// For a search of the whole domain.
    pub fn for_domain(q: &Query, units: u64, device: &str) -> Header {
        Header {
            all: true,
            ..Header::new(q, -f64::MAX, f64::MAX, units, device)
        }
    }
    /// The query and its range, for instructions `isa`; none if something in it is not known.
    pub fn query(&self) -> Option<(Query, f64, f64)> {
        let q = Query {
            function: ElementaryFunction::find(&self.function)?,
            format: BinaryFormat::find(&self.format)?,
            bits: self.bits,
            isa: Some(crate::search::Isa::best()),
        };
        Some((q, parse(&self.from)?, parse(&self.to)?))
    }
    /// Whether two searches ask the same, on whatever device.
    pub fn same(&self, o: &Header) -> bool {
        Header {
            device: o.device.clone(),
            ..self.clone()
        } == *o
    }
}

/// One hard case as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The argument.
    pub x: String,
    /// Identical bits after the round bit.
    pub k: u32,
    /// The round bit.
    pub round_bit: u8,
    /// The bit that is repeated.
    pub repeated: u8,
    /// `+` or `-`: sign of the value.
    pub sign: char,
    /// Exponent of the value's leading bit.
    pub binade: i32,
}

impl Written {
    /// Of a case; exact ones have no k and are not written so.
    pub fn new(c: &HardCase) -> Written {
        let ConfirmedValue {
            k,
            round_bit,
            ones,
            negative,
            exponent,
        } = c.value;
        Written {
            x: hex(c.x),
            k: k.unwrap_or(u32::MAX),
            round_bit: round_bit.into(),
            repeated: ones.into(),
            sign: if negative { '-' } else { '+' },
            binade: exponent,
        }
    }
}

impl Written {
    /// As it stands in a certificate: argument, k, round bit, repeated bit, sign and binade of the value.
    pub fn line(&self) -> String {
        format!(
            "{} {} {} {} {} {}",
            self.x, self.k, self.round_bit, self.repeated, self.sign, self.binade
        )
    }
    /// From such a line.
    pub fn from_line(line: &str) -> Option<Written> {
        let mut words = line.split(' ');
        let w = Written {
            x: words.next()?.to_owned(),
            k: words.next()?.parse().ok()?,
            round_bit: words.next()?.parse().ok()?,
            repeated: words.next()?.parse().ok()?,
            sign: words.next()?.parse().ok()?,
            binade: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(w)
    }
}

/// The first 12 bytes of a hash, hexadecimal.
pub(crate) fn short_hash(h: Sha256) -> String {
    let bytes = h.finalize();
    bytes.iter().take(12).map(|b| format!("{b:02x}")).collect()
}

/// The hash of a header and a record whose own hash is empty.
pub(crate) fn record_hash(header: &Header, bare: &impl Serialize) -> String {
    let mut h = Sha256::new();
    for text in [serde_json::to_string(header), serde_json::to_string(bare)] {
        h.update(text.unwrap_or_default());
        h.update("\n");
    }
    short_hash(h)
}

/// A unit as a process hands it to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitRecord {
    /// Its number.
    pub unit: u64,
    /// First argument by magnitude.
    pub first: String,
    /// Number of arguments.
    pub length: u64,
    /// How its pieces were dealt with.
    pub pieces: Vec<Piece>,
    /// What the phases saw.
    pub counts: PhaseCounts,
    /// Hard cases.
    pub cases: Vec<Written>,
    /// Number of exact cases among the arguments that were looked at.
    pub exact: u64,
    /// The first of them.
    pub exact_first: Vec<String>,
    /// Hash of header and unit.
    #[serde(default)]
    pub hash: String,
}

impl UnitRecord {
    /// The line of what was found.
    pub fn new(header: &Header, number: u64, grid: &BinadeGrid, found: &FoundCases) -> UnitRecord {
        let mut u = UnitRecord {
            unit: number,
            first: hex(grid.value(grid.first)),
            length: grid.len(),
            pieces: found.pieces.clone(),
            counts: found.counts,
            cases: found.cases.iter().map(Written::new).collect(),
            exact: found.exact.len() as u64,
            exact_first: found.exact.iter().take(LISTED).map(|x| hex(*x)).collect(),
            hash: String::new(),
        };
        u.hash = u.digest(header);
        u
    }
    /// What the hash has to be.
    pub fn digest(&self, header: &Header) -> String {
        let bare = UnitRecord {
            hash: String::new(),
            ..self.clone()
        };
        record_hash(header, &bare)
    }
    /// Arguments that are all hard, and not listed.
    pub fn uniform(&self) -> u64 {
        let all = self
            .pieces
            .iter()
            .filter(|p| p.method == PieceMethod::AllHard);
        all.map(|p| p.length).sum()
    }
}
