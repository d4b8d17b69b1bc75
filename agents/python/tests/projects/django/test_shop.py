import pytest
from django.core import mail
from django.test import TestCase
from shop.models import Book


@pytest.mark.django_db
def test_adds_a_book():
    Book.objects.create(title="Emma")
    assert Book.objects.count() == 1


@pytest.mark.django_db
def test_starts_without_books(django_user_model):
    assert not Book.objects.exists()
    django_user_model.objects.create_user("anne")


@pytest.mark.django_db(transaction=True)
def test_commits():
    Book.objects.create(title="Persuasion")


def test_needs_the_database():
    Book.objects.count()


def test_client(client):
    assert client.get("/hello/").content == b"hello"


def test_settings(settings):
    settings.USE_TZ = False


def test_mail(mailoutbox):
    mail.send_mail("subject", "body", "a@example.org", ["b@example.org"])
    assert len(mailoutbox) == 1


class BookTest(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.book = Book.objects.create(title="Sanditon")

    def test_is_there(self):
        self.assertEqual(Book.objects.get(), self.book)

    def test_fails(self):
        self.assertEqual(Book.objects.count(), 2)
