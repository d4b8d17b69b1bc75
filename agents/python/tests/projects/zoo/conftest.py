"""Fixtures of every scope, and hooks that see and change what pytest does."""

import pytest
from diary import note


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.get_closest_marker("late") is not None)


def pytest_generate_tests(metafunc):
    if "generated" in metafunc.fixturenames:
        metafunc.parametrize("generated", ["first", "second"], indirect=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    note(f"report {item.nodeid} {report.when} {report.outcome}")


def pytest_runtest_logstart(nodeid):
    note(f"start {nodeid}")


def pytest_fixture_setup(fixturedef, request):
    note(f"up {fixturedef.argname} for {request.node.nodeid}")


def pytest_fixture_post_finalizer(fixturedef):
    note(f"down {fixturedef.argname} {fixturedef.cached_result is not None}")


@pytest.fixture
def generated(request):
    return request.param


@pytest.fixture(scope="session", params=["wet", "dry"])
def season(request, tmp_path_factory):
    yield tmp_path_factory.mktemp(request.param)
    note(f"{request.param} season is over")


@pytest.fixture(scope="session", autouse=True)
def gate():
    note("the gate opens")
    yield
    note("the gate closes")


@pytest.fixture(scope="package")
def house():
    yield "house"
    note("the house is shut")


@pytest.fixture(scope="module", autouse=True)
def keeper(request):
    yield
    note(f"the keeper leaves {request.node.nodeid}")


@pytest.fixture(scope="class")
def cage():
    cage = []
    yield cage
    note(f"the cage held {len(cage)}")


@pytest.fixture
def broken():
    raise RuntimeError("cannot be set up")


@pytest.fixture
def leaking(request):
    yield
    raise RuntimeError("cannot be torn down")


@pytest.fixture(scope="module")
def leaking_module():
    yield
    raise RuntimeError("the module cannot be torn down")


@pytest.fixture
def finalized(request):
    request.addfinalizer(lambda: note("second finalizer"))
    request.addfinalizer(lambda: note("first finalizer"))
