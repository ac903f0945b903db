"""The words that make a reader guess a noun, counted per file: words.py [--write]

Looks at the prose of the repository: comments, titles of Swift tests, Markdown documents, and the descriptions of
openapi.yaml. Code spans and code blocks are exempt. `words.txt`, beside this script, has the number of such words that
each file may have. Numbers only fall: a file over its number fails, and so does a file under its number until the list
has the lower number. `--write` writes the lower numbers. It creates the list if there is none. Exits with 1 if files and list differ.
"""

import ast
import io
import os
import re
import sys
import tokenize
from pathlib import Path

WORDS = re.compile(
    r"\b(?:what|whatever|who|whom|whose|whoever|(?:some|any|every)(?:body|thing)|nobody|nothing)\b", re.IGNORECASE
)
FOLDERS = ["Benchmarks", "Sources", "Tests", "deploy", "docs", "scripts", ".ci"]
LIST = Path(__file__).with_name("words.txt")
# The list's own path, for messages.
NAME = "Tests/Lint/words.txt"

SWIFT = re.compile(
    r'@(?:Test|Suite)\(\s*"(?P<title>(?:\\.|[^"\\\n])*)"'
    r"|//(?P<line>[^\n]*)"
    r"|/\*(?P<block>.*?)\*/"
    r'|(?P<many>#*)""".*?"""(?P=many)'
    r'|(?P<raw>#+)"[^\n]*?"(?P=raw)'
    r'|"(?:\\.|[^"\\\n])*"',
    re.DOTALL,
)
C = re.compile(
    r"//(?P<line>[^\n]*)"
    r"|/\*(?P<block>.*?)\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|`(?:\\.|[^`\\])*`",
    re.DOTALL,
)
# A style sheet has no comments that end with their line, and addresses in it have two slashes.
CSS = re.compile(r"/\*(?P<block>.*?)\*/", re.DOTALL)
SLASHES = {".c": C, ".css": CSS, ".go": C, ".h": C, ".java": C, ".js": C, ".swift": SWIFT, ".ts": C}


def slashed(text, pattern):
    """Returns the comments, and the titles of Swift tests, each on its line. All other lines are empty."""
    prose = [""] * (text.count("\n") + 1)
    line = end = 0
    for found in pattern.finditer(text):
        line += text.count("\n", end, found.start())
        end = found.start()
        # A comment that ends with its line may begin with more slashes.
        content = (found.groupdict().get("line") or "").lstrip("/") or found["block"]
        if content is None and "title" in pattern.groupindex:
            content = found["title"]
        for number, part in enumerate((content or "").split("\n")):
            prose[line + number] += " " + part.strip().removeprefix("* ")
    return prose


def hashed(text):
    """Returns the comments that begin with a number sign, as a shell has them, each on its line."""
    prose = []
    for line in text.split("\n"):
        before, sign, comment = ("", "#", line.lstrip()[1:]) if line.lstrip().startswith("#") else line.partition(" # ")
        is_quoted = before.count('"') % 2 or before.count("'") % 2
        prose.append("" if not sign or is_quoted or comment.startswith("!") else comment.strip())
    return prose


def python(text):
    """Returns the comments and docstrings of Python, each on its line."""
    prose = [""] * (text.count("\n") + 1)
    is_statement = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        first = token.start[0] - 1
        if token.type == tokenize.COMMENT:
            prose[first] = token.string.lstrip("#!")
        elif token.type == tokenize.STRING and is_statement:
            for number, part in enumerate(str(ast.literal_eval(token.string)).split("\n")):
                prose[first + number] = part.strip()
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            is_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return prose


def described(text):
    """Returns the comments, summaries and descriptions of an OpenAPI document, each on its line."""
    prose = hashed(text)
    depth = None
    for number, line in enumerate(text.split("\n")):
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        if depth is not None and (not content or indent > depth):
            prose[number] = content
            continue
        depth = None
        found = re.match(r"(- )?(?:description|summary): (.*)", content)
        if found:
            depth = indent + len(found[1] or "")
            prose[number] = found[2]
    return prose


