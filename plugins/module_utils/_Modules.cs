// SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
// SPDX-License-Identifier: BSD-2-Clause
// PRIVATE to this collection: it may change or go at any time. Do not use it from elsewhere.
// Where PowerShell meets the core: the modules that ask the metadata service, and their way of failing. As
// imds_module.py.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using Microsoft.Win32;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Client;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Document;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Errors;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Http;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Operations;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Options;
using ansible_collections.foghorn.azure_events.plugins.module_utils._Selection;

namespace ansible_collections.foghorn.azure_events.plugins.module_utils._Modules
{
    // What a module finds around it.
    public sealed class Surroundings
    {
        public Clocks Clocks;
        public Func<string, int, IConnection> Connect;
        // Whether this VM is a member of a failover cluster.
        public Func<bool> HasCluster;
        // FOGHORN_IMDS_ENDPOINT; null or empty if it is not set.
        public string Endpoint;

        public static Surroundings OfThisMachine(string endpoint)
        {
            var watch = Stopwatch.StartNew();
            var random = new Random();
            return new Surroundings
            {
                Clocks = new Clocks
                {
                    Monotonic = () => watch.Elapsed.TotalSeconds,
                    Sleep = seconds => Thread.Sleep(TimeSpan.FromSeconds(seconds)),
                    UtcNow = () => DateTime.UtcNow,
                    Jitter = random.NextDouble,
                },
                Connect = (host, port) => new TcpConnection(host, port),
                HasCluster = HasClusterService,
                Endpoint = endpoint,
            };
        }

        private static bool HasClusterService()
        {
            if (Environment.OSVersion.Platform != PlatformID.Win32NT) return false;
            using (RegistryKey service = Registry.LocalMachine.OpenSubKey(@"SYSTEM\CurrentControlSet\Services\ClusSvc"))
                return service != null;
        }
    }

    // How a module ends.
    public sealed class Ending
    {
        public readonly Dictionary<string, object> Result = new Dictionary<string, object>();
        public readonly List<string> Warnings = new List<string>();
        // Null: it succeeded.
        public string Failure;
        // Of an approval.
        public Dictionary<string, object> Before;
        public Dictionary<string, object> After;
    }

    public static class ImdsModule
    {
        // Windows: nothing else runs these.
        private const string SystemName = "Windows";

        // The work of win_scheduled_events_info.
        public static Ending Info(IDictionary options, Surroundings surroundings)
        {
            return Run(options, surroundings, (read, operations, selection, ending) =>
            {
                Listing listing = operations.ListEvents(selection);
                ending.Result["changed"] = false;
                ending.Result["system"] = SystemName;
                ending.Result["vm_name"] = listing.Identity.VmName;
                ending.Result["scale_set"] = listing.Identity.ScaleSet;
                ending.Result["resource_id"] = listing.Identity.ResourceId;
                ending.Result["vm_id"] = listing.Identity.VmId;
                ending.Result["document_incarnation"] = listing.DocumentIncarnation;
                ending.Result["events"] = listing.Events;
            });
        }

        // The work of win_scheduled_event_approve.
        public static Ending Approve(IDictionary options, bool isCheckMode, Surroundings surroundings)
        {
            return Run(options, surroundings, (read, operations, selection, ending) =>
            {
                if (selection.EventIds == null && selection.EventTypes == null)
                    throw new OptionException(
                        "event_ids, event_types: none of them is set, and only what you select is approved: name the events that"
                        + " this VM is prepared for, or their types");
                double waitTimeout = read.Seconds("wait_timeout");
                List<Event> asSeen = read.GetList("as_seen")
                    .Select((seen, at) => DocumentReader.FromDictionary(seen, "as_seen[" + at + "]")).ToList();
                ApprovalResult approval = operations.ApproveEvents(
                    selection, read.GetText("scope"), read.GetFlag("wait") ? waitTimeout : (double?)null, isCheckMode, asSeen);
                ending.Warnings.AddRange(approval.Warnings);
                ending.Result["changed"] = approval.Changed;
                ending.Result["vm_name"] = approval.VmName;
                ending.Result["approved"] = approval.Approved;
                ending.Result["not_approved"] = approval.NotApproved;
                ending.Result["events"] = approval.Events;
                ending.Before = approval.Before;
                ending.After = approval.After;
                // What was approved is approved: the failure reports it like a success.
                ending.Failure = approval.StillScheduled;
            });
        }

        // Check the options, do the work, and say how it ended: with the result, or with one clear error.
        private static Ending Run(
            IDictionary options, Surroundings surroundings, Action<Options, Operations, Selection, Ending> work)
        {
            var ending = new Ending();
            try
            {
                var read = new Options(options);
                ConnectionOptions connection = read.Connection(surroundings.Endpoint);
                Selection selection = read.Selection();
                ending.Warnings.AddRange(read.Warnings());
                using (var client = new ImdsClient(
                    connection.Endpoint, connection.ApiVersion, connection.ConnectTimeout, surroundings.Clocks, surroundings.Connect))
                    work(read, new Operations(client, connection, surroundings.Clocks), selection, ending);
            }
            catch (ImdsException error)
            {
                ending.Failure = error.Message;
                if (error is NotReachedException && surroundings.HasCluster())
                    ending.Failure += ". Failover Clustering is installed here, and may have taken over the route to the metadata"
                        + " address: route add 169.254.169.254/32 ADDRESS metric 1 -p, with the address of the interface that"
                        + " has the default route";
                ending.Result["requests_tried"] = (long)error.Attempts;
                ending.Result["last_outcome"] = error.Outcome;
            }
            catch (ScheduledEventsException error)
            {
                ending.Failure = error.Message;
            }
            return ending;
        }
    }
}
