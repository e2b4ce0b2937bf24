//! The processes that share a command's work: ranks of mpirun, or children of this one.
use crate::fail::Failure;
use crate::rank::started;
use kerf_cluster::{ClusterError, Team, TeamMember};
use std::process::Command;

/// Tells a child where its coordinator is, and the secret.
const JOIN: &str = "KERF_JOIN";

impl From<ClusterError> for Failure {
    fn from(e: ClusterError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            ClusterError::Lost(..) => f.help(
                "what was done is in the certificate, if one was asked for: the same command with --resume goes on",
            ),
            ClusterError::Secret(_) | ClusterError::Start(_) => f,
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
    Worker(TeamMember),
}

/// What to say where ranks may use half the machine's cores at most, as when mpirun binds each to one.
#[cfg(feature = "mpi")]
fn bound_member(m: &TeamMember) -> Option<String> {
    let cores = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let cores = cores.lines().filter(|l| l.starts_with("processor")).count();
    bound(m.local_size, m.threads(), cores)
}

#[cfg(any(feature = "mpi", test))]
fn bound(here: usize, threads: usize, cores: usize) -> Option<String> {
    (2 * here * threads <= cores).then(|| {
        format!(
            "each of {here} ranks may use {threads} of {cores} cores of this machine; mpirun --bind-to none gives them all"
        )
    })
}

/// Ranks that were started, where there are others than this one.
fn ranks() -> Option<usize> {
    started().filter(|n| *n > 1)
}

#[cfg(not(feature = "mpi"))]
fn by_mpi() -> Result<Option<Role>, Failure> {
    without_mpi(ranks())
}

/// Refuses to do everything N times.
#[cfg(any(not(feature = "mpi"), test))]
fn without_mpi(ranks: Option<usize>) -> Result<Option<Role>, Failure> {
    match ranks {
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
        Some(_) => Ok(kerf_cluster::ranks::meet(
            &kerf_cluster::secret()?,
            cores(),
        )?),
        None => Ok(None),
    }
}

#[cfg(feature = "mpi")]
fn by_mpi() -> Result<Option<Role>, Failure> {
    let Some(r) = meet()? else { return Ok(None) };
    let member = TeamMember {
        address: r.addresses[0].clone(),
        token: r.token.clone(),
        local_rank: r.local,
        local_size: r.here,
        sharing: r.sharing,
    };
    if r.rank > 0 {
        return Ok(Some(Role::Worker(member)));
    }
    if let Some(said) = bound_member(&member) {
        crate::output::note(&said);
    }
    Ok(Some(Role::Coordinator(Team::of_ranks(r, member))))
}

/// Finds this process's role; with `processes`, starts that many others with the same arguments.
pub fn role(processes: usize) -> Result<Role, Failure> {
    let joined = std::env::var(JOIN).ok();
    if let Some(member) = joined.and_then(|j| TeamMember::parse(&j)) {
        return Ok(Role::Worker(member));
    }
    if let Some(role) = by_mpi()? {
        return Ok(role);
    }
    if processes == 0 {
        return Ok(Role::Alone);
    }
    let program = std::env::current_exe().map_err(ClusterError::Start)?;
    let team = Team::start(processes, |member| {
        let mut c = Command::new(&program);
        c.args(std::env::args_os().skip(1)).env(JOIN, member);
        c
    })?;
    Ok(Role::Coordinator(team))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_without_mpi_are_refused() {
        assert!(matches!(without_mpi(None), Ok(None)));
        let e = without_mpi(Some(3)).err().expect("all would do the same");
        assert!(e.to_string().contains("3 ranks were started"), "{e}");
    }

    #[test]
    fn bound_ranks_are_told() {
        assert_eq!(bound(2, 8, 16), None);
        assert_eq!(bound(3, 5, 16), None);
        assert!(bound(2, 1, 16).is_some_and(|s| s.contains("1 of 16 cores")));
    }
}
