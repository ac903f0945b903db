"""The symbol links of Swift comments that lead to no declaration: links.py [FOLDER...]

A link is a name between two backticks on each side, such as ``Entry/expiryDate`` or ``find(_:then:)``. Each part of a
link must be the name of a module or of a declaration in these folders, and a part with labels must have the labels of a
declaration. The script does not check that a member belongs to the type before it. Exits with 1 if a link is stale.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

FOLDERS = ["Sources", "Tests", "Benchmarks"]

NAME = r"`?([A-Za-z_]\w*)`?"
DECLARED = re.compile(rf"\b(?:func|var|let|struct|class|enum|protocol|typealias|actor|associatedtype)\s+{NAME}")
CASES = re.compile(r"\bcase\s+(?!\.)([^:=\n{]*)")
CALLED = re.compile(rf"(?:\bfunc\s+{NAME}|\b(init)[?!]?|\b(subscript)|(?:\bcase|,)\s*([a-z]\w*))\s*(?:<[^(]*>)?\(")
# The type behind the name of an overloaded function.
OVERLOAD = re.compile(r"-\([^)]*\)$")
LINK = re.compile(r"``([^`]+)``")
PART = re.compile(r"([A-Za-z_]\w*)(\((?:\w+:)*\))?$")


def labels(code, start):
    """Returns the labels of the parameters that begin with the parenthesis at `start`, as in `(_:then:)`."""
    depth, parts, end = 0, [""], start
    for end in range(start, len(code)):
        byte = code[end]
        if byte in ")]}" or byte == ">" and code[end - 1] != "-":
            depth -= 1
            if depth == 0:
                break
        if depth == 1 and byte == ",":
            parts.append("")
        elif depth > 0:
            parts[-1] += byte
        if byte in "([{" or byte == "<" and code[end - 1] != " ":
            depth += 1
    texts = [re.sub(r"@\w+(\([^)]*\))?\s*", "", part).strip() for part in parts]
    names = []
    for text in filter(None, texts):
        label = re.match(rf"{NAME}\s*(\w+\s*)?:", text)
        names.append(label[1] if label else "_")
    return "(" + "".join(f"{name}:" for name in names) + ")"


def declarations(texts, modules=()):
    """Returns the declared names, and for each name the labels with which it is declared."""
    names, signatures = {"init", "subscript", *modules}, defaultdict(set)
    for text in texts:
        code = re.sub(r"//.*", "", text)
        names.update(found[1] for found in DECLARED.finditer(code))
        for found in CASES.finditer(code):
            names.update(re.findall(r"[A-Za-z_]\w*", found[1]))
        for found in CALLED.finditer(code):
            name = next(filter(None, found.groups()))
            names.add(name)
            signatures[name].add(labels(code, found.end() - 1))
    return names, signatures


def stale(text, names, signatures):
    """Returns the stale links in the comments of a text, with their line numbers."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("//"):
            continue
        for link in LINK.findall(line):
            for part in OVERLOAD.sub("", link).split("/"):
                match = PART.match(part)
                if not match or match[1] not in names or match[2] and match[2] not in signatures[match[1]]:
                    found.append((number, link))
                    break
    return found


def main(folders):
    texts = {path: path.read_text() for folder in folders for path in sorted(Path(folder).rglob("*.swift"))}
    modules = [path.name for path in Path("Sources").iterdir()]
    names, signatures = declarations(texts.values(), modules)
    complaints = [
        f"{path}:{number}: ``{link}``" for path, text in texts.items() for number, link in stale(text, names, signatures)
    ]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or FOLDERS))
