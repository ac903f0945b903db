"""The names that break the order of floors: floors.py

A folder inside a module is a floor: its files never name a type of a higher folder. `floors.txt`, beside this script,
lists the folders of each module from the lowest to the highest. The script fails for such a name, for a folder or
module that is missing in the list or in Sources, and for a cycle of more than 8 files, each of which names a type of
another. It reads the sources as text, without comments and literals, so it sees no members and no inferred types. Exits
with 1 if it has a complaint.
"""

import os
import re
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).with_name("floors.txt")
# The list's own path, for messages.
NAME = "Tests/Lint/floors.txt"
# Whether each module of Sources must be in the list.
LISTS_ALL_MODULES = True
CYCLE_LIMIT = 8
ALLOWANCE_LIMIT = 3

# A comment or its start, the start of a string, or a parenthesis, which may end an interpolation.
START = re.compile(r'//[^\n]*|/\*|#*"(?:"")?|[()]')
TYPE = re.compile(
    r"^(?P<indent> *)(?:@\w+(?:\([^)\n]*\))?\s+)*"
    r"(?:(?:public|package|internal|fileprivate|private|final|indirect|open|nonisolated)\s+)*"
    r"(?:class|struct|enum|protocol|actor|typealias|extension)\s+(?P<name>[A-Z]\w*(?:\.[A-Z]\w*)*)",
    re.MULTILINE,
)
CHAIN = re.compile(r"(?<![\w.])[A-Z]\w*(?:\.[A-Z]\w*)*")


def code(text):
    """Returns the code of a Swift text. Line ends and interpolated code stay; comments and literals become spaces."""
    kept = []
    place = 0
    # The open strings, innermost last: the number of number signs, whether lines end the string, and the number of
    # parentheses that are open in its interpolation.
    strings = []

    def skip(end):
        nonlocal place
        kept.append("\n" * text.count("\n", place, end) or " ")
        place = end

    def skip_string():
        """Skips the innermost string up to its next interpolation or its end."""
        signs, is_line, _ = strings[-1]
        escape, quotes = "\\\\" + "#" * signs, '"' if is_line else '"""'
        part = re.compile(f"{escape}\\(|{escape}.|{quotes}{'#' * signs}" + ("|(?=\n)" if is_line else ""), re.DOTALL)
        found = part.search(text, place)
        while found and found[0].startswith("\\") and found[0][-1] != "(":
            found = part.search(text, found.end())
        skip(found.end() if found else len(text))
        if found and found[0].endswith("("):
            strings[-1][2] = 1
        else:
            strings.pop()

    while found := START.search(text, place):
        kept.append(text[place : found.start()])
        place, token = found.start(), found[0]
        if token.startswith("//"):
            skip(found.end())
        elif token == "/*":
            depth, end = 1, found.end()
            while depth and (mark := re.compile(r"/\*|\*/").search(text, end)):
                depth, end = depth + (1 if mark[0] == "/*" else -1), mark.end()
            skip(len(text) if depth else end)
        elif token.endswith('"'):
            strings.append([token.count("#"), not token.endswith('"""'), 0])
            place = found.end()
            skip_string()
        else:
            if strings:
                strings[-1][2] += 1 if token == "(" else -1
            place = found.end()
            if strings and strings[-1][2] == 0:
                skip_string()
            else:
                kept.append(token)
    return "".join(kept) + text[place:]


def declarations(text):
    """Yields each type that code declares, as in `Outer.Inner`, and whether other files can name it."""
    outer = []  # The names of the types around a line, with their indentation.
    for match in TYPE.finditer(text):
        indent = len(match["indent"])
        while outer and outer[-1][0] >= indent:
            outer.pop()
        head, name = match[0][: match.start("name") - match.start()], match["name"]
        full = ".".join([around for _, around in outer] + [name])
        if not re.search(r"\bextension\s", head):
            yield full, not re.search(r"\b(?:file)?private\b", head)
        if "typealias" not in head:
            outer.append((indent, name))


