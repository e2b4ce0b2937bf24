//! Names and addresses of everything that compiled kernels may call.
use super::sanitize::calls as checks;
use super::table_names::{RCP_SEEDS, RSQRT_SEEDS};
use super::{block, directed as d, heap, seeds, sfu};

unsafe extern "C" {
    fn fmod(a: f64, b: f64) -> f64;
    fn fmodf(a: f32, b: f32) -> f32;
    fn __udivti3(a: u128, b: u128) -> u128;
    fn __umodti3(a: u128, b: u128) -> u128;
    fn __divti3(a: i128, b: i128) -> i128;
    fn __modti3(a: i128, b: i128) -> i128;
}

// The compiler's helper routines pass halves in vector registers; as integers they sit in the low
// bits of the same register, which is what a float's bits give.
extern "C" fn trunc_f64_f16(x: f64) -> f32 {
    f32::from_bits(u32::from(kerf_num::Format::F16.encode(x) as u16))
}
extern "C" fn trunc_f32_f16(x: f32) -> f32 {
    trunc_f64_f16(f64::from(x))
}
extern "C" fn extend_f16_f32(x: f32) -> f32 {
    half::f16::from_bits(x.to_bits() as u16).to_f32()
}
extern "C" fn trunc_f64_bf16(x: f64) -> f32 {
    f32::from_bits(u32::from(kerf_num::Format::Bf16.encode(x) as u16))
}
extern "C" fn trunc_f32_bf16(x: f32) -> f32 {
    let w = x.to_bits();
    if x.is_nan() {
        return f32::from_bits(w >> 16 & 0x8000 | 0x7fc0);
    }
    f32::from_bits((w + 0x7fff + (w >> 16 & 1)) >> 16)
}

/// A table by its name; it is made when it is first asked for.
pub fn table(name: &str) -> Option<usize> {
    match name {
        RCP_SEEDS => Some(seeds::rcp().as_ptr() as usize),
        RSQRT_SEEDS => Some(seeds::rsqrt().as_ptr() as usize),
        _ => sfu::address(name),
    }
}

/// All functions.
pub fn all() -> Vec<(&'static str, usize)> {
    macro_rules! table {
        ($($n:literal => $f:expr),* $(,)?) => { vec![$(($n, $f as *const () as usize)),*] };
    }
    let mut t = table![
        "kerf_barrier" => block::barrier, "kerf_warp" => block::warp, "kerf_multiply_matrices" => block::multiply_matrices, "kerf_spin" => block::spin, "kerf_trap" => block::trap,
        "kerf_assert" => block::assert, "kerf_printf" => block::printf,
        "kerf_malloc" => heap::malloc, "kerf_free" => heap::free,

        "__truncdfhf2" => trunc_f64_f16, "__truncsfhf2" => trunc_f32_f16, "__extendhfsf2" => extend_f16_f32,
        "__truncdfbf2" => trunc_f64_bf16, "__truncsfbf2" => trunc_f32_bf16,
        "fmod" => fmod, "fmodf" => fmodf,
        "memcpy" => libc::memcpy, "memset" => libc::memset, "memmove" => libc::memmove, "memcmp" => libc::memcmp,
        "__udivti3" => __udivti3, "__umodti3" => __umodti3, "__divti3" => __divti3, "__modti3" => __modti3,
        "kerf_u64_to_f64_rz" => d::u64_to_f64_rz, "kerf_u64_to_f64_rm" => d::u64_to_f64_rm, "kerf_u64_to_f64_rp" => d::u64_to_f64_rp,
        "kerf_u64_to_f32_rz" => d::u64_to_f32_rz, "kerf_u64_to_f32_rm" => d::u64_to_f32_rm, "kerf_u64_to_f32_rp" => d::u64_to_f32_rp,
        "kerf_i64_to_f64_rz" => d::i64_to_f64_rz, "kerf_i64_to_f64_rm" => d::i64_to_f64_rm, "kerf_i64_to_f64_rp" => d::i64_to_f64_rp,
        "kerf_i64_to_f32_rz" => d::i64_to_f32_rz, "kerf_i64_to_f32_rm" => d::i64_to_f32_rm, "kerf_i64_to_f32_rp" => d::i64_to_f32_rp,
        "kerf_fma_rz_f64" => d::fma_rz_f64, "kerf_fma_rm_f64" => d::fma_rm_f64, "kerf_fma_rp_f64" => d::fma_rp_f64,
        "kerf_sqrt_rz_f64" => d::sqrt_rz_f64, "kerf_sqrt_rm_f64" => d::sqrt_rm_f64, "kerf_sqrt_rp_f64" => d::sqrt_rp_f64,
        "kerf_sqrt_rz_f32" => d::sqrt_rz_f32, "kerf_sqrt_rm_f32" => d::sqrt_rm_f32, "kerf_sqrt_rp_f32" => d::sqrt_rp_f32,
    ];
    t.extend(table![
        "kerf_add_rz_f64" => d::add_rz_f64, "kerf_sub_rz_f64" => d::sub_rz_f64, "kerf_mul_rz_f64" => d::mul_rz_f64, "kerf_div_rz_f64" => d::div_rz_f64,
        "kerf_add_rm_f64" => d::add_rm_f64, "kerf_sub_rm_f64" => d::sub_rm_f64, "kerf_mul_rm_f64" => d::mul_rm_f64, "kerf_div_rm_f64" => d::div_rm_f64,
        "kerf_add_rp_f64" => d::add_rp_f64, "kerf_sub_rp_f64" => d::sub_rp_f64, "kerf_mul_rp_f64" => d::mul_rp_f64, "kerf_div_rp_f64" => d::div_rp_f64,
        "kerf_div_rz_f32" => d::div_rz_f32,
        "kerf_div_rm_f32" => d::div_rm_f32,
        "kerf_div_rp_f32" => d::div_rp_f32,
    ]);
    t.extend(table![
        "kerf_checks_access" => checks::access, "kerf_checks_use" => checks::used,
        "kerf_checks_load_origin" => checks::load_origin, "kerf_checks_store_origin" => checks::store_origin,
        "kerf_checks_copy" => checks::copy, "kerf_checks_define" => checks::define, "kerf_checks_undefine" => checks::undefine,
        "kerf_checks_fence" => checks::fence, "kerf_checks_meet" => checks::meet,
    ]);
    t.extend(super::shadow::symbols());
    t
}
