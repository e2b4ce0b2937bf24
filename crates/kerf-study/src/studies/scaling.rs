//! Strong scaling of the hard-to-round search over processes of this machine, for the study of the Table Maker's
//! Dilemma.
use crate::Scale;
use crate::finding::{Finding, FindingVerdict, short};
use crate::report::StudyReport;
use crate::table::{Table, TableCell};

/// Published: cores, and how many times as fast they were as one.
const PUBLISHED: (usize, f64) = (12, 11.3);

/// Adds the table and what it says to the report. `search` gives the seconds, and the cases found, of a search of
/// 2^`bits` arguments by so many processes.
pub fn add<E>(
    report: &mut StudyReport,
    scale: Scale,
    mut search: impl FnMut(usize, u32) -> Result<(f64, u64), E>,
) -> Result<(), E> {
    let bits = match scale {
        Scale::Tiny | Scale::Quick => 38,
        Scale::Full => 42,
        Scale::Large => 44,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut t = Table::new(
        "scaling",
        &format!("Strong scaling over processes of one thread, 2^{bits} arguments"),
        &["processes", "seconds", "times_as_fast", "cases"],
    );
    let mut one = None;
    let mut last;
    let mut counts = Vec::new();
    let mut n = 1;
    loop {
        let (s, cases) = search(n, bits)?;
        let faster = *one.get_or_insert(s) / s;
        t.rows.push(vec![
            TableCell::Integer(n as u64),
            TableCell::Real(s),
            TableCell::Real(faster),
            TableCell::Integer(cases),
        ]);
        last = (n, faster);
        counts.push(cases);
        if n >= cores {
            break;
        }
        n = (2 * n).min(cores);
    }
    report.tables.push(t);
    let (n, faster) = last;
    let verdict = match n > 1 {
        true => FindingVerdict::by_cases(usize::from(faster > 0.8 * n as f64), 1),
        false => FindingVerdict::NotJudged,
    };
    report.findings.push(Finding::new(
        "the search scales with processes (at least 0.8 of their number)",
        "figure of strong scaling",
        verdict,
        format!(
            "{n} processes are {} times as fast as one, published {} on {} cores; the same {} cases each time: {}",
            short(faster),
            PUBLISHED.1,
            PUBLISHED.0,
            counts[0],
            if counts.iter().all(|c| *c == counts[0]) { "yes" } else { "no" },
        ),
    ));
    Ok(())
}
