"""A pair file that says something wrong is refused in one line that names the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from specfrontier.decoding import pair_names, read_pair_file
from specfrontier.errors import InputError

WHOLE = {
    "name": '"mine"',
    "summary": '"mine"',
    "block_size": "4",
    "max_new_tokens": "12",
    "verifier": '{checkpoint = "v"}',
    "drafter": '{checkpoint = "d", family = "masked"}',
}


def write(folder: Path, **change: str | None) -> str:
    lines = [f"{key} = {value}" for key, value in (WHOLE | change).items() if value is not None]
    path = folder / "mine.toml"
    path.write_text("\n".join(lines))
    return str(path)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    pair = read_pair_file(write(tmp_path, max_new_tokens="{default = 5, gsm8k = 7}", tasks='["gsm8k"]'))
    assert (pair.token_limit(), pair.token_limit("arith")) == (7, 5)
    assert pair.grid_for().rules == ("lossless",)


@pytest.mark.parametrize("key", WHOLE)
def test_a_key_that_is_missing_is_named(key: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=key) as caught:
        read_pair_file(write(tmp_path, **{key: None}))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "3"),
        ("summary", "[]"),
        ("block_size", '"4"'),
        ("block_size", "0"),
        ("block_size", "true"),
        ("block_size", "1e3"),
        ("max_new_tokens", "0"),
        ("max_new_tokens", '"many"'),
        ("max_new_tokens", "{gsm8k = 7}"),
        ("max_new_tokens", "{default = 7, gsm8k = -1}"),
        ("verifier", '"v"'),
        ("verifier", "{checkpoint = 3}"),
        ("drafter", "{}"),
        ("drafter", '{checkpoint = "d", family = 3}'),
        ("tasks", '"arith"'),
        ("tasks", "[1]"),
        ("parameters", "[1]"),
        ("parameters", '["a", "b"]'),
        ("parameters", "[nan, 1]"),
        ("parameters", "[-1, 1]"),
        ("prompt", "3"),
        ("prompt", '{chat_template = "yes"}'),
        ("prompt", "{instruction = 3}"),
        ("prompt", "{instruction = {gsm8k = 3}}"),
        ("prompt", "{template = true}"),
        ("source", "3"),
        ("grid", "3"),
        ("grid", "{steps = 1}"),
        ("grid", '{steps = ["1"]}'),
        ("grid", "{steps = [0]}"),
        ("grid", "{threshold = [0.0]}"),
        ("grid", "{threshold = [nan]}"),
        ("grid", "{threshold = [2]}"),
        ("grid", '{rules = "lossless"}'),
        ("grid", "{block_sizes = [-1]}"),
        ("grid", '{rules_by_steps = {one = ["lossless"]}}'),
        ("grid", '{rules_by_steps = {0 = ["lossless"]}}'),
        ("grid", "{rules_by_steps = {1 = [3]}}"),
        ("grid", "{gsm8k = {step = [1]}}"),
        ("unknown", "1"),
    ],
)
def test_a_wrong_value_is_named(key: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=key) as caught:
        read_pair_file(write(tmp_path, **{key: value}))
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_no_text_or_no_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    for content in (b"\xff\xfe", b"name = ", b"name = 1\nname = 2"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"mine\.toml"):
            read_pair_file(str(path))


@pytest.mark.parametrize("name", pair_names())
def test_every_shipped_file_is_read(name: str) -> None:
    assert read_pair_file(name).name
