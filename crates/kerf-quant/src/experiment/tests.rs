use super::*;
use crate::bits::{self, Gain};
use crate::cpu::CpuBackend;
use crate::data::part::Part;
use crate::data::stripes::Stripes;
use crate::sensitivity;

fn recipe(policy: Option<Policy>) -> TrainingRecipe {
    TrainingRecipe {
        network: "small-cnn".into(),
        data: "stripes".into(),
        policy,
        settings: QuantizationSettings::default(),
        train: TrainConfig {
            epochs: 2,
            batch: 32,
            ..TrainConfig::default()
        },
        held_out: 0.1,
        cutout: 0,
        start: None,
    }
}

fn cpu(
    g: &Graph,
    p: &[QuantizationPoint],
    o: Optimizer,
    s: u64,
) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(CpuBackend::new(g, p, o, s, 2)?))
}

#[test]
fn a_folder_holds_the_network_and_its_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let (all, test) = Stripes::pair(640, 200);
    let (train, held) = Part::split(&all, 0.1);
    let recipe = recipe(Some(Policy::default()));
    let e = Experiment {
        recipe: &recipe,
        train: &train,
        test: &test,
        make: &cpu,
        folder: dir.path(),
        start: None,
        resume: false,
    };
    let seeds: Vec<SeedResult> = (1..=2).map(|s| e.seed(s, &mut |_| {}).unwrap()).collect();
    let result = e.finish(seeds).unwrap();
    assert_eq!(read_result(dir.path()).unwrap(), result);
    assert!(result.accuracy.low <= result.accuracy.mean && result.accuracy.how.contains("2 seeds"));
    assert_ne!(
        result.seeds[0].history[0].train,
        result.seeds[1].history[0].train
    );
    assert!(result.size.bytes < 0.4 * result.size.fp32_bytes);
    for f in [
        "accuracy.svg",
        "bits.svg",
        "steps.svg",
        "histograms/pool1.svg",
    ] {
        let svg = std::fs::read_to_string(dir.path().join(f));
        assert!(svg.is_ok_and(|s| s.starts_with("<svg")), "{f}");
    }
    // The files alone give the same accuracy.
    let folder = seed_folder(dir.path(), 2);
    let model = read_model(&folder).unwrap();
    let graph = model.graph().unwrap();
    let mut b = cpu(&graph, &model.points, recipe.train.optimizer, 77).unwrap();
    weights::load(&folder.join("weights.safetensors"), &graph, b.as_mut()).unwrap();
    let again = evaluate(b.as_mut(), &test, &model.decisions).unwrap();
    assert_eq!(again, result.seeds[1].test);
    // A second run finds everything done.
    let again = Experiment { resume: true, ..e };
    let mut steps = 0;
    let r = again
        .seed(1, &mut |ev| {
            steps += u32::from(matches!(ev, TrainEvent::Steps { .. }))
        })
        .unwrap();
    assert_eq!((steps, r.test), (0, result.seeds[0].test));
    // Sensitivity, and bits within a drop.
    let (base, sensitive) = sensitivity::measure(
        &graph,
        b.as_mut(),
        &held,
        &model.points,
        &bits::with_bits(&model.decisions, &vec![2.0; model.points.len()]),
        &mut |_, _| {},
    )
    .unwrap();
    assert_eq!(sensitive.len(), 3);
    assert!(sensitive[0].loss > 0.0 && base.count == 64);
    let request = bits::BitsRequest {
        graph: &graph,
        points: &model.points,
        decisions: &model.decisions,
        bits: &model.bits,
        data: &held,
        max_drop: 5.0,
        gain: Gain::BitOperations,
        strategy: kerf_search::StrategyName::Guided,
        budget: 25,
        seed: 1,
    };
    let found = bits::search(&request, b.as_mut(), &mut |_, _, _| {}).unwrap();
    assert!(found.drop_points.is_some_and(|d| d <= 5.0));
    assert!(found.ratio.is_some_and(|r| r < 0.8), "{found:?}");
    assert!(found.tried.len() <= 26);
    let chosen = found.bits.unwrap();
    let at: Vec<f64> = model.points.iter().map(|p| chosen[&p.name]).collect();
    let score = evaluate(b.as_mut(), &held, &bits::with_bits(&model.decisions, &at)).unwrap();
    assert_eq!(
        100.0 * (found.reference - score.accuracy()),
        found.drop_points.unwrap()
    );
}

#[test]
fn files_of_others_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let e = |r: Result<RunResult, ExperimentError>| r.unwrap_err().to_string();
    assert!(e(read_result(dir.path())).contains("result.json"));
    std::fs::write(dir.path().join("result.json"), "{\"schema\": \"kerf-7\"}").unwrap();
    assert!(e(read_result(dir.path())).contains("its schema is \"kerf-7\""));
    std::fs::write(dir.path().join("result.json"), "{").unwrap();
    assert!(e(read_result(dir.path())).contains("EOF"));
}
