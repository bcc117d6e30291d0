"""A cluster of dask that tests of several modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import dask_cluster
from support.dask_cluster import Cluster, Nursery, cluster


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    pytest.importorskip("distributed", reason="proctor[dask] is not installed")
    with dask_cluster.nursery() as made:
        yield made


@pytest.fixture(scope="session")
def shared(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, for tests that leave them as they are."""
    with cluster(nursery, tmp_path_factory.mktemp("shared") / "dask", "one", "two") as made:
        yield made
