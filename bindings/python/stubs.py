"""Copies the docstrings of the built package into its stub, for editors. Run `python stubs.py` in this
folder.

`python stubs.py --check` fails if the stub would change.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import condyle._condyle

STUB = Path(__file__).parent / "python" / "condyle" / "_condyle.pyi"

Documented = ast.ClassDef | ast.FunctionDef


def documented(nodes: list[ast.stmt], of: object) -> list[tuple[Documented, str]]:
    """Classes and functions with their docstrings. Overloads are documented once, at the first one."""
    found: list[tuple[Documented, str]] = []
    seen = set()
    for node in nodes:
        if isinstance(node, Documented) and node.name not in seen:
            seen.add(node.name)
            it = getattr(of, node.name, None)
            is_special = node.name.startswith("__")
            if it is not None and it.__doc__ and not is_special:
                found.append((node, inspect.cleandoc(it.__doc__)))
            if isinstance(node, ast.ClassDef):
                found += documented(node.body, it)
    return found


def quoted(text: str, indent: str) -> str:
    raw = "r" if "\\" in text else ""
    lines = [indent + line if line else "" for line in text.splitlines()]
    end = f"\n{indent}" if len(lines) > 1 or text.endswith('"') else ""
    return f'{indent}{raw}"""' + "\n".join(lines).removeprefix(indent) + f'{end}"""'


def with_documentation(stub: str) -> str:
    """The stub with the current docstrings of the package."""
    lines = stub.splitlines()
    # Reverse order keeps the line numbers of earlier lines valid.
    for node, text in sorted(documented(ast.parse(stub).body, condyle._condyle), key=lambda it: -it[0].lineno):
        first = node.body[0]
        is_old = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        begin, end = first.lineno - 1, (first.end_lineno or first.lineno) - 1
        doc = quoted(text, " " * (node.col_offset + 4))
        if is_old:
            head = lines[begin][: first.col_offset].rstrip()
            lines[begin : end + 1] = [*([head] if head else []), doc]
        else:
            # Above the decorators, if there are any.
            at = min([first.lineno, *(it.lineno for it in getattr(first, "decorator_list", []))]) - 1
            lines.insert(at, doc + "\n")
    return "\n".join(lines) + "\n"


def main() -> None:
    old = STUB.read_text(encoding="utf-8")
    new = with_documentation(old)
    if "--check" in sys.argv:
        sys.exit(0 if old == new else "the stub is out of date; run `python stubs.py`")
    STUB.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
