//! Judging a kernel that somebody else wrote: is it a correct and faster version of another one?
//!
//! * [`cases`] chooses inputs: other seeds, other sizes, values at the edges of their formats.
//! * [`trials`] runs both programs on them in worker processes (`kerf_run::job::CandidateBench`), [`minimise`] finds the
//!   smallest sizes at which a defect shows.
//! * [`speed`] measures both in turn on a GPU, or predicts.
//! * [`judge`] does all of it; [`verdict`] is the document that it gives, [`text`] and [`page`] say it for people.
//! * [`suite`] finds the candidates of a folder.
#![warn(missing_docs)]

pub mod cases;
pub mod judge;
pub mod minimise;
pub mod page;
pub mod speed;
pub mod suite;
pub mod text;
pub mod trials;
pub mod verdict;
