"""Tables of implementations, and entry points of other packages."""

import importlib.metadata
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint

import pytest

from suffice.errors import SettingsError
from suffice.registry import Lazy, Registry

MINE = 7


def table() -> Registry[int]:
    return Registry("shape", {"square": 4, "triangle": 3}, group="suffice.test_shapes")


@pytest.fixture
def plugins(monkeypatch):
    """Entry points that other packages are made to have, and how often they were searched."""
    found, searches = [], []

    def entry_points(*, group):
        searches.append(group)
        return [entry for entry in found if entry.group == group]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return found, searches


def entry(name: str, value: str = "test_registry:MINE") -> EntryPoint:
    return EntryPoint(name, value, "suffice.test_shapes")


def test_registry_looks_up_and_lists_names_in_order():
    shapes = table()
    shapes.register("circle", 0)
    assert shapes["square"] == 4 and shapes["circle"] == 0
    assert list(shapes) == ["square", "triangle", "circle"] and len(shapes) == 3
    assert dict(shapes) == {"square": 4, "triangle": 3, "circle": 0}
    assert shapes.own == ("square", "triangle")
    assert shapes.get("hexagon") is None and "hexagon" not in shapes


def test_registry_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(SettingsError) as error:
        table()["sqare"]
    assert str(error.value) == "unknown shape: 'sqare'; did you mean 'square'? known: square, triangle"


def test_registry_names_are_unique():
    shapes = table()
    with pytest.raises(SettingsError, match="there is already a shape 'square'"):
        shapes.register("square", 5)
    assert shapes["square"] == 4


def test_registry_unregister_removes_only_what_was_registered():
    shapes = table()
    shapes.register("circle", 0)
    shapes.unregister("circle")
    assert list(shapes) == ["square", "triangle"]
    for name in ("square", "circle"):
        with pytest.raises(SettingsError, match="was not registered"):
            shapes.unregister(name)


def test_registry_imports_lazy_entries_once_looked_up():
    lazy = Registry("constant", {"pi": Lazy("math:pi"), "nothing": Lazy("no_such_module:x")})
    assert list(lazy) == ["pi", "nothing"]
    assert lazy["pi"] == pytest.approx(3.14159, abs=1e-5)


def test_registry_finds_entry_points_on_a_miss_only(plugins):
    found, searches = plugins
    found.append(entry("mine"))
    shapes = table()
    assert shapes["square"] == 4 and searches == []
    assert shapes["mine"] == MINE and searches == ["suffice.test_shapes"]
    assert list(shapes) == ["square", "triangle", "mine"] and len(searches) == 1


def test_registry_loads_no_entry_point_when_names_are_listed(plugins):
    found, _ = plugins
    found.append(entry("broken", "no_such_module:x"))
    shapes = table()
    assert list(shapes) == ["square", "triangle", "broken"]
    with pytest.raises(SettingsError, match=r"the shape 'broken' of .*no_such_module:x.* cannot be loaded \(ModuleNot"):
        shapes["broken"]
    assert shapes["square"] == 4


def test_registry_refuses_entry_points_with_a_name_that_is_taken(plugins):
    found, _ = plugins
    found.append(entry("square"))
    shapes = table()
    for _ in range(2):  # not only the first time
        with pytest.raises(SettingsError, match="adds a shape 'square', but there is one already"):
            list(shapes)
    assert shapes["square"] == 4


def test_registry_conflict_of_two_packages_is_reported_every_time(plugins):
    """Neither is used, nor anything else that was found beside them."""
    found, _ = plugins
    found += [entry("mine"), entry("mine", "math:pi"), entry("other")]
    shapes, said = table(), set()
    for name in ("mine", "other", "mine", "nothing"):
        with pytest.raises(SettingsError, match="adds a shape 'mine', but there is one already") as error:
            shapes[name]
        said.add(str(error.value))
    assert len(said) == 1 and shapes["square"] == 4


def test_registry_is_searched_by_several_threads_at_once(plugins):
    found, searches = plugins
    found += [entry(f"mine{i}") for i in range(100)]

    def look_up(shapes):
        return {shapes[f"mine{i}"] for i in range(100)}

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(50):
                searches.clear()
                assert list(pool.map(look_up, [table()] * 4)) == [{MINE}] * 4
                assert len(searches) == 1
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.parametrize("name", [3, None, ["square"]])
def test_registry_refuses_a_name_that_is_no_text(name):
    shapes = table()
    with pytest.raises(SettingsError, match=r"the name of a shape is a text, not .*; known: square, triangle"):
        shapes[name]
    assert name not in shapes and shapes.get(name, 5) == 5


def test_registry_is_pickled():
    assert dict(pickle.loads(pickle.dumps(table()))) == {"square": 4, "triangle": 3}


def test_registry_accepts_a_distribution_that_is_found_twice(plugins):
    found, _ = plugins
    found += [entry("mine"), entry("mine")]
    assert table()["mine"] == MINE


def test_registry_refuses_what_lacks_an_attribute(plugins):
    found, _ = plugins
    found.append(entry("mine"))
    strict: Registry[object] = Registry("shape", {}, group="suffice.test_shapes", needs=("area",))
    with pytest.raises(SettingsError, match="'mine' is not a shape, because it has no 'area'"):
        strict["mine"]
    with pytest.raises(SettingsError, match="because it has no 'area'"):
        strict.register("other", object())


def test_registry_refuses_a_name_other_than_the_implementation_s():
    class Named:
        name = "round"

    with pytest.raises(SettingsError, match="the shape 'round' is registered as 'circle'"):
        Registry("shape", {}).register("circle", Named())


def test_registry_without_a_group_is_closed(plugins):
    _, searches = plugins
    assert list(Registry("shape", {"square": 4})) == ["square"] and searches == []
