"""Names of the modules that py2app finds for Leggio.app, as JSON: module_graph.py BUILD_FOLDER.

A process of its own: py2app changes sys.path, warnings and distutils.
"""

import importlib.util
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

from mac_app.project import Project
from mac_app.py2app_build import arguments
from modulegraph.modulegraph import ExcludedModule, InvalidRelativeImport, MissingModule, addPackagePath
from setuptools.dist import Distribution


def main(build: Path) -> None:
    given = arguments(Project(build=build), alias=True)
    # What the build puts beside the sources lies elsewhere in an editable installation.
    for folder in importlib.util.find_spec("uocr").submodule_search_locations:
        addPackagePath("uocr", folder)
    given.pop("distclass")
    options = given.pop("options")["py2app"]
    distribution = Distribution(given)
    command = given["cmdclass"]["py2app"](distribution)
    for name, value in options.items():
        setattr(command, name, value)
    command.ensure_finalized()
    command.create_directories()
    command.fixup_distribution()
    command.initialize_plist()
    command.additional_paths = []
    command.initialize_prescripts()
    graph = command.get_modulefinder()
    command.process_recipes(graph, command.collect_filters(), {}, [])
    absent = (MissingModule, ExcludedModule, InvalidRelativeImport)
    print(json.dumps(sorted(node.identifier for node in graph.nodes() if not isinstance(node, absent))))


main(Path(sys.argv[1]))
