//! The processes of one run: the coordinator's team, and the members that work for it.
use crate::ClusterError;
use std::io::Read;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    /// Its own membership, where it works too.
    pub own: Option<TeamMember>,
}

/// A worker's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMember {
    /// Where the coordinator is.
    pub address: String,
    /// The secret.
    pub token: String,
    /// Number among the processes of this machine: which GPU it uses.
    pub local_rank: usize,
    /// Processes of this machine.
    pub local_size: usize,
    /// Those of them that may use the same cores, this one among them.
    pub sharing: usize,
}

impl TeamMember {
    /// Threads that are its own: its share of the cores that it may use.
    pub fn threads(&self) -> usize {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        (available / self.sharing.max(1)).max(1)
    }

    /// From the text that [`Team::start`] gives a child.
    pub fn parse(text: &str) -> Option<TeamMember> {
        let mut words = text.split(' ');
        let [address, token] = [words.next()?, words.next()?].map(str::to_owned);
        let local_rank = words.next()?.parse().ok()?;
        let local_size = words.next()?.parse().ok()?;
        Some(TeamMember {
            address,
            token,
            local_rank,
            local_size,
            sharing: local_size,
        })
    }
}

impl Team {
    /// A team of ranks that exist already, this process among them.
    #[cfg(feature = "mpi")]
    pub fn of_ranks(ranks: crate::ranks::Ranks, own: TeamMember) -> Team {
        Team {
            listener: ranks.listener,
            token: ranks.token,
            workers: ranks.addresses.len(),
            children: Vec::new(),
            own: Some(own),
        }
    }

    /// Starts so many processes of this machine. `command` makes a child's command from the text for [`TeamMember::parse`].
    pub fn start(
        processes: usize,
        command: impl Fn(&str) -> Command,
    ) -> Result<Team, ClusterError> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(ClusterError::Start)?;
        let address = listener.local_addr().map_err(ClusterError::Start)?;
        let mut team = Team {
            listener,
            token: secret()?,
            workers: processes,
            children: Vec::new(),
            own: None,
        };
        for local in 0..processes {
            let member = format!("{address} {} {local} {processes}", team.token);
            let child = command(&member)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .map_err(ClusterError::Start)?;
            team.children.push(child);
        }
        Ok(team)
    }

    /// Whether children that were started still run.
    pub fn runs(&mut self) -> bool {
        let mut all = self.children.iter_mut();
        all.any(|c| matches!(c.try_wait(), Ok(None)))
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
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = c.kill();
            let _ = c.wait();
        }
    }
}

/// A secret of 32 characters.
pub fn secret() -> Result<String, ClusterError> {
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut f| f.read_exact(&mut bytes))
        .map_err(ClusterError::Secret)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_shared() {
        let member = TeamMember::parse("127.0.0.1:9 secret 1 1000000").expect("a member");
        assert_eq!((member.local_rank, member.threads()), (1, 1));
        assert!(TeamMember::parse("127.0.0.1:9 secret 1").is_none());
    }
}
