// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: GPL-3.0-or-later
// What the C# core makes of questions that the Python core has answered: one JSON object a line from the first file,
// one line for each into the second. What a question is, python_side.py says.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Approval;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Client;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Http;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Json;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Modules;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Operations;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Options;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Selection;

namespace Parity
{
    using Fields = Dictionary<string, object>;

    public static class Program
    {
        public static int Main(string[] arguments)
        {
            using (var answers = new StreamWriter(arguments[1], false, new UTF8Encoding(false)))
            {
                foreach (string line in File.ReadLines(arguments[0]))
                    answers.WriteLine(Json.Write(Answer((Fields)Json.Parse(Encoding.UTF8.GetBytes(line)))));
            }
            return 0;
        }

        public static object Answer(Fields question)
        {
            try
            {
                switch ((string)question["ask"])
                {
                    case "document": return OfDocument(question);
                    case "http": return OfHttp(question);
                    case "options": return OfOptions(question);
                    case "module": return OfModule(question);
                    default: return new Dialogue(question).Replay();
                }
            }
            catch (ScheduledEventsException error)
            {
                return Refusal(error);
            }
            catch (InvalidOperationException error)
            {
                return new Fields { { "otherwise", error.Message } };
            }
        }

        public static Fields Refusal(ScheduledEventsException error)
        {
            var imds = error as ImdsException;
            var refusal = new Fields { { "refused", error.Message } };
            if (imds != null)
            {
                refusal["attempts"] = imds.Attempts;
                refusal["outcome"] = imds.Outcome;
            }
            return refusal;
        }

        public static Fields Of(Event one, DateTime now) { return one.AsDictionary("web_0", now); }

        private static Fields OfDocument(Fields question)
        {
            DateTime now = Dates.Parse((string)question["now"]);
            Document document = DocumentReader.Parse(Convert.FromBase64String((string)question["body"]));
            var scopes = new Fields();
            foreach (string scope in new[] { "own", "leader", "any" })
            {
                var judgement = new Judgement(document.Events, "web_0", scope);
                scopes[scope] = new List<object>
                {
                    judgement.Approve.Select(one => (object)one.EventId).ToList(),
                    judgement.NotApproved.Select(one => (object)one.Reason).ToList(),
                    Explain.Refusal(judgement.Refused, "web_0"),
                    Explain.WaitingTerminates(judgement.Approve, document.Events).Cast<object>().ToList(),
                };
            }
            // What was returned can be handed back as as_seen.
            List<object> listed = document.Events.Select(one => (object)Of(one, now)).ToList();
            List<object> again = document.Events.Select(one => (object)Of(
                DocumentReader.FromDictionary(Of(one, now), "as_seen"), now)).ToList();
            return new Fields
            {
                { "incarnation", document.Incarnation }, { "events", listed }, { "same", Json.AreEqual(listed, again) },
                { "urgency", Urgency.Order(document.Events).Select(one => (object)one.EventId).ToList() }, { "scopes", scopes },
            };
        }

        private static Fields OfHttp(Fields question)
        {
            var pieces = new Queue<byte[]>(((List<object>)question["pieces"]).Select(one => Convert.FromBase64String((string)one)));
            var reader = new AnswerReader(
                buffer =>
                {
                    if (pieces.Count == 0) return 0;
                    byte[] piece = pieces.Dequeue();
                    Array.Copy(piece, buffer, piece.Length);
                    return piece.Length;
                },
                (int)(long)question["largest"]);
            Answer answer = reader.Read();
            return new Fields
            {
                { "status", (long)answer.Status }, { "reason", answer.Reason }, { "body", Convert.ToBase64String(answer.Body) },
                { "headers", answer.Headers.ToDictionary(one => one.Key, one => (object)one.Value) },
                { "kept", answer.IsKept && !reader.HasMore },
            };
        }

