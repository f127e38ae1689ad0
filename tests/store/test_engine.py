from store.engine import Database


def test_x(database: Database) -> None:
    with database.connection() as db:
        assert db.execute("SELECT count(*) AS n FROM task_edge").fetchone() == {"n": 61}

def test_y(database: Database) -> None:
    with database.connection() as db:
        assert db.execute("SELECT count(*) AS n FROM task_edge").fetchone() == {"n": 61}
