//! Math calls of a kernel that are computed by functions made for a range.
//!
//! A plan has the function's code. Arguments that it was made for get the bits of that code on both executors; all others,
//! and NaN, those of the library's function, each thread by itself. How it gets into the program is said in `math/made.rs`.
use crate::site_format::SiteFormat;
use kerf_num::made::MadeFunction;
use serde::{Deserialize, Serialize};

/// Sites of a kernel that one made function serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeCalls {
    /// The sites, ascending.
    pub sites: Vec<usize>,
    /// The function, with its code.
    pub function: MadeFunction,
}

/// Why a made function does not compute a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MadeCallError {
    /// Its values are vectors.
    #[error("a site on vectors has no made function")]
    Vector,
    /// It calls no function that can be made.
    #[error(
        "only calls of libdevice's functions of one number, and of pow, hypot, rhypot, atan2 and sincos, can be by made functions"
    )]
    NoCall,
    /// It calls another function.
    #[error("it is {call}, and the function was made for {made}")]
    OtherFunction {
        /// What it calls.
        call: String,
        /// What the function was made for.
        made: String,
    },
    /// The function has other arguments or results than the call.
    #[error("the code for {0} has not the arguments and results of the call")]
    OtherForm(String),
    /// Its values are pairs.
    #[error("double words ({0}) have no made functions")]
    Pair(SiteFormat),
    /// It is computed in another format.
    #[error("in {format} it is computed in {needed}, and the function was made in {made}")]
    OtherFormat {
        /// Format of the site.
        format: SiteFormat,
        /// In which it is computed.
        needed: &'static str,
        /// Format of the function.
        made: &'static str,
    },
    /// It is rewritten.
    #[error("its expression is rewritten")]
    Rewritten,
    /// It has a variant or a made function already.
    #[error("the plan names another way to compute it")]
    Twice,
}

/// The made function of a site.
pub(crate) fn function_of(made: &[MadeCalls], site: usize) -> Option<&MadeFunction> {
    let found = made.iter().find(|c| c.sites.contains(&site));
    found.map(|c| &c.function)
}

/// Gives a site a made function, in the place of the one that it may have.
pub(crate) fn put(made: &mut Vec<MadeCalls>, site: usize, function: &MadeFunction) {
    remove(made, |s| s == site);
    let id = function.id();
    match made.iter_mut().find(|c| c.function.id() == id) {
        Some(c) => {
            c.sites.push(site);
            c.sites.sort_unstable();
        }
        None => made.push(MadeCalls {
            sites: vec![site],
            function: function.clone(),
        }),
    }
}

/// Takes made functions from sites.
pub(crate) fn remove(made: &mut Vec<MadeCalls>, is_gone: impl Fn(usize) -> bool) {
    made.iter_mut()
        .for_each(|c| c.sites.retain(|s| !is_gone(*s)));
    made.retain(|c| !c.sites.is_empty());
}
