//! The processes that share a command's work: ranks of mpirun, or children of this one.
use crate::fail::Failure;
use crate::rank::started;
use kerf_cluster::ClusterError;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Tells a child where its coordinator is, and the secret.
const JOIN: &str = "KERF_JOIN";

impl From<ClusterError> for Failure {
    fn from(e: ClusterError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            ClusterError::Lost(..) => f.help(
                "what was done is in the certificate, if one was asked for: the same command with --resume goes on",
            ),
            _ => f.help("check that the machines reach each other by TCP"),
        }
    }
}

/// What this process is.
pub enum Role {
    /// The only one.
    Alone,
    /// The one that hands out work.
    Coordinator(Team),
    /// One that works for another.
    Worker(Post),
}

/// The coordinator's side.
pub struct Team {
    /// What it listens with.
    pub listener: TcpListener,
    /// The secret.
    pub token: String,
    /// Processes that work.
    pub workers: usize,
    /// Children, where it started them.
    children: Vec<Child>,
    /// Its own post, where it works too.
    pub own: Option<Post>,
}

/// A worker's side.
#[derive(Debug, Clone)]
pub struct Post {
    /// Where the coordinator is.
    pub address: String,
    /// The secret.
    pub token: String,
    /// Number among the processes of this machine: which GPU it uses.
    pub local: usize,
    /// Processes of this machine.
    pub here: usize,
    /// Those of them that may use the same cores, this one among them.
    pub sharing: usize,
}

impl Post {
    /// Threads that are its own: its share of the cores that it may use.
    pub fn threads(&self) -> usize {
        (available() / self.sharing.max(1)).max(1)
    }

    /// What to say where ranks may use half the machine's cores at most, as when mpirun binds each to one.
    #[cfg(feature = "mpi")]
    fn bound(&self) -> Option<String> {
        let cores = std::fs::read_to_string("/proc/cpuinfo").ok()?;
        let cores = cores.lines().filter(|l| l.starts_with("processor")).count();
        bound(self.here, self.threads(), cores)
    }
}

#[cfg(any(feature = "mpi", test))]
fn bound(here: usize, threads: usize, cores: usize) -> Option<String> {
    (2 * here * threads <= cores).then(|| {
        format!(
            "each of {here} ranks may use {threads} of {cores} cores of this machine; mpirun --bind-to none gives them all"
        )
    })
}

/// Cores that this process may use.
fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Team {
    /// Whether children that were started still run.
    pub fn runs(&mut self) -> bool {
        self.children
            .iter_mut()
            .any(|c| matches!(c.try_wait(), Ok(None)))
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for c in &mut self.children {
            // They end by themselves when they are told to, or when the connection ends.
            for _ in 0..50 {
                if !matches!(c.try_wait(), Ok(None)) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let _ = c.kill();
            let _ = c.wait();
        }
    }
}

/// A secret of 32 characters.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut f| std::io::Read::read_exact(&mut f, &mut bytes))
        .map_err(|e| Failure::new(format!("cannot make a secret: {e}")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Ranks that were started, where there are others than this one.
fn ranks() -> Option<usize> {
    started().filter(|n| *n > 1)
}

/// Refuses to do everything N times.
#[cfg(not(feature = "mpi"))]
fn by_mpi() -> Result<Option<Role>, Failure> {
    match ranks() {
        Some(n) => Err(Failure::new(format!(
            "{n} ranks were started, and this kerf was built without MPI: each would do all the work"
        ))
        .help("build it with cargo build --features mpi, or use --processes on one machine")),
        None => Ok(None),
    }
}

/// A number that stands for the cores that this process may use.
#[cfg(feature = "mpi")]
fn cores() -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut h = DefaultHasher::new();
    let list = |l: &&str| l.starts_with("Cpus_allowed_list");
    status.lines().find(list).hash(&mut h);
    h.finish()
}

/// The ranks, met.
#[cfg(feature = "mpi")]
pub fn meet() -> Result<Option<kerf_cluster::ranks::Ranks>, Failure> {
    match ranks() {
        Some(_) => Ok(kerf_cluster::ranks::meet(&secret()?, cores())?),
        None => Ok(None),
    }
}

#[cfg(feature = "mpi")]
fn by_mpi() -> Result<Option<Role>, Failure> {
    let Some(r) = meet()? else { return Ok(None) };
    let post = Post {
        address: r.addresses[0].clone(),
        token: r.token.clone(),
        local: r.local,
        here: r.here,
        sharing: r.sharing,
    };
    if r.rank == 0
        && let Some(said) = post.bound()
    {
        crate::output::note(&said);
    }
    Ok(Some(match r.rank {
        0 => Role::Coordinator(Team {
            listener: r.listener,
            token: r.token,
            workers: r.addresses.len(),
            children: Vec::new(),
            own: Some(post),
        }),
        _ => Role::Worker(post),
    }))
}

/// Finds this process's role; with `processes`, starts that many others with the same arguments.
pub fn role(processes: usize) -> Result<Role, Failure> {
    if let Some(post) = std::env::var(JOIN).ok().and_then(|j| parse(&j)) {
        return Ok(Role::Worker(post));
    }
    if let Some(role) = by_mpi()? {
        return Ok(role);
    }
    if processes == 0 {
        return Ok(Role::Alone);
    }
    let fail = |e: std::io::Error| Failure::new(format!("cannot start processes: {e}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    let token = secret()?;
    let mut team = Team {
        listener,
        token,
        workers: processes,
        children: Vec::new(),
        own: None,
    };
    let program = std::env::current_exe().map_err(fail)?;
    for local in 0..processes {
        let child = Command::new(&program)
            .args(std::env::args_os().skip(1))
            .env(
                JOIN,
                format!("{address} {} {local} {processes}", team.token),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(fail)?;
        team.children.push(child);
    }
    Ok(Role::Coordinator(team))
}

fn parse(text: &str) -> Option<Post> {
    let mut words = text.split(' ');
    let [address, token] = [words.next()?, words.next()?].map(str::to_owned);
    let local = words.next()?.parse().ok()?;
    let processes = words.next()?.parse().ok()?;
    Some(Post {
        address,
        token,
        local,
        here: processes,
        sharing: processes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared_and_bound_ranks_are_told() {
        let post = parse("127.0.0.1:9 secret 1 1000000").expect("a post");
        assert_eq!((post.local, post.threads()), (1, 1));
        assert!(parse("127.0.0.1:9 secret 1").is_none());
        assert_eq!(bound(2, 8, 16), None);
        assert_eq!(bound(3, 5, 16), None);
        assert!(bound(2, 1, 16).is_some_and(|s| s.contains("1 of 16 cores")));
    }
}