        // scheduled_events_info where each connection is refused.
        private static Fields OfModule(Fields question)
        {
            double now = 0;
            var surroundings = new Surroundings
            {
                Clocks = new Clocks
                {
                    Monotonic = () => now, Sleep = seconds => now += seconds, UtcNow = () => DateTime.UtcNow, Jitter = () => 1,
                },
                Connect = (host, port) => new Refusing(),
                HasCluster = () => (bool)question["has_cluster"],
            };
            Ending ending = ImdsModule.Info(new Hashtable((Fields)question["options"]), surroundings);
            return new Fields { { "failure", ending.Failure }, { "result", ending.Result } };
        }

        private static Fields OfOptions(Fields question)
        {
            var options = new Options(new Hashtable((Fields)question["options"]));
            if ((string)question["of"] == "connection")
            {
                ConnectionOptions connection = options.Connection((string)question["environment"]);
                return new Fields
                {
                    { "endpoint", connection.Endpoint }, { "api_version", connection.ApiVersion }, { "timeout", connection.Timeout },
                    { "connect_timeout", connection.ConnectTimeout }, { "vm_name", connection.VmName },
                };
            }
            if ((string)question["of"] == "warnings")
                return new Fields { { "warnings", options.Warnings().Cast<object>().ToList() } };
            Selection selection = options.Selection();
            Func<List<string>, object> sorted = words => words == null ? null
                : words.Select(one => one.ToLowerInvariant()).Distinct().OrderBy(one => one, StringComparer.Ordinal).Cast<object>().ToList();
            return new Fields
            {
                { "event_ids", selection.EventIds == null ? null : selection.EventIds.Cast<object>().ToList() },
                { "event_types", sorted(selection.EventTypes) }, { "event_sources", sorted(selection.EventSources) },
                { "event_statuses", sorted(selection.EventStatuses) }, { "affecting", selection.Affecting },
            };
        }
    }

    public sealed class Refusing : IConnection
    {
        public bool IsReady() { return false; }

        public void Open(double seconds) { throw new ConnectionException(ConnectionException.Refused, "refused"); }

        public Answer Exchange(byte[] request, Deadline deadline, int largest) { throw new InvalidOperationException(); }

        public void Dispose() { }
    }

    // The calls of one client, with the connection that the Python client had.
    public sealed class Dialogue : IConnection
    {
        private readonly Fields question;
        private readonly Queue<List<object>> transcript;
        private readonly List<object> requests = new List<object>();
        private readonly List<object> slept = new List<object>();
        private readonly Queue<object> woke;
        private double now;
        private double wall;

        public Dialogue(Fields question)
        {
            this.question = question;
            transcript = new Queue<List<object>>(((List<object>)question["transcript"]).Cast<List<object>>());
            woke = new Queue<object>((List<object>)question["woke"]);
        }

        public List<object> Replay()
        {
            var clocks = new Clocks
            {
                Monotonic = () => now,
                Sleep = seconds =>
                {
                    slept.Add(seconds);
                    now = woke.Count > 0 ? Number(woke.Dequeue()) : now + seconds;
                },
                UtcNow = () => new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc).AddSeconds(wall),
                Jitter = () => Number(question["jitter"]),
            };
            var results = new List<object>();
            using (var client = new ImdsClient(
                (string)question["endpoint"], (string)question["api_version"], Number(question["connect_timeout"]), clocks,
                (host, port) => this))
            {
                foreach (Fields call in ((List<object>)question["calls"]).Cast<Fields>())
                {
                    now = Number(call["began"]);
                    var deadline = new Deadline(Number(call["timeout"]), clocks.Monotonic);
                    now = Number(call["now"]);
                    wall = Number(call["wall"]);
                    object result;
                    try
                    {
                        result = Do(call, client, clocks, deadline);
                    }
                    catch (ScheduledEventsException error)
                    {
                        result = Program.Refusal(error);
                    }
                    results.Add(new Fields
                    {
                        { "result", result }, { "requests", requests.ToList() }, { "slept", slept.ToList() },
                    });
                    requests.Clear();
                    slept.Clear();
                }
            }
            return results;
        }

