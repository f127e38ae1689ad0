from pathlib import Path

import pytest

from store.engine import Database
from tests.crash.scenes import Stage
from tests.workshop import a_workshop


@pytest.fixture
def stage(database: Database, database_url: str, superuser_url: str, tmp_path: Path) -> Stage:
    return Stage(workshop=a_workshop(database, database_url, tmp_path), superuser_url=superuser_url)
