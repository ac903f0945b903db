"""The behaviour of scripts/check-docs where Linux namespaces cannot be made."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/check-docs"


class WithoutNamespaces(unittest.TestCase):
    def check(self, **variables):
        """Returns the exit status and the errors of the script where unshare fails. Python is a stand-in, so the script
        does not run these tests again."""
        with tempfile.TemporaryDirectory() as folder:
            for name, status in [("unshare", 1), ("python3", 0)]:
                command = Path(folder, name)
                command.write_text(f"#!/bin/sh\nexit {status}\n")
                command.chmod(0o755)
            environment = {key: value for key, value in os.environ.items() if key != "CHECK_DOCS_MAY_SKIP"}
            environment |= {"PATH": f"{folder}:{environment['PATH']}", "LARDER": "/bin/false"} | variables
            run = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True)
        return run.returncode, run.stderr

    def test_the_script_fails_with_a_reason_and_a_remedy(self):
        status, words = self.check()
        self.assertEqual(status, 1)
        self.assertIn("user namespaces", words)
        self.assertIn("CHECK_DOCS_MAY_SKIP=1", words)

    def test_the_script_succeeds_if_the_variable_is_1(self):
        status, words = self.check(CHECK_DOCS_MAY_SKIP="1")
        self.assertEqual(status, 0)
        self.assertIn("skipped", words)

    def test_the_script_fails_if_the_variable_has_another_value(self):
        self.assertEqual(self.check(CHECK_DOCS_MAY_SKIP="0")[0], 1)


if __name__ == "__main__":
    unittest.main()
