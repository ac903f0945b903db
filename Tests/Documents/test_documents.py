"""The steps of documents, and the comparison of outputs."""

import unittest

from document import Step, steps
from outcome import differences

TEXT = """# A document

```sh terminal
serve
```

```sh
one
two |
  three
```

```
printed

twice
```

```json
{"nobody's": "output"}
```

```sh
four
```

Words between.

```
no output
```

```sh no-run
five
```

```
nor this
```

```python file=six.py
six = "sh"
```

```sh needs=seven
python3 six.py
```

```
sh
```
"""


class Documents(unittest.TestCase):
    def test_blocks_become_steps_with_their_output(self):
        self.assertEqual(
            steps(TEXT),
            [
                Step(4, "serve\n", is_terminal=True),
                Step(8, "one\ntwo |\n  three\n", prints="printed\n\ntwice\n"),
                Step(24, "four\n"),
                Step(42, 'six = "sh"\n', file="six.py"),
                Step(46, "python3 six.py\n", needs="seven", prints="sh\n"),
            ],
        )

    def test_an_open_block_is_an_error(self):
        with self.assertRaises(ValueError):
            steps("```sh\none\n")

    def test_outputs_that_differ_in_variable_parts_are_equal(self):
        for says, printed in [
            ("", ""),
            ("a\n", "a\r\n"),
            ("Date: x", "\x1b[1mDate\x1b[0m: x"),
            ("Date: Sat, 21 Nov 2026 05:49:55 GMT", "Date: Mon, 01 Feb 2027 00:00:00 GMT"),
            ('"2026-11-21T05:49:55.130Z"', '"2027-02-01T00:00:00.000Z"'),
            ("larder; hit; ttl=59; key", "larder; hit; ttl=52; key"),
            ("Age: 0\nx", "Age: 3\nx"),
            ("2 URLs: 2 downloaded; 54 B in 0 s\nx", "2 URLs: 2 downloaded; 54 B in 2 s\nx"),
            ('"expiresInSeconds": 86399.998', '"expiresInSeconds": 86400'),
            ("Server: SimpleHTTP/0.6 Python/3.11.2", "Server: SimpleHTTP/0.6 Python/3.13.0"),
            (f"id: {'a' * 48}", f"id: {'-_Z9' * 12}"),
            (f"larder_me_{'a' * 43}", f"larder_me_{'-' * 20}{'Z' * 23}"),
        ]:
            self.assertEqual(differences(says, printed), [], printed)

    def test_outputs_that_differ_in_other_parts_are_different(self):
        for says, printed in [
            ("", "a\n"),
            ("a\n", ""),
            ("a\nb", "b\na"),
            ("a b", "a  b"),
            ("ttl=60", "ttl=3600"),
            ("54 B in 0 s", "54 B in 59 min"),
            ("ttl=60", "ttl="),
            ("Age: 0\nAge: 0", "Age: 0\nAge: 99"),
            ('"hits": 1', '"hits": 2'),
            ('"date": "2026-11-21T05:49:55.130Z"', '"date": null'),
            (f"larder_me_{'a' * 43}", f"larder_you_{'a' * 43}"),
        ]:
            self.assertNotEqual(differences(says, printed), [], printed)


if __name__ == "__main__":
    unittest.main()
