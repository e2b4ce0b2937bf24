//! Counting: ranges of the arguments of math calls.
use crate::count::{counted, counted_in, record_of, sites};
use kerf_pass::count::{CountDevice, Detail};

#[test]
fn arguments_of_math_calls_have_their_range() {
    let body = |n: usize| {
        let filler: String = (0..n)
            .map(|k| match k {
                0 => "%f0 = fadd double %v, 1.5\n".to_owned(),
                _ => format!("%f{k} = fadd double %f{}, 1.5\n", k - 1),
            })
            .collect();
        format!(
            "declare double @__nv_exp(double)
             declare float @__nv_sinf(float)
             define ptx_kernel void @k(ptr %a) {{
               %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
               %p = getelementptr double, ptr %a, i32 %t
               %v = load double, ptr %p
               {filler}
               %e = call double @__nv_exp(double %v)
               %w = fptrunc double %e to float
               %s = call float @__nv_sinf(float %w)
               %d = fpext float %s to double
               %last = fadd double %d, %{}
               store double %last, ptr %p
               ret void
             }}",
            if n == 0 {
                "v".to_owned()
            } else {
                format!("f{}", n - 1)
            }
        )
    };
    // Infinities and NaN are for the library in any case.
    let data = [-3.5, 0.25, -0.0, f64::INFINITY, f64::NAN, -1e-300];
    for (device, filler) in [
        (CountDevice::Cpu, 0),
        (CountDevice::Gpu, 0),
        (CountDevice::Cpu, 250),
    ] {
        let (c, t, _) = counted_in((Detail::Values, device), &body(filler), 1, 6, &data);
        let all = sites(&c, &t);
        let ranges = |op| record_of(&all, op).arguments;
        assert_eq!(ranges("exp"), Some([-3.5, 0.25]), "{device:?} {filler}");
        let [least, most] = ranges("sin").expect("a range");
        let single = |x: f64| f64::from(x.exp() as f32);
        assert_eq!((least, most), (single(-3.5), single(0.25)));
        assert_eq!(ranges("fadd"), None);
        assert_eq!(ranges("load"), None);
    }
    // Of one sign, or one number.
    for data in [[2.0, 2.0], [-7.0, -1.5], [0.0, 0.0]] {
        let (c, t, _) = counted(&body(0), 1, 2, &data);
        let all = sites(&c, &t);
        assert_eq!(record_of(&all, "exp").arguments, Some(data));
    }
}

#[test]
fn second_arguments_have_a_range_of_their_own() {
    let body = |function: &str| {
        format!(
            "declare double @__nv_{function}(double, double)
             declare void @__nv_sincos(double, ptr, ptr)
             define ptx_kernel void @k(ptr %a) {{
               %s = alloca double
               %c = alloca double
               %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
               %p = getelementptr double, ptr %a, i32 %t
               %v = load double, ptr %p
               %w = fsub double 1.0, %v
               %e = call double @__nv_{function}(double %v, double %w)
               call void @__nv_sincos(double %e, ptr %s, ptr %c)
               %d = load double, ptr %c
               store double %d, ptr %p
               ret void
             }}"
        )
    };
    let data = [2.0, 0.25, f64::NAN, 4.0];
    for device in [CountDevice::Cpu, CountDevice::Gpu] {
        let (c, t, _) = counted_in((Detail::Values, device), &body("pow"), 1, 4, &data);
        let all = sites(&c, &t);
        let pow = record_of(&all, "pow");
        assert_eq!(pow.arguments, Some([0.25, 4.0]), "{device:?}");
        assert_eq!(pow.second_arguments, Some([-3.0, 0.75]), "{device:?}");
        let sincos = record_of(&all, "sincos");
        assert_eq!(sincos.arguments, Some([4f64.powi(-3), 0.5]), "{device:?}");
        assert_eq!(sincos.second_arguments, None);
    }
    // A function that cannot be made is not looked at.
    let (c, t, _) = counted(&body("fmod"), 1, 4, &data);
    let all = sites(&c, &t);
    assert_eq!(record_of(&all, "fmod").second_arguments, None);
}
