# SPDX-License-Identifier: Apache-2.0
"""Lists the third-party code in dlc: licenses/ (a folder per component, listed in README.txt) and sbom.cdx.json (CycloneDX 1.5).

  tools/notices.py --version=0.1.0 --build=BUILD [--build=BUILD ...] --to=FOLDER

The components are found in the builds: headers from ninja's dependency log, archives, libraries and .proto files from its
commands, shared libraries from ldd of the programs. Each file belongs to a Debian package, a Python wheel or CUDA's folder,
whose licence texts are copied. A file without an owner, or an owner without a text, is an error.
"""

import argparse
import collections
import csv
import dataclasses
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ("bin/dlc", "bin/dlc-compile", "lib/libdlc.so")  # of the main build
PARTS = re.compile(r"(runtime|compiler|passes|tools/(?!dlc-opt))|CMakeFiles/")  # objects that are shipped
TEXT = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|COPYRIGHT|THIRD-PARTY-PROGRAMS|EULA)", re.I)
COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9]+(?:\.[0-9]+)?)?)")
HEADER, ARCHIVE, LIBRARY, SCHEMA, SCRIPT = "headers", "archive", "shared library", "schema", "script"
# SPDX's names for those of Debian's machine-readable copyright files and of wheels.
SPDX = {"expat": "MIT", "mit": "MIT", "x11": "X11", "zlib": "Zlib", "bsd-2-clause": "BSD-2-Clause",
        "bsd-3-clause": "BSD-3-Clause", "bsd-3-clause~google": "BSD-3-Clause", "bsd-3-google": "BSD-3-Clause",
        "apache-2.0": "Apache-2.0", "apache v2.0": "Apache-2.0", "apache-2-llvm-exceptions": "Apache-2.0 WITH LLVM-exception",
        "expat with embedded exception": "MIT WITH fmt-exception", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
        "gpl-3": "GPL-3.0-only", "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "libpng": "libpng-2.0",
        "licenseref-nvidia-proprietary": "LicenseRef-NVIDIA-Proprietary", "python-2.0": "Python-2.0"}
# What those say that are not machine-readable, or whose names are not SPDX's, by the source package or wheel.
LICENCES = {"libnl3": "LGPL-2.1-only", "zlib": "Zlib", "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
                   "glibc": "LGPL-2.1-or-later", "linux": "GPL-2.0-only WITH Linux-syscall-note",
                   "libjpeg-turbo": "IJG AND BSD-3-Clause AND Zlib", "libwebp": "BSD-3-Clause",
                   "rdma-core": "Linux-OpenIB OR GPL-2.0-only", "nanobind": "BSD-3-Clause"}


class NoNotice(Exception):
    pass


@dataclasses.dataclass
class Component:
    name: str
    version: str
    purl: str
    source: str  # where its source is to be had
    licence: str  # an SPDX expression; else words
    texts: dict  # name of a copy: the file
    packages: set = dataclasses.field(default_factory=set)
    uses: set = dataclasses.field(default_factory=set)
    libraries: set = dataclasses.field(default_factory=set)


def output(*words, cwd=None):
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=cwd).stdout


# ---- What is used: {file: how} ----

def headers(build):
    """What the objects of the product were made from, besides the project's own files."""
    found, is_part = {}, False
    for line in output("ninja", "-t", "deps", cwd=build).splitlines():
        if line.startswith(" "):
            file = os.path.realpath(os.path.join(build, line.strip()))
            if is_part and os.path.exists(file):  # else of an earlier build
                found[file] = HEADER
        else:
            is_part = bool(PARTS.match(line))
    return found


def scripts(build):
    """What CMake has made texts of dlc of."""
    with open(f"{build}/CMakeCache.txt") as file:
        return {os.path.realpath(path): SCRIPT for path in re.findall(r"^\w+:FILEPATH=(/\S+\.js)$", file.read(), re.M)}


