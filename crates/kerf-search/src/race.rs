//! Which of several candidates is the fastest, by samples with noise: repeats go where it is still open.
//!
//! Ask and tell, as with strategies. Everybody gets a few samples; after that the leader and the candidate
//! that is hardest to tell from it are measured on, until each of the others is significantly slower, is
//! equal within what matters, or has used up its samples. What cannot be told apart is a tie. Who looks often
//! enough finds a difference where there is none, so looks are taken only when samples have doubled, and
//! the risk is shared among them.
use crate::distributions::student_quantile;
use serde::Serialize;

/// How a race is decided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RaceRules {
    /// Samples that everybody gets.
    pub first: usize,
    /// Samples at most, for one candidate.
    pub most: usize,
    /// Probability of calling anybody slower that is not, over the whole race.
    pub risk: f64,
    /// Relative differences of time below this do not matter.
    pub matters: f64,
}

impl Default for RaceRules {
    fn default() -> RaceRules {
        RaceRules {
            first: 3,
            most: 30,
            risk: 0.05,
            matters: 0.002,
        }
    }
}

/// A place in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RacePlace {
    /// The fastest, alone.
    Winner,
    /// One of several that cannot be told apart, the fastest among them.
    Tie,
    /// Significantly slower than the leader.
    Slower,
}

/// How a candidate did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its number.
    pub candidate: usize,
    /// Mean of its samples, without those at the ends.
    pub mean: f64,
    /// Half of the 95 % interval of the mean.
    pub half: f64,
    /// How many samples.
    pub samples: usize,
    /// Where it came in.
    pub place: RacePlace,
}

/// A race under way.
#[derive(Debug, Clone)]
pub struct Race {
    rules: RaceRules,
    samples: Vec<Vec<f64>>,
    /// Candidates that have no more samples to give.
    dry: Vec<bool>,
}

/// What is left out of the samples at each end, from [`ENOUGH`] of them on: a launch that something else interrupted takes
/// many times as long, and one such sample would make a tie of anything.
const TRIMMED: f64 = 0.1;
const ENOUGH: usize = 10;

/// Mean of the logarithms and variance of that mean, infinite for fewer than two; how many samples are in it. Those at the
/// ends are left out of the mean, and count as the last ones within for the variance (Yuen 1974).
fn moments(of: &[f64]) -> (f64, f64, f64) {
    let mut logs: Vec<f64> = of.iter().map(|x| x.max(f64::MIN_POSITIVE).ln()).collect();
    let n = logs.len();
    if n < 2 {
        return (logs.iter().sum(), f64::INFINITY, n as f64);
    }
    logs.sort_by(f64::total_cmp);
    let out = match n >= ENOUGH {
        true => (TRIMMED * n as f64) as usize,
        false => 0,
    };
    let within = &logs[out..n - out];
    let kept = within.len() as f64;
    let mean = within.iter().sum::<f64>() / kept;
    let (least, most) = (logs[out], logs[n - out - 1]);
    let clamped = |x: &f64| x.clamp(least, most);
    let middle = logs.iter().map(clamped).sum::<f64>() / n as f64;
    let squares: f64 = logs.iter().map(|x| (clamped(x) - middle).powi(2)).sum();
    (mean, squares / (kept * (kept - 1.0)), kept)
}

impl Race {
    /// Among so many candidates.
    pub fn new(candidates: usize, rules: RaceRules) -> Race {
        Race {
            rules,
            samples: vec![Vec::new(); candidates],
            dry: vec![false; candidates],
        }
    }

    /// A sample of a candidate: a time above 0.
    pub fn tell(&mut self, candidate: usize, time: f64) {
        if let Some(s) = self.samples.get_mut(candidate) {
            s.push(time);
        }
    }

    /// A candidate has no more samples.
    pub fn dry(&mut self, candidate: usize) {
        if let Some(d) = self.dry.get_mut(candidate) {
            *d = true;
        }
    }

