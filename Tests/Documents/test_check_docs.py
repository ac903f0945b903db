"""What scripts/check-docs does where it cannot do what it is for."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/check-docs"


class WithoutNamespaces(unittest.TestCase):
    def check(self, **variables):
        """How it ends where unshare fails, and what it says. No Python runs, so it does not come back here."""
        with tempfile.TemporaryDirectory() as folder:
            for name, status in [("unshare", 1), ("python3", 0)]:
                command = Path(folder, name)
                command.write_text(f"#!/bin/sh\nexit {status}\n")
                command.chmod(0o755)
            environment = {key: value for key, value in os.environ.items() if key != "CHECK_DOCS_MAY_SKIP"}
            environment |= {"PATH": f"{folder}:{environment['PATH']}", "LARDER": "/bin/false"} | variables
            run = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True)
        return run.returncode, run.stderr

    def test_it_fails_and_says_why_and_what_to_do(self):
        status, words = self.check()
        self.assertEqual(status, 1)
        self.assertIn("user namespaces", words)
        self.assertIn("CHECK_DOCS_MAY_SKIP=1", words)

    def test_who_says_so_does_without(self):
        status, words = self.check(CHECK_DOCS_MAY_SKIP="1")
        self.assertEqual(status, 0)
        self.assertIn("not tried", words)

    def test_another_value_says_nothing(self):
        self.assertEqual(self.check(CHECK_DOCS_MAY_SKIP="0")[0], 1)


if __name__ == "__main__":
    unittest.main()
