"""The configurations of a search by ``tune_kernel``: what custom strategies choose from.

The interface is that of Kernel Tuner's ``Searchspace`` as far as strategies use it: configurations are tuples of values
in the order of ``tune_params``.
"""

from __future__ import annotations

import random
from typing import Any, Iterable, Iterator, Mapping, Sequence

import numpy as np

from . import _expressions
from ._program import KerfError

#: A configuration: a value for each parameter, in order.
Config = tuple[Any, ...]

METHODS = ("Hamming", "adjacent", "strictly-adjacent")


def _configurations(tune_params: Mapping[str, Sequence[Any]], restrictions: Any) -> Iterator[Config]:
    """Configurations that satisfy the restrictions, each tested as soon as its parameters are chosen."""
    names = list(tune_params)
    tests: list[list[Any]] = [[] for _ in names]
    for needed, test in _expressions.checks(restrictions, names):
        last = len(names) - 1 if needed is None else max((names.index(n) for n in needed), default=0)
        tests[last].append(test)
    chosen: dict[str, Any] = {}

    def descend(k: int) -> Iterator[Config]:
        if k == len(names):
            yield tuple(chosen.values())
            return
        for value in tune_params[names[k]]:
            chosen[names[k]] = value
            if all(test(chosen) for test in tests[k]):
                yield from descend(k + 1)
        chosen.pop(names[k], None)

    return descend(0)


