//! Whether a buffer of a workload consists of the records that a plan says, and which records it could consist of.
use kerf_pass::RecordPlan;
use kerf_pass::records::RecordRefusal;
use kerf_workload::elem::ElemType;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::BufferSpec;

/// Why a buffer does not consist of a plan's records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordMisfit {
    /// It has other scalars.
    #[error(
        "its elements are {elements}, and the plan's records [{}]",
        names(fields)
    )]
    Scalars {
        /// Type of its elements.
        elements: String,
        /// Fields of the plan's records.
        fields: Vec<Scalar>,
    },
    /// It ends in a part of a record.
    #[error("its {scalars} scalars are no multiple of the {fields} fields of a record")]
    PartOfRecord {
        /// Scalars of the buffer.
        scalars: usize,
        /// Fields of a record.
        fields: usize,
    },
    /// It is the content of a variable.
    #[error(
        "it is the content of variable `{symbol}`; records of parameters alone are stored otherwise"
    )]
    Variable {
        /// The variable.
        symbol: String,
    },
    /// Such records cannot be stored otherwise.
    #[error(transparent)]
    Refused(#[from] RecordRefusal),
}

fn names(fields: &[Scalar]) -> String {
    let all: Vec<&str> = fields.iter().map(|s| s.name()).collect();
    all.join(", ")
}

/// The scalars of an element, if nothing is between and behind them.
fn packed_scalars(e: &ElemType) -> Option<Vec<Scalar>> {
    let scalars = e.scalars();
    let bytes: usize = scalars.iter().map(|(_, s)| s.bytes()).sum();
    (bytes == e.size()).then(|| scalars.into_iter().map(|(_, s)| s).collect())
}

/// Whether a buffer consists of a plan's records; the reason if not.
pub(crate) fn fits(b: &BufferSpec, r: &RecordPlan) -> Result<(), RecordMisfit> {
    if let Some(symbol) = &b.symbol {
        let symbol = symbol.clone();
        return Err(RecordMisfit::Variable { symbol });
    }
    let other = || RecordMisfit::Scalars {
        elements: b.elem.to_string(),
        fields: r.fields.clone(),
    };
    let element = packed_scalars(&b.elem).ok_or_else(other)?;
    let repeated = r.fields.len().is_multiple_of(element.len());
    let all = element.iter().cycle().take(r.fields.len());
    if !repeated || !all.eq(&r.fields) {
        return Err(other());
    }
    let scalars = element.len() * b.len;
    match scalars.is_multiple_of(r.fields.len()) {
        true => Ok(()),
        false => Err(RecordMisfit::PartOfRecord {
            scalars,
            fields: r.fields.len(),
        }),
    }
}

/// The fields of the records that a buffer's elements are, where `scalars` of them make a record to the kernels; none where they
/// are no records.
pub fn fields(b: &BufferSpec, scalars: Option<usize>) -> Option<Vec<Scalar>> {
    let element = packed_scalars(&b.elem)?;
    let count = match (element.len(), scalars) {
        (1, None) => return None,
        (n, None) => n,
        (n, Some(s)) => s.next_multiple_of(n),
    };
    let fields: Vec<Scalar> = element.iter().cycle().take(count).copied().collect();
    let whole = (element.len() * b.len).is_multiple_of(count);
    (whole && b.symbol.is_none()).then_some(fields)
}
