//! Results for people: a page, a text and a summary made from the folder that `kerf tune` writes.
//!
//! * [`gather`] reads the folder, [`listing`] turns programs into lines with their places in the source.
//! * [`claims`] says what a result shows and what it does not; everything else takes its sentences from there.
//! * [`app`] is all of it for applications.
//! * [`markup`] has the pieces of pages.
//! * [`page`] is one HTML file that needs nothing else; [`explain`] is the same as text, [`markdown`] for a
//!   pull request, [`evaluations`] every run as a table.
#![warn(missing_docs)]

pub mod app;
pub mod claims;
pub mod evaluations;
pub mod explain;
pub mod gather;
mod kept;
pub mod listing;
pub mod markdown;
pub mod markup;
pub mod page;
mod words;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder.
    #[error(transparent)]
    Result(#[from] kerf_tune::result::ResultError),
    /// The evaluations.
    #[error(transparent)]
    Store(#[from] kerf_tune::store::StoreError),
    /// The page.
    #[error("the page could not be made: {0}")]
    Page(String),
}
