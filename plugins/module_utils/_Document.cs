// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// What is an event? As scheduled_events/document.py, whose documentation and tests say why: strict where a mistake could
// harm, generous where the service has varied, and for a field that cannot be read no event is lost.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text.RegularExpressions;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Json;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Document
{
    // Words that are shared with Python: document.py.
    public static class Words
    {
        public const string GeneralApiVersion = "2020-07-01";
        public const string NewestApiVersion = "2024-07-09";
        public const string Scheduled = "Scheduled";
        public const string Started = "Started";
        public const string Unreadable = "Unreadable";
        public const string Terminate = "Terminate";
        public const string Preempt = "Preempt";
        public const string Freeze = "Freeze";
        public const string Advisory = "SpotRebalanceRecommendation";

        // Oldest first.
        public static string[] ApiVersions
        {
            get
            {
                return new[]
                {
                    "2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", GeneralApiVersion,
                    NewestApiVersion,
                };
            }
        }

        // The most destructive first.
        public static string[] EventTypes
        {
            get { return new[] { Preempt, Terminate, "Redeploy", "Reboot", Advisory, Freeze }; }
        }

        public static string[] EventSources { get { return new[] { "Platform", "User" }; } }

        public static string[] EventStatuses { get { return new[] { Scheduled, Started }; } }
    }

    // One event, in Azure's own values. Null stands for what the service did not say.
    public sealed class Event
    {
        public string EventId;
        public string EventType;
        public string EventStatus;
        public List<string> Resources;
        // Earliest start, UTC.
        public DateTime? NotBefore;
        public string EventSource;
        public string ResourceType;
        public string Description;
        // Seconds; 0 is none, -1 is unknown to Azure.
        public long? DurationInSeconds;
        public Dictionary<string, object> OtherFields;

        public bool IsAdvisory { get { return EventType == Words.Advisory; } }

        public bool IsScheduled
        {
            get { return EventStatus == Words.Scheduled || (IsAdvisory && EventStatus == Words.Started); }
        }

        public bool IsStarted { get { return EventStatus == Words.Started && !IsAdvisory; } }

        public bool IsOfUnknownVms { get { return OtherFields.ContainsKey(Words.Unreadable + "Resources"); } }

        public bool IsShared { get { return Resources.Select(Text.NameKey).Distinct().Count() > 1; } }

        // The VM that approves for all: the first of the resources.
        public string Leader { get { return Resources.FirstOrDefault(); } }

        public bool Affects(string vmName) { return Resources.Any(name => Text.SameName(name, vmName)); }

        public bool IsLedBy(string vmName) { return Leader != null && Text.SameName(Leader, vmName); }

        // Whole seconds of notice left: 0 once started or overdue, null when Azure did not say.
        public long? SecondsUntilStart(DateTime now)
        {
            if (IsStarted) return 0;
            if (NotBefore == null) return null;
            long ticks = (NotBefore.Value - now).Ticks;
            return ticks <= 0 ? 0 : ticks / TimeSpan.TicksPerSecond;
        }

        // As the modules return it, seen from this VM at this moment.
        public Dictionary<string, object> AsDictionary(string vmName, DateTime now)
        {
            var fields = new Dictionary<string, object>
            {
                { "event_id", EventId },
                { "event_type", EventType },
                { "event_status", EventStatus },
                { "event_source", EventSource },
                { "resource_type", ResourceType },
                { "resources", Resources.Cast<object>().ToList() },
                { "description", Description },
                { "duration_in_seconds", DurationInSeconds },
                { "not_before", NotBefore == null ? null : Dates.Format(NotBefore.Value) },
                { "seconds_until_start", SecondsUntilStart(now) },
                { "affects_this_vm", Affects(vmName) },
                { "shared", IsShared },
                { "leader", Leader },
                { "this_vm_leads", IsLedBy(vmName) },
            };
            if (OtherFields.Count > 0) fields["other_fields"] = OtherFields;
            return fields;
        }

        public bool IsSameAs(Event other)
        {
            return EventId == other.EventId && EventType == other.EventType && EventStatus == other.EventStatus
                && Resources.SequenceEqual(other.Resources) && NotBefore == other.NotBefore
                && EventSource == other.EventSource && ResourceType == other.ResourceType
                && Description == other.Description && DurationInSeconds == other.DurationInSeconds
                && Json.AreEqual(OtherFields, other.OtherFields);
        }

        public Event Copy() { return (Event)MemberwiseClone(); }
    }

    // All events that this VM is told of, at one moment.
    public sealed class Document
    {
        public long Incarnation;
        public List<Event> Events;

        public Event Find(Event wanted)
        {
            return Events.FirstOrDefault(listed => Text.SameName(listed.EventId, wanted.EventId));
        }
    }

    public static class Urgency
    {
        // What has started, then what may start at any moment, then by the earliest start; an advisory event behind
        // every eviction.
        public static List<Event> Order(IEnumerable<Event> events)
        {
            var keys = new List<KeyValuePair<object[], Event>>();
            object[] lastEviction = new object[0];
            foreach (Event one in events)
            {
                object[] key = Key(one);
                keys.Add(new KeyValuePair<object[], Event>(key, one));
                if (one.EventType == Words.Preempt && Compare(key, lastEviction) > 0) lastEviction = key;
            }
            for (int at = 0; at < keys.Count; at++)
            {
                if (!keys[at].Value.IsAdvisory) continue;
                object[] behind = lastEviction.Concat(keys[at].Key).ToArray();
                if (Compare(behind, keys[at].Key) > 0)
                    keys[at] = new KeyValuePair<object[], Event>(behind, keys[at].Value);
            }
            return keys.OrderBy(pair => pair.Key, Comparer<object[]>.Create(Compare)).Select(pair => pair.Value).ToList();
        }

        private static object[] Key(Event one)
        {
            long group = one.IsStarted ? 0 : one.NotBefore == null ? 1 : 2;
            int harm = Array.IndexOf(Words.EventTypes, one.EventType);
            return new object[]
            {
                group, group == 2 ? one.NotBefore.Value.Ticks : 0, (long)(harm < 0 ? Words.EventTypes.Length : harm),
                Text.Lower(one.EventId),
            };
        }

        private static int Compare(object[] one, object[] other)
        {
            for (int at = 0; at < Math.Min(one.Length, other.Length); at++)
            {
                int order = one[at] is long ? ((long)one[at]).CompareTo((long)other[at])
                    : Text.Compare((string)one[at], (string)other[at]);
                if (order != 0) return order;
            }
            return one.Length - other.Length;
        }
    }

    public static class Dates
    {
        private const string Rfc1123 = @"\A(?:[a-z]{3}, )?([0-9]{1,2}) ([a-z]{3}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2})"
            + @" (?:gmt|utc|z|([+-])([0-9]{2})([0-9]{2}))\z";
        private const string Iso8601 = @"\A([0-9]{4})-([0-9]{2})-([0-9]{2})[t ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
            + @"(?:z|([+-])([0-9]{2}):?([0-9]{2}))?\z";
        private const string Months = "jan feb mar apr may jun jul aug sep oct nov dec ";

        // Read `Mon, 19 Sep 2016 18:29:47 GMT` or `2016-09-19T18:29:47Z`, to the second; FormatException says why not.
        public static DateTime Parse(string text)
        {
            string lowered = Text.Lower(Text.Strip(text));
            Match match = Regex.Match(lowered, Rfc1123, RegexOptions.CultureInvariant);
            if (match.Success)
            {
                int month = Months.IndexOf(match.Groups[2].Value + " ", StringComparison.Ordinal);
                if (month >= 0) return Instant(match.Groups, match.Groups[3].Value, month / 4 + 1, match.Groups[1].Value);
            }
            match = Regex.Match(lowered, Iso8601, RegexOptions.CultureInvariant);
            if (match.Success)
                return Instant(match.Groups, match.Groups[1].Value, Number(match.Groups[2].Value), match.Groups[3].Value);
            throw new FormatException("neither an RFC 1123 nor an ISO 8601 date");
        }

        public static string Format(DateTime instant)
        {
            return instant.ToString("yyyy-MM-ddTHH:mm:ss", CultureInfo.InvariantCulture) + "Z";
        }

        // The groups 4 to 9 are time of day and distance from UTC. Without one it is UTC.
        private static DateTime Instant(GroupCollection groups, string year, int month, string day)
        {
            DateTime local;
            try
            {
                // A leap second has no instant of its own; the second before it is the safe side of a deadline.
                local = new DateTime(
                    Number(year), month, Number(day), Number(groups[4].Value), Number(groups[5].Value),
                    Math.Min(Number(groups[6].Value), 59), DateTimeKind.Utc);
            }
            catch (ArgumentOutOfRangeException)
            {
                throw new FormatException("no such date");
            }
            if (!groups[7].Success) return local;
            int hours = Number(groups[8].Value), minutes = Number(groups[9].Value);
            if (hours > 23 || minutes > 59) throw new FormatException("offset from UTC out of range");
            try
            {
                var offset = new TimeSpan(hours, minutes, 0);
                return groups[7].Value == "+" ? local - offset : local + offset;
            }
            catch (ArgumentOutOfRangeException)
            {
                throw new FormatException("date out of range");
            }
        }

        private static int Number(string digits) { return int.Parse(digits, CultureInfo.InvariantCulture); }
    }

    // Reads documents and events. Every method throws DocumentException where something cannot be read.
    public static class DocumentReader
    {
        private const int LongestNumber = 18;

        public static Document Parse(byte[] body)
        {
            object content = Json.Parse(body);
            var fields = content as Dictionary<string, object>;
            if (fields == null)
                throw new DocumentException("not a document of Scheduled Events: expected a JSON object, got " + Json.Quote(content));
            object events;
            if (!fields.TryGetValue("Events", out events))
                throw new DocumentException("not a document of Scheduled Events: it has no Events: " + Json.Quote(content));
            var list = events as List<object>;
            if (list == null) throw new DocumentException("Events: expected a list, got " + Json.Quote(events));
            object incarnation;
            if (!fields.TryGetValue("DocumentIncarnation", out incarnation))
                throw new DocumentException("not a document of Scheduled Events: it has no DocumentIncarnation");
            return new Document
            {
                Incarnation = Integer(incarnation, "DocumentIncarnation"),
                Events = EachOnce(list.Select((one, index) => Listed(one, "Events[" + index + "]")).ToList()),
            };
        }

        // What the metadata service says of the machine itself.
        public static Dictionary<string, object> Metadata(byte[] body)
        {
            object content = Json.Parse(body);
            var fields = content as Dictionary<string, object>;
            if (fields == null)
                throw new DocumentException("not instance metadata: expected a JSON object, got " + Json.Quote(content));
            return Others(fields, "");
        }

        // An event as the modules have returned it.
        public static Event FromDictionary(object content, string path)
        {
            var given = content as Dictionary<string, object>;
            if (given == null) throw new DocumentException(path + ": expected an object, got " + Json.Quote(content));
            object others;
            if (!given.TryGetValue("other_fields", out others)) others = new Dictionary<string, object>();
            var fields = others as Dictionary<string, object>;
            if (fields == null)
                throw new DocumentException(path + ".other_fields: expected an object, got " + Json.Quote(others));
            fields = new Dictionary<string, object>(fields, StringComparer.Ordinal);
            foreach (string name in Readers.Keys)
            {
                object value;
                given.TryGetValue(Regex.Replace(name, "(?<!^)[A-Z]", "_$0", RegexOptions.CultureInvariant).ToLowerInvariant(), out value);
                fields[name] = value;
            }
            return ParseEvent(fields, path);
        }

        // How each field of Azure's is read; the value is put into the event.
        private static Dictionary<string, Action<Event, Dictionary<string, object>, string>> Readers
        {
            get
            {
                return new Dictionary<string, Action<Event, Dictionary<string, object>, string>>
                {
                    { "EventId", (it, fields, path) => it.EventId = RequiredWord(fields, "EventId", path) },
                    { "EventType", (it, fields, path) =>
                        it.EventType = Spelled(RequiredWord(fields, "EventType", path), Words.EventTypes) },
                    { "EventStatus", (it, fields, path) =>
                        it.EventStatus = Spelled(RequiredWord(fields, "EventStatus", path), Words.EventStatuses) },
                    { "Resources", (it, fields, path) => it.Resources = ReadResources(fields, path) },
                    { "NotBefore", (it, fields, path) => it.NotBefore = OptionalDate(fields, path) },
                    { "EventSource", (it, fields, path) =>
                        it.EventSource = Spelled(OptionalText(fields, "EventSource", path, Text.HarmlessWord), Words.EventSources) },
                    { "ResourceType", (it, fields, path) =>
                        it.ResourceType = OptionalText(fields, "ResourceType", path, Text.HarmlessWord) },
                    { "Description", (it, fields, path) =>
                        it.Description = OptionalText(fields, "Description", path, Text.HarmlessProse) },
                    { "DurationInSeconds", (it, fields, path) => it.DurationInSeconds = OptionalInteger(fields, path) },
                };
            }
        }

        private static Event ParseEvent(Dictionary<string, object> fields, string path)
        {
            var read = new Event();
            Dictionary<string, Action<Event, Dictionary<string, object>, string>> readers = Readers;
            foreach (Action<Event, Dictionary<string, object>, string> reader in readers.Values)
                reader(read, fields, path);
            read.OtherFields = Others(
                fields.Where(field => !readers.ContainsKey(field.Key)).ToDictionary(field => field.Key, field => field.Value),
                path + ".");
            if (read.IsAdvisory)
            {
                // Azure documents neither for what never starts: nobody must wait for an instant that means nothing.
                read.NotBefore = null;
                read.DurationInSeconds = null;
            }
            return read;
        }

        private static Event Listed(object content, string path)
        {
            var fields = content as Dictionary<string, object>;
            if (fields == null) fields = new Dictionary<string, object> { { Words.Unreadable + "Event", Json.Quote(content) } };
            else
            {
                try
                {
                    return ParseEvent(fields, path);
                }
                catch (DocumentException)
                {
                    // Then as far as it can be read.
                }
            }
            return ParseEvent(AsFarAsCanBeRead(fields, path), path);
        }

        private static Dictionary<string, object> AsFarAsCanBeRead(
            Dictionary<string, object> content, string path)
        {
            Dictionary<string, Action<Event, Dictionary<string, object>, string>> readers = Readers;
            var result = new Dictionary<string, object>(StringComparer.Ordinal)
            {
                { "EventId", Words.Unreadable },
                { "EventType", Words.Unreadable },
                { "EventStatus", Words.Unreadable },
                { "Resources", new List<object>() },
            };
            var quoted = new Dictionary<string, object>(StringComparer.Ordinal);
            var readable = new HashSet<string>(StringComparer.Ordinal);
            foreach (string name in readers.Keys.Concat(content.Keys.Where(name => !readers.ContainsKey(name))))
            {
                object value;
                content.TryGetValue(name, out value);
                try
                {
                    if (readers.ContainsKey(name)) readers[name](new Event(), content, path);
                    else Others(new Dictionary<string, object> { { name, value } }, path + ".");
                    readable.Add(name);
                    result[name] = value;
                }
                catch (DocumentException)
                {
                    quoted[Words.Unreadable + name] = Json.Quote(value);
                }
            }
            // An approval would have to name it, and be on behalf of all whom it hits.
            if (!readable.Contains("EventId") || !readable.Contains("Resources")) result["EventStatus"] = Words.Unreadable;
            foreach (KeyValuePair<string, object> field in quoted) result[field.Key] = field.Value;
            return result;
        }

        private static List<Event> EachOnce(List<Event> events)
        {
            return events.GroupBy(one => Text.NameKey(one.EventId)).Select(same => WorstOf(same.ToList())).ToList();
        }

        // Events of one id as one: whoever is ready for it is ready for each of them, on all machines that they name.
        private static Event WorstOf(List<Event> events)
        {
            Event first = events[0];
            if (events.All(first.IsSameAs)) return first;
            List<string> statuses = events.Select(one => one.EventStatus).ToList();
            List<string> others = statuses.Where(status => status != Words.Scheduled).ToList();
            others.Sort(Text.Compare);
            List<long> durations = events.Where(one => one.DurationInSeconds >= 0).Select(one => one.DurationInSeconds.Value).ToList();
            Event worst = events.OrderBy(Harm).First().Copy();
            worst.EventId = first.EventId;
            // Only what is Scheduled in all of them can still be approved.
            worst.EventStatus = statuses.Contains(Words.Started) ? Words.Started : others.LastOrDefault() ?? Words.Scheduled;
            worst.Resources = events.SelectMany(one => one.Resources).GroupBy(Text.NameKey).Select(same => same.First()).ToList();
            worst.NotBefore = events.Any(one => one.NotBefore == null) ? null : events.Min(one => one.NotBefore);
            worst.DurationInSeconds = durations.Count == events.Count ? durations.Max() : -1;
            return worst;
        }

        // The smaller, the more is lost. An unknown type may do more than pause the machine, an advisory does nothing.
        private static double Harm(Event one)
        {
            if (one.IsAdvisory) return Words.EventTypes.Length;
            int index = Array.IndexOf(Words.EventTypes, one.EventType);
            return index >= 0 ? index : Array.IndexOf(Words.EventTypes, Words.Freeze) - 0.5;
        }

        private static object Get(Dictionary<string, object> fields, string name)
        {
            object value;
            fields.TryGetValue(name, out value);
            return value;
        }

        private static List<string> ReadResources(Dictionary<string, object> fields, string path)
        {
            object given = Get(fields, "Resources");
            var names = given as List<object>;
            if (names == null || !names.All(name => name is string))
                throw new DocumentException(path + ".Resources: expected a list of VM names, got " + Json.Quote(given));
            // The first version wrote an underscore before each name, and later ones were seen to. No name begins with its own.
            return names.Cast<string>().Select(name => name.TrimStart('_').Length > 0 ? name.TrimStart('_') : name)
                .Select(Text.HarmlessWord).ToList();
        }

        private static string RequiredWord(Dictionary<string, object> fields, string name, string path)
        {
            object value = Get(fields, name);
            if (string.IsNullOrEmpty(value as string))
                throw new DocumentException(path + "." + name + ": expected text, got " + Json.Quote(value));
            return Text.HarmlessWord((string)value);
        }

        private static string OptionalText(
            Dictionary<string, object> fields, string name, string path, Func<string, string> harmless)
        {
            object value = Get(fields, name);
            if (value == null) return null;
            var text = value as string;
            if (text == null) throw new DocumentException(path + "." + name + ": expected text, got " + Json.Quote(value));
            return harmless(text);
        }

        private static DateTime? OptionalDate(Dictionary<string, object> fields, string path)
        {
            string value = OptionalText(fields, "NotBefore", path, text => text);
            if (value == null || Text.Strip(value).Length == 0) return null;
            try
            {
                return Dates.Parse(value);
            }
            catch (FormatException error)
            {
                throw new DocumentException(path + ".NotBefore: " + error.Message + ": " + Json.Quote(value));
            }
        }

        private static long? OptionalInteger(Dictionary<string, object> fields, string path)
        {
            object value = Get(fields, "DurationInSeconds");
            if (value == null || "".Equals(value)) return null;
            return Integer(value, path + ".DurationInSeconds");
        }

        private static long Integer(object value, string path)
        {
            const double Beyond = 1e18;
            var text = value as string;
            long number;
            if (text != null)
            {
                if (Text.Length(text) <= LongestNumber && Regex.IsMatch(Text.Strip(text), @"\A[+-]?[0-9]+\z", RegexOptions.CultureInvariant))
                    return long.Parse(Text.Strip(text), CultureInfo.InvariantCulture);
            }
            else if (value is long)
            {
                number = (long)value;
                if (number > -(long)Beyond && number < (long)Beyond) return number;
            }
            else if (value is double && Math.Floor((double)value) == (double)value && Math.Abs((double)value) < Beyond)
                return (long)(double)value;
            throw new DocumentException(path + ": expected a whole number, got " + Json.Quote(value));
        }

        // Fields that this version does not know, as they came but for what is harmful in their texts.
        private static Dictionary<string, object> Others(Dictionary<string, object> fields, string prefix)
        {
            foreach (KeyValuePair<string, object> field in fields)
            {
                if (Json.IsDeeperThan(Json.DeepestValue, field.Value))
                    throw new DocumentException(
                        prefix + Text.HarmlessName(field.Key) + ": nested deeper than " + Json.DeepestValue + " levels");
            }
            return HarmlessFields(fields);
        }

        private static Dictionary<string, object> HarmlessFields(Dictionary<string, object> fields)
        {
            var harmless = new Dictionary<string, object>(StringComparer.Ordinal);
            foreach (KeyValuePair<string, object> field in fields)
                harmless[Text.HarmlessName(field.Key)] = HarmlessValue(field.Value);
            return harmless;
        }

        private static object HarmlessValue(object value)
        {
            var text = value as string;
            var fields = value as Dictionary<string, object>;
            var list = value as List<object>;
            return text != null ? Text.HarmlessProse(text) : fields != null ? HarmlessFields(fields)
                : list != null ? list.Select(HarmlessValue).ToList() : value;
        }

        private static string Spelled(string word, string[] known)
        {
            // Decisions compare: in another case, a deletion that has begun would be neither.
            return word == null ? null : known.FirstOrDefault(one => Text.SameName(one, word)) ?? word;
        }
    }
}
