// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// What may a user set? As scheduled_events/options.py and words.py. Every error names the option, its value and the
// remedy, and comes before anything is touched.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Management.Automation;
using System.Text.RegularExpressions;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Client;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Selection;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Options
{
    // How to reach the metadata service. All times are in seconds. Null: ask, or the newest that it has.
    public sealed class ConnectionOptions
    {
        public string Endpoint;
        public string ApiVersion;
        public double Timeout;
        public double ConnectTimeout;
        public string VmName;
    }

    // Values that Ansible handed over, as JSON is read. Alone here, because there is no PowerShell where the core is tested on
    // Mono.
    public static class PlainValue
    {
        public static object Of(object value)
        {
            // Some of Ansible's wrappers leave in a list what PowerShell puts around a value, or makes of an object.
            var wrapped = value as PSObject;
            if (wrapped != null && wrapped.BaseObject is PSCustomObject)
                return wrapped.Properties.ToDictionary(field => field.Name, field => Of(field.Value), StringComparer.Ordinal);
            if (wrapped != null) return Of(wrapped.BaseObject);
            var fields = value as IDictionary;
            if (fields != null)
            {
                var plain = new Dictionary<string, object>(StringComparer.Ordinal);
                foreach (DictionaryEntry field in fields)
                    plain[Convert.ToString(field.Key, CultureInfo.InvariantCulture)] = Of(field.Value);
                return plain;
            }
            if (value is string || value is bool || value == null) return value;
            var list = value as IEnumerable;
            if (list != null) return list.Cast<object>().Select(Of).ToList();
            // Ansible's wrapper on PowerShell 7 takes texts that look like a date for one.
            if (value is DateTime) return Dates.Format(((DateTime)value).ToUniversalTime());
            if (value is float || value is double) return Convert.ToDouble(value, CultureInfo.InvariantCulture);
            decimal number = Convert.ToDecimal(value, CultureInfo.InvariantCulture);
            if (number == decimal.Truncate(number) && number >= long.MinValue && number <= long.MaxValue) return (long)number;
            return number;
        }
    }

    // The options of one task, as Ansible.Basic hands them over.
    public sealed class Options
    {
        private const int LongestTime = 86400;

        private readonly IDictionary given;

        public Options(IDictionary given) { this.given = given; }

        // `fromEnvironment` takes the place of the default: Ansible.Basic does not tell a default from what was set.
        public ConnectionOptions Connection(string fromEnvironment)
        {
            string endpoint = GetText("endpoint");
            if (endpoint == Endpoint.Default && !string.IsNullOrEmpty(fromEnvironment)) endpoint = fromEnvironment;
            try
            {
                string host;
                int port;
                Endpoint.Split(endpoint, out host, out port);
            }
            catch (FormatException error)
            {
                // A password that somebody put there is not for the log.
                string shown = Regex.Replace(endpoint, "//.*@", "//\u2026@", RegexOptions.Singleline);
                throw new OptionException(
                    "endpoint: " + Text.Repr(shown) + " " + error.Message + ". The default is " + Endpoint.Default);
            }
            string apiVersion = GetText("api_version");
            if (apiVersion != null && !Regex.IsMatch(apiVersion, @"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"))
                throw new OptionException(
                    "api_version: " + Text.Repr(apiVersion) + " is not a date like " + Words.GeneralApiVersion);
            var connection = new ConnectionOptions
            {
                Endpoint = endpoint, ApiVersion = apiVersion, Timeout = Seconds("timeout"),
                ConnectTimeout = Seconds("connect_timeout"), VmName = GetText("vm_name"),
            };
            if (connection.VmName == null) return connection;
            if (Text.Strip(connection.VmName).Length == 0)
                throw new OptionException(
                    "vm_name: " + Text.Repr(connection.VmName) + " is empty. Give the VM's name in Azure, or leave it out to ask IMDS");
            connection.VmName = Text.Strip(connection.VmName);
            return connection;
        }

        public Selection Selection()
        {
            List<string> eventIds = GetTexts("event_ids");
            string empty = eventIds == null ? null : eventIds.FirstOrDefault(id => Text.Strip(id).Length == 0);
            if (empty != null)
                throw new OptionException(
                    "event_ids: " + Text.Repr(empty) + " is not an event id. Give those that scheduled_events_info returns");
            return new Selection
            {
                Affecting = GetText("affecting") ?? _Selection.Selection.Any,
                EventIds = eventIds == null ? null : eventIds.Select(Text.Strip).ToList(),
                EventTypes = Known("event_types", Words.EventTypes, false),
                EventSources = Known("event_sources", Words.EventSources, true),
                EventStatuses = Known("event_statuses", Words.EventStatuses, true),
            };
        }

        // What somebody should know who chooses events like this.
        public List<string> Warnings()
        {
            return (GetTexts("event_types") ?? new List<string>()).Distinct()
                .Where(word => Words.EventTypes.All(one => !Text.SameName(one, word)))
                .Select(word => "event_types: " + Text.Repr(word) + " is not an event type that this version knows ("
                    + string.Join(", ", Words.EventTypes) + "): it is matched as written").ToList();
        }

        public double Seconds(string name)
        {
            // A System.Single, which stands for the shortest number that is written like it.
            double value = double.Parse(
                Convert.ToString(given[name], CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);
            // Written so that a NaN fails as well.
            if (!(value > 0 && value <= LongestTime))
                throw new OptionException(
                    name + ": " + Text.General(value) + " is not a time. Give seconds, above 0 and up to " + LongestTime);
            return value;
        }

        public string GetText(string name) { return (string)given[name]; }

        public bool GetFlag(string name) { return (bool)given[name]; }

        // A list as JSON is read: Ansible.Basic leaves what is in it as the runtime's own reader made it.
        public List<object> GetList(string name) { return (List<object>)PlainValue.Of(given[name]); }

        private List<string> GetTexts(string name)
        {
            var list = given[name] as IEnumerable;
            return list == null ? null : list.Cast<object>().Select(one => Convert.ToString(one, CultureInfo.InvariantCulture)).ToList();
        }

        private List<string> Known(string name, string[] known, bool areAll)
        {
            List<string> words = GetTexts(name);
            return words == null ? null : words.Select(word => Spell(name, word, known, areAll)).ToList();
        }

        private static string Spell(string name, string word, string[] known, bool areAll)
        {
            string spelled = known.FirstOrDefault(one => Text.SameName(one, word));
            if (spelled != null) return spelled;
            string meant = Nearest(word, known);
            if (meant == null && !areAll) return word;
            throw new OptionException(
                name + ": " + Text.Repr(word) + " is not one of " + string.Join(", ", known)
                + (meant == null ? "" : ": did you mean " + meant + "?"));
        }

        // The known word that this one most likely stands for; null if it is like none of them.
        private static string Nearest(string word, string[] known)
        {
            // Of two words, what they have in common in proportion to their letters.
            const double Nearly = 0.75;
            string found = known.OrderByDescending(one => Likeness(word, one)).First();
            return Likeness(word, found) >= Nearly ? found : null;
        }

        // 0 to 1: the letters that both have in the same order, in proportion to all of them.
        private static double Likeness(string one, string other)
        {
            var row = new int[other.Length + 1];
            string lower = Text.Lower(other);
            foreach (char letter in Text.First(Text.Lower(one), 2 * other.Length))
            {
                var above = (int[])row.Clone();
                for (int at = 0; at < lower.Length; at++)
                    row[at + 1] = letter == lower[at] ? above[at] + 1 : Math.Max(above[at + 1], row[at]);
            }
            return 2.0 * row[lower.Length] / (Text.Length(one) + other.Length);
        }
    }
}