def inputs(build, targets):
    """Archives, libraries and protocols that the commands name."""
    hows = {".a": ARCHIVE, ".proto": SCHEMA}
    commands = output("ninja", "-t", "commands", *targets, cwd=build)
    names = set(re.findall(r"(?<=[\s:,])/[^\s:,]+\.(?:a|proto|so[.0-9]*)(?=[\s,]|$)", commands))
    return {os.path.realpath(name): hows.get(os.path.splitext(name)[1], LIBRARY) for name in names}


def libraries(build):
    """What the loader finds for the programs, but the C and C++ libraries, which every system has."""
    found = {}
    for program in PROGRAMS:
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", f"{build}/{program}"), re.M):
            if not re.match(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so|ld-linux|libdlc\.", name):
                found[os.path.realpath(path)] = LIBRARY
    return found


def used(builds):
    files = {}
    for at, build in enumerate(builds):
        files |= headers(build) | scripts(build) | (inputs(build, ("dlc", "dlc-compile", "dlc_runtime")) | libraries(build) if at == 0 else {})
    own = [os.path.realpath(folder) + "/" for folder in (ROOT, *builds)]
    site = re.compile(r"/(site|dist)-packages/|/\.venv[^/]*/")
    return {file: how for file, how in files.items() if site.search(file) or not file.startswith(tuple(own))}


# ---- Whose it is ----

def expression(words):
    """SPDX's for the words of Debian or of a wheel; else the words."""
    terms = re.split(r"\s+(or|and)\s+", words.strip(), flags=re.I)
    known = [term.upper() if at % 2 else SPDX.get(term.lower()) for at, term in enumerate(terms)]
    return " ".join(known) if all(known) else words.strip()


def is_expression(licence):
    return licence in LICENCES.values() or all(
        at % 2 or term in SPDX.values() for at, term in enumerate(re.split(" (AND|OR) ", licence)))


class Debian:
    def __init__(self):
        self.owners = {}
        for listing in glob.glob("/var/lib/dpkg/info/*.list"):
            package = os.path.basename(listing)[:-len(".list")]
            with open(listing, errors="replace") as file:
                for path in file.read().splitlines():
                    self.owners[path] = package
        fields = "${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\n"
        rows = [line.split("\t") for line in output("dpkg-query", "-W", "-f", fields).splitlines()]
        self.packages = {row[0]: row[1:] for row in rows}

    def find(self, file):
        package = self.owners.get(file) or self.owners.get(file.removeprefix("/usr"))
        if not package:
            return None
        return self.made(package.split(":")[0])

    @functools.cache
    def made(self, package):
        _, source, version, architecture = self.packages[package]
        with open(f"/usr/share/doc/{package}/copyright", errors="replace") as opened:
            words = opened.read()
        texts = {f"{package}.copyright": f"/usr/share/doc/{package}/copyright"}
        texts |= {name: f"/usr/share/common-licenses/{name}" for name in COMMON.findall(words)
                  if os.path.exists(f"/usr/share/common-licenses/{name}")}
        found = re.search(r"^Files:\s*\*(?:\n.+)*?\nLicense:[ \t]*(.+)", words, re.M)
        licence = LICENCES.get(source) or (expression(found[1]) if found else "see its copyright file")
        purl = f"pkg:deb/debian/{source}@{version.replace(':', '%3A').replace('+', '%2B')}?arch=source&distro=debian-12"
        where = f"https://snapshot.debian.org/package/{source}/{version}/, or apt-get source {source}={version}"
        made = Component(source, version, purl, where, licence, texts)
        made.packages.add(f"{package}:{architecture}")
        return made


class Wheels:
    """Python packages with the files that their RECORD names, in an environment or (CUDA's) unpacked elsewhere."""

    def __init__(self, folders):
        self.owners = {}
        self.elsewhere = {}
        for folder in folders:
            for record in glob.glob(f"{folder}/*.dist-info/RECORD"):
                with open(record, newline="") as file:
                    for path, *_ in csv.reader(file):
                        self.owners[os.path.realpath(os.path.join(folder, path))] = record
                        if "/include/" in path:
                            self.elsewhere[path.rsplit("/include/", 1)[1]] = record

    def find(self, file):
        record = self.owners.get(file)
        if not record and "/include/" in file and "/cuda" in file:
            record = self.elsewhere.get(file.rsplit("/include/", 1)[1])
        return self.made(record) if record else None

    @functools.cache
    def made(self, record):
        info = os.path.dirname(record)
        with open(f"{info}/METADATA") as opened:
            meta = opened.read().split("\n\n")[0]
        name, version = (re.search(rf"^{key}: (.+)", meta, re.M)[1].strip() for key in ("Name", "Version"))
        licence = re.search(r"^License(?:-Expression)?: (.+)", meta, re.M)
        texts = {}
        files = glob.glob(f"{info}/**", recursive=True) + [path for path, of in self.owners.items() if of == record]
        for path in sorted(set(files)):
            if os.path.isfile(path) and TEXT.match(os.path.basename(path)):
                texts[os.path.relpath(path, info).replace("licenses/", "").replace("../", "").replace("/", "-")] = path
        name = name.lower().replace("_", "-")
        return Component(name, version, f"pkg:pypi/{name}@{version}", f"https://pypi.org/project/{name}/{version}/",
                         LICENCES.get(name) or (expression(licence[1]) if licence else "see its texts"), texts)


class Toolkit:
    """CUDA as NVIDIA installs it: a folder with a licence of its own."""

    def find(self, file):
        found = re.match(r"(/.*/cuda(?:-[0-9.]+)?)/(?:targets/[^/]+/)?include/", file)
        texts = [path for path in glob.glob(f"{found[1]}/*") if TEXT.match(os.path.basename(path))] if found else []
        if not texts:
            return None
        version = found[1].rpartition("-")[2]
        return Component("cuda-toolkit", version, f"pkg:generic/cuda-toolkit@{version}", "https://developer.nvidia.com/cuda-toolkit",
                         "see its texts", {os.path.basename(path): path for path in texts})


class Copies:
    """What nanobind has copies of: a folder with headers, whose first lines are the licence."""

    def find(self, file):
        found = re.match(r".*/nanobind/ext/([^/]+)/", file)
        with open(file) as opened:
            head = opened.read(4000) if found else ""
        if "MIT License" not in head:
            return None
        name = found[1].replace("_", "-")
        return Component(name, "in nanobind", f"pkg:github/Tessil/{name}", f"https://github.com/Tessil/{name}", "MIT",
                         {os.path.basename(file): file})


class Python:
    """The interpreter's headers, where it is no package."""

    def find(self, file):
        found = re.match(r"(/.*)/include/python(3\.[0-9]+)/", file)
        text = f"{found[1]}/lib/python{found[2]}/LICENSE.txt" if found else ""
        if not os.path.exists(text):
            return None
        with open(f"{found[0]}patchlevel.h") as opened:
            version = re.search(r'PY_VERSION\s+"([^"]+)"', opened.read())[1]
        return Component("cpython", version, f"pkg:generic/cpython@{version}", "https://www.python.org/downloads/source/",
                         "Python-2.0", {"LICENSE.txt": text})


def components(files, owners):
    found = {}
    for file, how in sorted(files.items()):
        of = next((made for made in (owner.find(file) for owner in owners) if made), None)
        if not of:
            raise NoNotice(f"{file} ({how}) is of no Debian package and no Python wheel, so its licence is not known")
        if not of.texts:
            raise NoNotice(f"{of.name} {of.version}, which {file} is of, has no licence text")
        kept = found.setdefault(of.name, of)
        kept.texts |= of.texts
        kept.packages |= of.packages
        kept.uses.add(how)
        if how == LIBRARY:
            kept.libraries.add(soname(file))
    return [found[name] for name in sorted(found)]


def soname(file):
    names = re.findall(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", file))
    return names[0] if names else os.path.basename(file)


# ---- What is written ----

README = """Whose code is in dlc, besides its own
=====================================

"headers": compiled into dlc's files. "archive": linked into them. "shared library": loaded from lib/dlc beside dlc (.tar.gz and
wheel; libdnnl.so.3 in every package), or from the Debian package that the .deb asks for. "schema": code is made from it.
"script": a part of dlc, which copies it into the pages that dlc report writes.
The folders here have the licence texts.

Libraries under the GNU LGPL or GPL are shared libraries only, as Debian has built them, besides GCC's (with its runtime library
exception), headers of interfaces and an archive of the C library without code. You may replace them: put another library of the
same file name (SONAME) into lib/dlc, or remove the file where the system has one; dlc loads what it finds there, by its run path.
In the wheel their own run path is set to $ORIGIN. Their complete source is at the address below, at no charge.

"""


def write_licences(parts, folder):
    shutil.rmtree(folder, ignore_errors=True)
    lines = []
    for part in parts:
        os.makedirs(f"{folder}/{part.name}")
        for name, path in part.texts.items():
            shutil.copyfile(path, f"{folder}/{part.name}/{name}")
        rows = [("licence", part.licence), ("used as", ", ".join(sorted(part.uses))), ("files", ", ".join(sorted(part.libraries))),
                ("source", part.source)]
        lines.append(f"{part.name} {part.version}\n" + "".join(f"  {key}: {value}\n" for key, value in rows if value))
    with open(f"{folder}/README.txt", "w") as file:
        file.write(README + "\n".join(lines))


def asked_for():
    """Names of tools/packages.txt and tools/requirements.txt: {package: file}."""
    names = {}
    for file in ("packages.txt", "requirements.txt", "wheel.txt"):
        with open(f"{ROOT}/tools/{file}") as opened:
            for line in opened:
                if line.strip() and line[0] != "#":
                    names.setdefault(re.split(r"[\s=]", line)[0].lower().replace("_", "-"), f"tools/{file}")
    return names


def entry(part, asked):
    kind = "name" if not is_expression(part.licence) else "expression" if " " in part.licence else "id"
    licence = {"expression": part.licence} if kind == "expression" else {"license": {kind: part.licence}}
    if part.licence.startswith("LicenseRef-"):
        licence = {"license": {"name": part.licence}}
    names = {package.split(":")[0] for package in part.packages} | {part.name}
    properties = [("dlc:use", use) for use in sorted(part.uses)] + [("dlc:file", name) for name in sorted(part.libraries)]
    properties += [("dlc:package", package) for package in sorted(part.packages)]
    properties += sorted({("dlc:required-by", asked[name]) for name in names if name in asked})
    return {"type": "library", "bom-ref": part.purl, "name": part.name, "version": part.version, "licenses": [licence],
            "purl": part.purl, "externalReferences": [{"type": "distribution", "url": part.source.split(",")[0]}],
            "properties": [{"name": name, "value": value} for name, value in properties]}


def write_sbom(parts, version, path):
    asked = asked_for()
    own = f"pkg:generic/dlc@{version}"
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
           "metadata": {"component": {"type": "application", "bom-ref": own, "name": "dlc", "version": version, "purl": own,
                                      "licenses": [{"license": {"id": "Apache-2.0"}}]}},
           "components": [entry(part, asked) for part in parts],
           "dependencies": [{"ref": own, "dependsOn": [part.purl for part in parts]}]}
    # The same of the same: no time, a number made of what is said.
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))}"
    with open(path, "w") as file:
        json.dump(bom, file, indent=1, sort_keys=True)
        file.write("\n")


def all_owners():
    folders = collections.OrderedDict.fromkeys(
        glob.glob(f"{os.path.realpath(ROOT)}/.venv*/lib/python3*/site-packages") + glob.glob("/usr/local/cuda*/dist-info") +
        [sysconfig.get_path("purelib")])
    return [Debian(), Copies(), Wheels([os.path.realpath(folder) for folder in folders]), Python(), Toolkit()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--version", required=True, help="version of dlc")
    parser.add_argument("--build", required=True, action="append", help="build folder")
    parser.add_argument("--to", required=True, help="folder of the results")
    arguments = parser.parse_args()
    try:
        parts = components(used(arguments.build), all_owners())
    except (NoNotice, subprocess.CalledProcessError, OSError) as error:
        sys.exit(f"notices: error: {error}")
    os.makedirs(arguments.to, exist_ok=True)
    write_licences(parts, f"{arguments.to}/licenses")
    write_sbom(parts, arguments.version, f"{arguments.to}/sbom.cdx.json")


if __name__ == "__main__":
    main()
