# SPDX-License-Identifier: Apache-2.0
from dlc.cli import main

main()
