"""Loading an exported folder with the library that it is made for."""

from pathlib import Path
from tempfile import TemporaryDirectory

import datasets


def loaded_dataset(folder: Path, configuration: str | None = None) -> datasets.Dataset:
    """Load the only split of a local dataset, without the network and without a cache."""
    with TemporaryDirectory() as cache:
        return datasets.load_dataset(
            str(folder), configuration, cache_dir=cache, split="train", keep_in_memory=True
        )
