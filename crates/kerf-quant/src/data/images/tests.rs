//! Loading, normalising and changing images; what is wrong with files.
use super::*;
use std::fs;
use std::path::Path;

fn cifar(folder: &Path, per_batch: usize) {
    for (b, name) in cifar::TRAIN.iter().chain([&cifar::TEST]).enumerate() {
        let mut bytes = Vec::new();
        for i in 0..per_batch {
            bytes.push(((b + i) % 10) as u8);
            bytes.extend((0..3072).map(|p| (p * 7 + i * 13 + b) as u8));
        }
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn reals(d: &Images, indices: &[usize], seed: Option<u64>) -> Vec<f32> {
    d.batch(indices, seed)
        .unwrap()
        .input
        .reals()
        .unwrap()
        .into_owned()
}

#[test]
fn cifar_is_read_and_normalised() {
    let dir = tempfile::tempdir().unwrap();
    cifar(dir.path(), 4);
    let (train, test) = cifar::load(dir.path()).unwrap();
    assert_eq!((train.len(), test.len()), (20, 4));
    assert_eq!(train.labels()[4], 1);
    let all: Vec<usize> = (0..20).collect();
    let x = reals(&train, &all, None);
    for c in 0..3 {
        let of_channel = || {
            let planes = x.chunks_exact(1024).skip(c).step_by(3);
            planes.flatten().map(|&v| f64::from(v))
        };
        let mean = of_channel().sum::<f64>() / 20480.0;
        let var = of_channel().map(|v| v * v).sum::<f64>() / 20480.0 - mean * mean;
        assert!(
            mean.abs() < 1e-5 && (var - 1.0).abs() < 1e-4,
            "{mean} {var}"
        );
    }
    assert_eq!(test.normal(), train.normal());
}

#[test]
fn crops_and_mirror_images_are_those_of_the_padded_image() {
    let dir = tempfile::tempdir().unwrap();
    cifar(dir.path(), 4);
    let (train, _) = cifar::load(dir.path()).unwrap();
    let batch = train.batch(&[3], Some(5)).unwrap();
    let BatchInput::Images(mut b) = batch.input else {
        panic!()
    };
    let plain = reals(&train, &[3], None);
    for m in [
        Move {
            top: -4,
            left: 3,
            flip: false,
            hole: [0; 4],
        },
        Move {
            top: 2,
            left: -1,
            flip: true,
            hole: [0; 4],
        },
        Move {
            top: 2,
            left: 4,
            flip: true,
            hole: [-3, 20, 5, 28],
        },
    ] {
        b.moves = vec![m];
        let got = b.reals();
        for c in 0..3usize {
            let zero = -train.normal().mean[c] / train.normal().std[c];
            for y in 0..32i32 {
                for x in 0..32i32 {
                    // Where a pixel came from: mirrored within the part, then moved.
                    let (v, u) = (y + m.top, if m.flip { 31 - x } else { x } + m.left);
                    let inside = (0..32).contains(&v) && (0..32).contains(&u);
                    let want = if m.hole[0] <= y && y < m.hole[2] && m.hole[1] <= x && x < m.hole[3]
                    {
                        0.0
                    } else if inside {
                        plain[c * 1024 + (v * 32 + u) as usize]
                    } else {
                        zero
                    };
                    assert_eq!(
                        got[c * 1024 + (y * 32 + x) as usize],
                        want,
                        "{m:?} {c} {y} {x}"
                    );
                }
            }
        }
    }
}

#[test]
fn draws_depend_on_seed_and_image_only() {
    let dir = tempfile::tempdir().unwrap();
    cifar(dir.path(), 40);
    let (train, test) = cifar::load(dir.path()).unwrap();
    let alone = reals(&train, &[17], Some(9));
    let among = reals(&train, &[3, 17, 5], Some(9));
    assert_eq!(alone, among[3072..6144]);
    assert_ne!(alone, reals(&train, &[17], Some(10)));
    let moves = |s| {
        let b = train.batch(&(0..200).collect::<Vec<_>>(), Some(s)).unwrap();
        let BatchInput::Images(b) = b.input else {
            panic!()
        };
        b.moves
    };
    let all = moves(1);
    let flips = all.iter().filter(|m| m.flip).count();
    assert!((60..140).contains(&flips), "{flips}");
    for e in -4..=4 {
        assert!(all.iter().any(|m| m.top == e) && all.iter().any(|m| m.left == e));
    }
    // A test set is never changed.
    assert_eq!(reals(&test, &[1], Some(1)), reals(&test, &[1], None));
}

#[test]
fn idx_files_plain_and_packed() {
    let dir = tempfile::tempdir().unwrap();
    let idx = |kind: u8, sizes: &[u32], data: &[u8]| {
        let mut b = vec![0, 0, kind, sizes.len() as u8];
        b.extend(sizes.iter().flat_map(|s| s.to_be_bytes()));
        b.extend(data);
        b
    };
    let gz = |b: &[u8]| {
        use std::io::Write;
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        e.write_all(b).unwrap();
        e.finish().unwrap()
    };
    let put = |n: &str, b: Vec<u8>| fs::write(dir.path().join(n), b).unwrap();
    let pixels: Vec<u8> = (0..5 * 6 * 7).map(|i| i as u8).collect();
    put(
        "train-images-idx3-ubyte.gz",
        gz(&idx(8, &[5, 6, 7], &pixels)),
    );
    put("train-labels-idx1-ubyte", idx(8, &[5], &[0, 1, 2, 3, 9]));
    put("t10k-images-idx3-ubyte", idx(8, &[2, 6, 7], &pixels[..84]));
    put("t10k-labels-idx1-ubyte", idx(8, &[2], &[4, 5]));
    let (train, test) = idx::load(dir.path(), "mnist", false).unwrap();
    assert_eq!(train.shape(), [1, 6, 7]);
    assert_eq!((train.len(), test.len(), train.classes()), (5, 2, 10));

    put("t10k-labels-idx1-ubyte", idx(8, &[3], &[4, 5, 6]));
    let e = idx::load(dir.path(), "mnist", false)
        .unwrap_err()
        .to_string();
    assert!(e.contains("t10k-labels") && e.contains("2 images"), "{e}");
    put("t10k-images-idx3-ubyte", idx(8, &[3, 6, 7], &pixels[..84]));
    let e = idx::load(dir.path(), "mnist", false)
        .unwrap_err()
        .to_string();
    assert!(e.contains("84 bytes follow"), "{e}");
    put(
        "t10k-images-idx3-ubyte",
        idx(0x0d, &[2, 6, 7], &pixels[..84]),
    );
    let e = idx::load(dir.path(), "mnist", false)
        .unwrap_err()
        .to_string();
    assert!(e.contains("type 0xd"), "{e}");
    put("t10k-images-idx3-ubyte", b"PK".to_vec());
    let e = idx::load(dir.path(), "mnist", false)
        .unwrap_err()
        .to_string();
    assert!(e.contains("not an IDX file"), "{e}");
    fs::remove_file(dir.path().join("t10k-images-idx3-ubyte")).unwrap();
    let e = idx::load(dir.path(), "mnist", false)
        .unwrap_err()
        .to_string();
    assert!(
        e.starts_with("cannot read") && e.contains("t10k-images"),
        "{e}"
    );
}

#[test]
fn a_cut_batch_is_named() {
    let dir = tempfile::tempdir().unwrap();
    cifar(dir.path(), 2);
    let path = dir.path().join("data_batch_3.bin");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..5000]).unwrap();
    let e = cifar::load(dir.path()).unwrap_err().to_string();
    assert!(
        e.contains("data_batch_3.bin") && e.contains("5000 bytes"),
        "{e}"
    );
    let mut bad = bytes;
    bad[0] = 10;
    fs::write(&path, bad).unwrap();
    let e = cifar::load(dir.path()).unwrap_err().to_string();
    assert!(e.contains("label 10"), "{e}");
}

