//! `.npy` files: round trips, files as numpy writes them, and files that are no good.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::elem::ElemType;
use crate::scalar::Scalar;

struct Fixture {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    Fixture {
        path: dir.path().join("a.npy"),
        _dir: dir,
    }
}

/// A file of version `major` with this header and data.
fn raw(major: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([major, 0]);
    match major {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

fn load(bytes: &[u8]) -> Result<NpyArray, String> {
    let f = fixture();
    std::fs::write(&f.path, bytes).unwrap();
    read(&f.path).map_err(|e| e.problem.to_string())
}

#[test]
fn every_scalar_round_trips() {
    for scalar in Scalar::ALL {
        for elem in [ElemType::Scalar(scalar), ElemType::Vector(scalar, 3)] {
            let f = fixture();
            let bytes: Vec<u8> = (0..6 * elem.size()).map(|i| i as u8).collect();
            write(&f.path, &elem, &[2, 3], &bytes).unwrap();
            let array = read(&f.path).unwrap();
            assert_eq!(array.bytes, bytes);
            let mut shape = vec![2, 3];
            shape.extend(matches!(elem, ElemType::Vector(..)).then_some(3));
            assert_eq!(array.header.shape, shape);
            array.header.check(&elem, 6).unwrap();
            assert!(array.header.check(&elem, 5).is_err());
            assert_eq!(array.header.type_name(), scalar.name());
        }
    }
}

#[test]
fn headers_are_what_numpy_writes() {
    let f = fixture();
    write(&f.path, &ElemType::Scalar(Scalar::F64), &[3], &[0; 24]).unwrap();
    let file = std::fs::read(&f.path).unwrap();
    let mut header = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    header.extend(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }");
    header.resize(127, b' ');
    header.push(b'\n');
    assert_eq!(file[..128], header);
    assert_eq!(file.len(), 128 + 24);
}

#[test]
fn structs_round_trip_with_padding() {
    let inner = ElemType::Struct(vec![
        ElemType::Scalar(Scalar::U8),
        ElemType::Scalar(Scalar::Bf16),
    ]);
    let elem = ElemType::Struct(vec![
        ElemType::Scalar(Scalar::F64),
        ElemType::Scalar(Scalar::I32),
        ElemType::Vector(Scalar::F32, 4),
        inner,
    ]);
    let f = fixture();
    let bytes: Vec<u8> = (0..2 * elem.size()).map(|i| i as u8).collect();
    write(&f.path, &elem, &[2], &bytes).unwrap();
    let file = std::fs::read(&f.path).unwrap();
    let text = String::from_utf8_lossy(&file);
    let descr = "[('f0', '<f8'), ('f1', '<i4'), ('', '|V4'), ('f2', '<f4', (4,)), \
                 ('f3', [('f0', '|u1'), ('', '|V1'), ('f1', '|V2')]), ('', '|V12')]";
    assert!(text.contains(descr), "{text}");
    let array = read(&f.path).unwrap();
    assert_eq!(array.bytes, bytes);
    array.header.check(&elem, 2).unwrap();
    let packed = ElemType::Struct(vec![ElemType::Scalar(Scalar::F64)]);
    let error = array.header.check(&packed, 2).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("type [f64 at 0, i32 at 8, f32 at 16"),
        "{message}"
    );
    assert!(message.ends_with("not [f64 at 0] of 8 bytes"), "{message}");
}

#[test]
fn long_headers_use_version_2() {
    let f = fixture();
    let elem = ElemType::Struct(vec![ElemType::Scalar(Scalar::U8); 5000]);
    write(&f.path, &elem, &[1], &[7; 5000]).unwrap();
    let file = std::fs::read(&f.path).unwrap();
    assert_eq!(file[6..8], [2, 0]);
    assert_eq!((file.len() - 5000) % 64, 0);
    let array = read(&f.path).unwrap();
    array.header.check(&elem, 1).unwrap();
}

#[test]
fn versions_orders_and_byte_orders() {
    let header = "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n";
    let data = [1.5f32.to_be_bytes(), (-2.0f32).to_be_bytes()].concat();
    for major in 1..=3 {
        let array = load(&raw(major, header, &data)).unwrap();
        let little = [1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat();
        assert_eq!(array.bytes, little);
    }
    // One long extent has no order; a single number has no extents.
    let column = "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2), }";
    assert_eq!(load(&raw(1, column, &[1, 2])).unwrap().header.shape, [1, 2]);
    let single = "{'descr': '|b1', 'fortran_order': False, 'shape': (), }";
    assert_eq!(load(&raw(1, single, &[1])).unwrap().bytes, [1]);
    let swapped = "{'descr': [('a', '>i2'), ('b', '<i2')], 'fortran_order': False, 'shape': (1,)}";
    assert_eq!(
        load(&raw(1, swapped, &[1, 2, 3, 4])).unwrap().bytes,
        [2, 1, 3, 4]
    );
}

#[test]
fn bad_files() {
    let with = |descr: &str, shape: &str| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        load(&raw(1, &header, &[0; 16])).unwrap_err()
    };
    assert_eq!(load(b"").unwrap_err(), "not a .npy file");
    assert_eq!(
        load(b"PK\x03\x04 an archive").unwrap_err(),
        "not a .npy file"
    );
    assert_eq!(
        load(b"\x93NUMPY\x04\x00").unwrap_err(),
        "version 4.0, not 1.0, 2.0 or 3.0"
    );
    assert_eq!(
        load(b"\x93NUMPY\x01\x00\x76").unwrap_err(),
        "truncated: 8 bytes where 10 are needed"
    );
    assert_eq!(
        load(b"\x93NUMPY\x01\x00\x76\x00{").unwrap_err(),
        "truncated: 11 bytes where 128 are needed"
    );
    assert_eq!(
        load(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}").unwrap_err(),
        "header of 4294967295 bytes"
    );
    assert_eq!(with("'|O'", "(1,)"), "type `|O` (Python objects)");
    assert_eq!(with("'<c16'", "(1,)"), "type `<c16` (complex numbers)");
    assert_eq!(with("'<U3'", "(1,)"), "type `<U3` (text)");
    assert_eq!(with("'<f16'", "(1,)"), "type `<f16`");
    assert_eq!(
        with("3", "(1,)"),
        "type that is neither a type string nor a list of fields"
    );
    assert_eq!(
        with("'<f8'", "(3,)"),
        "truncated: 81 bytes where 89 are needed"
    );
    assert_eq!(
        with("'<f8'", "(-1,)"),
        "header: `shape` has an extent that is no count"
    );
    assert_eq!(
        with("'<f8'", "(4294967296, 4294967296)"),
        "header: shape with too many elements"
    );
    assert_eq!(
        with("'<f8'", "(2305843009213693951,)"),
        "truncated: 99 bytes where 18446744073709551615 are needed"
    );
    assert_eq!(
        with("[('a', '<f8', (99999999999,))]", "(1,)"),
        "header: too many fields"
    );
    assert_eq!(
        with("[('', '|V99999999999')]", "(1,)"),
        "type that is neither a type string nor a list of fields"
    );
    assert_eq!(with("'<f8'", "8"), "header: `shape` is not a tuple");
    assert_eq!(
        load(&raw(1, "{'shape': ()}", &[])).unwrap_err(),
        "header: no `descr`"
    );
    let fortran = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1, 2)}";
    assert_eq!(
        load(&raw(1, fortran, &[0; 32])).unwrap_err(),
        "in Fortran order"
    );
    let missing = read(std::path::Path::new("/nonexistent/a.npy")).unwrap_err();
    assert!(missing.to_string().starts_with("/nonexistent/a.npy: "));
}

