//! Happens-before among the threads of a launch.
//!
//! A thread's accesses carry its epoch, a number that grows at everything by which it can let others know of them: a
//! barrier, `__syncwarp`, a fence. What a thread knows of another is the last epoch of it that is ordered before the thread's
//! own accesses from now on; these are the vector clocks of FastTrack (Flanagan and Freund, PLDI 2009), kept small
//! by what GPUs have: after a barrier all threads of a block know the same, `__syncwarp` concerns one warp, and only
//! atomics with fences cross blocks (as in BARRACUDA, Eizenberg et al., PLDI 2017).
//!
//! A release is a fence and then a strong write (volatile or atomic); an acquire is a strong read of what was
//! written, and then a fence (PTX ISA, memory consistency model). What a thread read without a fence since is kept
//! apart, as pending.
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is known of one block's threads.
#[derive(Debug, Clone, Default, PartialEq)]
struct KnownBlock {
    /// Of all of them.
    all: u32,
    /// Of some, more.
    some: BTreeMap<u32, u32>,
}

/// What is known of threads, by block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Knowledge(BTreeMap<u32, KnownBlock>);

impl Knowledge {
    fn join(&mut self, other: &Knowledge) {
        for (block, theirs) in &other.0 {
            let mine = self.0.entry(*block).or_default();
            mine.all = mine.all.max(theirs.all);
            for (t, e) in &theirs.some {
                let known = mine.some.entry(*t).or_default();
                *known = (*known).max(*e);
            }
        }
    }

    fn known_epoch(&self, block: u32, thread: u32) -> u32 {
        self.0
            .get(&block)
            .map_or(0, |k| k.all.max(k.some.get(&thread).copied().unwrap_or(0)))
    }
}

type Shared = Option<Rc<Knowledge>>;

fn joined(a: &Shared, b: &Shared) -> Shared {
    match (a, b) {
        (Some(a), Some(b)) if !Rc::ptr_eq(a, b) && a != b => {
            let mut k = Knowledge::clone(a);
            k.join(b);
            Some(Rc::new(k))
        }
        (Some(a), _) => Some(a.clone()),
        (None, b) => b.clone(),
    }
}

fn has(k: &Shared, block: u32, thread: u32, epoch: u32) -> bool {
    k.as_ref()
        .is_some_and(|k| k.known_epoch(block, thread) >= epoch)
}

/// How far a fence, or a strong access, is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceReach {
    /// The block.
    Block,
    /// All blocks.
    Device,
}

/// What a location that threads synchronise by tells who reads it.
#[derive(Debug, Default)]
struct Released {
    device: Knowledge,
    /// Released to the threads of one block only.
    block: Option<(u32, Knowledge)>,
}

/// Whether two accesses are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessOrder {
    /// One happens before the other.
    Before,
    /// It would, if the reader had a fence behind its atomic or volatile read.
    Unfenced,
    /// Neither.
    None,
}

/// Clocks of the threads of one block.
#[derive(Debug)]
pub struct BlockClocks {
    block: u32,
    epoch: Vec<u32>,
    /// What each thread knows of all threads of its block.
    all: Vec<u32>,
    /// What it knows of the lanes of its warp.
    lanes: Vec<[u32; 32]>,
    lanes_used: bool,
    beyond: Vec<Shared>,
    pending: Vec<Shared>,
    /// Epoch up to which accesses stand before a fence of the block, and of the device.
    fenced: Vec<[u32; 2]>,
}

impl BlockClocks {
    /// Clocks of a block that begins; epochs start at `first`.
    pub fn new(block: u32, threads: usize, first: u32) -> BlockClocks {
        BlockClocks {
            block,
            epoch: vec![first; threads],
            all: vec![0; threads],
            lanes: vec![[0; 32]; threads],
            lanes_used: false,
            beyond: vec![None; threads],
            pending: vec![None; threads],
            fenced: vec![[0; 2]; threads],
        }
    }

    /// The block's number.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// A thread's epoch.
    pub fn epoch(&self, thread: usize) -> u32 {
        self.epoch[thread]
    }

    /// The highest epoch so far.
    pub fn last_epoch(&self) -> u32 {
        self.epoch.iter().copied().max().unwrap_or(0)
    }

