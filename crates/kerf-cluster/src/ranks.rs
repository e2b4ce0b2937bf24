//! The ranks of `mpirun`: who is where. MPI is initialised for that and ended at once, so that a rank that dies
//! later is nothing that MPI could hang on.
use crate::ClusterError;
use mpi::traits::*;
use std::net::TcpListener;

/// Bytes of a rank's address.
const ADDRESS: usize = 256;
/// Bytes of the secret.
const TOKEN: usize = 32;

/// One rank's view.
pub struct Ranks {
    /// Number of this rank.
    pub rank: usize,
    /// Number among the ranks of this machine, which says which GPU is its own.
    pub local: usize,
    /// Ranks of this machine.
    pub here: usize,
    /// Those of them that may use the same cores as this one, itself among them.
    pub sharing: usize,
    /// Where ranks listen: name and port, by rank. A rank of this machine is reached by the loopback.
    pub addresses: Vec<String>,
    /// Secret of this run, the same on all ranks.
    pub token: String,
    /// What this rank listens with.
    pub listener: TcpListener,
}

/// Meets the other ranks; none where there is no other. `secret` is rank 0's; `cores` stands for the cores that this
/// rank may use: ranks of one machine that give the same share them.
pub fn meet(secret: &str, cores: u64) -> Result<Option<Ranks>, ClusterError> {
    let failed = |what: &str| ClusterError::Protocol(what.to_owned());
    let universe = mpi::initialize().ok_or_else(|| failed("MPI could not be initialised"))?;
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    if size < 2 {
        return Ok(None);
    }
    let listener =
        TcpListener::bind("0.0.0.0:0").map_err(ClusterError::network("opening a port"))?;
    let port = listener
        .local_addr()
        .map_err(ClusterError::network("reading the own address"))?
        .port();
    let name = mpi::environment::processor_name().map_err(|_| failed("no processor name"))?;
    let mut mine = [0u8; ADDRESS];
    let text = format!("{cores:x} {name}:{port}");
    for (to, from) in mine.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    let mut all = vec![0u8; ADDRESS * size];
    world.all_gather_into(&mine[..], &mut all[..]);
    let mut token = [b' '; TOKEN];
    for (to, from) in token.iter_mut().zip(secret.bytes()) {
        *to = from;
    }
    world.process_at_rank(0).broadcast_into(&mut token[..]);
    let read = |b: &[u8]| {
        let end = b.iter().position(|b| *b == 0).unwrap_or(b.len());
        String::from_utf8_lossy(&b[..end]).into_owned()
    };
    let all: Vec<Place> = all.chunks(ADDRESS).map(|b| Place::read(&read(b))).collect();
    let near = |p: &&Place| p.host == name;
    let addresses = all
        .iter()
        .map(|p| match near(&p) {
            true => format!("127.0.0.1:{}", p.port),
            false => format!("{}:{}", p.host, p.port),
        })
        .collect();
    Ok(Some(Ranks {
        rank,
        local: all[..rank].iter().filter(near).count(),
        here: all.iter().filter(near).count(),
        sharing: all
            .iter()
            .filter(near)
            .filter(|p| p.cores == all[rank].cores)
            .count(),
        addresses,
        token: read(&token).trim_end().to_owned(),
        listener,
    }))
}

/// Where a rank is, as it tells the others.
#[derive(Debug, PartialEq)]
struct Place {
    cores: String,
    host: String,
    port: String,
}

impl Place {
    fn read(text: &str) -> Place {
        let (cores, address) = text.split_once(' ').unwrap_or(("", text));
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        Place {
            cores: cores.to_owned(),
            host: host.to_owned(),
            port: port.to_owned(),
        }
    }
}
