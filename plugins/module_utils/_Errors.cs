// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// What can go wrong? The tree of scheduled_events/errors.py. Every message says what was asked, what came back, and
// what to do.
using System;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Errors
{
    // Whatever the core throws on purpose.
    public class ScheduledEventsException : Exception
    {
        public ScheduledEventsException(string message) : base(message) { }
    }

    // An option has a value that cannot be meant; nothing was touched.
    public class OptionException : ScheduledEventsException
    {
        public OptionException(string message) : base(message) { }
    }

    // The metadata service answered, but with no document.
    public class DocumentException : ScheduledEventsException
    {
        public DocumentException(string message) : base(message) { }
    }

    // An event was asked for that must not be approved; nothing was.
    public class ApprovalRefusedException : ScheduledEventsException
    {
        public ApprovalRefusedException(string message) : base(message) { }
    }

    // The metadata service could not be asked, or refused.
    public class ImdsException : ScheduledEventsException
    {
        public ImdsException(string message, int attempts, string outcome) : base(message)
        {
            Attempts = attempts;
            Outcome = outcome;
        }

        public int Attempts { get; private set; }
        public string Outcome { get; private set; }
    }

    // No connection was ever made: most likely no Azure VM.
    public class NotReachedException : ImdsException
    {
        public NotReachedException(string message, int attempts, string outcome) : base(message, attempts, outcome) { }
    }

    // The time limit ended before an answer came that could be used.
    public class OutOfTimeException : ImdsException
    {
        public OutOfTimeException(string message, int attempts, string outcome) : base(message, attempts, outcome) { }
    }

    // An answer with a status that another try would not change.
    public class RefusedException : ImdsException
    {
        public RefusedException(string message, int attempts, string outcome, bool mayHaveActed)
            : base(message, attempts, outcome)
        {
            MayHaveActed = mayHaveActed;
        }

        // Whether what was asked for may have been done before: the answer to that try was lost.
        public bool MayHaveActed { get; private set; }
    }

    // One exchange of a request and its answer did not come about.
    public class HttpException : ScheduledEventsException
    {
        public HttpException(string message) : base(message) { }
    }

    // What came is not an answer in HTTP/1.0 or HTTP/1.1, or broke off.
    public class ProtocolException : HttpException
    {
        public ProtocolException(string message) : base(message) { }
    }

    // The answer has a larger body than the caller takes.
    public class TooLargeException : HttpException
    {
        public TooLargeException() : base("the answer is too large") { }
    }

    // The connection failed. `Name` is Python's for it, which messages have on every system.
    public class ConnectionException : HttpException
    {
        public const string Refused = "ConnectionRefusedError";
        public const string Reset = "ConnectionResetError";
        public const string Timeout = "timeout";
        public const string Other = "OSError";

        public ConnectionException(string name, string message) : base(message) { Name = name; }

        public string Name { get; private set; }
    }
}
