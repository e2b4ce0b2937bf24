//! The CUDA examples, transcribed. Loops over threads are loops here; a barrier ends one.
use super::mp::{R, r};
use super::{Run, Want, example};

fn sum(terms: impl IntoIterator<Item = R>) -> R {
    terms.into_iter().fold(r(0.0), |a, b| a + b)
}

#[test]
fn backprop() {
    let run = Run::new(
        &example("backprop"),
        &[("n_in", 200), ("n_out", 6), ("epochs", 4)],
    );
    let (n_in, n_out, epochs) = (run.size("n_in"), run.size("n_out"), run.size("epochs"));
    let (x, err) = (run.reals("x"), run.reals("err"));
    let mut w = run.reals("w");
    let mut change = run.reals("change");
    let mut y = vec![r(0.0); n_out];
    // A weight is a start and steps that may take it near zero: what it is made of is its scale.
    let mut scale: Vec<R> = w.iter().map(R::abs).collect();
    for _ in 0..epochs {
        for j in 0..n_out {
            let row = &w[j * (n_in + 1)..];
            let t = sum((0..n_in).map(|i| &row[i] * &x[i])) + &row[n_in];
            y[j] = 1.0 / (1.0 + (-t).exp());
        }
        for j in 0..n_out {
            let delta = &err[j] * &y[j] * (1.0 - &y[j]);
            // The last weight is the bias, whose input is 1.
            for (i, input) in x.iter().chain([&r(1.0)]).enumerate() {
                let at = j * (n_in + 1) + i;
                let step = 0.005 * &delta * input + 0.3 * &change[at];
                scale[at] += step.abs();
                w[at] += step.clone();
                change[at] = step;
            }
        }
    }
    run.check("w", &Want::scaled(w, scale));
    run.check("y", &Want::plain(y));
}

#[test]
fn black_scholes() {
    let run = Run::new(&example("black_scholes"), &[("n", 300)]);
    let (spot, strike, years) = (run.reals("spot"), run.reals("strike"), run.reals("years"));
    let (rate, vol) = (r(0.02), r(0.30));
    let cdf = |d: &R| 0.5 * (-d * std::f64::consts::FRAC_1_SQRT_2).erfc();
    let (mut call, mut put, mut scale) = (Vec::new(), Vec::new(), Vec::new());
    for ((s, k), t) in spot.iter().zip(&strike).zip(&years) {
        let sd = &vol * t.sqrt();
        let d1 = ((s / k).ln() + (&rate + 0.5 * &vol * &vol) * t) / &sd;
        let d2 = &d1 - &sd;
        let discounted = k * (-&rate * t).exp();
        call.push(s * cdf(&d1) - &discounted * cdf(&d2));
        put.push(&discounted * cdf(&-&d2) - s * cdf(&-&d1));
        // A price is the small difference of two amounts of about the spot's size.
        scale.push(s.clone());
    }
    run.check("call", &Want::scaled(call, scale.clone()));
    run.check("put", &Want::scaled(put, scale));
}

mod flow {
    //! The finite volumes of `cfd.cu`.
    use super::*;

    /// Density, momentum (three), energy.
    pub type Conserved = [R; 5];
    pub type Vec3 = [R; 3];

    pub struct Derived {
        pub velocity: Vec3,
        pub pressure: R,
        pub sound: R,
    }

    pub fn dot(a: &[R], b: &[R]) -> R {
        &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
    }

    pub fn derive(u: &Conserved) -> Derived {
        let inv = 1.0 / &u[0];
        let velocity = [&u[1] * &inv, &u[2] * &inv, &u[3] * &inv];
        // GAMMA - 1 is a difference of constants: the compiler folds it in f64.
        let pressure = (1.4 - 1.0) * (&u[4] - 0.5 * dot(&u[1..4], &velocity));
        let sound = (1.4 * &pressure * &inv).sqrt();
        Derived {
            velocity,
            pressure,
            sound,
        }
    }

    pub fn load(v: &[R], n: usize, i: usize) -> Conserved {
        std::array::from_fn(|k| v[k * n + i].clone())
    }

    pub fn add_flux(
        sum: &mut Conserved,
        a: &Conserved,
        wa: &Derived,
        b: &Conserved,
        wb: &Derived,
        area: &Vec3,
    ) {
        let size = dot(area, area).sqrt();
        let (va, vb) = (dot(&wa.velocity, area), dot(&wb.velocity, area));
        let speed = (va.abs() + &wa.sound * &size).max(&(vb.abs() + &wb.sound * &size));
        let p = &wa.pressure + &wb.pressure;
        sum[0] += 0.5 * (&a[0] * &va + &b[0] * &vb - &speed * (&b[0] - &a[0]));
        for k in 1..4 {
            sum[k] +=
                0.5 * (&a[k] * &va + &b[k] * &vb + &p * &area[k - 1] - &speed * (&b[k] - &a[k]));
        }
        sum[4] += 0.5
            * ((&a[4] + &wa.pressure) * &va + (&b[4] + &wb.pressure) * &vb
                - &speed * (&b[4] - &a[4]));
    }
}

