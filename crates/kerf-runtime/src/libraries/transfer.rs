//! Copies that cuBLAS offers: vectors and matrices between host and device. They are the runtime's own on both devices, so that the trace
//! sees what comes to the host.
use super::on_cpu::Int;
use crate::copy::{line, rows};
use crate::error::CallFailure;
use crate::state::{State, with_state};
use kerf_exec::raw::Rectangle;
use std::ffi::c_void;

const TO_DEVICE: i32 = 1;
const TO_HOST: i32 = 2;

/// `CUBLAS_STATUS_INVALID_VALUE` and `CUBLAS_STATUS_MAPPING_ERROR`.
const INVALID: i32 = 7;
const MAPPING: i32 = 11;

/// A matrix of `elements` bytes each, in columns.
struct Columns {
    rows: i64,
    columns: i64,
    bytes: i64,
    from: (u64, i64),
    to: (u64, i64),
}

fn transfer(kind: i32, c: Columns, stream: u64, wait: bool) -> i32 {
    let Columns {
        rows: m,
        columns: n,
        bytes,
        ..
    } = c;
    if m < 0 || n < 0 || bytes <= 0 || c.from.1 < m.max(1) || c.to.1 < m.max(1) {
        return INVALID;
    }
    let copy = |s: &mut State| -> Result<(), CallFailure> {
        let width = (m * bytes) as usize;
        if n == 1 {
            return line(s, c.to.0, c.from.0, width, kind, stream, wait);
        }
        let r = Rectangle {
            to: c.to.0,
            to_pitch: (c.to.1 * bytes) as usize,
            from: c.from.0,
            from_pitch: (c.from.1 * bytes) as usize,
            width,
            rows: n as usize,
        };
        rows(s, r, kind, stream, wait)
    };
    match m == 0 || n == 0 || with_state(copy).is_ok() {
        true => 0,
        false => MAPPING,
    }
}

fn vector<I: Int>(
    kind: i32,
    (n, bytes): (I, I),
    from: (u64, I),
    to: (u64, I),
    stream: Option<u64>,
) -> i32 {
    let n = n.value();
    let (from, to) = ((from.0, from.1.value()), (to.0, to.1.value()));
    if from.1 <= 0 || to.1 <= 0 {
        return INVALID;
    }
    let dense = from.1 == 1 && to.1 == 1;
    let (rows, columns) = if dense { (n, 1) } else { (1, n) };
    let at = |(address, stride): (u64, i64)| (address, if dense { n.max(1) } else { stride });
    let c = Columns {
        rows,
        columns,
        bytes: bytes.value(),
        from: at(from),
        to: at(to),
    };
    transfer(kind, c, stream.unwrap_or(0), stream.is_none())
}

extern "C" fn copy_vector<I: Int, const KIND: i32>(
    n: I,
    bytes: I,
    x: u64,
    incx: I,
    y: u64,
    incy: I,
) -> i32 {
    vector(KIND, (n, bytes), (x, incx), (y, incy), None)
}

extern "C" fn copy_vector_async<I: Int, const KIND: i32>(
    n: I,
    bytes: I,
    x: u64,
    incx: I,
    y: u64,
    incy: I,
    stream: u64,
) -> i32 {
    vector(KIND, (n, bytes), (x, incx), (y, incy), Some(stream))
}

fn matrix<I: Int>(
    kind: i32,
    (m, n, bytes): (I, I, I),
    from: (u64, I),
    to: (u64, I),
    stream: Option<u64>,
) -> i32 {
    let c = Columns {
        rows: m.value(),
        columns: n.value(),
        bytes: bytes.value(),
        from: (from.0, from.1.value()),
        to: (to.0, to.1.value()),
    };
    transfer(kind, c, stream.unwrap_or(0), stream.is_none())
}

extern "C" fn copy_matrix<I: Int, const KIND: i32>(
    m: I,
    n: I,
    bytes: I,
    a: u64,
    lda: I,
    b: u64,
    ldb: I,
) -> i32 {
    matrix(KIND, (m, n, bytes), (a, lda), (b, ldb), None)
}

extern "C" fn copy_matrix_async<I: Int, const KIND: i32>(
    m: I,
    n: I,
    bytes: I,
    a: u64,
    lda: I,
    b: u64,
    ldb: I,
    stream: u64,
) -> i32 {
    matrix(KIND, (m, n, bytes), (a, lda), (b, ldb), Some(stream))
}

fn sized<I: Int>(name: &str) -> Option<*const c_void> {
    Some(match name {
        "SetVector" => copy_vector::<I, TO_DEVICE> as *const c_void,
        "GetVector" => copy_vector::<I, TO_HOST> as *const c_void,
        "SetVectorAsync" => copy_vector_async::<I, TO_DEVICE> as *const c_void,
        "GetVectorAsync" => copy_vector_async::<I, TO_HOST> as *const c_void,
        "SetMatrix" => copy_matrix::<I, TO_DEVICE> as *const c_void,
        "GetMatrix" => copy_matrix::<I, TO_HOST> as *const c_void,
        "SetMatrixAsync" => copy_matrix_async::<I, TO_DEVICE> as *const c_void,
        "GetMatrixAsync" => copy_matrix_async::<I, TO_HOST> as *const c_void,
        _ => return None,
    })
}

/// The runtime's own function for a copy of cuBLAS.
pub fn function(name: &str) -> Option<*const c_void> {
    let name = name.strip_prefix("cublas")?;
    match name.strip_suffix("_64") {
        Some(name) => sized::<i64>(name),
        None => sized::<i32>(name),
    }
}
