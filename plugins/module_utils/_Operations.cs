// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// What do the modules do, from start to end? As scheduled_events/operations.py.
using System;
using System.Collections.Generic;
using System.Linq;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Approval;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Client;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Http;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Options;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Selection;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Operations
{
    // The events that were chosen.
    public sealed class Listing
    {
        public Identity Identity;
        public long DocumentIncarnation;
        public List<object> Events;
    }

    // What an approval did, or in check mode would do.
    public sealed class ApprovalResult
    {
        public bool Changed;
        public string VmName;
        public List<object> Approved;
        // Each with its `reason`.
        public List<object> NotApproved;
        // The chosen events as they were last read.
        public List<object> Events;
        // Status of each chosen event, by its id.
        public Dictionary<string, object> Before;
        // The same as last read; where it was not read again, what is expected.
        public Dictionary<string, object> After;
        public List<string> Warnings;
        // That not all of the approved events have started in time; null: they have, or nobody waited.
        public string StillScheduled;
    }

    public sealed class Operations
    {
        // Seconds. Microsoft recommends one request a second.
        private const double PollInterval = 1;

        private readonly ImdsClient client;
        private readonly ConnectionOptions connection;
        private readonly Clocks clocks;

        public Operations(ImdsClient client, ConnectionOptions connection, Clocks clocks)
        {
            this.client = client;
            this.connection = connection;
            this.clocks = clocks;
        }

        public Listing ListEvents(Selection selection)
        {
            var deadline = new Deadline(connection.Timeout, clocks.Monotonic);
            Identity identity = Identify(deadline);
            Document document = client.ReadDocument(deadline);
            List<Event> chosen = document.Events.Where(one => selection.Chooses(one, identity.VmName)).ToList();
            return new Listing
            {
                Identity = identity,
                DocumentIncarnation = document.Incarnation,
                Events = AsDictionaries(chosen, identity.VmName, clocks.UtcNow()),
            };
        }

        // Approve the chosen events, as far as the scope allows, in one request. `waitTimeout` null: do not wait.
        public ApprovalResult ApproveEvents(
            Selection selection, string scope, double? waitTimeout, bool isDryRun, List<Event> asSeen)
        {
            var deadline = new Deadline(connection.Timeout, clocks.Monotonic);
            string vmName = Identify(deadline).VmName;
            Document document = client.ReadDocument(deadline);
            List<Event> chosen = document.Events.Where(one => selection.Chooses(one, vmName)).ToList();
            var judgement = new Judgement(chosen, vmName, scope);
            if (judgement.Refused.Count > 0) throw new ApprovalRefusedException(Explain.Refusal(judgement.Refused, vmName));

            List<Verdict> another = judgement.Approve.Select(one => new Verdict(one, Explain.WhyAnother(one, asSeen))).ToList();
            List<Event> approved = another.Where(verdict => verdict.Reason.Length == 0).Select(verdict => verdict.Event).ToList();
            List<Verdict> notApproved = judgement.NotApproved.Concat(another.Where(verdict => verdict.Reason.Length > 0)).ToList();
            List<object> missing = Explain.Unlisted(selection.EventIds, chosen, document.Events);
            List<string> warnings = Explain.WaitingTerminates(approved, document.Events);
            Dictionary<string, object> before = chosen.ToDictionary(one => one.EventId, one => (object)one.EventStatus);
            var after = new Dictionary<string, object>(before);
            foreach (Event one in approved)
                after[one.EventId] = waitTimeout == null ? "Scheduled, approved" : Words.Started;
            var late = new List<Event>();
            string problem = "";
            if (approved.Count > 0 && !isDryRun)
            {
                List<Event> sent = approved;
                List<Verdict> overtaken = Send(sent, ref document, deadline);
                approved = sent.Except(overtaken.Select(verdict => verdict.Event)).ToList();
                notApproved.AddRange(overtaken);
                if (waitTimeout != null)
                {
                    late = WaitForStart(approved, ref document, waitTimeout.Value, out problem);
                    foreach (Event one in approved) after[one.EventId] = StatusNow(one, document);
                }
                foreach (Verdict verdict in overtaken.Where(verdict => IsScheduled(verdict.Event, document)))
                    warnings.Add("event " + verdict.Event.EventId + " was not approved: " + verdict.Reason);
                foreach (Event one in sent.Where(one => !approved.Contains(one) || !IsScheduled(one, document)))
                    after[one.EventId] = StatusNow(one, document);
            }

            DateTime now = clocks.UtcNow();
            var reasons = new List<object>();
            foreach (Verdict verdict in notApproved)
            {
                Dictionary<string, object> fields = verdict.Event.AsDictionary(vmName, now);
                fields["reason"] = verdict.Reason;
                reasons.Add(fields);
            }
            return new ApprovalResult
            {
                Changed = approved.Count > 0,
                VmName = vmName,
                Approved = AsDictionaries(approved, vmName, now),
                NotApproved = reasons.Concat(missing).ToList(),
                Events = AsDictionaries(chosen.Select(document.Find).Where(one => one != null), vmName, now),
                Before = before,
                After = after,
                Warnings = warnings,
                StillScheduled = late.Count > 0 ? Explain.Late(late, waitTimeout.Value, problem) : null,
            };
        }

        private Identity Identify(Deadline deadline)
        {
            return connection.VmName != null ? new Identity { VmName = connection.VmName } : client.ReadIdentity(deadline);
        }

        // Approve all in one request; if it is refused, without those that began or ended since they were read, and if
        // it is refused although none did, one by one. Returns those that were not approved.
        private List<Verdict> Send(List<Event> approved, ref Document document, Deadline deadline)
        {
            var overtaken = new List<Verdict>();
            List<Event> left = approved;
            while (left.Count > 0)
            {
                try
                {
                    client.Approve(left.Select(one => one.EventId), deadline);
                    break;
                }
                catch (RefusedException error)
                {
                    Document latest = client.ReadDocument(deadline);
                    document = latest;
                    List<Event> over = left.Where(one => !IsScheduled(one, latest)).ToList();
                    if (over.Count == 0)
                    {
                        // Where there is only one, or each is refused alone as well, the first refusal says it.
                        List<Verdict> refused = SendEach(left, deadline);
                        if (refused.Count == left.Count) throw;
                        overtaken.AddRange(refused);
                        break;
                    }
                    // One that is over because it was acted upon, and the answer was lost, was approved.
                    if (!error.MayHaveActed) overtaken.AddRange(over.Select(one => new Verdict(one, WhyOver(one, latest))));
                    left = left.Except(over).ToList();
                }
            }
            return overtaken;
        }

        private List<Verdict> SendEach(List<Event> events, Deadline deadline)
        {
            if (events.Count == 1) return new List<Verdict> { new Verdict(events[0], "") };
            var refused = new List<Verdict>();
            foreach (Event one in events)
            {
                try
                {
                    client.Approve(new[] { one.EventId }, deadline);
                }
                catch (RefusedException alone)
                {
                    refused.Add(new Verdict(one, "refused: " + alone.Message));
                }
            }
            return refused;
        }

        // Poll until none of the approved events is still scheduled. Returns those that have not started, and what went
        // wrong with the last read, if anything.
        private List<Event> WaitForStart(List<Event> approved, ref Document document, double waitTimeout, out string problem)
        {
            var limit = new Deadline(waitTimeout, clocks.Monotonic);
            List<Event> late = approved;
            problem = "";
            while (late.Count > 0 && limit.Remaining > 0)
            {
                clocks.Sleep(Math.Min(PollInterval, limit.Remaining));
                double patience = Math.Max(PollInterval, Math.Min(connection.Timeout, limit.Remaining));
                try
                {
                    Document latest = client.ReadDocument(new Deadline(patience, clocks.Monotonic));
                    document = latest;
                    problem = "";
                    late = late.Where(one => IsScheduled(one, latest)).ToList();
                }
                catch (ScheduledEventsException error)
                {
                    // The approval is out: a failure now must not hide that, and the next poll may answer.
                    problem = error.Message;
                }
            }
            return late;
        }

        private static bool IsScheduled(Event one, Document document)
        {
            Event listed = document.Find(one);
            return listed != null && listed.IsScheduled;
        }

        private static string StatusNow(Event one, Document document)
        {
            Event listed = document.Find(one);
            return listed == null ? "gone" : listed.EventStatus;
        }

        private static string WhyOver(Event one, Document document)
        {
            Event listed = document.Find(one);
            return listed == null ? Judgement.NotListed : Judgement.WhyOver(listed);
        }

        private static List<object> AsDictionaries(IEnumerable<Event> events, string vmName, DateTime now)
        {
            return Urgency.Order(events).Select(one => (object)one.AsDictionary(vmName, now)).ToList();
        }
    }
}