#[test]
fn cfd() {
    use flow::{Conserved, Derived, Vec3, add_flux, derive, dot, load};
    let run = Run::new(
        &example("cfd"),
        &[("nx", 4), ("ny", 5), ("nz", 3), ("iterations", 4)],
    );
    let n = run.size("n");
    let (far, normals) = (run.reals("far"), run.reals("normals"));
    let neighbours: Vec<i64> = run
        .input("neighbours")
        .into_iter()
        .map(|x| x as i64)
        .collect();
    let far_u: Conserved = std::array::from_fn(|k| far[k].clone());
    let far_w = Derived {
        velocity: std::array::from_fn(|k| far[5 + k].clone()),
        pressure: far[8].clone(),
        sound: far[9].clone(),
    };
    let normal = |f: usize, i: usize| -> Vec3 {
        std::array::from_fn(|k| normals[(f * 3 + k) * n + i].clone())
    };

    let mut variables: Vec<R> = (0..5 * n).map(|k| far_u[k / n].clone()).collect();
    for _ in 0..run.size("iterations") {
        let old = variables.clone();
        let step: Vec<R> = (0..n)
            .map(|i| {
                let w = derive(&load(&variables, n, i));
                0.9 / sum((0..6).map(|f| {
                    dot(&w.velocity, &normal(f, i)).abs()
                        + &w.sound * dot(&normal(f, i), &normal(f, i)).sqrt()
                }))
            })
            .collect();
        for stage in 0..run.size("stages") {
            let flux = |i: usize| {
                let u = load(&variables, n, i);
                let w = derive(&u);
                let mut total: Conserved = std::array::from_fn(|_| r(0.0));
                for f in 0..6 {
                    let area = normal(f, i);
                    match neighbours[f * n + i] {
                        -2 => add_flux(&mut total, &u, &w, &far_u, &far_w, &area),
                        other if other >= 0 => {
                            let v = load(&variables, n, other as usize);
                            add_flux(&mut total, &u, &w, &v, &derive(&v), &area);
                        }
                        _ => (0..3).for_each(|k| total[k + 1] += &w.pressure * &area[k]),
                    }
                }
                total
            };
            let fluxes: Vec<Conserved> = (0..n).map(flux).collect();
            for i in 0..n {
                let factor = &step[i] / (3 - stage) as f64;
                for k in 0..5 {
                    variables[k * n + i] = &old[k * n + i] - &factor * &fluxes[i][k];
                }
            }
        }
    }
    run.check("variables", &Want::plain(variables));
}

#[test]
fn gaussian() {
    let run = Run::new(&example("gaussian"), &[("n", 40)]);
    let n = run.size("n");
    let (mut a, mut b) = (run.reals("a"), run.reals("b"));
    for t in 0..n - 1 {
        for row in t + 1..n {
            let factor = &a[row * n + t] / &a[t * n + t];
            for col in t + 1..n {
                let less = &factor * &a[t * n + col];
                a[row * n + col] -= less;
            }
            let less = &factor * &b[t];
            b[row] -= less;
        }
    }
    run.check("a", &Want::plain(a));
    run.check("b", &Want::plain(b));
}

#[test]
fn global_sum() {
    let run = Run::new(&example("global_sum"), &[("n", 20_000), ("blocks", 3)]);
    // The orders differ by nothing that 256 bits would show; compensation has nothing to compensate.
    let total = sum(run.reals("x"));
    for name in ["strided", "tree", "warp", "atomic", "kahan"] {
        run.check(&format!("total_{name}"), &Want::plain(vec![total.clone()]));
    }
}

#[test]
fn lavamd() {
    let run = Run::new(&example("lavamd"), &[("nb", 2)]);
    // The cut-off is decided by the program; where exact arithmetic agrees, so does the branch here.
    assert_eq!(run.flips(), []);
    let (boxes, per_box) = (run.size("boxes"), run.size("per_box"));
    let particles = run.reals("particles");
    let neighbours: Vec<i64> = run
        .input("neighbours")
        .into_iter()
        .map(|x| x as i64)
        .collect();
    let (alpha, edge) = (2.0, 1.0);
    let inv_r2 = 1.0 / (r(edge) * edge);
    let (mut force, mut scale) = (
        vec![r(0.0); boxes * per_box * 4],
        vec![r(0.0); boxes * per_box * 4],
    );
    for at in 0..boxes * per_box {
        for list in neighbours[at / per_box * 27 * 4..][..27 * 4]
            .as_chunks::<4>()
            .0
        {
            if list[0] < 0 {
                continue;
            }
            for j in 0..per_box {
                let other = list[0] as usize * per_box + j;
                if other == at {
                    continue;
                }
                let d: Vec<R> = (1..4)
                    .map(|c| {
                        &particles[4 * at + c]
                            - (&particles[4 * other + c] + r(list[c] as f64) * edge)
                    })
                    .collect();
                let r2 = &d[0] * &d[0] + &d[1] * &d[1] + &d[2] * &d[2];
                let u = 1.0 - &r2 * &inv_r2;
                if u > 0.0 {
                    let w = &u * &u;
                    let e = &particles[4 * other] * (-alpha * &r2).exp();
                    let s = 2.0 * &e * (2.0 * &u * &inv_r2 + alpha * &w);
                    let terms = [e * w, &s * &d[0], &s * &d[1], &s * &d[2]];
                    for (c, t) in terms.into_iter().enumerate() {
                        scale[4 * at + c] += t.abs();
                        force[4 * at + c] += t;
                    }
                }
            }
        }
    }
    // Forces from all sides cancel: the scale is the sum of their sizes. (Also the potential's, which
    // only has positive terms, and so loses nothing.)
    run.check("forces", &Want::scaled(force, scale));
}

