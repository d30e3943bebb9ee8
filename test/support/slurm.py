# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of one node: controller and daemon on this machine, with files in one folder, on free ports."""

import os
import shutil
import socket
import subprocess
import time

PROGRAMS = "slurmctld", "slurmd", "srun", "sinfo"


def why_not():
    """Why it cannot run here; None if it can."""
    missing = [name for name in PROGRAMS if not find(name)]
    if missing:
        return f"no {', '.join(missing)} here (Debian: slurmctld, slurmd, slurm-client)"
    return None if os.geteuid() == 0 else "slurmd needs root"


def find(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    def __init__(self, folder, tasks):
        self.processes, host = [], socket.gethostname().split(".")[0]
        control, node = free_ports(2)
        for name in "state", "spool":
            os.makedirs(os.path.join(folder, name))
        self.conf = os.path.join(folder, "slurm.conf")
        with open(self.conf, "w") as file:
            file.write(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmctldPort={control}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
NodeName={host} NodeAddr=127.0.0.1 CPUs={tasks} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        self.environment = os.environ | {"SLURM_CONF": self.conf}
        for name in "slurmctld", "slurmd":
            with open(os.path.join(folder, name + ".log"), "w") as log:
                self.processes.append(subprocess.Popen([find(name), "-D", "-f", self.conf], stdout=log, stderr=log,
                                                       start_new_session=True, env=self.environment))

    def wait(self, seconds):
        """Whether the node becomes idle before the timeout."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and all(process.poll() is None for process in self.processes):
            if subprocess.run([find("sinfo"), "-h", "-o", "%t"], env=self.environment, capture_output=True,
                              text=True).stdout.strip() == "idle":
                return True
            time.sleep(0.1)
        return False

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
