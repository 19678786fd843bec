// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// How is one request sent and its answer read? As scheduled_events/http_connection.py: as much of HTTP/1.1 as a client
// of one plain server needs, bounded in size and time, over a TCP socket: there is no proxy that could be used.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.RegularExpressions;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Text;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Http
{
    // A moment on a monotonic clock by which work must be done.
    public sealed class Deadline
    {
        private readonly Func<double> clock;
        private readonly double end;

        public Deadline(double seconds, Func<double> clock)
        {
            Seconds = seconds;
            this.clock = clock;
            end = clock() + seconds;
        }

        public double Seconds { get; private set; }

        // Seconds left; zero or less when it has passed.
        public double Remaining { get { return end - clock(); } }
    }

    // One HTTP answer. Names of headers in lower case; of a header that came twice, the last.
    public sealed class Answer
    {
        public int Status;
        public string Reason;
        public Dictionary<string, string> Headers;
        public byte[] Body;
        // Whether the connection can be used for another.
        public bool IsKept;

        public string Header(string name)
        {
            string value;
            return Headers.TryGetValue(name, out value) ? value : null;
        }
    }

    // To one server, for one request after the other. What fails is an HttpException, and closes it.
    public interface IConnection : IDisposable
    {
        // Look whether another request can go over it. If it cannot, it is closed.
        bool IsReady();

        void Open(double seconds);

        Answer Exchange(byte[] request, Deadline deadline, int largest);
    }

    public sealed class TcpConnection : IConnection
    {
        private const double LongestWait = 3600;

        private readonly string host;
        private readonly int port;
        private Socket socket;

        public TcpConnection(string host, int port)
        {
            this.host = host;
            this.port = port;
        }

        public bool IsReady()
        {
            // What can be read is the end, or an answer to nothing, which would be taken for that to the next request.
            if (socket != null && socket.Poll(0, SelectMode.SelectRead)) Dispose();
            return socket != null;
        }

        // Connect within so many seconds. An address that does not answer leaves the others their share of them.
        public void Open(double seconds)
        {
            Dispose();
            if (seconds <= 0) throw TimedOut();
            var passed = Stopwatch.StartNew();
            try
            {
                IPAddress address;
                IPAddress[] addresses = IPAddress.TryParse(host, out address) ? new[] { address } : Dns.GetHostAddresses(host);
                for (int at = 0; at < addresses.Length; at++)
                {
                    try
                    {
                        Connect(addresses[at], (seconds - passed.Elapsed.TotalSeconds) / (addresses.Length - at));
                        return;
                    }
                    catch (SocketException)
                    {
                        if (at == addresses.Length - 1) throw;
                    }
                }
            }
            catch (SocketException error)
            {
                throw Failed(error);
            }
            throw new ConnectionException(ConnectionException.Other, host + " has no address");
        }

        public Answer Exchange(byte[] request, Deadline deadline, int largest)
        {
            Answer answer = null;
            try
            {
                for (int sent = 0; sent < request.Length;)
                {
                    socket.SendTimeout = MillisecondsLeft(deadline);
                    sent += socket.Send(request, sent, request.Length - sent, SocketFlags.None);
                }
                var reader = new AnswerReader(buffer => Receive(buffer, deadline), largest);
                answer = reader.Read();
                if (reader.HasMore) answer.IsKept = false;
                return answer;
            }
            catch (SocketException error)
            {
                throw Failed(error);
            }
            finally
            {
                // Whatever of the answer is still on its way must not be taken for the next one.
                if (answer == null || !answer.IsKept) Dispose();
            }
        }

        public void Dispose()
        {
            if (socket != null) socket.Close();
            socket = null;
        }

        private void Connect(IPAddress address, double seconds)
        {
            var opened = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                opened.NoDelay = true;
                IAsyncResult connecting = opened.BeginConnect(address, port, null, null);
                if (!connecting.AsyncWaitHandle.WaitOne(Milliseconds(seconds)))
                    throw new SocketException((int)SocketError.TimedOut);
                opened.EndConnect(connecting);
                socket = opened;
            }
            finally
            {
                if (socket == null) opened.Close();
            }
        }

        private int Receive(byte[] buffer, Deadline deadline)
        {
            socket.ReceiveTimeout = MillisecondsLeft(deadline);
            return socket.Receive(buffer);
        }

        private static int MillisecondsLeft(Deadline deadline)
        {
            double remaining = deadline.Remaining;
            if (remaining <= 0) throw TimedOut();
            return Milliseconds(remaining);
        }

        // Never 0, which would be for ever.
        private static int Milliseconds(double seconds)
        {
            return Math.Max(1, (int)(Math.Min(seconds, LongestWait) * 1000));
        }

        private static ConnectionException TimedOut()
        {
            return new ConnectionException(ConnectionException.Timeout, "timed out");
        }

        private static ConnectionException Failed(SocketException error)
        {
            switch (error.SocketErrorCode)
            {
                case SocketError.TimedOut:
                case SocketError.WouldBlock:
                    return TimedOut();
                case SocketError.ConnectionRefused:
                    return new ConnectionException(ConnectionException.Refused, error.Message);
                case SocketError.ConnectionReset:
                case SocketError.ConnectionAborted:
                case SocketError.Shutdown:
                    return new ConnectionException(ConnectionException.Reset, error.Message);
                default:
                    return new ConnectionException(ConnectionException.Other, error.Message);
            }
        }
    }

    // Reads one answer from what comes in pieces.
    public sealed class AnswerReader
    {
        private const int Piece = 64 * 1024;
        // Of one answer, without its body: status lines, headers, lengths of chunks, trailers.
        private const int MostInLines = 256 * 1024;
        private const int MostHeaders = 100;
        private const int MostInterimAnswers = 10;
        private const int SwitchingProtocols = 101;
        private const int LongestQuote = 100;
        private const string ContentLength = "content-length";
        private const string TransferEncoding = "transfer-encoding";

        private readonly Func<byte[], int> receive;
        private readonly int largest;
        private readonly byte[] piece = new byte[Piece];
        private byte[] buffer = new byte[Piece];
        private int at;
        private int length;
        private int leftForLines = MostInLines;

        // `receive` fills an array and says with how much; 0 is the end.
        public AnswerReader(Func<byte[], int> receive, int largest)
        {
            this.receive = receive;
            this.largest = largest;
        }

        // Whether more came than was read.
        public bool HasMore { get { return at < length; } }

        public Answer Read()
        {
            if (!More()) throw new ConnectionException(ConnectionException.Reset, "closed without an answer");
            for (int number = 0; number <= MostInterimAnswers; number++)
            {
                string line = Line();
                Match words = Regex.Match(line, @"\AHTTP/1\.([01]) ([1-9][0-9]{2})(?: ([^\r\x00]*))?\z", RegexOptions.CultureInvariant);
                if (!words.Success) throw Wrong(line, "is not a status line of HTTP/1.1");
                int status = int.Parse(words.Groups[2].Value, CultureInfo.InvariantCulture);
                if (status == SwitchingProtocols) throw new ProtocolException("another protocol, which was not asked for");
                Dictionary<string, string> headers = Headers();
                // Before the answer itself, some of these may come.
                if (status >= 100 && status < 200) continue;
                var answer = new Answer { Status = status, Reason = Text.Strip(words.Groups[3].Value), Headers = headers };
                answer.Body = Body(answer);
                string connection = answer.Header("connection") ?? "";
                answer.IsKept = answer.Body != null && words.Groups[1].Value == "1"
                    && connection.ToLowerInvariant().IndexOf("close", StringComparison.Ordinal) < 0
                    // Both together are a sign of somebody hiding one answer in another.
                    && !(headers.ContainsKey(ContentLength) && headers.ContainsKey(TransferEncoding));
                if (answer.Body == null) answer.Body = Rest();
                return answer;
            }
            throw new ProtocolException("more than " + MostInterimAnswers + " interim answers");
        }

        private Dictionary<string, string> Headers()
        {
            var headers = new Dictionary<string, string>(StringComparer.Ordinal);
            string name = "";
            for (int number = 0; number <= MostHeaders; number++)
            {
                string line = Line();
                if (line.Length == 0) return headers;
                if (Regex.IsMatch(line, @"[\x00-\x08\x0a-\x1f\x7f]")) throw Wrong(line, "has control characters in a header");
                if (name.Length > 0 && (line[0] == ' ' || line[0] == '\t'))
                {
                    // A folded header, which servers should no longer send and clients must still unfold.
                    headers[name] = Text.Strip(headers[name] + " " + Text.Strip(line));
                    continue;
                }
                int colon = line.IndexOf(':');
                if (colon < 0 || !Regex.IsMatch(line.Substring(0, colon), @"\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\z"))
                    throw Wrong(line, "is not a header");
                name = line.Substring(0, colon).ToLowerInvariant();
                string value = line.Substring(colon + 1).Trim(' ', '\t');
                if ((name == ContentLength || name == TransferEncoding) && headers.ContainsKey(name) && headers[name] != value)
                    throw new ProtocolException("two different headers " + name);
                headers[name] = value;
            }
            throw new ProtocolException("more than " + MostHeaders + " headers");
        }

        // Null if only the end of the connection will tell where it ends.
        private byte[] Body(Answer answer)
        {
            if (answer.Status == 204 || answer.Status == 304) return new byte[0];
            string encoding = answer.Header(TransferEncoding), declared = answer.Header(ContentLength);
            if (encoding != null)
            {
                if (!string.Equals(encoding.ToLowerInvariant(), "chunked", StringComparison.Ordinal))
                    throw new ProtocolException(
                        "Transfer-Encoding: " + Text.First(encoding, LongestQuote) + ", which was not asked for");
                return Chunks();
            }
            if (declared == null) return null;
            if (!Regex.IsMatch(declared, @"\A[0-9]{1,18}\z"))
                throw new ProtocolException("Content-Length: " + Text.First(declared, LongestQuote));
            long count = long.Parse(declared, CultureInfo.InvariantCulture);
            if (count > largest) throw new TooLargeException();
            return Exactly((int)count);
        }

        private byte[] Chunks()
        {
            var body = new MemoryStream();
            while (true)
            {
                string line = Line();
                Match words = Regex.Match(line, @"\A([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\z");
                if (!words.Success) throw Wrong(line, "is not the length of a chunk");
                long count = long.Parse(words.Groups[1].Value, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
                if (count == 0)
                {
                    // Trailers, which nobody needs.
                    Headers();
                    return body.ToArray();
                }
                if (body.Length + count > largest) throw new TooLargeException();
                body.Write(Exactly((int)count), 0, (int)count);
                if (Line().Length > 0) throw new ProtocolException("a chunk that is longer than it says");
            }
        }

        // The next line, without its end.
        private string Line()
        {
            int searched = at;
            int end;
            while (true)
            {
                end = Array.IndexOf(buffer, (byte)'\n', searched, length - searched);
                if ((end < 0 ? length : end + 1) - at > leftForLines)
                    throw new ProtocolException("more than " + MostInLines / 1024 + " KiB besides the body");
                if (end >= 0) break;
                searched = length;
                ExpectMore();
            }
            leftForLines -= end + 1 - at;
            var line = new StringBuilder(end - at);
            for (int index = at; index < end; index++) line.Append((char)buffer[index]);
            at = end + 1;
            if (line.Length > 0 && line[line.Length - 1] == '\r') line.Length--;
            return line.ToString();
        }

        private byte[] Exactly(int count)
        {
            while (length - at < count) ExpectMore();
            return Take(count);
        }

        // All that comes until the server hangs up.
        private byte[] Rest()
        {
            while (length - at <= largest)
            {
                if (!More()) return Take(length - at);
            }
            throw new TooLargeException();
        }

        private byte[] Take(int count)
        {
            var taken = new byte[count];
            Array.Copy(buffer, at, taken, 0, count);
            at += count;
            return taken;
        }

        private void ExpectMore()
        {
            if (!More()) throw new ProtocolException("the answer broke off");
        }

        private bool More()
        {
            int count = receive(piece);
            if (length + count > buffer.Length) Array.Resize(ref buffer, 2 * buffer.Length + count);
            Array.Copy(piece, 0, buffer, length, count);
            length += count;
            return count > 0;
        }

        private static ProtocolException Wrong(string line, string what)
        {
            return new ProtocolException(Text.Repr(Text.First(line, LongestQuote)) + " " + what);
        }
    }
}
