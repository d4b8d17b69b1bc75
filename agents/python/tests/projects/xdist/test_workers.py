import pytest


@pytest.fixture(scope="session")
def database(worker_id, tmp_path_factory):
    return tmp_path_factory.mktemp(f"database-{worker_id}")


@pytest.mark.xdist_group("database")
def test_has_its_own_database(database):
    assert database.is_dir()


def test_knows_the_run(testrun_uid):
    assert testrun_uid


@pytest.mark.parametrize("number", range(4))
def test_numbers(number):
    assert number != 3