        private static object Do(Fields call, ImdsClient client, Clocks clocks, Deadline deadline)
        {
            var connection = new ConnectionOptions { Timeout = Number(call["timeout"]), VmName = (string)call["vm_name"] };
            var operations = new Operations(client, connection, clocks);
            switch ((string)call["call"])
            {
                case "read_document":
                    Document document = client.ReadDocument(deadline);
                    return new List<object>
                    {
                        document.Incarnation, document.Events.Select(one => (object)Program.Of(one, clocks.UtcNow())).ToList(),
                    };
                case "approve":
                    client.Approve(((List<object>)call["event_ids"]).Cast<string>(), deadline);
                    return null;
                case "read_identity":
                    return Named(client.ReadIdentity(deadline));
                case "list_events":
                    Listing listing = operations.ListEvents(Chosen((Fields)call["selection"]));
                    return Named(listing.Identity).Concat(new[] { listing.DocumentIncarnation, (object)listing.Events }).ToList();
                default:
                    double? wait = call["wait_timeout"] == null ? (double?)null : Number(call["wait_timeout"]);
                    List<Event> seen = ((List<object>)call["as_seen"]).Select(one => DocumentReader.FromDictionary(one, "as_seen")).ToList();
                    ApprovalResult done = operations.ApproveEvents(
                        Chosen((Fields)call["selection"]), (string)call["scope"], wait, (bool)call["dry_run"], seen);
                    return new Fields
                    {
                        { "late", done.StillScheduled }, { "changed", done.Changed }, { "vm_name", done.VmName },
                        { "approved", done.Approved }, { "not_approved", done.NotApproved }, { "events", done.Events },
                        { "before", done.Before }, { "after", done.After }, { "warnings", done.Warnings.Cast<object>().ToList() },
                    };
            }
        }

        private static List<object> Named(Identity identity)
        {
            return new List<object> { identity.VmName, identity.ScaleSet, identity.ResourceId, identity.VmId };
        }

        private static Selection Chosen(Fields fields)
        {
            Func<string, List<string>> texts =
                name => fields[name] == null ? null : ((List<object>)fields[name]).Cast<string>().ToList();
            return new Selection
            {
                EventIds = texts("event_ids"), EventTypes = texts("event_types"), EventSources = texts("event_sources"),
                EventStatuses = texts("event_statuses"), Affecting = (string)fields["affecting"],
            };
        }

        public bool IsReady() { return (bool)Next("ready")[1]; }

        public void Open(double seconds)
        {
            List<object> step = Next("open");
            now = Number(step[3]);
            Fail((string)step[1]);
        }

        public Answer Exchange(byte[] request, Deadline deadline, int largest)
        {
            requests.Add(Convert.ToBase64String(request));
            List<object> step = Next("exchange");
            now = Number(step[3]);
            Fail(step[1] as string);
            var told = (Fields)step[2];
            return new Answer
            {
                Status = (int)(long)told["status"], Reason = (string)told["reason"],
                Body = Convert.FromBase64String((string)told["body"]),
                Headers = ((Fields)told["headers"]).ToDictionary(one => one.Key, one => (string)one.Value),
            };
        }

        public void Dispose() { }

        private List<object> Next(string expected)
        {
            if (transcript.Count == 0) throw new InvalidOperationException("asked for more than Python did: " + expected);
            List<object> step = transcript.Dequeue();
            if ((string)step[0] != expected) throw new InvalidOperationException("Python did " + step[0] + ", not " + expected);
            return step;
        }

        // NAME: TEXT, as Python tells of it.
        private static void Fail(string error)
        {
            if (error == null) return;
            string[] parts = error.Split(new[] { ": " }, 2, StringSplitOptions.None);
            if (parts[0] == "TooLarge") throw new TooLargeException();
            if (parts[0] == "ProtocolError") throw new ProtocolException(parts[1]);
            throw new ConnectionException(parts[0], parts[1]);
        }

        private static double Number(object value) { return Convert.ToDouble(value, CultureInfo.InvariantCulture); }
    }
}