#[test]
fn lud() {
    let run = Run::new(&example("lud"), &[("n", 48)]);
    let n = run.size("n");
    let mut a = run.reals("a");
    // Tiles only change the order of the subtractions, and 256 bits do not see that.
    for p in 0..n {
        for row in p + 1..n {
            a[row * n + p] = &a[row * n + p] / &a[p * n + p];
            for col in p + 1..n {
                let less = &a[row * n + p] * &a[p * n + col];
                a[row * n + col] -= less;
            }
        }
    }
    run.check("a", &Want::plain(a));
}

#[test]
fn mri_q() {
    let run = Run::new(&example("mri_q"), &[("voxels", 60), ("samples", 90)]);
    let (k, phi_r, phi_i) = (run.reals("k"), run.reals("phi_r"), run.reals("phi_i"));
    let (x, y, z) = (run.reals("x"), run.reals("y"), run.reals("z"));
    let magnitude: Vec<R> = phi_r
        .iter()
        .zip(&phi_i)
        .map(|(a, b)| a * a + b * b)
        .collect();
    let (mut q_r, mut q_i) = (Vec::new(), Vec::new());
    for v in 0..run.size("voxels") {
        let (mut sum_r, mut sum_i) = (r(0.0), r(0.0));
        for (s, m) in magnitude.iter().enumerate() {
            let angle = std::f64::consts::TAU
                * (&k[3 * s] * &x[v] + &k[3 * s + 1] * &y[v] + &k[3 * s + 2] * &z[v]);
            sum_r += m * angle.cos();
            sum_i += m * angle.sin();
        }
        q_r.push(sum_r);
        q_i.push(sum_i);
    }
    // Waves of all phases cancel: the scale is what they would add up to in phase.
    let scale = vec![sum(magnitude); q_r.len()];
    run.check("q_r", &Want::scaled(q_r, scale.clone()));
    run.check("q_i", &Want::scaled(q_i, scale));
}

#[test]
fn nbody() {
    let run = Run::new(&example("nbody"), &[("n", 90), ("steps", 3)]);
    let n = run.size("n");
    let (mut bodies, mut velocities) = (run.reals("bodies"), run.reals("velocities"));
    let (eps2, dt) = (0.01, 0.01);
    // Positions and velocities pass through zero: their scales are what they were made of.
    let sizes = |x: &[R]| -> Vec<R> { x.iter().map(R::abs).collect() };
    let (mut place, mut speed) = (sizes(&bodies), sizes(&velocities));
    for _ in 0..run.size("steps") {
        let mut acc = vec![r(0.0); 4 * n];
        let mut pulls = acc.clone();
        for i in 0..n {
            for j in 0..n {
                let d: Vec<R> = (0..3)
                    .map(|c| &bodies[4 * j + c] - &bodies[4 * i + c])
                    .collect();
                let q = (&d[0] * &d[0] + &d[1] * &d[1] + &d[2] * &d[2] + eps2).rsqrt();
                let s = &bodies[4 * j + 3] * &q * &q * &q;
                for c in 0..3 {
                    pulls[4 * i + c] += (&s * &d[c]).abs();
                    acc[4 * i + c] += &s * &d[c];
                }
            }
        }
        for at in (0..4 * n).filter(|at| at % 4 < 3) {
            velocities[at] += &acc[at] * dt;
            speed[at] += &pulls[at] * dt;
            bodies[at] += &velocities[at] * dt;
            place[at] += &speed[at] * dt;
        }
    }
    run.check("bodies", &Want::scaled(bodies, place));
    run.check("velocities", &Want::scaled(velocities, speed));
}

#[test]
fn stencil() {
    let run = Run::new(
        &example("stencil"),
        &[("nx", 20), ("ny", 11), ("nz", 6), ("steps", 7)],
    );
    let (nx, ny, nz) = (run.size("nx"), run.size("ny"), run.size("nz"));
    let (row, plane) = (nx + 2, (nx + 2) * (ny + 2));
    let mut u = run.reals("u");
    for _ in 0..run.size("steps") {
        let old = u.clone();
        for (z, y, x) in
            (1..=nz).flat_map(|z| (1..=ny).flat_map(move |y| (1..=nx).map(move |x| (z, y, x))))
        {
            let at = z * plane + y * row + x;
            let around = &old[at - 1]
                + &old[at + 1]
                + &old[at - row]
                + &old[at + row]
                + &old[at - plane]
                + &old[at + plane];
            u[at] = &old[at] + 0.125 * (around - 6.0 * &old[at]);
        }
    }
    run.check("u", &Want::plain(u));
}
