# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration's file while the agent runs: what it says, what it said when it was good, whether it changes."""

import contextlib
import os
from typing import Optional, Tuple

from ..config import Config, ConfigError, read_config, read_file
from ..platform import files

_LAST_GOOD_NAME = "agent.last_good.json"


class ConfigFile:
    """Where the configuration is read from.

    :param path: of the file
    :param keep_in: a directory for a copy of what was good last, for a start that finds the file spoilt; None: none
    """

    def __init__(self, path: str, keep_in: Optional[str] = None) -> None:
        self.path = path
        self._copy = None if keep_in is None else os.path.join(keep_in, _LAST_GOOD_NAME)
        self._good: Optional[bytes] = None
        """What the last `load` found good."""
        self._is_lost_if_missing = self._copy is not None and os.path.lexists(self._copy)
        self._seen: Optional[Tuple[int, ...]] = None
        self.modified: Optional[float] = None
        """When what the last `load` looked at was written, in seconds since the epoch; None if nothing was there."""

    def load(self) -> Config:
        """Read the file. What is good is for `keep`.

        Without a file, now or before, it is all defaults. A file that was there is lost: the defaults may do more.

        :raises ConfigError: if it cannot be used
        """
        found = self._stat()
        self._seen = _identity_of(found)
        self.modified = None if found is None else found.st_mtime
        content = read_file(self.path)
        if content is None:
            if self._is_lost_if_missing:
                raise ConfigError(self.path, ["is missing. Install it again, or write {} to it to use the defaults"])
            return Config()
        # That a database of time zones has lost one is no reason to leave the machine alone: it approves nothing then.
        config = read_config(content, self.path, knows_zones=False)
        self._is_lost_if_missing = True
        self._good = content
        return config

    def keep(self) -> None:
        """Keep what was good last for another time. Waits for the disk."""
        if self._copy is None or self._good is None:
            return
        # It is of use one day, perhaps; nothing depends on it. As the configuration, it may hold secrets.
        with contextlib.suppress(OSError):
            files.write_private(self._copy, self._good.decode("utf-8"))

    @property
    def has_changed(self) -> bool:
        """Whether the file is another than at the last `load`."""
        return _identity_of(self._stat()) != self._seen

    def load_last_good(self) -> Optional[Config]:
        """What the file said when it was good last, as far as that is known."""
        if self._copy is None:
            return None
        try:
            content = read_file(self._copy)
            return None if content is None else read_config(content, self._copy, knows_zones=False)
        except ConfigError:
            # Of a later version perhaps, or somebody else's.
            return None

    def _stat(self) -> Optional[os.stat_result]:
        try:
            return os.stat(self.path)
        except OSError:
            return None


def _identity_of(found: Optional[os.stat_result]) -> Optional[Tuple[int, ...]]:
    if found is None:
        return None
    # The last is what chown and chmod change, which may be the remedy.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
