// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// Who may approve which? As scheduled_events/approval.py, on behalf of one VM.
using System;
using System.Collections.Generic;
using System.Linq;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Approval
{
    // An event that is not to be approved, and why.
    public sealed class Verdict
    {
        public Verdict(Event about, string reason)
        {
            Event = about;
            Reason = reason;
        }

        public Event Event { get; private set; }
        public string Reason { get; private set; }
    }

    // What may be done about the events that were chosen, each list in order of urgency.
    public sealed class Judgement
    {
        public const string Own = "own";
        public const string Leader = "leader";
        public const string Any = "any";
        public const string NotListed = "not listed: it has ended, was withdrawn or never existed";

        // May be approved now.
        public readonly List<Event> Approve = new List<Event>();
        // Nothing to approve, or not for this VM to approve.
        public readonly List<Verdict> NotApproved = new List<Verdict>();
        // To ask for them is a mistake: nothing at all should be approved.
        public readonly List<Verdict> Refused = new List<Verdict>();

        public Judgement(IEnumerable<Event> events, string vmName, string scope)
        {
            if (scope != Own && scope != Leader && scope != Any)
                throw new ArgumentException("scope: " + Text.Repr(scope) + " is not one of own, leader, any");
            foreach (Event one in Urgency.Order(events))
            {
                List<string> others = one.Resources.Where(name => !Text.SameName(name, vmName)).ToList();
                bool hitsOnlyOthers = others.Count == one.Resources.Count;
                string doesNotAffect = "does not affect " + vmName + ", but "
                    + (one.Resources.Count > 0 ? string.Join(", ", one.Resources) : "no VM that it names");
                if (one.IsAdvisory) NotApproved.Add(new Verdict(one, "advisory"));
                else if (one.IsOfUnknownVms) NotApproved.Add(new Verdict(one, "its list of VMs cannot be read"));
                // Then, and whatever the status: a wrong id is a mistake before the event starts and after.
                else if (scope == Own && hitsOnlyOthers) Refused.Add(new Verdict(one, doesNotAffect));
                else if (!one.IsScheduled) NotApproved.Add(new Verdict(one, WhyOver(one)));
                else if (scope == Own && others.Count > 0)
                    Refused.Add(new Verdict(one, "affects " + string.Join(", ", others) + " as well"));
                else if (scope == Leader && !one.IsLedBy(vmName))
                    NotApproved.Add(new Verdict(
                        one, hitsOnlyOthers ? doesNotAffect : "led by " + one.Leader + ", not by " + vmName));
                else Approve.Add(one);
            }
        }

        // Why an event that is no longer scheduled needs no approval.
        public static string WhyOver(Event one)
        {
            return one.IsStarted ? "already started" : "its status is " + one.EventStatus + ": nothing to approve";
        }
    }

    public static class Explain
    {
        // Why nothing at all was approved.
        public static string Refusal(IEnumerable<Verdict> refused, string vmName)
        {
            return "Nothing was approved, because scope is own and this VM is " + vmName + ", but these were chosen: "
                + string.Join("; ", refused.Select(verdict => verdict.Event.EventId + ", which " + verdict.Reason))
                + ". An approval lets Azure begin on every VM of the event. Choose only events that hit this VM and no"
                + " other; or, when all of their VMs are ready, set scope to leader or any";
        }

        // The ids that were asked for by name but not chosen, each once and with the reason.
        public static List<object> Unlisted(List<string> eventIds, List<Event> chosen, List<Event> listed)
        {
            var answered = new HashSet<string>(chosen.Select(one => Text.NameKey(one.EventId)), StringComparer.Ordinal);
            var missing = new List<object>();
            foreach (string id in eventIds ?? new List<string>())
            {
                if (!answered.Add(Text.NameKey(id))) continue;
                bool isListed = listed.Any(one => Text.SameName(one.EventId, id));
                missing.Add(new Dictionary<string, object>
                {
                    { "event_id", id },
                    { "reason", isListed ? "left out by the other filters" : Judgement.NotListed },
                });
            }
            return missing;
        }

        // That approved events have not started in time.
        public static string Late(IEnumerable<Event> late, double seconds, string problem)
        {
            return "Approved, but not started within " + Text.General(seconds) + " s: "
                + string.Join(", ", late.Select(one => one.EventId)) + (problem.Length > 0 ? " (" + problem + ")" : "")
                + ". Azure starts an approved event when it can: wait longer with wait_timeout, or watch it with"
                + " scheduled_events_info";
        }

        // Why an event is not the one for which the VM was prepared; empty if it is, or nobody has said.
        public static string WhyAnother(Event one, IEnumerable<Event> asSeen)
        {
            foreach (Event seen in asSeen.Where(seen => Text.SameName(seen.EventId, one.EventId)))
            {
                var names = new HashSet<string>(seen.Resources.Select(Text.NameKey), StringComparer.Ordinal);
                if (seen.EventType != one.EventType || !names.SetEquals(one.Resources.Select(Text.NameKey)))
                    return "it has changed: it was a " + seen.EventType + " of " + string.Join(", ", seen.Resources)
                        + " when it was prepared for, and is a " + one.EventType + " of " + string.Join(", ", one.Resources);
            }
            return "";
        }

        // What each approved Terminate waits for: those before it, and of the same instant, that are not approved.
        public static List<string> WaitingTerminates(List<Event> approved, IEnumerable<Event> listed)
        {
            List<Event> unapproved = listed.Where(one => one.EventType == Words.Terminate && one.IsScheduled
                && !approved.Any(other => Text.SameName(one.EventId, other.EventId))).ToList();
            var waits = new List<string>();
            foreach (Event one in approved.Where(one => one.EventType == Words.Terminate))
            {
                // An unknown start may be any: it counts as one that holds the other back.
                List<Event> waitsFor = unapproved.Where(other => !(other.NotBefore > one.NotBefore)).ToList();
                if (waitsFor.Count > 0)
                    waits.Add("Terminate " + Describe(one) + " does not start before these are approved too, or reach"
                        + " their NotBefore: " + string.Join(", ", Urgency.Order(waitsFor).Select(Describe)));
            }
            return waits;
        }

        private static string Describe(Event one) { return one.EventId + " of " + string.Join(" and ", one.Resources); }
    }
}
