use super::*;
use crate::cpu::CpuBackend;
use crate::data::stripes::Stripes;
use crate::data::text::Text;
use crate::networks;
use crate::points::Policy;
use crate::steering::QuantizationSettings;
use crate::weights;
use std::path::Path;

fn config(epochs: u64) -> TrainConfig {
    TrainConfig {
        epochs,
        batch: 16,
        rate: 0.1,
        ..TrainConfig::default()
    }
}

struct Stop;

/// A run; stops after an event if `until` says so. Gives the rows and all weights as bits.
fn train(
    method: Option<&str>,
    config: &TrainConfig,
    checkpoint: Option<&Path>,
    resume: bool,
    mut until: impl FnMut(&TrainEvent) -> bool,
) -> Result<(Vec<EpochRow>, Vec<u32>), Option<TrainError>> {
    let (a, b) = Stripes::pair(256, 100);
    let graph = networks::by_name("small-cnn", &a.input(), a.classes()).unwrap();
    let points = match method {
        Some(_) => Policy::default().points(&graph).unwrap(),
        None => Vec::new(),
    };
    let settings = QuantizationSettings {
        method: method.unwrap_or("max").into(),
        weight_bits: 4.0,
        activation_bits: 4.0,
        tau: 5,
        eta: 2,
        parts: 256,
        ..QuantizationSettings::default()
    };
    let mut steering = Steering::new(&graph, &points, &settings).unwrap();
    let mut backend = CpuBackend::new(&graph, &points, config.optimizer, config.seed, 2).unwrap();
    let mut trainer = Trainer {
        graph: &graph,
        backend: &mut backend,
        steering: &mut steering,
        train: &a,
        test: &b,
        config,
        checkpoint: checkpoint.map(PathBuf::from),
        checkpoint_s: 0.0,
        identity: "test".into(),
    };
    // A panic stands for being killed: nothing after the event is executed.
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        trainer.run(resume, &mut |e| {
            if until(e) {
                std::panic::resume_unwind(Box::new(Stop));
            }
        })
    }));
    let rows = match killed {
        Err(_) => return Err(None),
        Ok(Err(e)) => return Err(Some(e)),
        Ok(Ok(rows)) => rows,
    };
    let all = weights::from_backend(&graph, &backend).unwrap();
    let bits = all
        .values()
        .flat_map(|t| t.data.iter().map(|v| v.to_bits()))
        .collect();
    Ok((rows, bits))
}

fn plain(rows: &[EpochRow]) -> String {
    let without_time = rows
        .iter()
        .map(|r| (r.epoch, r.train, r.test, r.bits.clone(), r.steps.clone()));
    format!("{:?}", without_time.collect::<Vec<_>>())
}

#[test]
fn a_network_learns_with_every_method() {
    let never = |_: &TrainEvent| false;
    let (rows, _) = train(None, &config(3), None, false, never).ok().unwrap();
    let full = rows.last().unwrap().test.accuracy();
    assert!(full > 0.7, "{full}");
    for m in crate::methods::names() {
        let (rows, _) = train(Some(m), &config(2), None, false, never).ok().unwrap();
        let last = rows.last().unwrap();
        assert!(last.test.accuracy() > 0.5, "{m}: {}", last.test.accuracy());
        assert!(last.steps.iter().all(|s| s.is_some_and(|s| s > 0.0)), "{m}");
        let targets = last.bits.iter().all(|b| *b == 4.0);
        let above = ["mix-printed", "fracbits", "dq"].contains(&m);
        assert!(targets || above, "{m}: {:?}", last.bits);
    }
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    for (m, adam) in [("rand+mix", false), ("dq", true)] {
        let mut c = config(3);
        if adam {
            c.rate = 2e-3;
            c.optimizer = Optimizer::Adam {
                beta1: 0.9,
                beta2: 0.999,
                eps: 1e-8,
                weight_decay: 1e-4,
                decoupled: true,
            };
        }
        let path = dir.path().join(format!("{m}.safetensors"));
        let whole = train(Some(m), &c, None, false, |_| false).ok().unwrap();
        // Killed in the middle of the second epoch, and again in the third.
        for (step, found) in [(21, None), (36, Some(20))] {
            let mut resumed = None;
            let killed = train(Some(m), &c, Some(&path), true, |e| match e {
                TrainEvent::Resumed { step, .. } => {
                    resumed = Some(*step);
                    false
                }
                TrainEvent::Steps { step: s, .. } => *s >= step,
                TrainEvent::Epoch { .. } => false,
            });
            assert!(matches!(killed, Err(None)), "{m}");
            assert!(
                resumed.is_some() == found.is_some() && resumed >= found,
                "{m} {resumed:?}"
            );
        }
        let again = train(Some(m), &c, Some(&path), true, |_| false)
            .ok()
            .unwrap();
        assert_eq!(plain(&again.0), plain(&whole.0), "{m}");
        assert!(again.1 == whole.1, "{m}");
    }
}