    fn known(&self, thread: usize, of: usize) -> u32 {
        let lane = match thread / 32 == of / 32 {
            true => self.lanes[thread][of % 32],
            false => 0,
        };
        let beyond = self.beyond[thread]
            .as_ref()
            .map_or(0, |k| k.known_epoch(self.block, of as u32));
        self.all[thread].max(lane).max(beyond)
    }

    /// Is an earlier access, of a thread of some block at an epoch, ordered before what a thread does now?
    pub fn order(&self, thread: usize, block: u32, other: u32, epoch: u32) -> AccessOrder {
        let before = match block == self.block {
            true => other as usize == thread || self.known(thread, other as usize) >= epoch,
            false => has(&self.beyond[thread], block, other, epoch),
        };
        match before {
            true => AccessOrder::Before,
            false if has(&self.pending[thread], block, other, epoch) => AccessOrder::Unfenced,
            false => AccessOrder::None,
        }
    }

    /// All threads that have not returned meet.
    pub fn barrier(&mut self) {
        let last = self.last_epoch();
        let every = |all: &[Shared]| all.iter().fold(None, |k, s| joined(&k, s));
        let (beyond, pending) = (every(&self.beyond), every(&self.pending));
        self.epoch.fill(last + 1);
        self.all.fill(last);
        if beyond.is_some() {
            self.beyond.fill(beyond);
        }
        if pending.is_some() {
            self.pending.fill(pending);
        }
        if std::mem::take(&mut self.lanes_used) {
            self.lanes.fill([0; 32]);
        }
    }

    /// Some threads meet, and some only arrive.
    pub fn meet(&mut self, members: &[usize], arrivals: &[usize]) {
        let mut k = Knowledge::default();
        for t in members.iter().chain(arrivals) {
            k.join(&self.knowledge(*t, self.epoch[*t]));
        }
        let k = Some(Rc::new(k));
        for t in members {
            self.beyond[*t] = joined(&self.beyond[*t], &k);
        }
        for t in members.iter().chain(arrivals) {
            self.epoch[*t] += 1;
        }
    }

    /// What a thread can tell others: its own accesses up to an epoch, and what it knows.
    fn knowledge(&self, thread: usize, epoch: u32) -> Knowledge {
        let mut mine = KnownBlock {
            all: self.all[thread],
            some: BTreeMap::from([(thread as u32, epoch)]),
        };
        let warp = thread / 32 * 32;
        for (lane, e) in self.lanes[thread].iter().enumerate() {
            if *e > mine.all && warp + lane != thread {
                mine.some.insert((warp + lane) as u32, *e);
            }
        }
        let mut k = Knowledge(BTreeMap::from([(self.block, mine)]));
        if let Some(b) = &self.beyond[thread] {
            k.join(b);
        }
        k
    }

    /// Lanes of the warp that begins at a thread meet (`__syncwarp`).
    pub fn warp(&mut self, from: usize, members: u32) {
        self.lanes_used = true;
        let threads: Vec<usize> = (0..32)
            .filter(|l| members >> l & 1 == 1)
            .map(|l| from + l)
            .collect();
        let last = threads.iter().map(|t| self.epoch[*t]).max().unwrap_or(0);
        let mut lanes = [0u32; 32];
        let (mut beyond, mut pending) = (None, None);
        for t in &threads {
            for (all, one) in lanes.iter_mut().zip(&self.lanes[*t]) {
                *all = (*all).max(*one);
            }
            beyond = joined(&beyond, &self.beyond[*t]);
            pending = joined(&pending, &self.pending[*t]);
        }
        for t in &threads {
            lanes[t % 32] = last;
        }
        for t in threads {
            self.lanes[t] = lanes;
            self.epoch[t] = last + 1;
            self.beyond[t] = beyond.clone();
            self.pending[t] = pending.clone();
        }
    }

    /// A fence: accesses before it are released by strong writes after it, and strong reads before it count.
    pub fn fence(&mut self, thread: usize, reach: FenceReach) {
        let e = self.epoch[thread];
        self.fenced[thread][0] = e;
        if reach == FenceReach::Device {
            self.fenced[thread][1] = e;
        }
        self.epoch[thread] = e + 1;
        if let Some(p) = self.pending[thread].take() {
            self.beyond[thread] = joined(&self.beyond[thread], &Some(p));
        }
    }
}

