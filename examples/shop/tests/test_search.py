from shop import search


def test_bestseller_is_on_the_first_page():
    assert search.BESTSELLER in search.first_page()


def test_experiment_can_be_enabled():
    search.EXPERIMENTS.add("shuffled-ranking")
    assert len(search.ranking()) == 5


def test_the_first_page_is_short():
    assert len(search.first_page()) < 4