class Searchspace:
    """Configurations, their neighbours and random samples of them."""

    def __init__(
        self,
        tune_params: Mapping[str, Sequence[Any]],
        restrictions: Any = None,
        max_threads: int = 1024,
        block_size_names: Sequence[str] | None = None,
        neighbor_method: str | None = None,
        seed: int | None = None,
        **_: Any,
    ) -> None:
        self.tune_params: dict[str, list[Any]] = {k: list(v) for k, v in tune_params.items()}
        self.restrictions, self.max_threads, self.neighbor_method = restrictions, max_threads, neighbor_method
        self.block_size_names = list(block_size_names or ("block_size_x", "block_size_y", "block_size_z"))
        self.param_names = list(self.tune_params)
        self.params_values = tuple(tuple(v) for v in self.tune_params.values())
        self.num_params = len(self.param_names)
        self.list: list[Config] = list(_configurations(self.tune_params, restrictions))
        self.size = len(self.list)
        self.indices = np.arange(self.size)
        self._random = random.Random(seed)
        self._index: dict[Config, int] | None = None
        self._matrix: np.ndarray | None = None

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Config]:
        return iter(self.list)

    def get_list_dict(self) -> dict[Config, int]:
        """The place of each configuration in ``list``."""
        if self._index is None:
            self._index = {c: i for i, c in enumerate(self.list)}
        return self._index

    def get_list_numpy(self) -> np.ndarray:
        """The configurations as an array of objects."""
        out = np.empty(self.size, dtype=object)
        out[:] = self.list
        return out

    def get_list_param_indices_numpy(self) -> np.ndarray:
        """A row for each configuration: the place of each value among those of its parameter."""
        if self._matrix is None:
            places = [{v: i for i, v in reversed(list(enumerate(values)))} for values in self.params_values]
            rows = [[p[v] for p, v in zip(places, c)] for c in self.list]
            self._matrix = np.array(rows, dtype=np.int32).reshape(self.size, self.num_params)
        return self._matrix

    def get_true_tunable_params(self) -> dict[str, list[Any]]:
        """Parameters that have more than one value."""
        return {k: v for k, v in self.tune_params.items() if len(v) > 1}

    def sorted_list(self, sort_last_param_first: bool = False) -> list[Config]:
        """The configurations in the order of the values, the first parameter changing last, or first."""
        order = range(self.num_params) if not sort_last_param_first else reversed(range(self.num_params))
        columns = list(order)
        return sorted(self.list, key=lambda c: [self.params_values[i].index(c[i]) for i in columns])

    def is_param_config_valid(self, param_config: Iterable[Any]) -> bool:
        """Whether it is a configuration of this space."""
        return tuple(param_config) in self.get_list_dict()

    def get_param_config_index(self, param_config: Iterable[Any]) -> int | None:
        """The place of a configuration, or None."""
        return self.get_list_dict().get(tuple(param_config))

    def get_param_configs_at_indices(self, indices: Iterable[int]) -> list[Config]:
        """The configurations at places."""
        return [self.list[i] for i in indices]

    def get_param_indices(self, param_config: Sequence[Any]) -> tuple[int, ...]:
        """The place of each value among those of its parameter."""
        return tuple(values.index(v) for values, v in zip(self.params_values, param_config))

    def get_param_config_from_param_indices(self, param_indices: Sequence[int]) -> Config:
        """The values at these places."""
        return tuple(values[i] for values, i in zip(self.params_values, param_indices))

    def get_random_sample_indices(self, num_samples: int) -> np.ndarray:
        """Places of so many different configurations, by chance."""
        if num_samples > self.size:
            raise KerfError(f"Searchspace: {num_samples} samples of {self.size} configurations were asked for")
        return np.array(self._random.sample(range(self.size), num_samples), dtype=int)

    def get_random_sample(self, num_samples: int) -> list[Config]:
        """So many different configurations, by chance."""
        return self.get_param_configs_at_indices(self.get_random_sample_indices(min(num_samples, self.size)))

    def get_LHS_sample_indices(self, num_samples: int) -> list[int]:
        """Places of configurations nearest to a Latin hypercube: each value of a parameter is there equally often."""
        num_samples = min(num_samples, self.size)
        matrix = self.get_list_param_indices_numpy()
        counts = np.array([len(v) for v in self.params_values])
        columns = [self._random.sample(range(num_samples), num_samples) for _ in range(self.num_params)]
        wanted = np.array(columns).T * (counts / num_samples)
        free = np.ones(self.size, dtype=bool)
        chosen: list[int] = []
        for row in wanted:
            distance = np.abs((matrix - row) / counts).sum(axis=1)
            distance[~free] = np.inf
            best = int(np.argmin(distance))
            free[best] = False
            chosen.append(best)
        return chosen

    def get_LHS_sample(self, num_samples: int) -> list[Config]:
        """Configurations nearest to a Latin hypercube."""
        return self.get_param_configs_at_indices(self.get_LHS_sample_indices(num_samples))

    get_distributed_random_sample_indices = get_LHS_sample_indices
    get_distributed_random_sample = get_LHS_sample

    def _method(self, given: str | None) -> str:
        method = given or self.neighbor_method or "Hamming"
        if method not in METHODS:
            raise KerfError(f"Searchspace: there is no neighbor_method {method!r}", f"there are {', '.join(METHODS)}")
        return method

    def get_neighbors_indices(self, param_config: Sequence[Any], neighbor_method: str | None = None, **_: Any) -> list[int]:
        """Places of neighbours: one value differs (Hamming), or none by more than one step (adjacent).

        Steps of ``strictly-adjacent`` are those of all values of a parameter, of ``adjacent`` those of the values that
        configurations have.
        """
        method = self._method(neighbor_method)
        matrix = self.get_list_param_indices_numpy()
        own = np.array(self.get_param_indices(param_config))
        if method == "adjacent":
            values = [np.unique(matrix[:, k]) for k in range(self.num_params)]
            matrix = np.stack([np.searchsorted(v, matrix[:, k]) for k, v in enumerate(values)], axis=1)
            own = np.array([np.searchsorted(v, o) for v, o in zip(values, own)])
        difference = np.abs(matrix - own)
        near = (difference > 0).sum(axis=1) == 1 if method == "Hamming" else difference.max(axis=1) == 1
        return [int(i) for i in np.flatnonzero(near)]

    get_neighbors_indices_no_cache = get_neighbors_indices

    def get_neighbors(self, param_config: Sequence[Any], neighbor_method: str | None = None, **_: Any) -> list[Config]:
        """Neighbours of a configuration, which need not be one of the space itself."""
        return self.get_param_configs_at_indices(self.get_neighbors_indices(param_config, neighbor_method))

    get_neighbors_no_cache = get_neighbors

    def get_random_neighbor(
        self, param_config: Sequence[Any], neighbor_method: str | None = None, **_: Any
    ) -> Config | None:
        """One of the neighbours by chance; None if there is none."""
        near = self.get_neighbors_indices(param_config, neighbor_method)
        return self.list[self._random.choice(near)] if near else None

    def get_param_neighbors(
        self, param_config: Sequence[Any], index: int, neighbor_method: str, randomize: bool
    ) -> list[Any]:
        """Values of one parameter that make a neighbour of the configuration."""
        own = tuple(param_config)
        rest = own[:index] + own[index + 1 :]
        near = [c for c in self.get_neighbors(own, neighbor_method) if c[:index] + c[index + 1 :] == rest]
        values = [c[index] for c in near]
        if randomize:
            self._random.shuffle(values)
        return values

    def order_param_configs(
        self, param_configs: Sequence[Config], order: Sequence[int], randomize_in_params: bool = True
    ) -> list[Config]:
        """Configurations in the order of the parameters named first."""
        configs = list(param_configs)
        if randomize_in_params:
            self._random.shuffle(configs)
        return sorted(configs, key=lambda c: [self.params_values[i].index(c[i]) for i in order])
