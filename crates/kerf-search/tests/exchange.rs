//! Files of other tuners: what is read is what is written, and what cannot be read is named.
use kerf_search::StrategyName;
use kerf_search::exchange::{FailureKind, kernel_tuner, pack, read, t1, t4};
use kerf_search::recorded::{RecordedSpace, json};
use kerf_search::repeat::repeat;
use serde_json::{Value, json as literal};

const CACHE: &[u8] = include_bytes!("data/pnpoly_rtx3090_part.json.gz");

fn tuning(bytes: &[u8]) -> kerf_search::exchange::Tuning {
    let value = json(bytes).expect("JSON");
    read(&value).expect("readable").expect("a tuning")
}

#[test]
fn a_cache_goes_round() {
    let t = tuning(CACHE);
    assert_eq!((t.entries.len(), t.params.len()), (360, 4));
    assert_eq!(t.device, "NVIDIA GeForce RTX 3090");
    assert!(
        t.entries
            .iter()
            .any(|e| e.failed == Some(FailureKind::Runtime))
    );
    assert!(t.entries.iter().any(|e| e.times.len() == 10));
    let text = kernel_tuner::write(&t);
    // Kernel Tuner takes a file for closed by these.
    assert!(text.ends_with("}\n}"));
    let back = tuning(text.as_bytes());
    assert_eq!(back, t);
    let packed = pack(text.as_bytes()).expect("packed");
    assert_eq!(tuning(&packed), t);
    // Not closed, as while it is written.
    let open = text.strip_suffix("}\n}").expect("closed");
    assert_eq!(tuning(format!("{open},\n").as_bytes()), t);
}

#[test]
fn t4_goes_round() {
    let t = tuning(CACHE);
    let v = t4::write(&t);
    assert_eq!(v["schema_version"], "1.0.0");
    let r = &v["results"][0];
    for key in ["configuration", "times", "invalidity", "correctness"] {
        assert!(!r[key].is_null(), "{key}");
    }
    assert_eq!(tuning(v.to_string().as_bytes()), t);
    // As others write it: without our lists, values in the order of the search.
    let mut bare = v.clone();
    bare["metadata"] = literal!({ "timeunit": "miliseconds" });
    if let Some(all) = bare["results"].as_array_mut() {
        all.reverse();
    }
    let back = tuning(bare.to_string().as_bytes());
    let best = |r: &RecordedSpace| (r.optimum(), r.len());
    let one = RecordedSpace::from_tuning(&t, None).expect("a space");
    let two = RecordedSpace::from_tuning(&back, None).expect("a space");
    assert_eq!(best(&one), best(&two));
    let blocks = back.params.iter().find(|p| p.name == "block_size_x");
    let blocks: Vec<String> = blocks
        .expect("a parameter")
        .values
        .iter()
        .map(|v| v.name())
        .collect();
    assert_eq!(blocks, ["64", "128", "256", "512", "768", "960"]);
}

#[test]
fn t4_units_and_single_runs() {
    let of = |unit: &str, measurements: Value, runtimes: Value| {
        literal!({
            "metadata": { "timeunit": unit },
            "results": [{
                "configuration": { "bx": 32, "fast": true },
                "times": { "runtimes": runtimes, "compilation_time": 2.0 },
                "invalidity": "correct", "correctness": 1.0,
                "measurements": measurements, "objectives": ["time"]
            }]
        })
        .to_string()
    };
    let time = literal!([{ "name": "time", "value": 500, "unit": "us" }]);
    let t = tuning(of("seconds", time, literal!([])).as_bytes());
    assert_eq!(t.entries[0].number("time"), Some(0.5));
    assert_eq!(t.entries[0].spent.compile, Some(2000.0));
    let t = tuning(of("seconds", literal!([]), literal!([0.001, 0.003])).as_bytes());
    assert_eq!(t.entries[0].number("time"), Some(2.0));
    assert_eq!(
        RecordedSpace::from_tuning(&t, None).expect("a space").len(),
        1
    );
}

