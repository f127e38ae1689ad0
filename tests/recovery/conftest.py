from pathlib import Path

import pytest

from store.engine import Database
from tests.workshop import Workshop, a_workshop


@pytest.fixture
def workshop(request: pytest.FixtureRequest, database: Database, database_url: str, tmp_path: Path) -> Workshop:
    return a_workshop(database, database_url, tmp_path, executor=getattr(request, "param", "local"))
