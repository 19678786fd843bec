// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// How is the metadata service asked? As scheduled_events/client.py: with retries on exactly the answers that deserve
// one, and never for longer than the caller allows.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Http;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Json;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Client
{
    // The time as the core sees it, and chance: passed in, so that a test decides.
    public sealed class Clocks
    {
        // Seconds, never going back.
        public Func<double> Monotonic;
        public Action<double> Sleep;
        public Func<DateTime> UtcNow;
        // From 0 to 1.
        public Func<double> Jitter;
    }

    // Which VM this is. Of its scale set and its ids in Azure: empty if there is none, null if nothing was asked.
    public sealed class Identity
    {
        public string VmName;
        public string ScaleSet;
        public string ResourceId;
        public string VmId;
    }

    public sealed class ImdsClient : IDisposable
    {
        private const string InstanceApiVersion = "2021-12-13";
        private const string EventsPath = "/metadata/scheduledevents";
        private const string ComputePath = "/metadata/instance/compute";

        // Seconds. An answer can be lost with the host's own restart; each further attempt gets twice the time.
        private const double Patience = 10;
        // Whoever asks for the events first enables the service, which takes up to two minutes.
        private const double PatienceAtFirst = 130;
        private const double FirstBackoff = 0.5;
        private const double LongestBackoff = 10;
        // More than Azure will ever send: 2,500 events, of which each is told.
        private const int LargestAnswer = 1024 * 1024;
        private const int LongestQuote = 300;
        // What an answer says of a version that it does not have. An address or XML that it repeats has `version=`.
        private static readonly Regex InvalidVersion = new Regex(
            @"\A(?=.*version(?!\s*=))(?=.*(?:invalid|unsupported|unknown|not (?:support|valid)))",
            RegexOptions.CultureInvariant | RegexOptions.IgnoreCase | RegexOptions.Singleline);
        // A machine may be moved, at any time, to a host whose metadata service has another newest version.
        private const double NewestAgainAfter = 3600;

        private readonly string host;
        private readonly int port;
        private readonly string endpoint;
        private readonly string apiVersion;
        private readonly double connectTimeout;
        private readonly Clocks clocks;
        private readonly IConnection connection;
        private bool wasReached;
        private bool isEnabled;
        private double newestAgain = double.NegativeInfinity;

        // What is asked, by method and URL, and as it is sent; the same in the version that every metadata service has.
        private sealed class Request
        {
            public string Name;
            public byte[] Content;
            public string Path;
            public Request Older;
        }

        // `connect` makes the connection to a host and port. `apiVersion` null: the newest that the service has.
        public ImdsClient(
            string endpoint, string apiVersion, double connectTimeout, Clocks clocks, Func<string, int, IConnection> connect)
        {
            Endpoint.Split(endpoint, out host, out port);
            this.endpoint = endpoint.TrimEnd('/');
            this.apiVersion = apiVersion;
            this.connectTimeout = connectTimeout;
            this.clocks = clocks;
            connection = connect(host, port);
        }

        public void Dispose() { connection.Dispose(); }

        // The events of this VM's scope.
        public Document ReadDocument(Deadline deadline)
        {
            Answer answer = Ask(AboutEvents("GET", null), deadline, !isEnabled);
            try
            {
                return DocumentReader.Parse(answer.Body);
            }
            catch (DocumentException error)
            {
                throw Unusable(error);
            }
        }

        // Let these events start now, for all of their resources. Safe to repeat. Ids exactly as the document has them.
        public void Approve(IEnumerable<string> eventIds, Deadline deadline)
        {
            List<object> starts = eventIds
                .Select(id => (object)new Dictionary<string, object> { { "EventId", id } }).ToList();
            string body = Json.Write(new Dictionary<string, object> { { "StartRequests", starts } });
            Ask(AboutEvents("POST", Encoding.ASCII.GetBytes(body)), deadline, false);
        }

        // The Azure name of this VM, which events use, and is not the hostname; and what else it is called.
        public Identity ReadIdentity(Deadline deadline)
        {
            Answer answer;
            try
            {
                answer = Ask(Prepare("GET", ComputePath, InstanceApiVersion, null), deadline, false);
            }
            catch (RefusedException error)
            {
                throw new RefusedException(
                    error.Message + ". The name of this VM is not known: set vm_name", error.Attempts, error.Outcome, false);
            }
            Dictionary<string, object> compute;
            try
            {
                compute = DocumentReader.Metadata(answer.Body);
            }
            catch (DocumentException error)
            {
                throw Unusable(error);
            }
            string name = TextOf(compute, "name");
            if (name.Length == 0)
                throw new DocumentException("IMDS at " + endpoint + " does not say the name of this VM: set vm_name");
            return new Identity
            {
                VmName = name, ScaleSet = TextOf(compute, "vmScaleSetName"), ResourceId = TextOf(compute, "resourceId"),
                VmId = TextOf(compute, "vmId"),
            };
        }

        private static string TextOf(Dictionary<string, object> fields, string name)
        {
            object value;
            fields.TryGetValue(name, out value);
            return Text.HarmlessWord(value as string ?? "");
        }

        private DocumentException Unusable(DocumentException error)
        {
            return new DocumentException("The answer of IMDS at " + endpoint + " cannot be used: " + error.Message);
        }

        private Request Prepare(string method, string path, string version, byte[] body)
        {
            string target = path + "?api-version=" + version;
            string called = (host.IndexOf(':') >= 0 ? "[" + host + "]" : host)
                + (port == 80 ? "" : ":" + port.ToString(CultureInfo.InvariantCulture));
            string head = method + " " + target + " HTTP/1.1\r\nHost: " + called + "\r\nMetadata: true\r\nAccept: application/json\r\n";
            if (body != null)
                head += "Content-Type: application/json\r\nContent-Length: " + body.Length.ToString(CultureInfo.InvariantCulture) + "\r\n";
            return new Request
            {
                Name = method + " " + endpoint + target,
                Content = Encoding.ASCII.GetBytes(head + "\r\n").Concat(body ?? new byte[0]).ToArray(),
                Path = path,
            };
        }

        private Request AboutEvents(string method, byte[] body)
        {
            if (apiVersion != null) return Prepare(method, EventsPath, apiVersion, body);
            Request newest = Prepare(method, EventsPath, Words.NewestApiVersion, body);
            newest.Older = Prepare(method, EventsPath, Words.GeneralApiVersion, body);
            return newest;
        }

        private Answer Ask(Request request, Deadline deadline, bool mayEnable)
        {
            double began = clocks.Monotonic();
            if (request.Older != null && began < newestAgain) request = request.Older;
            double patience = mayEnable ? PatienceAtFirst : Patience;
            int attempts = 0;
            bool lacksNewest = false, mayHaveActed = false;
            while (true)
            {
                attempts++;
                bool isReused = connection.IsReady();
                bool wasSent = false;
                double wait;
                string outcome;
                try
                {
                    if (!isReused) Connect(began, deadline);
                    var attempt = new Deadline(Math.Min(patience, deadline.Remaining), clocks.Monotonic);
                    wasSent = true;
                    Answer answer = connection.Exchange(request.Content, attempt, LargestAnswer);
                    bool isEmpty = IsEmpty(request, answer);
                    if (answer.Status >= 200 && answer.Status < 300 && !isEmpty)
                    {
                        isEnabled = isEnabled || request.Path == EventsPath;
                        if (lacksNewest) newestAgain = clocks.Monotonic() + NewestAgainAfter;
                        return answer;
                    }
                    if (request.Older != null && (answer.Status == 400 || answer.Status == 404))
                    {
                        // Whatever it says of it: the answer to the older version tells what is wrong, if anything.
                        request = request.Older;
                        attempts--;
                        lacksNewest = true;
                        continue;
                    }
                    outcome = Describe(answer) + (isEmpty ? " without a body" : "");
                    if (!(isEmpty || IsPassing(answer.Status, request.Path)) || RefusesVersion(answer))
                        throw Refused(request, answer, attempts, outcome, mayHaveActed);
                    // What broke down, or a gateway before it, may have acted.
                    mayHaveActed = mayHaveActed || answer.Status == 500 || answer.Status == 502 || answer.Status == 504;
                    wait = Math.Max(Backoff(attempts), RetryAfter(answer));
                }
                catch (TooLargeException)
                {
                    throw new DocumentException("IMDS answered with more than " + LargestAnswer / 1024 / 1024 + " MiB");
                }
                catch (HttpException error)
                {
                    var failed = error as ConnectionException;
                    bool isLate = failed != null && failed.Name == ConnectionException.Timeout;
                    outcome = isLate ? "no answer in time" : (failed != null ? failed.Name : "ProtocolError") + ": " + error.Message;
                    if (isLate) patience *= 2;
                    // The server had closed a connection that stood idle: nothing failed, and nothing to wait for.
                    bool isHangup = failed != null && failed.Name == ConnectionException.Reset;
                    wait = isReused && isHangup ? 0 : Backoff(attempts);
                    mayHaveActed = mayHaveActed || wasSent;
                }
                string times = (attempts == 1 ? "1 attempt" : attempts + " attempts") + ", the last: " + outcome;
                // After a sleep that has lasted longer, it may be too late as well.
                for (; ; wait = 0)
                {
                    double waited = clocks.Monotonic() - began;
                    if (!wasReached && waited + wait >= connectTimeout)
                        throw new NotReachedException(
                            "IMDS at " + endpoint + " did not answer within " + Text.General(connectTimeout) + " s (" + times
                            + "): is this an Azure VM? Set endpoint to the address of its IMDS, or raise connect_timeout",
                            attempts, outcome);
                    if (wait >= deadline.Remaining)
                        throw new OutOfTimeException(
                            request.Name + " had no usable answer within " + Text.General(deadline.Seconds) + " s (" + times
                            + "): try again later, or raise timeout", attempts, outcome);
                    if (wait <= 0) break;
                    clocks.Sleep(wait);
                }
            }
        }

        private void Connect(double began, Deadline deadline)
        {
            double limit = wasReached ? connectTimeout : connectTimeout - (clocks.Monotonic() - began);
            connection.Open(Math.Min(limit, deadline.Remaining));
            wasReached = true;
        }

        private double Backoff(int attempts)
        {
            double longest = Math.Min(LongestBackoff, FirstBackoff * Math.Pow(2, Math.Min(attempts - 1, 10)));
            return longest * (0.5 + 0.5 * clocks.Jitter());
        }

        private double RetryAfter(Answer answer)
        {
            string value = Text.Strip(answer.Header("retry-after") ?? "");
            if (Regex.IsMatch(value, @"\A[0-9]{1,9}\z")) return double.Parse(value, CultureInfo.InvariantCulture);
            try
            {
                return (Dates.Parse(value) - clocks.UtcNow()).TotalSeconds;
            }
            catch (FormatException)
            {
                return 0;
            }
        }

        // 410: the service is moving. 429: over 5 requests a second, by anything on this VM. 404: nobody has asked for
        // the events of this VM before, and the service is not enabled yet.
        private static bool IsPassing(int status, string path)
        {
            return status == 410 || status == 429 || (status >= 500 && status < 600) || (status == 404 && path == EventsPath);
        }

        // Whether nothing came of what was to be read, which happens and passes.
        private static bool IsEmpty(Request request, Answer answer)
        {
            return answer.Status >= 200 && answer.Status < 300 && request.Name.StartsWith("GET", StringComparison.Ordinal)
                && answer.Body.All(one => one == ' ' || (one >= 9 && one <= 13));
        }

        private static bool RefusesVersion(Answer answer)
        {
            if (answer.Status != 400 && answer.Status != 404) return false;
            return FieldOf(answer, "newest-versions") != null || InvalidVersion.IsMatch(ErrorText(answer));
        }

        private static string Describe(Answer answer)
        {
            string said = ErrorText(answer);
            return answer.Status + " " + Text.HarmlessLine(answer.Reason, LongestQuote) + (said.Length > 0 ? ": " + said : "");
        }

        private static string ErrorText(Answer answer)
        {
            string said = FieldOf(answer, "error") as string;
            return Text.HarmlessLine(said ?? Text.FromUtf8(answer.Body.Take(4 * LongestQuote).ToArray()), LongestQuote);
        }

        private RefusedException Refused(Request request, Answer answer, int attempts, string outcome, bool mayHaveActed)
        {
            string advice = "";
            if (request.Path == EventsPath && RefusesVersion(answer))
            {
                // The versions that such an answer lists are those of the whole metadata service.
                string[] tried = apiVersion != null ? new[] { apiVersion } : new[] { Words.NewestApiVersion, Words.GeneralApiVersion };
                advice = ". Set api_version to one of Scheduled Events: "
                    + string.Join(", ", Words.ApiVersions.Reverse().Where(version => !tried.Contains(version)));
            }
            else if (answer.Headers.ContainsKey("location"))
                advice = ". Redirects are not followed: set endpoint to IMDS itself";
            return new RefusedException(request.Name + " was refused: " + outcome + advice, attempts, outcome, mayHaveActed);
        }

        private static object FieldOf(Answer answer, string name)
        {
            try
            {
                var fields = Json.Parse(answer.Body) as Dictionary<string, object>;
                object value = null;
                if (fields != null) fields.TryGetValue(name, out value);
                return value;
            }
            catch (DocumentException)
            {
                return null;
            }
        }
    }

    public static class Endpoint
    {
        public const string Default = "http://169.254.169.254";

        // Take `http://HOST[:PORT]` apart. A slash at its end may stay; FormatException says what is wrong.
        public static void Split(string endpoint, out string host, out int port)
        {
            if (!endpoint.StartsWith("http:", StringComparison.OrdinalIgnoreCase))
                throw new FormatException("must begin with http://, because IMDS supports only HTTP");
            if (endpoint.Any(one => one <= ' ' || one > '~' || one == '\\'))
                throw new FormatException("must not contain spaces or non-ASCII characters, control characters or backslashes");
            Match parts = Regex.Match(
                endpoint,
                @"\Ahttp://(?:([a-z0-9_][a-z0-9_-]{0,62}(?:\.[a-z0-9_][a-z0-9_-]{0,62})*\.?)|\[([0-9a-f:.]+)\])(?::([0-9]{0,5}))?(/[^?#]*)?\z",
                RegexOptions.CultureInvariant | RegexOptions.IgnoreCase);
            System.Net.IPAddress address = null;
            if (!parts.Success || parts.Groups[1].Length > 253
                || (parts.Groups[2].Success && !(System.Net.IPAddress.TryParse(parts.Groups[2].Value, out address)
                    && address.AddressFamily == System.Net.Sockets.AddressFamily.InterNetworkV6)))
                throw new FormatException("must have the form http://HOST[:PORT]");
            host = (parts.Groups[1].Value + parts.Groups[2].Value).ToLowerInvariant();
            string digits = parts.Groups[3].Value;
            port = digits.Length > 0 ? int.Parse(digits, CultureInfo.InvariantCulture) : 80;
            if (port < 1 || port > 65535) throw new FormatException("must have a port from 1 to 65535");
            string path = parts.Groups[4].Value.TrimEnd('/');
            if (path.Length > 0) throw new FormatException("must not have a path, because IMDS has its own: leave " + path + " out");
        }
    }
}
