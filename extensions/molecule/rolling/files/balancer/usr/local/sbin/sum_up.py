# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the looks at HAProxy's statistics as a JSON list, in which those in a row that saw the same are one.

`begun` and `at` are when the first and the last of them were, `looks` is how many they are.
"""

import itertools
import json

with open("/var/log/statistics") as file:
    looks = [json.loads(line) for line in file]
rows = [list(row) for _seen, row in itertools.groupby(looks, lambda look: {**look, "at": None})]
print(json.dumps([{**row[-1], "begun": row[0]["at"], "looks": len(row)} for row in rows]))
