# SPDX-License-Identifier: Apache-2.0
"""dlc: trains ONNX models and PyTorch modules with a compiler. See docs/guide/python.md of the sources.

    import dlc
    dlc.compile("lenet.onnx", "lenet.dlc", amp=True, optimizer="adamw", lr=0.003)
    run = dlc.Trainer("lenet.dlc", data="train.npz", val="test.npz", epochs=3).run()
    print(dlc.Session(run.folder).evaluate("test.npz"))
"""

from dlc import _dlc, zoo
from dlc._compiler import compile, export
from dlc._data import SAMPLES, Dataset
from dlc._messages import set_log
from dlc._session import Evaluation, Port, Session, State
from dlc._torch import from_torch
from dlc._trainer import Epoch, Run, Step, Trainer
from dlc.cli import set_data_program
from dlc.errors import (BadModel, Corrupt, Diverged, Error, Failed, Incompatible, LimitExceeded, PeerLost,
                        UsageError)

set_data_program()
__version__ = _dlc.version()
__all__ = ["BadModel", "Corrupt", "Dataset", "Diverged", "Epoch", "Error", "Evaluation", "Failed", "Incompatible",
           "LimitExceeded", "PeerLost", "Port", "Run", "SAMPLES", "Session", "State", "Step", "Trainer", "UsageError", "compile",
           "export", "from_torch", "set_log", "zoo"]
