# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drawing of lanes consists of."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.drawing import lanes
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.drawing.lanes import Lane, Mark, Panel, Span

SVG = "{http://www.w3.org/2000/svg}"
HANDLED = Panel(
    "With",
    [
        Lane(
            "web_0",
            [Span(0, 40, lanes.IN), Span(40, 60, lanes.DRAINING), Span(60, 100, lanes.HIT, "Reboot")],
            [Mark(20, lanes.ANNOUNCED), Mark(60, lanes.APPROVED), Mark(80, lanes.NOT_BEFORE)],
        )
    ],
    lost=[],
)
UNHANDLED = Panel("Without", [Lane("web_0", [Span(0, 50, lanes.IN)])], lost=[(10, 3), (20, 1)])


def parsed(drawn: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawn)


def texts(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def test_given_two_fleets_when_drawn_then_both_are_on_one_axis_and_a_second_is_as_wide_in_each() -> None:
    root = parsed(lanes.draw([UNHANDLED, HANDLED], "Title", "Description"))

    bars = {
        bar.findtext(f"{SVG}title", ""): float(bar.get("width", ""))
        for lane in root.iter(f"{SVG}g")
        if lane.get("class") == "lane"
        for bar in lane.iter(f"{SVG}rect")
    }
    assert list(bars) == [
        "in rotation, 0.0 to 50.0 s",
        "in rotation, 0.0 to 40.0 s",
        "draining, 40.0 to 60.0 s",
        "Reboot, 60.0 to 100.0 s",
    ]
    assert bars["in rotation, 0.0 to 50.0 s"] == 5 / 4 * bars["Reboot, 60.0 to 100.0 s"]
    assert "100 s" in texts(root)
    assert root.findtext(f"{SVG}title") == "Title"
    assert root.findtext(f"{SVG}desc") == "Description"


def test_given_lost_requests_when_drawn_then_all_are_counted_and_an_animation_counts_up_to_that() -> None:
    still, moving = (lanes.draw([UNHANDLED], "t", "d", play=play) for play in (None, 20))

    assert [text for text in texts(parsed(still)) if "lost" in text] == ["lost requests", "4 requests lost"]
    counted = [text for text in texts(parsed(moving)) if text.endswith("requests lost")]
    assert counted == ["0 requests lost", "3 requests lost", "4 requests lost"]
    # At 10 and at 20 of 50 seconds, which 85 % of the animation take.
    assert re.search(r"@keyframes count0\{0%\{.*?\}17\.00%\{.*?\}34\.00%\{.*?\}100%\{", moving)


def test_given_an_animation_then_it_runs_for_those_only_who_do_not_prefer_reduced_motion() -> None:
    still, moving = (lanes.draw([HANDLED], "t", "d", play=play) for play in (None, 20))

    assert "animation" not in still
    before, _media, after = moving.partition("@media (prefers-reduced-motion:no-preference){")
    assert "animation" not in before
    assert "animation-duration:20s" in after
    # It begins in the 15 % of it that show the whole.
    assert -20 < float(after.partition("animation-delay:")[2].partition("s")[0]) <= -17
    assert ".curtain{display:none}" in before


def test_given_a_dark_system_then_the_picture_has_colours_of_its_own_for_it_and_neither_script_nor_address() -> None:
    drawn = lanes.draw([HANDLED], "t", "d", play=20)

    assert "@media (prefers-color-scheme:dark)" in drawn
    assert "<script" not in drawn
    assert re.findall(r"(?:https?:|href|url\([^#])[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]


def test_given_hostile_names_when_drawn_then_they_are_text() -> None:
    name = '"><script>alert(1)</script>'
    drawn = lanes.draw([Panel(name, [Lane(name, [Span(0, 1, lanes.HIT, name)])], [])], name, name)

    root = parsed(drawn)
    assert f"{SVG}script" not in {element.tag for element in root.iter()}
    assert texts(root).count(name) == 3


def test_given_nothing_to_show_when_drawn_then_it_is_a_picture_anyway() -> None:
    assert parsed(lanes.draw([Panel("none", [], [])], "t", "d")).tag == f"{SVG}svg"


def test_given_what_a_drawing_shows_then_the_legend_explains_it_and_nothing_else() -> None:
    drawn = lanes.draw([HANDLED], "t", "d")
    legend = drawn[drawn.index('<g class="legend">') :]

    assert texts(parsed(legend.replace("</svg>\n", "").replace("<g", '<g xmlns="http://www.w3.org/2000/svg"', 1))) == [
        "in rotation",
        "draining",
        "maintenance",
        "announced",
        "approved",
        "NotBefore",
    ]
