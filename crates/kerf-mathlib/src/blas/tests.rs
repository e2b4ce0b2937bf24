//! Against the definition, and values known from elsewhere.
use super::*;

fn number(i: usize) -> f64 {
    ((i * 7919 + 13) % 1009) as f64 / 37.0 - 12.0
}

fn matrix(rows: usize, columns: usize, seed: usize) -> Dense<f64> {
    Dense::from_fn(rows, columns, |i, j| number(seed + 31 * i + 1000 * j))
}

#[test]
fn a_product_is_a_chain_of_fused_operations_whatever_its_size() {
    for (m, n, k) in [
        (1, 1, 1),
        (8, 4, 3),
        (9, 5, 17),
        (23, 1, 2),
        (70, 33, 40),
        (3, 2, 0),
    ] {
        let (a, b) = (matrix(m, k, 1), matrix(k, n, 5));
        let expected = Dense::from_fn(m, n, |i, j| {
            (0..k).fold(0.0, |sum, l| a.at(i, l).mul_add(b.at(l, j), sum))
        });
        assert_eq!(multiply(&a, &b), expected, "{m} {n} {k}");
    }
}

#[test]
fn complex_numbers_are_multiplied_and_divided() {
    let (a, b) = (Complex { re: 3.0, im: -2.0 }, Complex { re: 0.5, im: 4.0 });
    assert_eq!(a.times(b), Complex { re: 9.5, im: 11.0 });
    let (x, y) = (a.times(b).over(b), a.times(b).over(a));
    assert!(x.minus(a).magnitude() < 1e-15 && y.minus(b).magnitude() < 1e-15);
    let x = Dense::from_fn(1, 1, |_, _| a);
    assert_eq!(multiply(&x, &x).data, [Complex { re: 5.0, im: -12.0 }]);
}

#[test]
fn halves_of_matrices_are_filled() {
    let stored = |i: usize, j: usize| Complex {
        re: (10 * i + j) as f64,
        im: 1.0,
    };
    let h = Dense::from_half(3, Triangle::Lower, Fill::Hermitian, stored);
    assert_eq!(h.at(0, 2), Complex { re: 20.0, im: -1.0 });
    assert_eq!(h.at(2, 0), Complex { re: 20.0, im: 1.0 });
    assert_eq!(h.at(1, 1), Complex { re: 11.0, im: 0.0 });
    let real = |i: usize, j: usize| (10 * i + j) as f64;
    let t = Dense::from_half(3, Triangle::Upper, Fill::Triangular { unit: true }, real);
    assert_eq!((t.at(2, 0), t.at(1, 1), t.at(0, 2)), (0.0, 1.0, 2.0));
    let s = Dense::from_half(3, Triangle::Upper, Fill::Symmetric, real);
    assert_eq!((s.at(2, 0), s.at(1, 1)), (2.0, 11.0));
}

#[test]
fn triangular_systems_are_solved() {
    for half in [Triangle::Lower, Triangle::Upper] {
        let fill = Fill::Triangular { unit: false };
        let entry = |i: usize, j: usize| {
            if i == j {
                4.0
            } else {
                number(i + 9 * j) / 16.0
            }
        };
        let a = Dense::from_half(7, half, fill, entry);
        let x = matrix(7, 3, 2);
        let mut b = multiply(&a, &x);
        let lower = half == Triangle::Lower;
        solve_triangular(Solve { a: &a, lower }, &mut b);
        for (found, x) in b.data.iter().zip(&x.data) {
            assert!((found - x).abs() < 1e-9, "{found} {x}");
        }
    }
}

#[test]
fn vectors_are_summed() {
    let x = [3.0f32, -4.0, 1e30, 2.0];
    // SAFETY: inside the array.
    let v = |n, stride| unsafe { Strided::new(x.as_ptr(), n, stride) };
    assert_eq!(norm(v(2, 1)), 5.0);
    assert_eq!(absolute_sum(v(2, 1)), 7.0);
    assert_eq!(
        (largest(v(4, 1)), smallest(v(4, 1)), largest(v(0, 1))),
        (3, 4, 0)
    );
    // Backwards: the last one is the first.
    assert_eq!(v(2, -1).at(0), -4.0);
    assert_eq!(dot(v(2, 1), v(2, -1), false), -24.0);
    let wide = [1e200f64, 1e200];
    // SAFETY: as above.
    let w = unsafe { Strided::new(wide.as_ptr(), 2, 1) };
    assert!((norm(w) / 1e200 - 2f64.sqrt()).abs() < 1e-15);
    let c = [Complex { re: 0.0, im: 2.0 }];
    // SAFETY: as above.
    let c = unsafe { Strided::new(c.as_ptr(), 1, 1) };
    assert_eq!(dot(c, c, true).re, 4.0);
    assert_eq!(dot(c, c, false).re, -4.0);
}
