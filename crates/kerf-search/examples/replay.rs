use kerf_search::recorded::Recorded;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    for f in &a[4..] {
        let r = Recorded::parse(&std::fs::read(f).unwrap()).unwrap();
        for s in a[1].split(',') {
            let t = std::time::Instant::now();
            let x = kerf_search::repeat::repeat(&r, s, a[2].parse().unwrap(), a[3].parse().unwrap(), 1).unwrap();
            print!("{} {s}: ", r.name);
            for m in &x.marks { print!(" {}: {:.3} (worst {:.3})", m.executions, m.mean, m.worst); }
            println!("  {:.1}s", t.elapsed().as_secs_f64());
        }
    }
}
