# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""JSON of strangers: read strictly, and quoted in errors without harm."""

import json
import math
from typing import Any, Dict, Iterable, List, Tuple, Union

from .errors import DocumentError

# A field that we do not know is handed on as it came, and a wrong value is quoted: both are written as JSON
# once more. Deeper than this nobody means it, and the writer's own recursion would end before the reader's did.
DEEPEST_VALUE = 32  # levels
# Of any number in JSON. Python takes time by the square of it, and 128 bits need 39.
_LONGEST_NUMERAL = 100  # characters
_LONGEST_QUOTE = 200


def parse_json(body: Union[bytes, str]) -> Any:
    """Read JSON from anything that a server may have sent.

    What is no UTF-8 comes as U+FFFD: for one description that is written badly, no event is lost.

    :raises DocumentError: if it is not JSON, has a field twice or a number that none can mean, or is nested beyond
        reason
    """
    try:
        # Bytes are decoded here: json would also guess UTF-16 and UTF-32, which IMDS never sends.
        text = body.decode("utf-8-sig", "replace") if isinstance(body, bytes) else body
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_int=_parse_int,
            parse_float=_parse_float,
            object_pairs_hook=_parse_object,
        )
    except RecursionError:
        raise DocumentError("not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise DocumentError("not JSON: %s: %s" % (error, quote(body))) from None


def is_deeper_than(levels: int, value: Any) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    return levels == 0 or any(is_deeper_than(levels - 1, child) for child in _children(value))


def has_nan_or_infinity(value: Any) -> bool:
    """Whether an infinity or a NaN is in it, where JSON was read by something that takes them."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, (dict, list)) and any(has_nan_or_infinity(child) for child in _children(value))


def _children(value: Union[Dict[str, Any], List[Any]]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _refuse_constant(name: str) -> None:
    raise ValueError("%s is not a JSON number" % name)


def _parse_int(numeral: str) -> int:
    return int(_reasonable(numeral))


def _parse_float(numeral: str) -> float:
    number = float(_reasonable(numeral))
    if math.isinf(number):
        raise ValueError("%s is beyond any number" % numeral)
    return number


def _reasonable(numeral: str) -> str:
    if len(numeral) > _LONGEST_NUMERAL:
        raise ValueError("a number of %d characters" % len(numeral))
    return numeral


def _parse_object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        # Readers differ in which of the two they take.
        raise ValueError("an object has a field twice")
    return fields


def quote(value: Any) -> str:
    """Show a value in an error: enough to recognise it, however large it is."""
    if isinstance(value, (bytes, str)):
        # Cut before repr: a body may be megabytes long.
        shown = repr(value[: _LONGEST_QUOTE + 1])
    elif is_deeper_than(DEEPEST_VALUE, value):
        shown = "something nested deeper than %d levels" % DEEPEST_VALUE
    else:
        shown = json.dumps(value)
    return shown if len(shown) <= _LONGEST_QUOTE else shown[:_LONGEST_QUOTE] + "…"
