"""Plain data: `dataclass` and `NamedTuple` as the standard library has them, but for what most classes never need.

The standard library compiles up to six functions per class the moment a module is imported. Most classes that are there
when a command or the screen begins are never made, compared or shown by it: here a class gets its constructor with its
first object, and its comparison and hash with the first question. Fields, defaults, slots and `replace` are the
standard library's own.

Its named tuples compile the type of every field, although nobody asks for it: here types stay the text that they are.
"""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Callable, Iterable
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import DataclassInstance as Instance

    Body = dict[str, object]

    Class = type[Instance]
    Function = Callable[..., object]


def lazy_dataclass(
    cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
) -> type | Callable[[type], type]:
    """A class of plain data."""

    def made(bare: type) -> type:
        plain: Class = dataclasses.dataclass(bare, init=False, repr=False, eq=False, slots=slots)
        return _with_methods(plain, _methods(plain, frozen, slots, eq))

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = lazy_dataclass


def _methods(cls: Class, frozen: bool, slots: bool, eq: bool) -> dict[str, object]:
    """What objects of the class can do."""
    methods: dict[str, object] = {"__repr__": _shown}
    methods["__init__"] = _until_used(cls, "__init__", _frozen_constructor if frozen else _constructor)
    if eq:
        methods["__eq__"] = _until_used(cls, "__eq__", _comparison)
        methods["__hash__"] = _until_used(cls, "__hash__", _hash) if frozen else None
    if frozen:
        methods.update(_FROZEN)
        methods.update(_STATE if slots else {})
    return methods


def _with_methods(cls: Class, methods: dict[str, object]) -> Class:
    """The class with what it does not say itself."""
    stated = vars(cls)
    for name, method in methods.items():
        if name not in stated or (name == "__hash__" and stated[name] is None):
            setattr(cls, name, method)
    return cls


def _until_used(cls: Class, name: str, write: Callable[[Class], Function]) -> Function:
    """Stands for a method until somebody needs it."""

    def method(self: object, *arguments: object) -> object:
        written = write(cls)
        setattr(cls, name, written)
        return written(self, *arguments)

    def constructor(self: object, *arguments: object, **named: object) -> None:
        written = write(cls)
        setattr(cls, name, written)
        written(self, *arguments, **named)

    return constructor if name == "__init__" else method


# What is written when it is used


def _constructor(cls: Class) -> Function:
    return _initialiser(cls, "self.{0} = {1}")


def _frozen_constructor(cls: Class) -> Function:
    return _initialiser(cls, "_set(self, '{0}', {1})")


def _initialiser(cls: Class, assignment: str) -> Function:
    """Takes the fields in order, and sets each of them."""
    known: dict[str, object] = {"_set": object.__setattr__, "_UNSAID": _UNSAID}
    parameters, body = ["self"], []
    for field in dataclasses.fields(cls):
        name = field.name
        parameter, value = name, name
        if field.default is not dataclasses.MISSING:
            known[f"_{name}"] = field.default
            parameter = f"{name}=_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_{name}"] = field.default_factory
            parameter, value = f"{name}=_UNSAID", f"_{name}() if {name} is _UNSAID else {name}"
        parameters.append(parameter)
        body.append(assignment.format(name, value))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _written(cls, "__init__", parameters, body or ["pass"], known)


def _comparison(cls: Class) -> Function:
    """Equal are objects of the same class with the same fields, one after the other."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f" return {_tuple('self', names)} == {_tuple('other', names)}",
        "return NotImplemented",
    ]
    return _written(cls, "__eq__", ["self", "other"], body)


def _hash(cls: Class) -> Function:
    """That of what is compared."""
    names = [field.name for field in dataclasses.fields(cls) if (field.compare if field.hash is None else field.hash)]
    return _written(cls, "__hash__", ["self"], [f"return hash({_tuple('self', names)})"])


def _tuple(whose: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{whose}.{name}," for name in names) + ")"


def _written(
    cls: Class, name: str, parameters: list[str], body: list[str], known: dict[str, object] | None = None
) -> Function:
    """A function made from its source: as fast as one that stands in a file."""
    lines = [f"def {name}({', '.join(parameters)}):", *(f" {line}" for line in body)]
    there: dict[str, object] = {"__name__": cls.__module__, **(known or {})}
    exec("\n".join(lines), there)
    function = there[name]
    assert isinstance(function, FunctionType)
    function.__qualname__ = f"{cls.__qualname__}.{name}"
    return function


_UNSAID: Final = object()


# What all classes share


@recursive_repr()
def _shown(self: Instance) -> str:
    parts = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({parts})"


def _unassignable(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _undeletable(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Instance) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Instance, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN: Final[dict[str, object]] = {"__setattr__": _unassignable, "__delattr__": _undeletable}
_STATE: Final[dict[str, object]] = {"__getstate__": _state, "__setstate__": _restore}
"""Objects with slots that cannot be assigned to are copied and sent to other processes so."""


# Named tuples


class NamedFields(type):
    """Makes a named tuple of a class body: fields with their defaults, and methods."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: Body) -> type:
        """The tuple; without a base what such bodies name as theirs."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        types = body.get("__annotations__", {})
        assert isinstance(types, dict)
        defaults = [body[field] for field in types if field in body]
        made = namedtuple(name, types, defaults=defaults, module=str(body["__module__"]))  # type: ignore[misc]
        for key, value in body.items():
            if key not in made._fields:
                setattr(made, key, value)
        return made


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = NamedFields("NamedTuple", (), {})
