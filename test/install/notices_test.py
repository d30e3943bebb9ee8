# SPDX-License-Identifier: Apache-2.0
"""Whose code is in an installed dlc: each library that it loads, and each dependency that it is compiled from, has its licence
text in share/doc/dlc/licenses and its entry in sbom.cdx.json (CycloneDX)."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import dlc

# Of find_package, find_path and find_file in Dependencies.cmake: the component; None: tests use it alone, or it is part of another.
DEPENDENCIES = {"Threads": "glibc", "OpenMP": "gcc-12", "ZLIB": "zlib", "JPEG": "libjpeg-turbo", "PNG": "libpng1.6",
                "webp_include": "libwebp", "Protobuf": "protobuf", "nlohmann_json": "nlohmann-json3", "yaml-cpp": "yaml-cpp",
                "fmt": "fmtlib", "CLI11": "cli11", "dnnl": "onednn-cpu-gomp", "Gloo": "gloo", "GTest": None,
                "MLIR": "llvm-toolchain-22", "DLC_CHART_JS": "node-chart.js", "DLC_CUDA_INCLUDE": None, "DLC_CUDNN_FRONTEND": None}
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so|ld-linux|libdlc\.")
PURL = re.compile(r"pkg:(deb/debian|pypi|generic|github/[\w-]+)/[a-z0-9.-]+(@[\w.%~+-]+)?(\?[\w=&.-]+)?$")


def load_script():
    spec = importlib.util.spec_from_file_location("notices", f"{dlc.ROOT}/tools/notices.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Notices(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, made, ignore_errors=True)
        done = subprocess.run(["cmake", "--install", dlc.BUILD, "--prefix", made], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        cls.prefix = made
        cls.licences = f"{made}/share/doc/dlc/licenses"
        with open(f"{made}/share/doc/dlc/sbom.cdx.json") as file:
            cls.bom = json.load(file)
        cls.components = {component["name"]: component for component in cls.bom["components"]}

    def values(self, name, key):
        return [entry["value"] for entry in self.components[name]["properties"] if entry["name"] == key]

    def test_each_library_that_is_loaded_has_its_text(self):
        known = {name for component in self.components for name in self.values(component, "dlc:file")}
        files = [f"{self.prefix}/{name}" for name in ("bin/dlc", "bin/dlc-compile", "lib/libdlc.so")]
        files += [entry.path for entry in os.scandir(f"{self.prefix}/lib/dlc")]
        loaded = set(os.path.basename(file) for file in files[3:] if not os.path.islink(file) and file.endswith(".so"))
        for file in files:
            text = subprocess.run(["readelf", "-d", file], check=True, capture_output=True, text=True).stdout
            loaded |= set(re.findall(r"\((?:NEEDED|SONAME)\).*\[(.*)\]", text))
        self.assertEqual(sorted(name for name in loaded - known if not SYSTEM.match(name)), [])
        self.assertGreater(len(known), 15)

    def test_each_dependency_that_is_looked_for_has_its_text(self):
        with open(f"{dlc.ROOT}/tools/cmake/Dependencies.cmake") as file:
            names = re.findall(r"^\s*find_(?:package|path|file)\(([\w-]+)", file.read(), re.M)
        self.assertGreater(len(names), 12)
        for name in names:
            self.assertIn(name, DEPENDENCIES, "a new dependency: whose text is installed for it?")
            if DEPENDENCIES[name]:
                self.assertIn(DEPENDENCIES[name], self.components)

    def test_each_folder_of_headers_has_an_owner(self):
        with open(f"{dlc.BUILD}/compile_commands.json") as file:
            commands = [entry["command"] for entry in json.load(file) if not entry["file"].startswith(f"{dlc.ROOT}/test/")]
        folders = {os.path.realpath(found) for words in commands for found in re.findall(r"(?:-isystem |-I)(/\S+)", words)}
        notices = load_script()
        owners = notices.all_owners()
        used = notices.headers(dlc.BUILD)
        outside = [folder for folder in folders if not folder.startswith((f"{dlc.ROOT}/", f"{os.path.realpath(dlc.BUILD)}/"))
                   and folder != dlc.ROOT or "/.venv" in folder]
        self.assertGreater(len(outside), 0)
        for folder in outside:
            of = {notices.components({file: "headers"}, owners)[0].name for file in used if file.startswith(f"{folder}/")}
            self.assertEqual(sorted(of - set(self.components)), [])

    def test_each_component_has_a_text_and_a_line(self):
        self.assertEqual(sorted(os.listdir(self.licences)), sorted(["README.txt", *self.components]))
        with open(f"{self.licences}/README.txt") as file:
            text = file.read()
        for name, component in self.components.items():
            self.assertIn(f"\n{name} {component['version']}\n", text)
            files = os.listdir(f"{self.licences}/{name}")
            self.assertNotEqual(files, [], name)
            for file in files:
                self.assertGreater(os.path.getsize(f"{self.licences}/{name}/{file}"), 100)

    def test_the_lgpl_one_may_be_replaced(self):
        licences = {name: json.dumps(component["licenses"]) for name, component in self.components.items()}
        # Loaded libraries alone; the C library's headers and an archive without code are no part of it.
        lgpl = {name for name, licence in licences.items() if "LGPL" in licence}
        self.assertEqual(lgpl, {"libnl3", "glibc"})
        self.assertEqual(self.values("libnl3", "dlc:use"), ["shared library"])
        self.assertEqual(self.values("libnl3", "dlc:file"), ["libnl-3.so.200", "libnl-route-3.so.200"])
        self.assertIn("LGPL-2.1", os.listdir(f"{self.licences}/libnl3"))
        with open(f"{self.licences}/README.txt") as file:
            text = file.read()
        self.assertIn("You may replace them", text)
        self.assertIn(f"https://snapshot.debian.org/package/libnl3/{self.components['libnl3']['version']}/", text)
        # As the notice says: what lies there is what is loaded.
        loaded = subprocess.run(["ldd", f"{self.prefix}/bin/dlc"], check=True, capture_output=True, text=True).stdout
        path = re.search(r"libnl-3\.so\.200 => (\S+)", loaded)[1]
        self.assertEqual(os.path.dirname(os.path.realpath(path)), os.path.realpath(f"{self.prefix}/lib/dlc"))

    def test_what_nobody_owns_is_refused(self):
        notices = load_script()
        owners = notices.all_owners()
        stranger = self.path("stranger.h")
        open(stranger, "w").close()
        with self.assertRaisesRegex(notices.NoNotice, "stranger.h .headers. is of no Debian package"):
            notices.components({stranger: "headers"}, owners)

    def test_the_sbom_keeps_to_the_schema(self):
        bom = self.bom
        self.assertEqual(set(bom), {"bomFormat", "specVersion", "version", "serialNumber", "metadata", "components", "dependencies"})
        self.assertEqual((bom["bomFormat"], bom["specVersion"], bom["version"]), ("CycloneDX", "1.5", 1))
        self.assertRegex(bom["serialNumber"], r"^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        own = bom["metadata"]["component"]
        self.assertEqual((own["type"], own["name"]), ("application", "dlc"))
        references = [own["bom-ref"]]
        for component in bom["components"]:
            self.assertEqual(set(component), {"type", "bom-ref", "name", "version", "licenses", "purl", "externalReferences", "properties"})
            self.assertEqual(component["type"], "library")
            self.assertRegex(component["purl"], PURL)
            references.append(component["bom-ref"])
            licence, = component["licenses"]
            self.assertEqual(len(licence), 1)
            if "license" in licence:
                self.assertIn(set(licence["license"]), ({"id"}, {"name"}))
            else:
                self.assertRegex(licence["expression"], r"^[\w.-]+( (AND|OR|WITH) [\w.-]+)+$")
            for entry in component["externalReferences"]:
                self.assertEqual(entry["type"], "distribution")
                self.assertRegex(entry["url"], r"^https://\S+$")
            for entry in component["properties"]:
                self.assertEqual({key: type(value) for key, value in entry.items()}, {"name": str, "value": str})
        self.assertEqual(len(set(references)), len(references))
        for row in bom["dependencies"]:
            self.assertIn(row["ref"], references)
            self.assertEqual(sorted(set(row["dependsOn"])), sorted(row["dependsOn"]))
            self.assertLess(set(row["dependsOn"]), set(references))


if __name__ == "__main__":
    dlc.main()
