"""Kubernetes' objects as kustomize renders them, by kustomize itself: pykustomize has its library.

python3 rendering.py FOLDER FILE writes what is rendered of a folder of deploy/kubernetes.
"""

import asyncio
import pathlib
import sys

import pykustomize
import yaml

ROOT = pathlib.Path(__file__).parents[2]


def rendered(folder):
    """The text that "kubectl apply --kustomize" would send for a folder of deploy/kubernetes."""
    return asyncio.run(pykustomize.build(str(ROOT / "deploy/kubernetes" / folder))).yaml


def objects(folder):
    """The objects of a folder, by kind and name."""
    documents = list(yaml.safe_load_all(rendered(folder)))
    found = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(found) == len(documents), f"{folder} renders an object twice"
    return found


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(rendered(sys.argv[1]))
