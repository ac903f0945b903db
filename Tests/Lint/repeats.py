"""The comments that only repeat the declaration below them: repeats.py [FOLDER...]

A doc comment of one line says more than the declaration's names and types, or is left out. The script compares words by
their stems, without articles, pronouns and the like. Exits with 1 if a comment says no more.
"""

import re
import sys
from pathlib import Path

FOLDERS = ["Sources"]

# Words without a meaning of their own.
EMPTY = set(
    """a all an and any are as at be by each every for from given has have in is it its itself of on or own that the
    their this to whether which with return returns""".split())
WORD = re.compile(r"[A-Za-z]+")
PART_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
ATTRIBUTE = re.compile(r"@\w+(\([^)]*\))?")


def stem(word):
    """Returns a word without its ending, so that "waits", "waiting" and "wait" are the same."""
    word = word.lower()
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word[: -len(ending)]
            break
    return word.rstrip("e")


def repeats(text):
    """Returns the numbers and the texts of the lines of Swift code that are such comments."""
    lines = text.split("\n")
    found = []
    for number, line in enumerate(lines):
        comment = line.strip()
        if not comment.startswith("/// ") or number + 1 == len(lines):
            continue
        if number > 0 and lines[number - 1].strip().startswith("///") or lines[number + 1].strip().startswith("///"):
            continue
        # A number or a sign, such as a section of an RFC, is more than a name.
        if re.search(r"[0-9§<>=/{]", comment[4:]):
            continue
        declaration = lines[number + 1]
        if not ATTRIBUTE.sub("", declaration).strip() and number + 2 < len(lines):
            declaration = lines[number + 2]
        names = {stem(part) for part in PART_OF_NAME.findall(re.split("[{=]", declaration)[0])}
        said = [word for word in WORD.findall(comment) if word.lower() not in EMPTY and stem(word) not in names]
        if not said:
            found.append((number + 1, comment))
    return found


def main(folders):
    complaints = [
        f"{file}:{number}: {comment}"
        for folder in folders
        for file in sorted(Path(folder).rglob("*.swift"))
        for number, comment in repeats(file.read_text(encoding="utf-8"))
    ]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or FOLDERS))
