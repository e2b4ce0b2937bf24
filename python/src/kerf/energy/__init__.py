"""The power of a GPU by its clock: Kernel Tuner's package of this name."""
