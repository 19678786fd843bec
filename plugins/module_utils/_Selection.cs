// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// Which events are meant? As scheduled_events/selection.py.
using System;
using System.Collections.Generic;
using System.Linq;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Selection
{
    // A choice of events. Null does not restrict; what is empty chooses nothing.
    public sealed class Selection
    {
        public const string Any = "any";
        public const string ThisVm = "this_vm";
        public const string Others = "others";

        public List<string> EventIds;
        public List<string> EventTypes;
        public List<string> EventSources;
        public List<string> EventStatuses;
        public string Affecting = Any;

        // Whether this event is meant, seen from this VM. Whom it affects is no reason to leave out one of which that
        // cannot be read.
        public bool Chooses(Event one, string vmName)
        {
            return (EventIds == null || EventIds.Any(id => Text.SameName(id, one.EventId)))
                && Allows(EventTypes, one.EventType) && Allows(EventSources, one.EventSource)
                && Allows(EventStatuses, one.EventStatus)
                && (Affecting == Any || one.IsOfUnknownVms || (Affecting == ThisVm) == one.Affects(vmName));
        }

        private static bool Allows(List<string> condition, string word)
        {
            return condition == null || (word != null && condition.Any(
                one => string.Equals(Text.Lower(one), Text.Lower(word), StringComparison.Ordinal)));
        }
    }
}