/// Locations that threads synchronise by.
#[derive(Debug, Default)]
pub struct SyncLocations(BTreeMap<usize, Released>);

impl SyncLocations {
    /// A strong write releases what stands before the thread's last fence. One that does not read what it
    /// replaces ends what earlier writes released.
    pub fn write(&mut self, address: usize, c: &BlockClocks, thread: usize, reads: bool) {
        let [block, device] = c.fenced[thread];
        if block == 0 && (reads || !self.0.contains_key(&address)) {
            return;
        }
        let r = self.0.entry(address).or_default();
        if !reads {
            *r = Released::default();
        }
        if device > 0 {
            r.device.join(&c.knowledge(thread, device));
        }
        if block > device {
            let k = c.knowledge(thread, block);
            match &mut r.block {
                Some((b, there)) if *b == c.block => there.join(&k),
                other => *other = Some((c.block, k)),
            }
        }
    }

    /// A strong read.
    pub fn read(&self, address: usize, c: &mut BlockClocks, thread: usize) {
        let Some(r) = self.0.get(&address) else {
            return;
        };
        let mut k = r.device.clone();
        if let Some((b, more)) = &r.block
            && *b == c.block
        {
            k.join(more);
        }
        c.pending[thread] = joined(&c.pending[thread], &Some(Rc::new(k)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_orders_all_and_a_warp_its_lanes() {
        let mut c = BlockClocks::new(0, 64, 1);
        assert_eq!(c.order(1, 0, 0, 1), AccessOrder::None);
        c.warp(0, 0b11);
        assert_eq!(c.order(1, 0, 0, 1), AccessOrder::Before);
        assert_eq!(c.order(2, 0, 0, 1), AccessOrder::None);
        assert_eq!(c.order(33, 0, 0, 1), AccessOrder::None);
        let later = c.epoch(0);
        assert_eq!(c.order(1, 0, 0, later), AccessOrder::None);
        c.barrier();
        assert_eq!(c.order(33, 0, 0, later), AccessOrder::Before);
        assert_eq!(c.order(33, 0, 0, c.epoch(0)), AccessOrder::None);
    }

    #[test]
    fn a_release_needs_its_fence_and_an_acquire_too() {
        let mut s = SyncLocations::default();
        let mut a = BlockClocks::new(0, 32, 1);
        let written = a.epoch(3);
        // Without a fence nothing is released.
        s.write(64, &a, 3, true);
        let mut b = BlockClocks::new(1, 32, 1);
        s.read(64, &mut b, 0);
        assert_eq!(b.order(0, 0, 3, written), AccessOrder::None);
        a.fence(3, FenceReach::Device);
        let after = a.epoch(3);
        s.write(64, &a, 3, true);
        s.read(64, &mut b, 0);
        assert_eq!(b.order(0, 0, 3, written), AccessOrder::Unfenced);
        b.fence(0, FenceReach::Device);
        assert_eq!(b.order(0, 0, 3, written), AccessOrder::Before);
        assert_eq!(b.order(0, 0, 3, after), AccessOrder::None);
        // The others of its block know through a barrier.
        assert_eq!(b.order(9, 0, 3, written), AccessOrder::None);
        b.barrier();
        assert_eq!(b.order(9, 0, 3, written), AccessOrder::Before);
        // A fence of the block does not reach another.
        let mut c = BlockClocks::new(2, 32, 1);
        c.fence(0, FenceReach::Block);
        s.write(128, &c, 0, true);
        s.read(128, &mut b, 0);
        b.fence(0, FenceReach::Device);
        assert_eq!(b.order(0, 2, 0, 1), AccessOrder::None);
    }

    #[test]
    fn some_threads_meet() {
        let mut c = BlockClocks::new(0, 128, 1);
        c.meet(&[0, 40], &[70]);
        assert_eq!(c.order(0, 0, 40, 1), AccessOrder::Before);
        assert_eq!(c.order(40, 0, 70, 1), AccessOrder::Before);
        // Who only arrives learns nothing.
        assert_eq!(c.order(70, 0, 40, 1), AccessOrder::None);
        assert_eq!(c.order(1, 0, 40, 1), AccessOrder::None);
    }
}
