//! The arena: one reserved range of addresses that holds every buffer, shared memory and stack.
//!
//! Pages are committed on first touch. Keeping all device-visible memory in one range lets the
//! shadow execution find a value's shadow by arithmetic, and memcheck tell a stack from a stray
//! pointer.
use super::mapping::{MemoryError, map};
use super::sanitize::region::Region;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of address space to reserve.
const RESERVE: usize = 1 << 38;
/// Distance kept free after every allocation, so that a small overrun meets no other buffer.
const REDZONE: usize = 4096;

/// The arena.
pub struct Arena {
    base: usize,
    size: usize,
    next: Arc<AtomicUsize>,
    /// Is the range this arena's own, not the process's?
    owned: bool,
}

impl Drop for Arena {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // SAFETY: the mapping made in `new`; no user of the arena outlives it.
        unsafe { libc::munmap(self.base as *mut _, self.size) };
    }
}

/// Memory that a job can have before it has begun, in bytes: [`available`], within the limit of this process on
/// addresses (`ulimit -v`), most of which a running executor reserves.
pub fn available_memory() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the system fills in a struct of ours.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    if !known || limit.rlim_cur == libc::RLIM_INFINITY {
        return available();
    }
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|t| t.split_whitespace().next()?.parse::<usize>().ok());
    let used = pages.unwrap_or(0).saturating_mul(4096);
    available().min((limit.rlim_cur as usize).saturating_sub(used))
}

/// Memory that this process can still have, in bytes: what is free of the machine's and of its control group's, or
/// everything where the system says neither.
fn available() -> usize {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|t| {
        let line = t.lines().find(|l| l.starts_with("MemAvailable:"))?;
        let kb: usize = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kb.saturating_mul(1024))
    });
    let group = read("/proc/self/cgroup").and_then(|groups| group_headroom(&groups, read));
    let all = [machine, group];
    all.into_iter().flatten().min().unwrap_or(usize::MAX)
}

/// What is free below the limits of a process's control group and of those above it (version 2; in version 1, of the
/// memory controller). None where there is no limit. Pages of files count as used, but the system takes them back.
fn group_headroom(groups: &str, read: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, limit, used) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            c if c.split(',').any(|c| c == "memory") => (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            ),
            _ => continue,
        };
        for folder in std::path::Path::new(path).ancestors() {
            let folder = folder.display().to_string();
            let at = format!("{root}{}", folder.trim_end_matches('/'));
            let number = |name: &str| -> Option<usize> {
                read(&format!("{at}/{name}"))?.trim().parse().ok()
            };
            let files = read(&format!("{at}/memory.stat")).and_then(|t| {
                let line = t.lines().find(|l| l.starts_with("inactive_file "))?;
                line.split_whitespace().nth(1)?.parse::<usize>().ok()
            });
            if let (Some(limit), Some(used)) = (number(limit), number(used)) {
                let used = used.saturating_sub(files.unwrap_or(0));
                let free = limit.saturating_sub(used);
                least = Some(least.map_or(free, |l: usize| l.min(free)));
            }
        }
    }
    least
}

impl Arena {
    /// Reserves the range.
    pub fn new() -> Result<Arena, MemoryError> {
        let mut size = RESERVE;
        loop {
            match map(size) {
                Ok(base) => {
                    return Ok(Arena {
                        base,
                        size,
                        next: Arc::default(),
                        owned: true,
                    });
                }
                Err(e) if size <= 1 << 30 => return Err(e),
                // A limit on address space: make do with less.
                Err(_) => size /= 2,
            }
        }
    }
    /// A part of the range in which checked programs live; it grows with those of others.
    pub fn within(region: &Region) -> Arena {
        Arena {
            base: region.base,
            size: region.size,
            next: region.next.clone(),
            owned: false,
        }
    }
    /// Zeroed memory aligned to 256 bytes.
    pub fn alloc(&self, bytes: usize) -> Result<*mut u8, MemoryError> {
        // Stacks are many and small: asking the system each time would take longer than they do.
        let free = match bytes < 1 << 20 {
            true => usize::MAX,
            false => available(),
        };
        let need = bytes.next_multiple_of(4096) + REDZONE;
        if bytes > free || need > self.size {
            return Err(MemoryError::TooLarge {
                bytes,
                available: free.min(self.size),
            });
        }
        let at = self.next.fetch_add(need, Ordering::Relaxed);
        if at + need > self.size {
            return Err(MemoryError::TooLarge {
                bytes,
                available: self.size.saturating_sub(at),
            });
        }
        Ok((self.base + at) as *mut u8)
    }
    /// Lowest address.
    pub fn base(&self) -> usize {
        self.base
    }
    /// Bytes reserved.
    pub fn size(&self) -> usize {
        self.size
    }
    /// Does the arena hold this address?
    pub fn holds(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.next.load(Ordering::Relaxed)
    }
}

/// A coroutine stack inside the arena, with a guard page at its low end.
pub struct ArenaStack {
    low: usize,
    high: usize,
}

impl ArenaStack {
    /// A stack of at least `bytes`.
    pub fn new(arena: &Arena, bytes: usize) -> Result<ArenaStack, MemoryError> {
        let bytes = bytes.next_multiple_of(4096) + 4096;
        let low = (arena.alloc(bytes)? as usize).next_multiple_of(4096);
        // SAFETY: the page belongs to this allocation and nothing else uses it.
        unsafe { libc::mprotect(low as *mut _, 4096, libc::PROT_NONE) };
        Ok(ArenaStack {
            low,
            high: low + bytes,
        })
    }
    /// Lowest and highest address.
    pub fn range(&self) -> (usize, usize) {
        (self.low, self.high)
    }
}

// SAFETY: the range is mapped for the arena's life, aligned to pages, larger than the minimum, and
// its lowest page is inaccessible.
unsafe impl corosensei::stack::Stack for ArenaStack {
    fn base(&self) -> corosensei::stack::StackPointer {
        corosensei::stack::StackPointer::new(self.high)
            .expect("a mapped address should not be null")
    }
    fn limit(&self) -> corosensei::stack::StackPointer {
        corosensei::stack::StackPointer::new(self.low).expect("a mapped address should not be null")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_control_groups_count() {
        let files = |all: &'static [(&'static str, &'static str)]| {
            move |path: &str| {
                let found = all.iter().find(|(p, _)| *p == path);
                found.map(|(_, text)| (*text).to_owned())
            }
        };
        // Version 2: the limit of a group above, and pages of files that can go.
        let two = files(&[
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "700\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900\n"),
            (
                "/sys/fs/cgroup/a/memory.stat",
                "anon 1\ninactive_file 300\n",
            ),
        ]);
        assert_eq!(group_headroom("0::/a/b\n", two), Some(400));
        let one = files(&[
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "500\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "600\n"),
        ]);
        assert_eq!(group_headroom("3:cpu,memory:/x\n1:pids:/x\n", one), Some(0));
        assert_eq!(group_headroom("0::/\n", files(&[])), None);
        assert!(available() > 0);
    }
}
