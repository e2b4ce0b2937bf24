//! Every unit is done once, whoever is lost on the way.
use kerf_cluster::{ClusterError, UnitRanges, coordinate, join};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

fn plan(units: Vec<std::ops::Range<u64>>) -> UnitRanges {
    UnitRanges {
        token: "secret".into(),
        units,
        chunk: 5,
        workers: 3,
    }
}

#[test]
fn lost_workers_units_are_done_by_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    let mut told = Vec::new();
    std::thread::scope(|s| {
        // One that takes work, hands a unit back, and is gone; and a stranger.
        let mut bad = TcpStream::connect(&address).unwrap();
        let mut stranger = TcpStream::connect(&address).unwrap();
        s.spawn(move || {
            stranger.write_all(b"guess\n42\n").unwrap();
            bad.write_all(b"secret\n").unwrap();
            let mut some = [0; 8];
            bad.read_exact(&mut some).unwrap();
            bad.write_all(b"0\n").unwrap();
            bad.flush().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
        });
        for _ in 0..2 {
            let address = &address;
            s.spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(300));
                let joined = join::<ClusterError>(address, "secret", |range, reply| {
                    for u in range {
                        reply.line(&u.to_string());
                    }
                    Ok(())
                });
                // One that is late finds that the other has done everything.
                let late = matches!(joined, Err(ClusterError::Network { .. }));
                assert!(joined.is_ok() || late, "{joined:?}");
            });
        }
        coordinate::<ClusterError>(
            listener,
            &plan(vec![0..20, 30..47]),
            |line| {
                let unit = line.parse().unwrap();
                *seen.entry(unit).or_default() += 1;
                Ok(unit)
            },
            |again| told.push(again),
            || true,
        )
        .unwrap();
    });
    let expected: BTreeMap<u64, u32> = (0..20).chain(30..47).map(|u| (u, 1)).collect();
    assert_eq!(seen, expected);
    assert_eq!(told.len(), 1);
    assert!(told[0] >= 1, "{told:?}");
}

#[test]
fn nobody_left_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let e = coordinate::<ClusterError>(
        listener,
        &plan(vec![0..2, 2..3]),
        |_| Ok(0),
        |_| {},
        || false,
    );
    assert!(matches!(e, Err(ClusterError::Lost(0, 3))), "{e:?}");
}
