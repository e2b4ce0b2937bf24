//! How a profile's JSON is laid out: objects indented, arrays in one line, since the error maps are
//! thousands of short arrays.
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{Result, Write};

/// Indents objects alone.
#[derive(Default)]
pub struct Layout(PrettyFormatter<'static>);

impl Formatter for Layout {
    fn begin_array_value<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }
    fn begin_object<W: ?Sized + Write>(&mut self, w: &mut W) -> Result<()> {
        self.0.begin_object(w)
    }
    fn end_object<W: ?Sized + Write>(&mut self, w: &mut W) -> Result<()> {
        self.0.end_object(w)
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> Result<()> {
        self.0.begin_object_key(w, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, w: &mut W) -> Result<()> {
        self.0.begin_object_value(w)
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, w: &mut W) -> Result<()> {
        self.0.end_object_value(w)
    }
}
