//! A whole run of an application, recorded and replayed.
//!
//! `KERF_REPLAY_RECORD` names a folder: what the program does to the device is kept there in order, with the bytes that it
//! copies to and from it ([`format`]). Device memory then lies in a range of addresses that other processes can have too.
//! [`player`] does the same again with a plan, in a process without the program. Calls that cannot be replayed are
//! refused by name, and the program is not disturbed.
mod comparison;
mod entry;
mod files;
pub mod format;
pub mod hooks;
mod outputs;
mod player;
pub mod recorder;