#[test]
fn writing_replaces_at_once_and_leaves_nothing_behind() {
    let f = fixture();
    let elem = ElemType::Scalar(Scalar::U8);
    write(&f.path, &elem, &[3], &[1, 2, 3]).unwrap();
    write(&f.path, &elem, &[2], &[4, 5]).unwrap();
    assert_eq!(read(&f.path).unwrap().bytes, [4, 5]);
    assert!(write(&f.path, &elem, &[2], &[4, 5, 6]).is_err());
    assert!(write(&f.path, &elem, &[usize::MAX, 2], &[]).is_err());
    let dir = f.path.parent().unwrap();
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 1);
    let target = dir.join("d.npy");
    std::fs::create_dir(&target).unwrap();
    assert!(write(&target, &elem, &[1], &[1]).is_err());
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 2);
}

proptest! {
    #[test]
    fn damaged_files_never_panic(cuts in prop::collection::vec((0..160usize, any::<u8>()), 0..6), end in 0..160usize) {
        let header = "{'descr': [('a', '<f8'), ('', '|V4'), ('b', '>i4', (3,))], 'fortran_order': False, 'shape': (2, 1), }";
        let mut file = raw(1, header, &[1; 56]);
        for (at, byte) in cuts {
            if let Some(b) = file.get_mut(at) {
                *b = byte;
            }
        }
        let length = file.len().saturating_sub(end / 8);
        let _ = load(&file[..length]);
    }
}
