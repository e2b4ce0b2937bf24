//! Strategies by their names.
use super::{Parts, Rating, StageOrder};
use crate::problem::{Assignment, Search};
use crate::strategy::Strategy;
use crate::strategy_name::{StrategyError, StrategyName};

impl StrategyName {
    /// What it leaves out of AMPT-GA, or has in its place.
    fn ampt_ga_parts(self) -> Parts {
        let mut p = Parts::ALL;
        match self {
            StrategyName::AmptGaNoGroups => p.groups = false,
            StrategyName::AmptGaNoFilter => p.filter = false,
            StrategyName::AmptGaNoFirst => p.first = false,
            // Without a score there is nothing to filter by.
            StrategyName::AmptGaNoScore => (p.score, p.filter) = (Rating::Measured, false),
            StrategyName::AmptGaModel => p.score = Rating::Model,
            _ => {}
        }
        p
    }

    /// The strategy, at its beginning.
    pub fn start<'p>(self, search: Search<'p>) -> Result<Box<dyn Strategy + 'p>, StrategyError> {
        Ok(match self {
            StrategyName::Guided => match &search.problem.points {
                Some(points) => Box::new(super::guided_points(search, points)),
                None => Box::new(super::guided(search)),
            },
            StrategyName::Exhaustive => Box::new(super::exhaustive(search)?),
            StrategyName::Random => Box::new(super::random(search)),
            StrategyName::DeltaDebug | StrategyName::Dataflow
                if search.problem.points.is_some() =>
            {
                return Err(StrategyError::NotOrdered(self));
            }
            StrategyName::DeltaDebug => Box::new(super::delta_debug(search)),
            StrategyName::Dataflow => Box::new(super::dataflow(search)),
            StrategyName::NaiveGa => Box::new(super::naive_ga(search)),
            StrategyName::AmptGa
            | StrategyName::AmptGaModel
            | StrategyName::AmptGaNoGroups
            | StrategyName::AmptGaNoFilter
            | StrategyName::AmptGaNoFirst
            | StrategyName::AmptGaNoScore => Box::new(super::ampt_ga(search, self.ampt_ga_parts())),
            StrategyName::Annealing => Box::new(super::annealing(search)),
            StrategyName::Differential => Box::new(super::differential(search)),
            StrategyName::Local => Box::new(super::local(search)),
            StrategyName::Ryoo => Box::new(super::ryoo(search)?),
            StrategyName::LaunchFirst => self.staged(search, StageOrder::First)?,
            StrategyName::LaunchLast => self.staged(search, StageOrder::Last)?,
            StrategyName::Smp => Box::new(super::smp(search)?),
            StrategyName::Heu => Box::new(super::heu(search)?),
            StrategyName::Omg => Box::new(super::omg(search)?),
        })
    }

    /// Shapes and the rest one after the other.
    fn staged<'p>(
        self,
        search: Search<'p>,
        order: StageOrder,
    ) -> Result<Box<dyn Strategy + 'p>, StrategyError> {
        let shapes = search.problem.variables.iter().filter(|v| v.unordered);
        if [0, search.problem.variables.len()].contains(&shapes.count()) {
            return Err(StrategyError::NotBoth(self));
        }
        Ok(Box::new(super::staged(search, order)))
    }
}

/// The strategies that make sense for a problem side by side: not exhaustive search, and not those that need
/// precisions or predictions which it has not.
pub fn suitable(search: &Search) -> Vec<StrategyName> {
    let listed = search.problem.points.is_some();
    let fits = |name: &StrategyName| match name {
        StrategyName::Exhaustive => false,
        StrategyName::DeltaDebug | StrategyName::Dataflow => !listed,
        StrategyName::AmptGa => search.static_score(&first(search.problem)).is_some(),
        // Without a static score it is the same.
        StrategyName::AmptGaModel => {
            let a = first(search.problem);
            search.models.static_score(&a).is_some() && search.predict(&a).is_some()
        }
        StrategyName::Ryoo => search.models.metrics(&first(search.problem)).is_some(),
        _ => true,
    };
    StrategyName::ANY_SPACE.into_iter().filter(fits).collect()
}

/// An assignment that exists.
fn first(problem: &crate::problem::Problem) -> Assignment {
    let listed = problem.points.as_ref().and_then(|p| p.first());
    listed.cloned().unwrap_or_else(|| problem.identity())
}

/// A strategy by its name. `_` and `-` are one.
pub fn by_name<'p>(
    name: &str,
    search: Search<'p>,
) -> Result<Box<dyn Strategy + 'p>, StrategyError> {
    name.parse::<StrategyName>()?.start(search)
}