#[test]
fn t1_is_read_and_written() {
    let file = literal!({
        "ConfigurationSpace": {
            "TuningParameters": [
                { "Name": "bx", "Type": "int", "Values": "[1, 2, 4] + list(range(32, 129, 32))" },
                { "Name": "by", "Type": "int", "Values": "[2**i for i in range(0, 6)]" },
                { "Name": "how", "Type": "string", "Values": "['plain', 'tiled']" },
            ],
            "Conditions": [
                { "Parameters": ["bx", "by"], "Expression": "32 <= bx * by <= 1024" },
                { "Parameters": ["how", "bx"], "Expression": "how == 'plain' or bx % 32 == 0" },
            ]
        },
        "KernelSpecification": {
            "Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu",
            "GlobalSize": { "X": "4096" }, "LocalSize": { "X": "bx" }
        }
    });
    let d = t1::read(&file).expect("a description");
    let points = d.space.points().expect("points");
    assert_eq!((d.kernel.as_str(), d.space.combinations()), ("k", 84));
    let brute = |bx: i64, by: i64, tiled: bool| {
        (32..=1024).contains(&(bx * by)) && (!tiled || bx % 32 == 0)
    };
    let mut expected = 0;
    for bx in [1, 2, 4, 32, 64, 96, 128] {
        for by in [1, 2, 4, 8, 16, 32] {
            expected += usize::from(brute(bx, by, false)) + usize::from(brute(bx, by, true));
        }
    }
    assert_eq!(points.len(), expected);
    let written = t1::write(&d.space, file["KernelSpecification"].clone());
    let back = t1::read(&written).expect("a description");
    assert_eq!(back.space.params, d.space.params);
    assert_eq!(back.space.points().expect("points"), points);
    // Of recorded results too.
    let t = tuning(CACHE);
    let space = kerf_search::space::Space::new(t.params.clone());
    let v = t1::write(&space, t1::specification(&t));
    let back = t1::read(&v).expect("a description");
    assert_eq!(back.space.params, t.params);
    assert_eq!(v["KernelSpecification"]["LocalSize"]["X"], "block_size_x");
}

#[test]
fn mistakes_in_descriptions_are_named() {
    let of = |kind: &str, values: Value, condition: &str| {
        let file = literal!({
            "ConfigurationSpace": {
                "TuningParameters": [{ "Name": "bx", "Type": kind, "Values": values }],
                "Conditions": [{ "Parameters": ["bx"], "Expression": condition }]
            },
            "KernelSpecification": { "KernelName": "k" }
        });
        let d = t1::read(&file).map_err(|e| e.to_string())?;
        d.space.points().map_err(|e| e.to_string())
    };
    for (kind, values, condition, why) in [
        (
            "int",
            literal!("[1, 2"),
            "bx > 0",
            "parameter `bx`: at character",
        ),
        ("int", literal!("3"), "bx > 0", "no list"),
        ("int", literal!(3), "bx > 0", "are a number"),
        ("int", literal!("['a']"), "bx > 0", "not of its type"),
        ("complex", literal!("[1]"), "bx > 0", "`complex`"),
        ("int", literal!("[1]"), "bz > 0", "`bz` is no parameter"),
        ("int", literal!("[1]"), "bx >", "constraint `bx >`"),
        (
            "int",
            literal!("[1, 2]"),
            "bx > 2",
            "excludes the last 2 of 2",
        ),
        ("int", literal!("[1, 1]"), "bx > 0", "twice"),
    ] {
        let said = of(kind, values, condition).expect_err(why);
        assert!(said.contains(why), "{why}: {said}");
    }
    assert_eq!(of("int", literal!([7]), "bx > 0"), Ok(vec![vec![0]]));
}

