import pytest
from diary import note


@pytest.fixture(scope="package", autouse=True)
def fence():
    note("the fence goes up")
    yield
    note("the fence comes down")


@pytest.fixture(scope="module", params=["red", "blue"])
def colour(request):
    yield request.param
    note(f"{request.param} fades")
