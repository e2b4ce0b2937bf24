//! The part of protobuf's wire format that ONNX files need, and ONNX's messages in it.
//!
//! Field numbers are those of `onnx.proto` (ONNX IR version 8), so nothing has to be generated at build time.

/// A protobuf message that is being written.
#[derive(Debug, Default, Clone)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }
    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }
    pub(super) fn int(&mut self, field: u32, v: i64) -> &mut Self {
        self.key(field, 0);
        self.varint(v as u64);
        self
    }
    pub(super) fn float(&mut self, field: u32, v: f32) -> &mut Self {
        self.key(field, 5);
        self.0.extend(v.to_le_bytes());
        self
    }
    pub(super) fn bytes(&mut self, field: u32, v: &[u8]) -> &mut Self {
        self.key(field, 2);
        self.varint(v.len() as u64);
        self.0.extend(v);
        self
    }
    pub(super) fn text(&mut self, field: u32, v: &str) -> &mut Self {
        self.bytes(field, v.as_bytes())
    }
    pub(super) fn message(&mut self, field: u32, v: &Message) -> &mut Self {
        self.bytes(field, &v.0)
    }
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Element types of ONNX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elem {
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Int32 = 6,
}

/// A constant.
pub(super) fn tensor(name: &str, dims: &[usize], elem: Elem, raw: &[u8]) -> Message {
    let mut m = Message::default();
    for &d in dims {
        m.int(1, d as i64);
    }
    m.int(2, elem as i64).text(8, name).bytes(9, raw);
    m
}

/// Name, element type and shape of an input or output, whose first dimension is the batch.
pub(super) fn value_info(name: &str, elem: Elem, dims: &[usize]) -> Message {
    let mut shape = Message::default();
    let mut batch = Message::default();
    batch.text(2, "batch");
    shape.message(1, &batch);
    for &d in dims {
        let mut dim = Message::default();
        dim.int(1, d as i64);
        shape.message(1, &dim);
    }
    let mut dense = Message::default();
    dense.int(1, elem as i64).message(2, &shape);
    let mut kind = Message::default();
    kind.message(1, &dense);
    let mut m = Message::default();
    m.text(1, name).message(2, &kind);
    m
}

/// A value of an attribute.
#[derive(Debug, Clone)]
pub(super) enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
}

/// One operation.
pub(super) fn node(
    op: &str,
    name: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[(&str, Attribute)],
) -> Message {
    let mut m = Message::default();
    for i in inputs {
        m.text(1, i);
    }
    for o in outputs {
        m.text(2, o);
    }
    m.text(3, name).text(4, op);
    for (name, value) in attributes {
        let mut a = Message::default();
        a.text(1, name);
        match value {
            Attribute::Float(f) => a.float(2, *f).int(20, 1),
            Attribute::Int(i) => a.int(3, *i).int(20, 2),
            Attribute::Ints(all) => {
                for i in all {
                    a.int(8, *i);
                }
                a.int(20, 7)
            }
        };
        m.message(5, &a);
    }
    m
}

/// What a file consists of.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) nodes: Vec<Message>,
    pub(super) constants: Vec<Message>,
    pub(super) inputs: Vec<Message>,
    pub(super) outputs: Vec<Message>,
}

/// A whole file.
pub(super) fn model(name: &str, opset: i64, parts: &Parts, notes: &[(&str, String)]) -> Vec<u8> {
    let mut graph = Message::default();
    for n in &parts.nodes {
        graph.message(1, n);
    }
    graph.text(2, name);
    for (field, all) in [
        (5, &parts.constants),
        (11, &parts.inputs),
        (12, &parts.outputs),
    ] {
        for m in all {
            graph.message(field, m);
        }
    }
    let mut opsets = Message::default();
    opsets.text(1, "").int(2, opset);
    let mut m = Message::default();
    m.int(1, 8)
        .text(2, "kerf")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, &graph)
        .message(8, &opsets);
    for (key, value) in notes {
        let mut entry = Message::default();
        entry.text(1, key).text(2, value);
        m.message(14, &entry);
    }
    m.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_format_is_protobufs() {
        // The example of protobuf's own description: field 1 with 150 is 08 96 01; field 2 "testing".
        let mut m = Message::default();
        m.int(1, 150).text(2, "testing");
        let expected = [
            0x08, 0x96, 0x01, 0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g',
        ];
        assert_eq!(m.into_bytes(), expected);
        let mut m = Message::default();
        m.int(1, -1).float(2, 1.0);
        let mut expected = vec![0x08];
        expected.extend([0xff; 9]);
        expected.extend([0x01, 0x15, 0, 0, 0x80, 0x3f]);
        assert_eq!(m.into_bytes(), expected);
    }
}
