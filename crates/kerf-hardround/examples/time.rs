//! Times the search of a range: `time FUNCTION FROM TO BITS [scalar|avx2|avx512]`.
use kerf_hardround::format::{BINARY64, grids, hex, parse};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{Query, search};
use kerf_hardround::search::{Isa, Scratch};

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let [_, function, from, to, bits, rest @ ..] = a.as_slice() else {
        panic!("usage: time FUNCTION FROM TO BITS [ISA]");
    };
    let isa = match rest.first() {
        None => Isa::best(),
        Some(n) => Isa::all()
            .into_iter()
            .find(|i| i.name() == n)
            .expect("an instruction set of this processor"),
    };
    let query = Query {
        function: ElementaryFunction::find(function).expect("a function"),
        format: BINARY64,
        bits: bits.parse().expect("bits"),
        isa: Some(isa),
    };
    let (from, to) = (parse(from).expect("a number"), parse(to).expect("a number"));
    let (parts, _) = grids(BINARY64, from, to).expect("a range");
    let mut scratch = Scratch::default();
    for g in parts {
        let clock = std::time::Instant::now();
        let f = search(&query, &g, &mut scratch);
        let t = clock.elapsed().as_secs_f64();
        println!(
            "{} {} [{} ..) {} arguments, {:.3} s, {:.3e} arguments/s, {} pieces, {:?}",
            isa.name(),
            function,
            hex(g.value(g.first)),
            g.len(),
            t,
            g.len() as f64 / t,
            f.pieces.len(),
            f.counts
        );
        println!("first piece {:?}", f.pieces[0]);
        println!("{} cases, {} exact", f.cases.len(), f.exact.len());
        for c in f.cases.iter().take(20) {
            println!("  {} {:?}", hex(c.x), c.value);
        }
    }
}
