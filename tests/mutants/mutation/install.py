"""Put a mutant into this process: into functions that exist, into modules that will be imported, into sub-processes."""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

VARIABLE = "MOCKUBE_MUTANT"
"""`module:file`, which names a module and a file with its changed code; site/sitecustomize.py reads it."""

_SITE = Path(__file__).parent / "site"


class SwapError(Exception):
    """The changed code does not fit the functions that exist; the module has to be imported with it."""


Functions = dict[tuple[str, str, int], list[FunctionType]]
"""The functions of this process by file, qualified name and first line."""


def functions_under(root: Path) -> Functions:
    """Return the functions of this process whose code is in a file under the root."""
    functions: Functions = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(f"{root}{os.sep}"):
            functions.setdefault(_key(each.__code__), []).append(each)
    return functions


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def swap(functions: Functions, changed: CodeType) -> int:
    """Give changed code to the functions that it is for; return how many functions that were.

    `changed` is of a module in which one function differs: other code compiles to what the functions have already.
    """
    count = 0
    by_columns = {_columns(code): code for code in _nested(changed)}
    for code in _nested(changed):
        for function in functions.get(_key(code), ()):
            new = by_columns.get(_columns(function.__code__))
            if new is not None and new != function.__code__:
                _give(function, new)
                count += 1
    return count


def _give(function: FunctionType, code: CodeType) -> None:
    try:
        function.__code__ = code
    except ValueError as error:  # another number of free variables
        raise SwapError(str(error)) from error


def _columns(code: CodeType) -> tuple[object, ...]:
    """Tell code objects apart that begin on one line."""
    columns = [position[2] for position in code.co_positions() if position[2] is not None]
    return (*_key(code), min(columns) if columns and code.co_name == "<lambda>" else 0)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with other code than its file has."""

    changed: CodeType

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader is for this module alone
        return self.changed


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, code: CodeType) -> None:
        self._module = module
        self._code = code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return spec
        loader = _Loader(fullname, spec.origin)
        loader.changed = self._code
        spec.loader = loader
        return spec


def hook(module: str, code: CodeType) -> None:
    """Let a module that is not imported yet be imported with this code."""
    sys.meta_path.insert(0, _Finder(module, code))


def is_hooked(module: str) -> bool:
    """Return whether a module is imported with its changed code, or not yet at all."""
    imported = sys.modules.get(module)
    return imported is None or isinstance(getattr(imported.__spec__, "loader", None), _Loader)


def hook_from_environment() -> None:
    """Do so in a sub-process of a test."""
    module, _, file = os.environ[VARIABLE].partition(":")
    hook(module, marshal.loads(Path(file).read_bytes()))


def hand_down(module: str, code: CodeType, file: Path) -> None:
    """Let the Pythons that this process starts import the module with this code."""
    file.write_bytes(marshal.dumps(code))
    os.environ[VARIABLE] = f"{module}:{file}"
    os.environ["PYTHONPATH"] = _with_site(os.environ.get("PYTHONPATH", ""))
    started = subprocess.Popen.__init__

    def start(self: subprocess.Popen[Any], *args: Any, **options: Any) -> None:
        env = options.get("env")
        if env is not None and "PYTHONPATH" in env:
            options["env"] = {**env, "PYTHONPATH": _with_site(env["PYTHONPATH"])}
        started(self, *args, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]


def _with_site(paths: str) -> str:
    given = [each for each in paths.split(os.pathsep) if each]
    return os.pathsep.join([str(_SITE), str(_SITE.parent.parent), *(each for each in given if each != str(_SITE))])
