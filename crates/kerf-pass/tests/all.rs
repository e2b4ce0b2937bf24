//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod addresses;
mod coarsen;
mod composite;
mod count;
mod golden;
mod lanes;
mod libdevice;
mod library;
mod lower;
mod made;
mod math;
mod math_values;
mod partition_shapes;
mod reference_library;
mod rewriting;
mod shadow_places;
mod storage;