fn save_npy(path: &Path, kind: &str, shape: &str, data: &[u8]) {
    let mut h = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + h.len() + 1) % 64 != 0 {
        h.push(' ');
    }
    h.push('\n');
    let mut b = b"\x93NUMPY\x01\x00".to_vec();
    b.extend((h.len() as u16).to_le_bytes());
    b.extend(h.as_bytes());
    b.extend(data);
    fs::write(path, b).unwrap();
}

#[test]
fn arrays_of_bytes_and_reals() {
    let dir = tempfile::tempdir().unwrap();
    let at = |n: &str| dir.path().join(n);
    let reals4: Vec<u8> = (0..3 * 2 * 4)
        .flat_map(|i| (i as f32).to_le_bytes())
        .collect();
    let y: Vec<u8> = [0i64, 2, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
    save_npy(&at("train_x.npy"), "<f4", "(3, 2, 2, 2)", &reals4);
    save_npy(&at("train_y.npy"), "<i8", "(3,)", &y);
    save_npy(&at("test_x.npy"), "|u1", "(3, 2, 2, 2)", &[7; 24]);
    save_npy(&at("test_y.npy"), "<i8", "(3,)", &y);
    let (train, test) = npy::load(dir.path(), "own").unwrap();
    assert_eq!(
        (train.shape(), train.classes(), test.len()),
        ([2, 2, 2], 3, 3)
    );
    assert_eq!(train.labels(), [0, 2, 1]);

    save_npy(&at("test_x.npy"), "|u1", "(3, 5, 5, 3)", &[7; 225]);
    let e = npy::load(dir.path(), "own").unwrap_err().to_string();
    assert!(e.contains("x.transpose(0, 3, 1, 2)"), "{e}");
    save_npy(&at("test_x.npy"), "|u1", "(3, 2, 2)", &[7; 12]);
    let e = npy::load(dir.path(), "own").unwrap_err().to_string();
    assert!(e.contains("[1, 2, 2]") && e.contains("[2, 2, 2]"), "{e}");
    save_npy(&at("test_x.npy"), "|u1", "(2, 2, 2, 2)", &[7; 16]);
    let e = npy::load(dir.path(), "own").unwrap_err().to_string();
    assert!(e.contains("test_y.npy has 3 labels"), "{e}");
    save_npy(&at("train_y.npy"), "<f4", "(3,)", &[0; 12]);
    let e = npy::load(dir.path(), "own").unwrap_err().to_string();
    assert!(e.contains("whole numbers"), "{e}");
    save_npy(&at("train_x.npy"), "<c8", "(3, 1)", &[0; 24]);
    let e = npy::load(dir.path(), "own").unwrap_err().to_string();
    assert!(e.contains("<c8"), "{e}");
    save_npy(
        &at("train_x.npy"),
        "<f4",
        "(9999999999999, 9999999999)",
        &[0; 24],
    );
    assert!(npy::load(dir.path(), "own").is_err());
    fs::write(at("train_x.npy"), b"\x93NUMPY\x01\x00\xff\xff{'descr'").unwrap();
    let e = npy::load(dir.path(), "own").unwrap_err().to_string();
    assert!(e.contains("truncated"), "{e}");
}

#[test]
fn folders_of_images() {
    let dir = tempfile::tempdir().unwrap();
    let put = |p: &str, size: u32, v: u8| {
        let path = dir.path().join(p);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut e = png::Encoder::new(fs::File::create(path).unwrap(), size, size);
        e.set_color(png::ColorType::Rgb);
        let points = (0..size * size).flat_map(|i| [v, (i % size) as u8, (i / size) as u8]);
        let data: Vec<u8> = points.collect();
        e.write_header().unwrap().write_image_data(&data).unwrap();
    };
    for (i, p) in [
        "train/cat/b.png",
        "train/cat/a.png",
        "train/dog/1.png",
        "test/dog/1.png",
    ]
    .iter()
    .enumerate()
    {
        put(p, 8, 10 * i as u8);
    }
    assert_eq!(folder::classes(dir.path()).unwrap(), ["cat", "dog"]);
    let (train, test) = folder::load(dir.path(), "pets").unwrap();
    assert_eq!((train.shape(), train.len(), test.len()), ([3, 8, 8], 3, 1));
    assert_eq!((train.labels(), test.labels()), (&[0, 0, 1][..], &[1][..]));
    // By name: a.png (second written, red 10) comes first; planes are red, green, blue.
    let BatchInput::Images(b) = train.batch(&[0], None).unwrap().input else {
        panic!()
    };
    let Pixels::Bytes(v) = &b.store.pixels else {
        panic!()
    };
    assert_eq!((v[0], v[64 + 3], v[128 + 8 * 5]), (10, 3, 5));

    put("test/bird/1.png", 8, 1);
    let e = folder::load(dir.path(), "pets").unwrap_err().to_string();
    assert!(
        e.contains("bird") && e.contains("training set does not have"),
        "{e}"
    );
    fs::remove_dir_all(dir.path().join("test/bird")).unwrap();
    put("train/dog/2.png", 9, 1);
    let e = folder::load(dir.path(), "pets").unwrap_err().to_string();
    assert!(e.contains("2.png") && e.contains("9x9"), "{e}");
    fs::write(dir.path().join("train/dog/2.png"), b"no image").unwrap();
    let e = folder::load(dir.path(), "pets").unwrap_err().to_string();
    assert!(
        e.contains("2.png") && e.contains("not a readable image"),
        "{e}"
    );
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let make = |pixels: usize, labels: Vec<u32>| {
        let p = Pixels::Bytes(vec![0; pixels]);
        Images::new("x", "x.bin", [1, 2, 2], p, labels, 2).map_err(|e| e.to_string())
    };
    assert!(make(8, vec![0, 1]).is_ok());
    assert!(make(7, vec![0, 1]).unwrap_err().contains("need 8"));
    assert!(make(8, vec![0, 2]).unwrap_err().contains("label 2"));
    assert!(make(0, vec![]).unwrap_err().contains("no images"));
    let p = Pixels::Reals(vec![0.0, f32::NAN, 0.0, 0.0]);
    let e = Images::new("x", "x.bin", [1, 2, 2], p, vec![0], 2).unwrap_err();
    assert!(e.to_string().contains("not finite"));
}
