"""The report holds what it promises, escapes what it is given, and works in a browser without a network."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from specfrontier.errors import InputError
from specfrontier.paper_figures import write_report
from specfrontier.paper_figures.report.html import Html, element
from specfrontier.paper_figures.report.page import report_page
from specfrontier.paper_figures.report.samples import token_pieces
from specfrontier.paper_figures.report.words import number, with_error
from specfrontier.paper_figures.run import RunSource

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(run, words):
    return report_page(run, words)


def rounds(*rows):
    return pd.DataFrame(rows, columns=["accepted", "emitted", "verified"])


def test_tokens_are_marked_by_the_round_that_emitted_them(words):
    pieces = token_pieces("a b c d e", rounds((2, 3, 4), (1, 2, 1)), finished=False, tokenize=words)
    assert [(p.text.strip(), p.kind, p.first) for p in pieces] == [
        ("a", "accepted", True), ("b", "accepted", False), ("c", "corrected", False),
        ("d", "accepted", True), ("e", "bonus", False),
    ]  # fmt: skip


def test_an_end_token_is_emitted_but_not_in_the_text(words):
    pieces = token_pieces("a b", rounds((2, 3, 4)), finished=True, tokenize=words)
    assert [p.kind for p in pieces] == ["accepted", "accepted"]


def test_tokens_that_cannot_be_told_apart_are_not_guessed(words):
    assert token_pieces("a b c", rounds((2, 3, 4), (1, 2, 4)), finished=False, tokenize=words) is None


def test_strings_are_escaped_and_html_is_not():
    made = element("p", '<b title="x">', Html("<i>ok</i>"), title='"><script>', data_config=None)
    assert made == '<p title="&quot;&gt;&lt;script&gt;">&lt;b title=&quot;x&quot;&gt;<i>ok</i></p>'


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.012345, "0.0123"), (1234.5, "1234"), (-2.5, "−2.5"), (0, "0"), (None, "–"), (float("nan"), "–")],
)
def test_numbers_read_plainly(value, text):
    assert number(value) == text


def test_an_unknown_error_is_left_out():
    assert with_error(2.0, None) == "2"
    assert with_error(2.0, 0.25) == "2 ± 0.25"


def test_the_page_refers_to_nothing_outside_itself(page):
    assert not re.search(r'(?:src|href|action|poster|data)="', page)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_the_page_is_well_formed_and_its_identifiers_are_unique(page):
    class Check(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open, self.ids = [], []

        def handle_starttag(self, tag, attrs):
            self.ids += [value for key, value in attrs if key == "id"]
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    check = Check()
    check.feed(page)
    assert check.open == []
    assert len(check.ids) == len(set(check.ids))


def test_every_configuration_can_be_pointed_at_in_both_charts(run, page):
    speculative = run.measurements[run.measurements["mode"] == "speculative"]
    for config in speculative["config"]:
        assert page.count(f'data-config="{config}"') == 2


def test_comparison_ablation_costs_and_samples_are_there(page):
    for text in ("equation7", "Mean |error|", "Verify cost c_v", 'class="accepted', 'class="corrected', "✓"):
        assert text in page
    assert "&lt;b&gt;word0" in page
    assert "<b>word0" not in page


def test_a_run_without_predictions_profile_or_outputs_still_reports(run, words):
    bare = RunSource("bare", configurations=run.configurations, measurements=run.measurements)
    text = report_page(bare, words)
    for missing in ("holds no predictions", "holds no profile", "holds no outputs"):
        assert missing in text


def test_an_empty_run_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="speculative measurements"):
        write_report(RunSource("empty"), tmp_path)


PROBE = """<script>
const seen = [];
addEventListener("error", (event) => seen.push(event.message));
document.addEventListener("securitypolicyviolation", (event) => seen.push(event.violatedDirective));
addEventListener("load", () => {
  const point = document.querySelector(".point.best");
  point.dispatchEvent(new PointerEvent("pointerenter"));
  const tip = document.getElementById("tip");
  const box = tip.getBoundingClientRect();
  const said = tip.innerText;
  const marked = document.querySelectorAll(".point.on").length;
  const inside = box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
  point.dispatchEvent(new PointerEvent("pointerleave"));
  const result = { said, marked, inside, hidden: tip.hidden, pwned: window.pwned === true, seen,
    fetched: performance.getEntriesByType("resource").length,
    wide: document.documentElement.scrollWidth > innerWidth };
  document.body.dataset.result = JSON.stringify(result);
});
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; on Debian: apt-get install chromium")
def test_in_a_browser_a_point_says_its_settings_and_hostile_text_stays_text(run, tmp_path, words):
    hostile = "</pre><script>window.pwned = true</script><img src=x onerror='window.pwned = true'>"
    problems = run.problems.assign(text=hostile)
    attacked = replace(run, name=hostile, problems=problems)
    path = write_report(attacked, tmp_path, tokenize=words)
    path.write_text(path.read_text(encoding="utf-8").replace("<body>", f"<body>{PROBE}"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--window-size=1000,800", "--dump-dom"]
    command = [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    found = re.search(r'data-result="([^"]*)"', dom)
    assert found, dom[:500]
    result = json.loads(html.unescape(found[1]))
    assert result["said"].splitlines()[0].startswith("K=")
    assert "tokens/s" in result["said"]
    assert result["marked"] == 2  # the same configuration, in both charts
    assert result["inside"]
    assert result["hidden"]
    assert not result["wide"]
    assert not result["pwned"]
    assert result["seen"] == []
    assert result["fetched"] == 0
