//! How a range is divided, and what it takes: `parts FUNCTION FROM TO BITS`.
use kerf_hardround::format::{BINARY64, hex, parse};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::Query;
use kerf_hardround::search::Isa;
use kerf_hardround::units::Units;

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let [_, function, from, to, bits] = a.as_slice() else {
        panic!("usage: parts FUNCTION FROM TO BITS");
    };
    let query = Query {
        function: ElementaryFunction::find(function).expect("a function"),
        format: BINARY64,
        bits: bits.parse().expect("bits"),
        isa: Some(Isa::best()),
    };
    let (from, to) = (parse(from).expect("a number"), parse(to).expect("a number"));
    let clock = std::time::Instant::now();
    let units = Units::new(&query, from, to).expect("a range");
    println!(
        "{} units, {:?}, planned in {:.3} s",
        units.len(),
        units.cost(),
        clock.elapsed().as_secs_f64()
    );
    for (grid, unit, cost) in units.parts() {
        println!(
            "  {} .. {}: {:.3e} arguments, units of 2^{:.0}, {:.3e} s tested, {:.3e} s other",
            hex(grid.value(grid.first)),
            hex(grid.value(grid.end - 1)),
            grid.len() as f64,
            (unit as f64).log2(),
            cost.tested,
            cost.other
        );
    }
}
