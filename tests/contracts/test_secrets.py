"""Secrets are known by their names, taken out, and never stored."""

from __future__ import annotations

import pytest

from mosaic.contracts.secrets import REDACTED, is_secret, mask_secrets, redact, take_secrets


@pytest.mark.parametrize(
    "name",
    ["wandb_api_key", "WANDB_API_KEY", "my_key", "hf_token", "HF_TOKEN", "password", "db_password",
     "client_secret", "secret", "api_key", "wandb-api-key"],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["idempotency_key", "keyboard", "tokens", "seed", "key_bindings"])
def test_other_names_are_not_secrets(name: str) -> None:
    assert not is_secret(name)


def test_a_secret_is_replaced_at_any_depth() -> None:
    document = {"a": [{"hf_token": "t", "n": 1}], "password": "p", "empty_key": None, "x": ("y",)}
    assert redact(document) == {
        "a": [{"hf_token": REDACTED, "n": 1}],
        "password": REDACTED,
        "empty_key": None,
        "x": ["y"],
    }
    assert document["password"] == "p"


def test_even_a_secret_that_is_no_text_is_replaced() -> None:
    assert redact({"my_secret": {"user": "u"}, "api_key": 5}) == {
        "my_secret": REDACTED,
        "api_key": REDACTED,
    }


def test_secrets_leave_the_extras_for_the_environment() -> None:
    extras = {"wandb_api_key": "k", "algo_params": {"my_token": "t", "gamma": 0.9}, "notes": "n"}
    kept, environment = take_secrets(extras)
    assert kept == {"algo_params": {"gamma": 0.9}, "notes": "n"}
    assert environment == {"WANDB_API_KEY": "k", "MY_TOKEN": "t"}


def test_a_secret_that_is_gone_is_no_value() -> None:
    assert take_secrets({"wandb_api_key": REDACTED, "hf_token": ""}) == ({}, {})


@pytest.mark.parametrize(
    ("address", "stored"),
    [
        ("http://user:secret@proxy:3128", "http://***@proxy:3128"),
        ("socks5h://user:se/c@ret@proxy", "socks5h://***@proxy"),
        ("user:secret@proxy:3128", "***@proxy:3128"),
        ("http://token@proxy/", "http://***@proxy/"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("", ""),
    ],
)
def test_an_address_is_stored_without_its_password(address: str, stored: str) -> None:
    names = ("wandb_http_proxy", "HTTPS_PROXY", "base_url")
    assert redact(dict.fromkeys(names, address)) == dict.fromkeys(names, stored)
    kept, environment = take_secrets({"wandb_https_proxy": address})
    assert kept == {"wandb_https_proxy": stored}
    assert environment == ({"WANDB_HTTPS_PROXY": address} if address != stored else {})
    assert take_secrets(kept) == (kept, {}), "what is gone is no value"
    assert redact({"notes": f"by {address}"}) == {"notes": f"by {address}"}


def test_a_password_of_a_proxy_is_masked_with_its_user_and_alone() -> None:
    told = "no way through http://user:hunter2@proxy: hunter2 is wrong"
    masked = mask_secrets(told, {"HTTPS_PROXY": "http://user:hunter2@proxy:1"})
    assert masked == "no way through http://***@proxy: *** is wrong"