#[test]
fn what_cannot_be_read_is_named() {
    let cache = |objective: Value, entry: Value| {
        literal!({
            "kernel_name": "k", "device_name": "d", "objective": objective,
            "tune_params_keys": ["bx"], "tune_params": { "bx": [1, 2] },
            "cache": { "1": entry }
        })
        .to_string()
    };
    let fine = literal!({ "bx": 1, "time": 1.0, "GFLOP/s": 5.0, "zeal": 2 });
    let t4 = |extra: Value| {
        let mut r = literal!({ "configuration": { "bx": 1 }, "times": {}, "invalidity": "correct", "correctness": 1 });
        if let (Some(r), Some(extra)) = (r.as_object_mut(), extra.as_object()) {
            r.extend(extra.clone());
        }
        literal!({ "results": [r] }).to_string()
    };
    for (text, why) in [
        (
            cache(literal!("time"), literal!({ "bx": 1 })),
            "entry `1` of `cache`: it has no `time`",
        ),
        (
            cache(literal!("time"), literal!({ "time": 1 })),
            "it has no `bx`",
        ),
        (
            cache(literal!("time"), literal!({ "bx": 3, "time": 1 })),
            "bx = `3`",
        ),
        (
            cache(literal!("time"), literal!({ "bx": 1, "time": [1] })),
            "`time` is a list",
        ),
        (
            cache(literal!("time"), literal!({ "bx": 1, "time": -1.0 })),
            "its `time` is -1",
        ),
        (
            cache(
                literal!("time"),
                literal!({ "bx": 1, "time": 1, "times": "x" }),
            ),
            "`times`: text",
        ),
        (
            cache(
                literal!("time"),
                literal!({ "bx": 1, "time": 1, "times": [1, "x"] }),
            ),
            "`times`[1]",
        ),
        (
            cache(literal!("time"), literal!(7)),
            "a number where an object belongs",
        ),
        (
            cache(literal!(["time", "power"]), fine.clone()),
            "`objective`: a list",
        ),
        (
            cache(literal!("zeal"), fine.clone()),
            "more or less of the objective `zeal`",
        ),
        (
            literal!({ "cache": {}, "tune_params": {} }).to_string(),
            "no entries",
        ),
        (
            literal!({ "cache": [], "tune_params": {} }).to_string(),
            "`cache`: a list",
        ),
        (
            literal!({ "cache": {}, "tune_params": { "a": 1 } }).to_string(),
            "no list `a`",
        ),
        (literal!({ "results": [] }).to_string(), "no entries"),
        (
            literal!({ "results": 3 }).to_string(),
            "`results`: a number",
        ),
        (t4(literal!({ "invalidity": "gone" })), "`gone` is none of"),
        (
            t4(literal!({ "configuration": [] })),
            "`results[0]`: `configuration`",
        ),
        (t4(literal!({})), "objective `time` is not measured"),
        (
            "{\"cache\": {\"1\": {\"bx\": 1, \"ti".to_owned(),
            "not JSON",
        ),
        (literal!({ "ConfigurationSpace": {} }).to_string(), "T1"),
    ] {
        let said = RecordedSpace::parse(text.as_bytes())
            .map(|_| ())
            .expect_err(&text)
            .to_string();
        assert!(said.contains(why), "{why}: {said}");
    }
    let half = &CACHE[..CACHE.len() / 2];
    let said = RecordedSpace::parse(half)
        .map(|_| ())
        .expect_err("cut off")
        .to_string();
    assert!(said.contains("gzip") && said.contains("help"), "{said}");
    // Words that are not Kernel Tuner's own are failures too, as are its numbers of old.
    let two = literal!({
        "tune_params": { "bx": [1, 2, 3] },
        "cache": {
            "1": { "bx": 1, "time": "SomethingWrong" }, "2": { "bx": 2, "time": 1e20 }, "3": { "bx": 3, "time": 2.0 }
        }
    });
    let r = RecordedSpace::parse(two.to_string().as_bytes()).expect("a space");
    assert_eq!((r.len(), r.optimum()), (3, Some(2.0)));
}

#[test]
fn other_objectives_can_be_chosen() {
    let file = literal!({
        "tune_params": { "bx": [1, 2] },
        "cache": {
            "1": { "bx": 1, "time": 1.0, "GFLOP/s": 5.0, "zeal": 2.0 },
            "2": { "bx": 2, "time": 2.0, "GFLOP/s": 10.0, "zeal": 8.0 }
        }
    })
    .to_string();
    let best = |o| {
        RecordedSpace::parse_for(file.as_bytes(), o)
            .expect("a space")
            .optimum()
    };
    assert_eq!(best(None), Some(1.0));
    assert_eq!(best(Some("GFLOP/s")), Some(0.1));
    assert_eq!(best(Some("+zeal")), Some(0.125));
    assert_eq!(best(Some("-zeal")), Some(2.0));
    let said = RecordedSpace::parse_for(file.as_bytes(), Some("energy")).map(|_| ());
    let said = said.expect_err("no such").to_string();
    assert!(said.contains("GFLOP/s, time, zeal"), "{said}");
}

#[test]
fn every_strategy_replays_a_real_cache() {
    let r = RecordedSpace::parse(CACHE).expect("a space");
    for s in [
        StrategyName::Guided,
        StrategyName::Random,
        StrategyName::NaiveGa,
        StrategyName::Annealing,
        StrategyName::Differential,
        StrategyName::Local,
    ] {
        // Of few searches one that misses the fastest branch decides the mean.
        let (times, most) = if s == StrategyName::Guided {
            (20, 1.03)
        } else {
            (4, 1.2)
        };
        let once = repeat(&r, s, 60, times, 1).expect("a strategy");
        let last = once.marks.last().expect("a mark");
        assert!(last.mean <= most, "{s}: {last:?}");
        assert_eq!(
            once,
            repeat(&r, s, 60, times, 1).expect("a strategy"),
            "{s}"
        );
        assert!(
            once.repetitions
                .iter()
                .all(|x| x.missing == 0 && x.executions == 60)
        );
        // More runs than there are points end with all of them.
        let all = repeat(&r, s, 1000, 1, 1).expect("a strategy");
        assert_eq!(all.repetitions[0].over_optimum, Some(1.0), "{s}");
        assert!(all.repetitions[0].executions <= 360, "{s}");
    }
    let said = repeat(&r, StrategyName::Ryoo, 10, 1, 1)
        .expect_err("no metrics")
        .to_string();
    assert!(said.contains("static metrics"), "{said}");
}
