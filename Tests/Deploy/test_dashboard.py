"""The dashboard of deploy/grafana: its queries are PromQL, and its panels have places of their own."""

import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.dashboard = json.loads((ROOT / "deploy/grafana/larder.json").read_text())
        self.panels = self.dashboard["panels"]

    def test_every_query_can_be_parsed(self):
        queries = [target["expr"] for panel in self.panels for target in panel.get("targets", [])]
        self.assertTrue(queries)
        plain = [query.replace("$__rate_interval", "5m") for query in queries]
        rules = [{"record": f"query:{index}", "expr": query} for index, query in enumerate(plain)]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            # JSON is YAML, too.
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
            file.flush()
            promtool = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
        self.assertEqual(promtool.returncode, 0, promtool.stderr)

    def test_panels_have_numbers_and_places_of_their_own(self):
        self.assertEqual(len({panel["id"] for panel in self.panels}), len(self.panels))
        taken = set()
        for panel in self.panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_every_panel_that_shows_something_says_of_what_and_from_where(self):
        for panel in self.panels:
            if panel["type"] != "row":
                self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                self.assertTrue(panel["targets"], panel["title"])
                self.assertIn("unit", panel["fieldConfig"]["defaults"], panel["title"])


if __name__ == "__main__":
    unittest.main()
