"""Writes the documentation of the built package into its stub, which editors show: `python stubs.py` from here.

`python stubs.py --check` fails if that would change it.
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
    """Classes and functions with what the package says of them; of an overloaded one the first."""
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
    """The stub with what the package says in place of what it said before."""
    lines = stub.splitlines()
    # From the end, so that lines before keep their numbers.
    for node, text in sorted(documented(ast.parse(stub).body, condyle._condyle), key=lambda it: -it[0].lineno):
        first = node.body[0]
        is_old = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        begin, end = first.lineno - 1, (first.end_lineno or first.lineno) - 1
        doc = quoted(text, " " * (node.col_offset + 4))
        if is_old:
            head = lines[begin][: first.col_offset].rstrip()
            lines[begin : end + 1] = [*([head] if head else []), doc]
        else:
            # Above decorators too.
            at = min([first.lineno, *(it.lineno for it in getattr(first, "decorator_list", []))]) - 1
            lines.insert(at, doc + "\n")
    return "\n".join(lines) + "\n"


def main() -> None:
    old = STUB.read_text(encoding="utf-8")
    new = with_documentation(old)
    if "--check" in sys.argv:
        sys.exit(0 if old == new else "the stub is not as `python stubs.py` writes it")
    STUB.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