def prose_of(path, text):
    """Returns the prose of a file, each line at its place; `None` for a file without prose."""
    name, ending = os.path.basename(path), os.path.splitext(path)[1]
    if ending == ".md":
        return text.split("\n")
    if ending in SLASHES:
        return slashed(text, SLASHES[ending])
    if ending == ".py":
        return python(text)
    if name == "openapi.yaml":
        return described(text)
    if ending in (".service", ".supp", ".toml", ".yaml", ".yml") or name == "Dockerfile":
        return hashed(text)
    return hashed(text) if re.match(r"#!.*sh\n", text) else None


def without_code(prose):
    """Returns lines of prose without code blocks, code spans and the targets of links."""
    lines = []
    fence = None
    for line in prose:
        found = re.match(r"\s*(```+|~~~+)", line)
        if found and (fence is None or found[1].startswith(fence)):
            fence = found[1] if fence is None else None
            lines.append("")
        else:
            lines.append(line if fence is None else "")
    # A code span may go on in the next line, and ends with its paragraph.
    text = re.sub(
        r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", lambda span: "\n" * span[0].count("\n") or " code ",
        "\n".join(lines), flags=re.DOTALL,
    )
    return re.sub(r"\]\([^)\s]*\)", "]", text).split("\n")


def findings(path, text):
    """Returns the words that a file has in its prose, with their lines, counted from 1."""
    prose = prose_of(path, text)
    if prose is None or not WORDS.search(text):
        return []
    return [(number, word) for number, line in enumerate(without_code(prose), 1) for word in WORDS.findall(line)]


def files():
    """Returns the paths of all files of the repository that may have prose, sorted."""
    found = [name for name in os.listdir(".") if os.path.isfile(name)]
    for folder in FOLDERS:
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".build")]
            found += [os.path.join(place, name) for name in names]
    return sorted(path for path in found if not os.path.islink(path))


def look():
    """Returns the findings of each file that has any, by its path."""
    result = {}
    for path in files():
        try:
            text = Path(path).read_text()
        except UnicodeDecodeError:
            continue
        if found := findings(path, text):
            result[path] = found
    return result


def allowances(text):
    """Reads a list of lines `PATH COUNT`. Raises `ValueError` for a line in another form."""
    allowed = {}
    for number, line in enumerate(text.splitlines(), 1):
        path, _, count = line.rpartition(" ")
        if line.startswith("#"):
            continue
        if not path or not count.isdecimal() or count == "0":
            raise ValueError(f"{NAME}:{number}: not of the form PATH COUNT: {line}")
        allowed[path] = int(count)
    return allowed


def complaints(found, allowed):
    """Compares findings with the list. Returns the lines of a message; there are none if they agree."""
    lines = []
    for path in sorted(found.keys() | allowed.keys()):
        count, limit = len(found.get(path, [])), allowed.get(path, 0)
        if count > limit:
            words = "word" if count == 1 else "words"
            lines.append(f"{path}: {count} {words}, {limit} allowed; name the noun: the request, the entry, the caller …")
            lines += [f"    {path}:{line}: {word}" for line, word in found[path]]
        elif count < limit:
            lines.append(f"{path}: {count} of {limit} left; scripts/lint --words writes the lower number to {NAME}")
    return lines


def lowered(found, allowed):
    """Returns the list with the lower numbers. Without a list each file may have as many words as it has."""
    counts = {path: len(words) for path, words in found.items()}
    if allowed is None:
        return counts
    return {path: min(limit, counts[path]) for path, limit in allowed.items() if path in counts}


def main(*arguments):
    if arguments not in ((), ("--write",)):
        sys.exit("usage: words.py [--write]")
    found = look()
    try:
        allowed = allowances(LIST.read_text()) if LIST.exists() else None
    except ValueError as error:
        sys.exit(str(error))
    if arguments:
        allowed = lowered(found, allowed)
        head = "# The words of Tests/Lint/words.py that a file may have: PATH COUNT. Written by scripts/lint --words.\n"
        LIST.write_text(head + "".join(f"{path} {allowed[path]}\n" for path in sorted(allowed)))
    lines = complaints(found, allowed or {})
    if lines:
        print("\n".join(lines))
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
