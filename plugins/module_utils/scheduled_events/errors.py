# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The errors of the core.

```
ScheduledEventsError
├── OptionError         a user set what cannot be meant; nothing was touched
├── ImdsError           IMDS could not be asked, or refused
│   ├── Unreachable     no connection was ever made: most likely no Azure VM
│   ├── OutOfTime       no answer that could be used came within the time limit
│   └── Refused         an answer that another try would not change
├── DocumentError       IMDS answered, but with no document
├── ApprovalRefused     an event was asked for that must not be approved; nothing was
├── StillScheduled      the approval was sent, but not all of the events started in time
└── HttpError           of one exchange; the client makes one of those above of it
    ├── ProtocolError   what came is not an answer in HTTP, or broke off
    └── TooLarge        the answer has a larger body than the caller takes
```

Every message says what was asked, what came back, and what to do. A connection that fails in one exchange is an
`OSError` of the system's.
"""

from typing import Any, Optional


class ScheduledEventsError(Exception):
    """Whatever the core raises on purpose."""


class OptionError(ScheduledEventsError, ValueError):
    """An option has a value that cannot be meant. The message names the option, the value and the remedy."""


class ImdsError(ScheduledEventsError):
    """IMDS could not be asked, or refused. The message says what was asked, what came back, what to do.

    `attempts` counts the requests that were tried, and `last_outcome` says what became of the last one.
    """

    def __init__(self, message: str, attempts: int, last_outcome: str) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.last_outcome = last_outcome


class Unreachable(ImdsError):
    """No connection was ever made: most likely no Azure VM."""


class OutOfTime(ImdsError):
    """The time limit ended before an answer came that could be used.

    `retry_after` is for how many seconds the last answer asked not to be asked again; None if it did not.
    """

    def __init__(self, message: str, attempts: int, last_outcome: str, retry_after: Optional[float] = None) -> None:
        super().__init__(message, attempts, last_outcome)
        self.retry_after = retry_after


class Refused(ImdsError):
    """IMDS answered with a status that another try would not change, which is `status`.

    :param may_have_acted: whether IMDS may have done before what it was asked for: the answer to that try was lost
    """

    def __init__(
        self, message: str, attempts: int, last_outcome: str, status: int, may_have_acted: bool = False
    ) -> None:
        super().__init__(message, attempts, last_outcome)
        self.status = status
        self.may_have_acted = may_have_acted


class DocumentError(ScheduledEventsError, ValueError):
    """What was read is not a document of Scheduled Events. The message says where and why."""


class ApprovalRefused(ScheduledEventsError):
    """Nothing was approved, because an event was asked for that must not be approved."""


class StillScheduled(ScheduledEventsError):
    """The approval was sent, but not all of the events started in time. `result` is what was done."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class HttpError(ScheduledEventsError):
    """One exchange of a request and its answer did not come about."""


class ProtocolError(HttpError):
    """What came is not an answer in HTTP/1.0 or HTTP/1.1, or broke off. The message says what is wrong with it."""


class TooLarge(HttpError):
    """The answer has a larger body than the caller takes."""