class Module:
    """The files of a module, by their paths inside it, and the names between them."""

    def __init__(self, texts):
        self.files = sorted(texts)
        codes = {path: code(text) for path, text in texts.items()}
        self.owners = defaultdict(set)
        private = defaultdict(set)
        for path in self.files:
            for name, is_visible in declarations(codes[path]):
                (self.owners[name] if is_visible else private[name]).add(path)
        # The names that a file has of another file, each with its first line.
        self.arrows = defaultdict(dict)
        for path in self.files:
            for found in CHAIN.finditer(codes[path]):
                for name in self.types(found[0]):
                    if path in self.owners[name] | private[name]:
                        continue
                    line = codes[path].count("\n", 0, found.start()) + 1
                    for owner in self.owners[name]:
                        self.arrows[path].setdefault(owner, {}).setdefault(name, line)

    def types(self, chain):
        """Returns the types of the module in a chain: `Outer` and `Outer.Inner` in `Outer.Inner.Unknown`."""
        parts = chain.split(".")
        names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
        return [name for name in names if name in self.owners]

    def arrows_without(self, groups):
        """Returns the arrows without the names between the files of each group."""
        def remain(path, owners):
            return {owner: owners[owner] for owner in owners if not any({path, owner} <= group for group in groups)}

        return {path: remain(path, owners) for path, owners in self.arrows.items()}


def folder(path):
    return os.path.dirname(path) or "."


def cycles(nodes, arrows):
    """Returns the largest sets of nodes that all lead to one another (Tarjan's algorithm), without single nodes."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in arrows.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in nodes:
        if node not in index:
            visit(node)
    return found


def floors(text):
    """Reads the list: the folders of each module, and the files of each defended cycle. Raises `ValueError`."""
    modules, allowed = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# allowed:"):
            found = re.fullmatch(r"# allowed: (\w+): (\S+(?: \S+)+) - ([A-Z].*\.)", line)
            if not found:
                raise ValueError(f"{NAME}:{number}: not of the form # allowed: MODULE: FILE... - SENTENCE.: {line}")
            allowed.append((found[1], set(found[2].split())))
        elif line and not line.startswith("#"):
            name, colon, folders = line.partition(":")
            if not colon or not folders.split() or name in modules:
                raise ValueError(f"{NAME}:{number}: not of the form MODULE: FOLDER..., each module once: {line}")
            modules[name] = folders.split()
    if len(allowed) > ALLOWANCE_LIMIT:
        raise ValueError(f"{NAME}: {len(allowed)} defended cycles, {ALLOWANCE_LIMIT} allowed; break a cycle")
    return modules, allowed


def broken(name, module, order, arrows):
    """Returns the complaints about arrows that lead up, and about long cycles of files."""
    place, height = f"Sources/{name}", {one: number for number, one in enumerate(order)}
    lines = [
        f"{place}/{path}:{line}: names {used} of {place}/{owner}, a higher floor; "
        "move a file or the type, or pass a value or a closure down"
        for path in module.files
        for owner, names in sorted(arrows.get(path, {}).items())
        for used, line in sorted(names.items())
        if height.get(folder(path), len(order)) < height.get(folder(owner), 0)
    ]
    for cycle in cycles(module.files, arrows):
        if len(cycle) > CYCLE_LIMIT:
            lines.append(
                f"{place}: a cycle of {len(cycle)} files, {CYCLE_LIMIT} allowed; give a type a file of its own, or "
                "pass a value:"
            )
            lines += [f"    {path} names {', '.join(sorted(set(arrows[path]) & set(cycle)))}" for path in cycle]
    return lines


def complaints(texts, modules, allowed, lists_all=LISTS_ALL_MODULES):
    """Compares the sources, by module and path, with the content of the list. Returns the lines of a message."""
    lines = [f"{NAME}: there is no module {name}; remove its line" for name in modules if name not in texts]
    if lists_all:
        missing = sorted(set(texts) - set(modules))
        lines += [f"{NAME}: the module {name} is missing; add a line with its folders" for name in missing]
    for name, order in modules.items():
        module = Module(texts.get(name, {}))
        found = {folder(path) for path in module.files}
        unused = [one for one in order if found and one not in found]
        lines += [f"{NAME}: {name} has no files in the folder {one}; remove it" for one in unused]
        lines += [
            f"{NAME}: the folder {one} of {name} is missing; insert it above the folders that it uses"
            for one in sorted(found - set(order))
        ]
        groups = [files for of, files in allowed if of == name]
        lines += broken(name, module, order, module.arrows_without(groups))
        for group in groups:
            others = [other for other in groups if other != group]
            with_it, without_it = (module.arrows_without(some) for some in (groups, others))
            if broken(name, module, order, with_it) == broken(name, module, order, without_it):
                lines.append(f"{NAME}: no rule needs the allowance for {' '.join(sorted(group))}; remove it")
    return lines


def main():
    texts = defaultdict(dict)
    for path in sorted(Path("Sources").rglob("*.swift")):
        module, *inside = path.relative_to("Sources").parts
        texts[module]["/".join(inside)] = path.read_text()
    try:
        lines = complaints(texts, *floors(LIST.read_text()))
    except ValueError as error:
        lines = [str(error)]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    sys.exit(main())
