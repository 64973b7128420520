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
    """Replace the installed entry points by a list, and record each search."""
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
    assert str(error.value) == "'sqare' is not a shape. Did you mean 'square'? Choose 'square' or 'triangle'."


def test_register_refuses_a_name_in_use():
    shapes = table()
    with pytest.raises(SettingsError, match="shape 'square': the name is already in use"):
        shapes.register("square", 5)
    assert shapes["square"] == 4


def test_unregister_removes_only_registered_implementations():
    shapes = table()
    shapes.register("circle", 0)
    shapes.unregister("circle")
    assert list(shapes) == ["square", "triangle"]
    for name in ("square", "circle"):
        with pytest.raises(SettingsError, match=f"shape '{name}' was not registered"):
            shapes.unregister(name)


def test_registry_imports_lazy_entries_when_they_are_looked_up():
    lazy = Registry("constant", {"pi": Lazy("math:pi"), "nothing": Lazy("no_such_module:x")})
    assert list(lazy) == ["pi", "nothing"]
    assert lazy["pi"] == pytest.approx(3.14159, abs=1e-5)


def test_registry_searches_entry_points_only_for_unknown_names(plugins):
    found, searches = plugins
    found.append(entry("mine"))
    shapes = table()
    assert shapes["square"] == 4 and searches == []
    assert shapes["mine"] == MINE and searches == ["suffice.test_shapes"]
    assert list(shapes) == ["square", "triangle", "mine"] and len(searches) == 1


def test_registry_lists_names_without_loading_entry_points(plugins):
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
        with pytest.raises(SettingsError, match="adds a shape 'square', but the name is already in use"):
            list(shapes)
    assert shapes["square"] == 4


def test_registry_conflict_of_two_packages_is_reported_every_time(plugins):
    """Neither implementation is used, nor any other that was found in the same search."""
    found, _ = plugins
    found += [entry("mine"), entry("mine", "math:pi"), entry("other")]
    shapes, said = table(), set()
    for name in ("mine", "other", "mine", "nothing"):
        with pytest.raises(SettingsError, match="adds a shape 'mine', but the name is already in use") as error:
            shapes[name]
        said.add(str(error.value))
    assert len(said) == 1 and shapes["square"] == 4


def test_registry_searches_once_when_several_threads_look_up(plugins):
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
def test_registry_refuses_a_name_that_is_not_a_string(name):
    shapes = table()
    with pytest.raises(SettingsError, match=r"is not a shape\. Choose 'square' or 'triangle'\."):
        shapes[name]
    assert name not in shapes and shapes.get(name, 5) == 5


def test_registry_can_be_pickled():
    assert dict(pickle.loads(pickle.dumps(table()))) == {"square": 4, "triangle": 3}


def test_registry_accepts_the_same_entry_point_found_twice(plugins):
    found, _ = plugins
    found += [entry("mine"), entry("mine")]
    assert table()["mine"] == MINE


def test_registry_refuses_implementations_without_a_needed_attribute(plugins):
    found, _ = plugins
    found.append(entry("mine"))
    strict: Registry[object] = Registry("shape", {}, group="suffice.test_shapes", needs=("area",))
    with pytest.raises(SettingsError, match="'mine' is not a valid shape: it has no 'area'"):
        strict["mine"]
    with pytest.raises(SettingsError, match="'other' is not a valid shape: it has no 'area'"):
        strict.register("other", object())


def test_register_refuses_a_name_other_than_that_of_the_implementation():
    class Named:
        name = "round"

    with pytest.raises(SettingsError, match="the shape named 'round' is registered as 'circle'"):
        Registry("shape", {}).register("circle", Named())


def test_registry_without_a_group_searches_no_entry_points(plugins):
    _, searches = plugins
    assert list(Registry("shape", {"square": 4})) == ["square"] and searches == []
