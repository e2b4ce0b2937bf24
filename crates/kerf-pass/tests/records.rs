//! Records that are stored otherwise: what is refused, and that the common index needs no division.
use kerf_llvm::Module;
use kerf_npy::scalar::Scalar;
use kerf_pass::Plan;
use kerf_pass::records::{RecordBuffer, RecordLayout, survey};

/// A kernel with a buffer of records.
fn module(body: &str) -> Module {
    let text = format!(
        "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"
target triple = \"nvptx64-nvidia-cuda\"
%point = type {{ double, double, double }}
declare void @elsewhere(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define ptx_kernel void @k(ptr %p, ptr %o, i32 %i, i64 %n) {{
{body}
  ret void
}}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn plan(fields: &str, layout: &str) -> Plan {
    let records = format!(r#"{{"p":{{"fields":[{fields}],"layout":"{layout}"}}}}"#);
    let text = format!(r#"{{"version":1,"kernels":{{"k":{{"records":{records}}}}}}}"#);
    Plan::parse(&text).expect("a plan")
}

const POINT: &str = r#""f64","f64","f64""#;

fn refused(body: &str, fields: &str, words: &str) {
    for layout in ["planes", "padded"] {
        let e = plan(fields, layout).apply(&module(body));
        let e = e.expect_err("is refused").to_string();
        assert!(e.contains(words), "{e}");
        assert!(e.contains("the records of `p` of kernel k"), "{e}");
    }
}

#[test]
fn what_cannot_be_stored_otherwise_is_refused() {
    let load = |t: &str, at: &str| {
        format!(
            "  %a = getelementptr inbounds i8, ptr %p, i64 {at}\n  %x = load {t}, ptr %a, align 4"
        )
    };
    let part = "touches a part of a field";
    refused(&load("float", "4"), POINT, part);
    refused(&load("double", "4"), POINT, part);
    // The last bytes of one field and the first of the next.
    refused(&load("double", "12"), r#""f64","f32","f32""#, part);
    refused(
        &load("double", "%n"),
        r#""f64","f32","f32""#,
        "decides which field",
    );
    refused(&load("double", "%n"), POINT, "aligned to 4 bytes");
    refused(&load("float", "%n"), POINT, "accessed as float");
    refused("  store ptr %p, ptr %o", POINT, "address is stored");
    refused("  %x = ptrtoint ptr %p to i64", POINT, "computed with");
    refused(
        "  call void @elsewhere(ptr %p)",
        POINT,
        "given to elsewhere",
    );
    let fill = |v, n| format!("  call void @llvm.memset.p0.i64(ptr %p, i8 {v}, i64 {n}, i1 false)");
    refused(&fill(1, "24"), POINT, "filled byte by byte");
    refused(&fill(0, "%n"), POINT, "in one piece");
    refused(&fill(0, "20"), POINT, part);
    let moved = "  %q = getelementptr inbounds i8, ptr %p, i64 %n
  call void @llvm.memset.p0.i64(ptr %q, i8 0, i64 24, i1 false)";
    refused(moved, POINT, "in one piece");
    let choice = "  %c = icmp eq i32 %i, 0
  %q = select i1 %c, ptr %p, ptr %o
  %x = load double, ptr %q";
    refused(choice, POINT, "to it or to something else");
    refused("", r#""f32","f64""#, "is no place for 8 bytes");
    refused("", r#""f32""#, "2 to 64 fields, not 1");
}

#[test]
fn planes_take_no_atomic_access_apart_and_padding_leaves_it() {
    let volatile = "  %x = load volatile <2 x double>, ptr %p, align 8";
    let atomic = "  %x = load atomic i64, ptr %p seq_cst, align 8";
    for (body, fields) in [(volatile, POINT), (atomic, r#""f32","f32","f32""#)] {
        let e = plan(fields, "planes").apply(&module(body));
        let e = e.expect_err("is refused").to_string();
        assert!(e.contains("atomic or volatile"), "{e}");
        plan(fields, "padded")
            .apply(&module(body))
            .expect("applies");
    }
    let one = "  %old = atomicrmw fadd ptr %p, double 1.0 seq_cst";
    plan(POINT, "planes").apply(&module(one)).expect("applies");
}

#[test]
fn an_index_of_whole_records_needs_no_division() {
    let divides = |body: &str| {
        let m = module(body);
        plan(POINT, "planes").apply(&m).expect("applies");
        m.print().contains("div i64")
    };
    let flat = |sum: &str| {
        format!(
            "  %m = {sum}
  %w = sext i32 %m to i64
  %a = getelementptr inbounds double, ptr %p, i64 %w
  %b = getelementptr inbounds i8, ptr %a, i64 16
  %x = load double, ptr %b, align 8"
        )
    };
    assert!(!divides(&flat("mul nsw i32 %i, 3")));
    // It may wrap, and then it is another record.
    assert!(divides(&flat("mul i32 %i, 3")));
    assert!(divides(&flat("mul nsw i32 %i, 2")));
    let unsigned = "  %w = zext i32 %i to i64
  %t = mul i64 %w, 3
  %s = add i64 %t, 2
  %a = getelementptr inbounds double, ptr %p, i64 %s
  %x = load double, ptr %a, align 8";
    assert!(!divides(unsigned));
    assert!(divides(&unsigned.replace("%w, 3", "%n, 3")));
}

#[test]
fn records_are_told_by_the_accesses_of_flat_arrays() {
    let strides = |body: &str| -> Vec<RecordBuffer> {
        let m = module(body);
        let infos = kerf_ir::kernels::kernels(&m);
        survey(&m, m.function("k").expect("k"), &infos[0])
    };
    let body = "  %t = mul nsw i32 %i, 5
  %s = add nsw i32 %t, 3
  %w = sext i32 %s to i64
  %a = getelementptr inbounds float, ptr %p, i64 %w
  %x = load float, ptr %a, align 4
  %u = sext i32 %i to i64
  %b = getelementptr inbounds float, ptr %o, i64 %u
  store float %x, ptr %b, align 4";
    let all = strides(body);
    let by = |key: &str| {
        all.iter()
            .find(|b| b.key == key || b.parameter.to_string() == key)
    };
    let p = by("0").expect("p");
    assert_eq!(
        (p.stride, p.element.as_slice()),
        (Some(5), &[Scalar::F32][..])
    );
    let r = p.records(RecordLayout::Planes).expect("records");
    assert_eq!(r.fields, [Scalar::F32; 5]);
    assert_eq!(by("1").expect("o").records(RecordLayout::Planes), None);
}
