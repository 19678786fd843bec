# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of real systemd machines, with a simulated Azure at 169.254.169.254. See docs/lab.md.

A lab is one set of namespaces (network, mounts, processes). All that it starts or mounts lives in there and ends with
its first process, however that ends; nothing in there has a way out to any other network.

trees.py        the Debian systems that hosts start from
confinement.py  the namespaces
network.py      the bridge, and a cable for each host
host.py         one machine: its disk, and its processes while it is powered
supervisor.py   owns the hosts and the simulator, and does what it is told
commands.py     tells it
runner.py       what `make lab` does
"""
