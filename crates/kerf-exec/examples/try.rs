use kerf_exec::*;
fn main() {
    let lib = std::fs::read(".kerf/cuda/nvvm/libdevice/libdevice.10.bc").unwrap();
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let mut bad = 0;
    for seed in a[0]..a[1] {
        let t = std::time::Instant::now();
        let p = match identity::prepare(seed, 4, &lib, "sm_90") { Ok(p) => p, Err(e) => { println!("{seed}: {e}"); bad += 1; continue } };
        let t1 = t.elapsed();
        let mut e = match cpu::CpuExecutor::new(&p.module, Default::default()) { Ok(e) => e, Err(e) => { println!("{seed}: {e}"); bad += 1; continue } };
        let t2 = t.elapsed();
        for k in 0..4 { match identity::run(&p, k, &mut e) { Ok(o) => println!("{seed} {k} {:016x}", o.digest()), Err(e) => { println!("{seed} {k}: {e}"); bad += 1 } } }
        if seed == a[0] { eprintln!("prepare {t1:?} compile {:?} run {:?}", t2 - t1, t.elapsed() - t2); }
    }
    println!("bad {bad}");
}
