import asyncio

import pytest
import pytest_asyncio


# Its name before 0.17.
fixture = getattr(pytest_asyncio, "fixture", pytest.fixture)


@fixture
async def connection():
    queue = asyncio.Queue()
    await queue.put(1)
    yield queue
    await asyncio.sleep(0)


async def test_awaits(connection):
    assert await connection.get() == 1


@pytest.mark.asyncio
async def test_marked():
    await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))


async def test_fails():
    await asyncio.sleep(0)
    assert False


@pytest.mark.parametrize("number", [1, 2])
async def test_parameters(number):
    assert number == 1


def test_beside_them():
    pass


class TestClass:
    async def test_method(self, connection):
        assert connection.qsize() == 1
