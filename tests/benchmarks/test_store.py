"""The benchmark of the store runs, on little."""

from __future__ import annotations

import re

import pytest
import store


def test_it_measures_lists_and_envelopes(capsys: pytest.CaptureFixture[str]) -> None:
    store.main(["--runs", "300", "--points", "20000"])
    printed = capsys.readouterr().out
    assert "300 runs" in printed
    assert "all of them, pages of 1000" in printed
    assert re.search(r"stored [\d,]+ a second", printed)
    assert re.search(r"envelope, whole +[\d.]+ ms .* 1000 buckets of 20$", printed, re.MULTILINE)


def test_bad_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        store.main(["--runs", "0"])
    assert "argument --runs: give at least 1" in capsys.readouterr().err
