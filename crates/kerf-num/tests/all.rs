//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod acceptance;
mod dd;
mod dd_special;
mod doubleword;
mod explog;
mod format;
mod metrics;
mod oracle;
mod portable;
mod scaled;
mod ulp;
