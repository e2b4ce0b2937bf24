//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod algebra;
mod coarsen;
mod common;
mod counted;
mod dimensions;
mod files;
mod modes;
mod narrow_stores;
mod oracle;
mod partition;
mod random;
mod records;
mod references;
