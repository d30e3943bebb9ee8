# SPDX-License-Identifier: Apache-2.0
"""The packages of cpack in an empty Debian 12: the .deb by apt, the .tar.gz unpacked, each with the commands of tools/quickstart.sh.

The empty root is made once (mmdebstrap) and kept in the build folder, with the Debian packages that the .deb asked for."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import dlc

KEPT = os.path.join(dlc.BUILD, "debian-12")
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(dlc 0.1 REQUIRED)
add_executable(app embed.c)
target_link_libraries(app PRIVATE dlc::dlc)
dlc_add_model(mlp MODEL mlp.onnx OPTIONS --optimizer=adamw --lr=0.003 --batch=64)
"""


def run(*words, timeout=150, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def make_root():
    """The kept root; a reason why there is none."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("chroot and mounts need root")
    if os.path.exists(f"{KEPT}/root.tar"):
        return
    if not shutil.which("mmdebstrap"):
        raise unittest.SkipTest("no mmdebstrap here: tools/setup.sh installs it")
    os.makedirs(f"{KEPT}/archives", exist_ok=True)
    part = f"{KEPT}/root.{os.getpid()}.tar"
    done = subprocess.run(["mmdebstrap", "--variant=apt", "--quiet", "--skip=cleanup/apt/lists", "bookworm", part],
                          capture_output=True, text=True, timeout=400)
    if done.returncode != 0:
        raise unittest.SkipTest(f"mmdebstrap makes no Debian 12 here: {done.stderr.strip().splitlines()[-1:]}")
    os.rename(part, f"{KEPT}/root.tar")


def quickstart():
    """Steps 2 to 5 of the script, in small."""
    with open(f"{dlc.ROOT}/tools/quickstart.sh") as file:
        steps = file.read().split('step "2/6')[1].split('step "6/6')[0]
    assert steps.count("--epochs=15") == 1
    commands = steps.split("\n", 1)[1].replace("--epochs=15", "--epochs=3")
    return 'set -eu\nout=out\nmkdir out\nstep() { :; }\nrun() { "$@"; }\n' + commands


class Packages(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        make_root()
        cls.made = tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)

    def pack(self, kind, *words):
        run("cpack", "-G", kind, "-B", f"{self.made}/{kind}", *words, cwd=dlc.BUILD)
        found, = [file for file in glob.glob(f"{self.made}/{kind}/dlc*") if os.path.isfile(file)]
        return found

    def root(self):
        root = self.path("root")
        os.mkdir(root)
        run("tar", "-xf", f"{KEPT}/root.tar", "-C", root)
        shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
        os.makedirs(f"{root}/srv/try")
        shutil.copytree(f"{dlc.ROOT}/models", f"{root}/srv/try/models", ignore=lambda folder, names: [
            name for name in names if name not in ("lenet.onnx", "mnist-train.npz", "mnist-test.npz")])
        return root

    def inside(self, root, script, path="/usr/sbin:/usr/bin:/sbin:/bin"):
        with open(f"{root}/srv/try/script.sh", "w") as file:
            file.write(script)
        mounts = ('mount -t proc proc "$1/proc" && mount --bind "$2" "$1/var/cache/apt/archives" && '
                  'exec chroot "$1" env -i HOME=/root DEBIAN_FRONTEND=noninteractive "PATH=$3" sh -c "cd /srv/try && exec bash script.sh"')
        return run("unshare", "-m", "bash", "-c", mounts, "-", root, f"{KEPT}/archives", path)

    def check_notices(self, prefix):
        """notices_test.py compares them with what is used."""
        with open(f"{prefix}/share/doc/dlc/sbom.cdx.json") as file:
            names = [component["name"] for component in json.load(file)["components"]]
        self.assertEqual(sorted(os.listdir(f"{prefix}/share/doc/dlc/licenses")), sorted(["README.txt", *names]))
        self.assertIn("libnl3", names)

    def check_quickstart(self, root, path="/usr/sbin:/usr/bin:/sbin:/bin"):
        out = self.inside(root, quickstart(), path)
        self.assertIn('"samples":500', out)
        run(sys.executable, f"{dlc.ROOT}/tools/check_export.py", f"{root}/srv/try/out/lenet-trained.onnx", dlc.data("mnist-test"),
            f"{root}/srv/try/out/eval-ema.json", "--at-least=0.8")

    def test_deb(self):
        package = self.pack("DEB", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none")
        name = os.path.basename(package)
        with open(f"{dlc.ROOT}/docs/guide/install.md") as file:
            self.assertIn(f"apt install ./{name}\n", file.read())
        root = self.root()
        os.rename(package, f"{root}/srv/try/{name}")
        self.inside(root, f"""set -eu
            rm -f /etc/apt/apt.conf.d/docker-clean
            apt-get -qq update
            apt-get -qq install -y --no-install-recommends -o APT::Keep-Downloaded-Packages=true -o APT::Sandbox::User=root ./{name}
            test "$(command -v dlc)" = /usr/bin/dlc""")
        self.check_notices(f"{root}/usr")
        self.check_quickstart(root)
        self.assertNotIn("llvm", self.inside(root, "dpkg-query -W -f '${Package}\n'"))
        # A program that was built elsewhere finds the library.
        self.project(f"{root}/usr")
        shutil.copy(self.path("b/app"), f"{root}/srv/try/app")
        shutil.copytree(self.path("b/mlp.dlc"), f"{root}/srv/try/mlp.dlc")
        self.assertIn("right", self.inside(root, "./app mlp.dlc 20"))
        self.inside(root, "dpkg -L dlc | sort > files && dpkg --remove dlc")
        with open(f"{root}/srv/try/files") as file:
            left = [line for line in file.read().split("\n") if re.search("dlc", line) and os.path.lexists(root + line)]
        self.assertEqual(left, [])

    def project(self, prefix):
        """CMake's, of one's own, against an unpacked package."""
        with open(self.path("CMakeLists.txt"), "w") as file:
            file.write(PROJECT)
        shutil.copy(f"{prefix}/share/doc/dlc/examples/embed.c", self.path("embed.c"))
        shutil.copy(dlc.model("mlp"), self.path("mlp.onnx"))
        run("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=self.folder)
        run("cmake", "--build", "b", cwd=self.folder)

    def test_tar_gz(self):
        package = self.pack("TGZ")
        root = self.root()
        os.mkdir(f"{root}/srv/tools")
        run("tar", "-xf", package, "-C", f"{root}/srv/tools", "--no-same-owner")
        folder, = os.listdir(f"{root}/srv/tools")
        os.rename(f"{root}/srv/tools/{folder}", f"{root}/srv/tools/moved")
        self.check_notices(f"{root}/srv/tools/moved")
        self.check_quickstart(root, "/srv/tools/moved/bin:/usr/bin:/bin")
        self.project(f"{root}/srv/tools/moved")
        self.assertIn("right", run("./b/app", "b/mlp.dlc", "20", cwd=self.folder))


if __name__ == "__main__":
    dlc.main()