    fn open(&self, i: usize) -> bool {
        !self.dry[i] && self.samples[i].len() < self.rules.most
    }

    fn leader(&self) -> Option<usize> {
        let sampled = (0..self.samples.len()).filter(|i| !self.samples[*i].is_empty());
        sampled.min_by(|x, y| {
            moments(&self.samples[*x])
                .0
                .total_cmp(&moments(&self.samples[*y]).0)
        })
    }

    /// The samples that a look is over: their number has doubled since the one before, or there will be
    /// no more.
    fn looked(&self, i: usize) -> &[f64] {
        let all = &self.samples[i];
        if !self.open(i) {
            return all;
        }
        let mut n = self.rules.first.max(1);
        while 2 * n <= all.len() {
            n *= 2;
        }
        &all[..n.min(all.len())]
    }

    /// By how much a candidate is slower than the leader, at least and at most, as logarithms (Welch), the
    /// risk of the race being shared among candidates and looks.
    fn behind(&self, leader: usize, i: usize) -> (f64, f64) {
        let (of_leader, of_other) = (self.looked(leader), self.looked(i));
        let (a, va, na) = moments(of_leader);
        let (b, vb, nb) = moments(of_other);
        let variance = va + vb;
        if !variance.is_finite() {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let spread = va * va / (na - 1.0) + vb * vb / (nb - 1.0);
        let degrees = match spread > 0.0 {
            true => variance * variance / spread,
            false => 1e6,
        };
        let others = self.samples.len().saturating_sub(1).max(1) as f64;
        let doubled = self.rules.most as f64 / self.rules.first.max(1) as f64;
        let looks = doubled.max(1.0).log2().ceil() + 1.0;
        let risk = self.rules.risk / (others * looks);
        let half = student_quantile(1.0 - risk, degrees) * variance.sqrt();
        (b - a - half, b - a + half)
    }

    /// Whom to measure next; none when it is decided or nobody has samples left.
    pub fn ask(&self) -> Option<usize> {
        let few = |i: &usize| self.samples[*i].len() < self.rules.first && self.open(*i);
        if let Some(i) = (0..self.samples.len())
            .filter(few)
            .min_by_key(|i| self.samples[*i].len())
        {
            return Some(i);
        }
        let leader = self.leader()?;
        // Of those that overlap with the leader, the one that could be the fastest.
        let mut rival: Option<(usize, f64)> = None;
        for i in (0..self.samples.len()).filter(|i| *i != leader && !self.samples[*i].is_empty()) {
            let (low, high) = self.behind(leader, i);
            let open =
                low <= 0.0 && high > self.rules.matters && (self.open(i) || self.open(leader));
            if open && rival.is_none_or(|r| low < r.1) {
                rival = Some((i, low));
            }
        }
        let (rival, _) = rival?;
        // The one of the two that has fewer.
        let mut both = [leader, rival];
        both.sort_by_key(|i| self.samples[*i].len());
        both.into_iter().find(|i| self.open(*i))
    }

    /// Where everybody stands, the fastest first.
    pub fn standings(&self) -> Vec<Standing> {
        let Some(leader) = self.leader() else {
            return Vec::new();
        };
        let slower = |i: usize| i != leader && self.behind(leader, i).0 > 0.0;
        let sampled: Vec<usize> = (0..self.samples.len())
            .filter(|i| !self.samples[*i].is_empty())
            .collect();
        let tied = sampled.iter().any(|i| *i != leader && !slower(*i));
        let mut out: Vec<Standing> = sampled
            .into_iter()
            .map(|i| {
                let (mean, variance, kept) = moments(&self.samples[i]);
                let half = match variance.is_finite() {
                    true => student_quantile(0.975, kept - 1.0) * variance.sqrt() * mean.exp(),
                    false => f64::INFINITY,
                };
                Standing {
                    candidate: i,
                    mean: mean.exp(),
                    half,
                    samples: self.samples[i].len(),
                    place: match (slower(i), tied) {
                        (true, _) => RacePlace::Slower,
                        (false, true) => RacePlace::Tie,
                        (false, false) => RacePlace::Winner,
                    },
                }
            })
            .collect();
        out.sort_by(|x, y| x.mean.total_cmp(&y.mean));
        out
    }
}

/// A race over recorded samples, taken in their order.
pub fn race_recorded(samples: &[&[f64]], rules: RaceRules) -> Vec<Standing> {
    let mut race = Race::new(samples.len(), rules);
    let mut taken = vec![0; samples.len()];
    while let Some(i) = race.ask() {
        match samples[i].get(taken[i]) {
            Some(t) => {
                race.tell(i, *t);
                taken[i] += 1;
            }
            None => race.dry(i),
        }
    }
    race.standings()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn noisy(seed: u64, of: &[f64], noise: f64) -> Vec<Vec<f64>> {
        let mut rng = Rng::new(seed);
        let one = |t: &f64| (0..30).map(|_| t * (noise * rng.normal()).exp()).collect();
        of.iter().map(one).collect()
    }

    fn run(all: &[Vec<f64>]) -> Vec<Standing> {
        let all: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
        race_recorded(&all, RaceRules::default())
    }

    #[test]
    fn repeats_go_where_candidates_overlap() {
        let s = run(&noisy(1, &[1.0, 1.01, 2.0, 3.0], 0.01));
        assert_eq!((s[0].candidate, s[0].place), (0, RacePlace::Winner));
        let of = |i: usize| s.iter().find(|x| x.candidate == i).expect("a standing");
        assert_eq!(of(2).samples, 3);
        assert_eq!(of(3).samples, 3);
        assert!(of(1).samples > 3 && of(0).samples > 3, "{s:?}");
        assert!(s[1..].iter().all(|x| x.place == RacePlace::Slower), "{s:?}");
    }

    #[test]
    fn equals_are_ties_and_rarely_anything_else() {
        let mut wrong = 0;
        for seed in 0..100 {
            let s = run(&noisy(seed, &[1.0, 1.0, 1.5], 0.02));
            assert_eq!(s[2].place, RacePlace::Slower);
            wrong += usize::from(s[0].place != RacePlace::Tie);
        }
        // The leader is chosen by the samples that it is judged by, which doubles the risk.
        assert!(wrong <= 15, "{wrong}");
    }

    #[test]
    fn single_interruptions_decide_nothing() {
        // Samples of a GPU: one pair had 48 times the program's time, another a fiftieth of it.
        let mut all = noisy(3, &[0.913, 0.98], 0.03);
        all[0].splice(3..5, [47.9, 1.6]);
        all[1].splice(7..9, [0.018, 0.45]);
        let all: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
        let rules = RaceRules {
            first: 30,
            ..RaceRules::default()
        };
        let s = race_recorded(&all, rules);
        assert_eq!(
            (s[0].candidate, s[0].place),
            (0, RacePlace::Winner),
            "{s:?}"
        );
        assert!((s[0].mean / 0.913 - 1.0).abs() < 0.03, "{s:?}");
        assert_eq!(s[1].place, RacePlace::Slower);
    }

    #[test]
    fn odd_races_end() {
        assert!(run(&[]).is_empty());
        assert_eq!(run(&[vec![1.0]])[0].place, RacePlace::Winner);
        // One sample each tells nothing; without noise nothing is open.
        assert_eq!(run(&[vec![1.0], vec![2.0]])[0].place, RacePlace::Tie);
        let exact = run(&[vec![1.0; 9], vec![1.1; 9]]);
        assert_eq!((exact[0].place, exact[0].samples), (RacePlace::Winner, 3));
        assert_eq!(run(&[vec![1.0; 9], vec![1.0; 9]])[0].place, RacePlace::Tie);
        let s = run(&[Vec::new(), vec![1.0, 1.0]]);
        assert_eq!((s.len(), s[0].candidate), (1, 1));
    }
}
