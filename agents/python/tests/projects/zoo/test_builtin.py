"""Fixtures that come with pytest."""

import logging
import os
import sys
import warnings

import pytest


def test_tmp_path(tmp_path):
    (tmp_path / "file").write_text("x")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_tmp_path_is_new(tmp_path):
    assert not list(tmp_path.iterdir())


def test_monkeypatch(monkeypatch, tmp_path):
    monkeypatch.setenv("ZOO", "open")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "sep", "?")
    monkeypatch.setattr(sys, "path", [])


def test_monkeypatch_is_undone():
    assert "ZOO" not in os.environ
    assert os.sep == "/"
    assert sys.path


def test_capsys(capsys):
    print("roar")
    sys.stderr.write("squeak")
    assert capsys.readouterr() == ("roar\n", "squeak")


def test_capfd(capfd):
    os.write(1, b"roar")
    os.system("echo squeak >&2")
    assert capfd.readouterr() == ("roar", "squeak\n")


def test_caplog(caplog):
    with caplog.at_level(logging.INFO):
        logging.getLogger("zoo").info("fed")
    assert caplog.messages == ["fed"]


def test_recwarn(recwarn):
    warnings.warn("wild")
    assert len(recwarn) == 1


def test_warns():
    with pytest.warns(UserWarning):
        warnings.warn("wild")


def test_cache(cache):
    assert cache.get("zoo/visitors", 0) == 0
    cache.set("zoo/visitors", 1)
    assert cache.get("zoo/visitors", 0) == 1


def test_request(request, pytestconfig, record_property):
    record_property("visitors", 3)
    assert request.node.name == "test_request"
    assert pytestconfig is request.config


def test_output_of_a_failure():
    print("roar")
    assert {"lion": 1} == {"lion": 2}
