//! Tuners: from a workload and a tolerance to the fastest plan within it, with the evidence.
//!
//! The modules are layers, and imports go one way, from later ones to earlier ones:
//!
//! * What is tuned: [`subject`] (with [`storage`], its memory), [`setting`] and [`group`] (levels and variables of a search),
//!   [`approx`] (math calls and warps), [`launch`] (shapes of launches), [`tunable`] (all of it together), [`problem`] (from a
//!   subject and a scope to it).
//! * Prediction: [`prediction`] is what a model answers, [`score`], [`counted`], [`coded`] and [`ranges`] are models,
//!   [`models`] decides which are used.
//! * Evaluation: [`request`] is what is asked for, [`evaluate`] runs plans in worker processes, [`validate`] tries them on
//!   other inputs, [`store`] keeps every evaluation; [`counts`], [`precheck`] and [`launch::prepare`] run the program before the
//!   search.
//! * Results: [`mod@result`] is what is written, [`evidence`] what is seen beside it; [`error`] and [`event`] are what a search
//!   tells on its way.
//! * Search: [`tune`] is the search over a workload, [`app`] over a whole application.
//!
//! Beside them, [`tradeoff`] is time and error over the part of the warps that is approximate.
#![warn(missing_docs)]

pub mod algebra;
pub mod app;
pub mod approx;
pub mod blocks;
pub mod check;
pub mod coarse;
pub mod code;
pub mod coded;
pub mod confidence;
pub mod counted;
pub mod counts;
pub mod criteria;
pub mod duration;
pub mod error;
pub mod evaluate;
pub mod event;
pub mod evidence;
pub mod formats;
pub mod front;
pub mod full_size;
pub mod group;
pub mod launch;
pub mod layout_choice;
mod layouts;
pub mod made;
pub mod made_level;
mod made_range;
pub mod measure;
pub mod models;
pub mod plan_evaluation;
pub mod precheck;
pub mod prediction;
mod prediction_threads;
pub mod problem;
mod program_check;
pub mod ranges;
pub mod records;
pub mod request;
pub mod rescore;
pub mod result;
pub mod rewrite_level;
pub mod sample;
pub mod scaled;
pub mod score;
pub mod setting;
mod settings;
pub mod storage;
pub mod store;
pub mod subject;
pub mod tradeoff;
pub mod tunable;
pub mod tune;
mod tuner;
pub mod validate;