#[test]
fn a_loss_that_is_no_number_is_named_and_the_checkpoint_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.safetensors");
    let first = |e: &TrainEvent| matches!(e, TrainEvent::Epoch { row, .. } if row.epoch == 1);
    assert!(matches!(
        train(None, &config(2), Some(&path), false, first),
        Err(None)
    ));
    let before = std::fs::read(&path).unwrap();
    let mut c = config(2);
    c.rate = 1e30;
    let e = train(Some("max"), &c, Some(&path), false, |_| false)
        .err()
        .flatten()
        .unwrap();
    let TrainError::NotANumber {
        step, epoch, kept, ..
    } = e
    else {
        panic!("{e}");
    };
    assert!(
        step > 1 && step <= 17 && epoch == 1 && kept == Some(16),
        "{e}"
    );
    assert!(e.to_string().contains("checkpoint of step 16 is kept"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn other_data_and_other_checkpoints_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.safetensors");
    let e = |c: &TrainConfig, m, resume| {
        let e = train(m, c, Some(&path), resume, |_| false).err().flatten();
        e.map(|e| e.to_string()).unwrap_or_default()
    };
    for (change, part) in [
        (
            TrainConfig {
                rate: 0.0,
                ..config(1)
            },
            "not positive",
        ),
        (
            TrainConfig {
                epochs: 0,
                ..config(1)
            },
            "at least 1",
        ),
        (
            TrainConfig {
                label_smoothing: 1.0,
                ..config(1)
            },
            "smoothing",
        ),
    ] {
        assert!(e(&change, None, false).contains(part), "{part}");
    }
    assert_eq!(e(&config(1), Some("max"), false), "");
    assert!(e(&config(2), None, true).contains("another run"));
    std::fs::write(&path, "nothing").unwrap();
    assert!(e(&config(2), None, true).contains("no safetensors"));
    // Data for another network.
    let (a, b) = Stripes::pair(64, 64);
    let graph = networks::by_name(
        "small-cnn",
        &crate::graph::InputSpec::Reals(vec![3, 12, 12]),
        4,
    )
    .unwrap();
    let mut steering = Steering::new(&graph, &[], &QuantizationSettings::default()).unwrap();
    let c = config(1);
    let mut backend = CpuBackend::new(&graph, &[], c.optimizer, 1, 1).unwrap();
    let mut t = Trainer {
        graph: &graph,
        backend: &mut backend,
        steering: &mut steering,
        train: &a,
        test: &b,
        config: &c,
        checkpoint: None,
        checkpoint_s: 0.0,
        identity: String::new(),
    };
    let e = t.run(false, &mut |_| {}).unwrap_err().to_string();
    assert!(
        e.contains("[1, 12, 12]") && e.contains("[3, 12, 12]"),
        "{e}"
    );
}

#[test]
fn a_text_model_learns_a_pattern() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.txt");
    std::fs::write(&path, "the cat sat on the mat. ".repeat(150)).unwrap();
    let (a, b) = Text::pair(&path).unwrap();
    let graph = networks::by_name("text-transformer", &a.input(), a.classes()).unwrap();
    let points = Policy::default().points(&graph).unwrap();
    let mut steering = Steering::new(&graph, &points, &QuantizationSettings::default()).unwrap();
    let c = TrainConfig {
        epochs: 8,
        batch: 4,
        rate: 3e-3,
        optimizer: Optimizer::Adam {
            beta1: 0.9,
            beta2: 0.99,
            eps: 1e-8,
            weight_decay: 0.01,
            decoupled: true,
        },
        clip_norm: Some(1.0),
        ..TrainConfig::default()
    };
    let mut backend = CpuBackend::new(&graph, &points, c.optimizer, 1, 2).unwrap();
    let mut t = Trainer {
        graph: &graph,
        backend: &mut backend,
        steering: &mut steering,
        train: &a,
        test: &b,
        config: &c,
        checkpoint: None,
        checkpoint_s: 0.0,
        identity: String::new(),
    };
    let rows = t.run(false, &mut |_| {}).unwrap();
    let last = rows.last().unwrap().test;
    assert!(last.accuracy() > 0.9, "{last:?}");
}
