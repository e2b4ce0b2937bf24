//! Levels of a group of math calls: functions made for their arguments, by error.
use crate::setting::{MADE, Setting, intern};
use kerf_num::Format;
use kerf_num::made::{MadeFunction, WorkingFormat};
use kerf_pass::SiteFormat;
use serde::{Deserialize, Serialize};

/// A level of a group of math calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeLevel {
    /// The error that was asked for.
    pub error: f64,
    /// A function for each format that the calls may have.
    pub functions: Vec<MadeFunction>,
}

impl MadeLevel {
    /// As the search names it.
    pub fn setting(&self) -> Setting {
        Setting::Made(intern(&format!("{MADE}{:e}", self.error)))
    }

    /// The function for a site that has a format.
    pub fn function(&self, format: SiteFormat) -> Option<&MadeFunction> {
        let working = working_format(format)?;
        self.functions.iter().find(|f| f.format() == working)
    }
}

/// The format in which a function of a site is computed; none of double words.
pub(crate) fn working_format(format: SiteFormat) -> Option<WorkingFormat> {
    match (format.is_pair(), format.word()) {
        (true, _) => None,
        (_, Format::F64) => Some(WorkingFormat::F64),
        _ => Some(WorkingFormat::F32),
    }
}
