//! Speed of the search on a GPU, part by part: `throughput FUNCTION FROM UNITS [BATCH:POINTS:ROUNDS]...`; without a
//! GPU, of what the processor prepares.
use kerf_exec::Executor;
use kerf_exec::cuda::CudaExecutor;
use kerf_hardround::certificate::{Header, UnitRecord};
use kerf_hardround::format::{BINARY64, BinadeGrid, parse};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::Query;
use kerf_hardround::search::{Isa, PhaseCounts};
use kerf_hardround::units::Units;
use kerf_hardround_gpu::{
    BatchSizes, Batches, KERNELS, POINTS, Pending, SearchWork, Stage, program, search,
};
use std::ops::ControlFlow;
use std::time::Instant;

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let [_, function, from, units, batches @ ..] = a.as_slice() else {
        panic!("usage: throughput FUNCTION FROM UNITS [BATCH:POINTS:ROUNDS]...");
    };
    let q = Query {
        function: ElementaryFunction::find(function).expect("a function"),
        format: BINARY64,
        bits: 44,
        isa: Some(Isa::best()),
    };
    let from = parse(from).expect("a number");
    let units: u64 = units.parse().expect("a number of units");
    let ulp = from - f64::from_bits(from.to_bits() - 1);
    let to = from + (units << 36) as f64 * ulp.max(from * f64::EPSILON / 2.0);
    let units = Units::new(&q, from, to).expect("a range");
    let some: Vec<_> = (0..units.len().min(64))
        .filter_map(|i| units.get(i))
        .collect();
    let staged = prepared(&q, &some, POINTS);
    let header = Header::new(&q, from, to, units.len(), "cuda");
    let clock = Instant::now();
    let bytes: usize = staged
        .iter()
        .map(|s| {
            serde_json::to_string(&UnitRecord::new(&header, 0, &s.1, &s.2.found))
                .map_or(0, |t| t.len())
        })
        .sum();
    println!(
        "certificate: {:.1} us and {} bytes a unit",
        clock.elapsed().as_secs_f64() * 1e6 / staged.len() as f64,
        bytes / staged.len()
    );
    let arch = match CudaExecutor::capability(0) {
        Ok(c) => format!("sm_{c}"),
        Err(e) => return println!("{e}"),
    };
    let module = program(&arch).expect("kernels");
    let ptx = kerf_ir::finish::ptx(&module, &arch).expect("PTX");
    let mut exec = CudaExecutor::new(&ptx, &KERNELS.map(str::to_owned), 0).expect("a GPU");
    for s in exec.kernel_stats() {
        println!("{s:?}");
    }
    exec.clear();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for setting in batches {
        let v: Vec<f64> = setting.split(':').filter_map(|v| v.parse().ok()).collect();
        let [batch, points, rounds] = v[..] else {
            panic!("{setting}: expected BATCH:POINTS:ROUNDS");
        };
        let room = BatchSizes {
            points,
            rounds: rounds as u32,
            ..BatchSizes::usual(batch as usize)
        };
        println!("\n{setting}");
        // The kernels alone, on sub-blocks that are there already.
        let staged = prepared(&q, &some, points);
        let n: usize = staged.iter().map(|s| s.2.sub_blocks.len()).sum();
        let each = (n / staged.len()).max(1);
        let many: Vec<_> = staged
            .iter()
            .cloned()
            .cycle()
            .take(batch as usize / each)
            .collect();
        let arguments: u64 = many.iter().map(|s| s.1.len()).sum();
        {
            let mut b = Batches::new(&mut exec, room).expect("memory");
            for _ in 0..3 {
                for parts in [1, KERNELS.len()] {
                    let t = b.timed(&many, parts).expect("a batch");
                    println!(
                        "kernels 1 to {parts}: {:.3} ms, {:.3e} arguments/s",
                        t * 1e3,
                        arguments as f64 / t
                    );
                }
            }
        }
        exec.clear();
        let clock = Instant::now();
        let (mut cases, mut arguments, mut counts) = (0, 0u64, PhaseCounts::default());
        search(
            &mut exec,
            &SearchWork {
                query: &q,
                units: &units,
                range: 0..units.len(),
                threads,
                room,
            },
            |_| true,
            |i, g, found| {
                std::hint::black_box(UnitRecord::new(&header, i, &g, &found));
                cases += found.cases.len();
                counts.add(&found.counts);
                arguments += g.len();
                ControlFlow::Continue(())
            },
        )
        .expect("a search");
        let t = clock.elapsed().as_secs_f64();
        println!(
            "end to end: {arguments} arguments, {cases} cases, {t:.3} s, {:.3e} arguments/s",
            arguments as f64 / t
        );
        println!("{counts:?}");
        exec.clear();
    }
}

/// Units as they are sent to the device; says how long that takes.
fn prepared(q: &Query, some: &[BinadeGrid], points: f64) -> Vec<Pending> {
    let mut stage = Stage::new(points);
    let clock = Instant::now();
    let staged: Vec<_> = some.iter().map(|g| (0, *g, stage.unit(q, g))).collect();
    let t = clock.elapsed().as_secs_f64() / staged.len() as f64;
    let n: usize = staged.iter().map(|s| s.2.sub_blocks.len()).sum();
    println!(
        "preparing: {:.1} us a unit of {} arguments, {} sub-blocks",
        t * 1e6,
        some[0].len(),
        n / staged.len()
    );
    staged
}
