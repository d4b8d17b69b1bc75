import asyncio

import pytest


async def test_awaits(worker_id):
    await asyncio.sleep(0)


@pytest.mark.all
@pytest.mark.flaky(reruns=2)
@pytest.mark.timeout(10)
def test_fails_every_time():
    assert False


@pytest.mark.django_db
def test_database(django_user_model):
    django_user_model.objects.create_user("anne")
    assert django_user_model.objects.count() == 1


class TestClass:
    @pytest.mark.parametrize("number", range(3))
    def test_numbers(self, number, cov):
        assert number != 1
