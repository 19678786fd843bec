# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The errors of the control plane.

```
ControlPlaneError
├── MissingLibrary      a Python library is not installed; nothing was asked
├── ArmError            ARM could not be asked, or refused
│   ├── NotFound        it does not exist, or cannot be seen
│   ├── Changed         somebody else changed it since it was read (412)
│   ├── Busy            another operation holds it, or what it names
│   ├── Lost            it was accepted, and Azure does not show its operation
│   ├── UnknownVersion  this cloud does not have the api-version
│   ├── OperationFailed a long-running operation was accepted, and then failed
│   │   └── Superseded  because a later one took its place
│   └── OutOfTime       the time limit ended before Azure was done
└── Unfinished          a part of what was wanted is done
```

Every message says what was asked, what came back, and what to do. What a user set wrongly is an `OptionError` of the
core.
"""

from __future__ import annotations

from typing import Any


class ControlPlaneError(Exception):
    """Whatever the control plane raises on purpose."""


class MissingLibrary(ControlPlaneError):
    """A Python library that is needed to sign in or to make requests is not installed."""


class ArmError(ControlPlaneError):
    """ARM could not be asked, or refused. The message says what was asked, what came back, what to do."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.may_have_begun = False
        """Whether Azure may be doing what it was asked for, or have done it: its refusal, or its end, was not seen."""


def not_as_written(name: str, shown: object, wanted: object) -> ArmError:
    """The error for a change that Azure accepts and then does not show."""
    return ArmError(
        "Azure accepted the change of %s, but then shows %s in place of %s. Did somebody else change it?"
        % (name, shown, wanted)
    )


class NotFound(ArmError):
    """What was asked for does not exist, or cannot be seen."""


class Changed(ArmError):
    """Somebody else has changed the resource since it was read (412)."""


class Busy(ArmError):
    """Another operation holds the resource, or one that it names, and will be over by itself."""


class Lost(ArmError):
    """Azure accepted a change, and does not show its operation (403, 404). What became of it has to be read."""


class UnknownVersion(ArmError):
    """This cloud does not have the api-version, or not for this. `supported`: those that it says it has."""

    supported: tuple[str, ...] = ()


class OperationFailed(ArmError):
    """A long-running operation was accepted, and then failed or was cancelled."""


class Superseded(OperationFailed):
    """A later operation took the place of this one. Its change may be there nevertheless: that has to be read."""


class OutOfTime(ArmError):
    """The time limit ended before Azure was done."""


class Unfinished(ControlPlaneError):
    """A part of what was wanted is done, as a model whose instances do not follow. `outcome` is how far it came."""

    def __init__(self, message: str, outcome: Any) -> None:
        super().__init__(message)
        self.outcome = outcome
