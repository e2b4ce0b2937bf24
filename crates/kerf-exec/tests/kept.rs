//! Code that `kerf cc` keeps for the CPU does what the module does, and runs only where it was made for.
use kerf_exec::cpu::{CpuDevice, CpuOptions, kept};
use kerf_exec::raw::{MemoryPlace, RawDevice, RawLaunch};
use kerf_ir::blob::ImageKind;
use kerf_llvm::Module;
use std::ffi::c_void;

const TEXT: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@n = addrspace(1) global i32 5
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @add(ptr addrspace(1) %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %t
  %v = load i32, ptr addrspace(1) @n
  %s = add i32 %v, %t
  store i32 %s, ptr addrspace(1) %q
  ret void
}
"#;

fn launch(d: &mut dyn RawDevice, program: usize) -> Vec<i32> {
    let at = d.alloc(16, MemoryPlace::Device).expect("memory");
    // SAFETY: sixteen bytes of the device's, which is this machine.
    unsafe { (at as *mut [i32; 4]).write([0; 4]) };
    let mut address = at;
    let mut args = [(&raw mut address).cast::<c_void>()];
    let mut l = RawLaunch {
        symbol: "add",
        name: "add",
        grid: [1, 1, 1],
        block: [4, 1, 1],
        shared: 0,
        args: &mut args,
        stream: 0,
        cooperative: false,
    };
    d.launch(program, &mut l).expect("it runs");
    // SAFETY: sixteen bytes of the device's, which is this machine.
    let out = unsafe { std::slice::from_raw_parts(at as *const i32, 4) }.to_vec();
    d.free(at, 16, MemoryPlace::Device).expect("freed");
    out
}

#[test]
fn kept_code_runs_and_has_its_variables() {
    let m = Module::parse(TEXT.as_bytes(), "kept").expect("it parses");
    let (image, object) = kept::make(&m).expect("it compiles");
    let mut d = CpuDevice::new(CpuOptions::default());
    let p = d.load_kept(&image, &object).expect("it loads");
    let p = p.expect("it is for this machine");
    assert_eq!(launch(&mut d, p), [5, 6, 7, 8]);
    let (at, bytes) = d.variable(p, "n").expect("the variable");
    assert_eq!(bytes, 4);
    // SAFETY: the variable is this machine's memory.
    unsafe { (at as *mut i32).write(10) };
    assert_eq!(launch(&mut d, p), [10, 11, 12, 13]);
}

#[test]
fn code_for_others_is_left_alone() {
    let m = Module::parse(TEXT.as_bytes(), "kept").expect("it parses");
    let (image, object) = kept::make(&m).expect("it compiles");
    let mut d = CpuDevice::new(CpuOptions::default());
    let mut other = image.clone();
    other.target = "another processor".into();
    assert!(d.load_kept(&other, &object).expect("no failure").is_none());
    other = image.clone();
    other.kind = ImageKind::Ptx;
    assert!(d.load_kept(&other, &object).expect("no failure").is_none());
    // Checked accesses are in no kept code.
    let mut checked = CpuDevice::new(CpuOptions {
        checks: Some(kerf_exec::cpu::SanitizeOptions::default()),
        ..CpuOptions::default()
    });
    let none = checked.load_kept(&image, &object).expect("no failure");
    assert!(none.is_none());
}

#[test]
fn tables_are_named_and_found_again() {
    // 1/x by the seed of the H200's unit, and the special-function unit's own in f32.
    let text = r#"
target triple = "nvptx64-nvidia-cuda"
declare double @llvm.nvvm.rcp.approx.ftz.d(double)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
define ptx_kernel void @add(ptr addrspace(1) %p) {
  %y = call double @llvm.nvvm.rcp.approx.ftz.d(double 3.0)
  %x = load float, ptr addrspace(1) %p
  %z = call float @llvm.nvvm.ex2.approx.ftz.f(float %x)
  store double %y, ptr addrspace(1) %p
  %q = getelementptr i32, ptr addrspace(1) %p, i32 2
  store float %z, ptr addrspace(1) %q
  ret void
}
"#;
    let m = Module::parse(text.as_bytes(), "kept").expect("it parses");
    let (image, object) = kept::make(&m).expect("it compiles");
    let about = image.about.to_string();
    assert!(about.contains("kerf_table_rcp64"), "{about}");
    let mut d = CpuDevice::new(CpuOptions::default());
    let p = d.load_kept(&image, &object).expect("it loads");
    let kept = launch(&mut d, p.expect("it is for this machine"));
    let p = d.load(&m, "sm_90").expect("it loads");
    assert_eq!(kept, launch(&mut d, p));
    let y = f64::from_bits((kept[1] as u32 as u64) << 32);
    assert!((3.0 * y - 1.0).abs() < 1e-5, "{y}");
}
