# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests prove what docs/traps.md says of each trap: each trap has some, and each of them is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")
PROOFS = {
    1: (
        "tests/unit/roles/handler_agent/test_decisions.py::test_given_a_step_that_fails_when_the_plan_continues_then_the_rest_follows_and_nothing_is_approved",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_1_given_two_events_when_one_is_ready_then_that_one_is_approved_and_not_the_other",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_1_given_an_approval_that_arrived_when_the_start_is_awaited_then_it_is_not_sent_at_every_poll",
        "tests/unit/roles/handler_agent/test_agent.py::test_given_lost_approvals_when_they_are_repeated_then_at_increasing_intervals_up_to_half_a_minute",
        "tests/integration/modules/test_scheduled_event_approve.py::TestScopeOwn::test_trap_1_given_events_of_others_were_chosen_then_it_fails_and_approves_nothing",
        "tests/integration/playbooks/test_handle_events.py::test_given_a_service_that_does_not_stop_then_its_event_is_never_approved_and_the_run_fails_naming_it",
    ),
    2: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_2_given_an_event_that_has_started_when_it_is_still_listed_then_nothing_is_restored",
        "tests/integration/playbooks/test_handle_events.py::test_given_a_reboot_when_handled_then_the_host_is_away_until_the_event_is_over",
    ),
    3: (
        "tests/unit/plugins/module_utils/scheduled_events/test_client.py::TestRetries::test_trap_3_given_an_answer_with_nothing_in_it_then_it_is_asked_again",
        "tests/unit/plugins/module_utils/scheduled_events/test_document.py::TestAFieldThatCannotBeRead::test_trap_3_given_much_that_cannot_be_read_then_the_event_beside_it_is_read",
        "tests/unit/roles/handler_agent/test_decisions.py::test_trap_3_given_a_machine_that_is_out_when_its_event_cannot_be_read_any_more_then_it_stays_out_unapproved",
        "tests/unit/roles/handler_agent/test_decisions.py::test_trap_3_given_a_machine_that_is_out_when_the_resources_of_its_event_are_unreadable_then_it_stays_out_unapproved",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_3_given_an_error_in_place_of_a_document_when_polled_then_it_is_an_error",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_3_given_errors_after_a_drain_when_an_hour_passes_then_nothing_is_restored",
        "tests/integration/modules/test_scheduled_events_info.py::TestErrors::test_trap_3_given_an_answer_that_is_no_document_then_it_fails_and_returns_no_events",
    ),
    4: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_4_given_a_kill_when_a_step_has_just_begun_then_the_step_is_run_again",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_4_given_an_event_that_went_by_while_the_agent_was_down_when_it_is_back_then_the_machine_is_restored",
        "tests/integration/playbooks/test_interruptions.py::test_given_any_interruption_when_run_again_then_everything_is_back",
    ),
    5: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_5_given_a_slow_drain_when_a_preempt_is_announced_then_it_is_drained_for_within_a_second",
        "tests/unit/roles/handler_agent/test_disk.py::test_given_a_disk_that_hangs_when_an_eviction_comes_then_the_agent_lives_and_stops_in_time",
        "tests/unit/roles/handler_agent/test_disk.py::test_given_a_disk_that_hangs_at_any_moment_when_it_goes_on_then_nothing_was_done_meanwhile_and_nothing_is_lost",
    ),
    6: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_6_given_an_event_under_a_plan_without_drain_when_it_is_over_then_nothing_is_restored",
        "tests/integration/playbooks/test_handle_events.py::test_given_a_host_that_was_drained_by_hand_when_its_event_is_over_then_it_stays_out_and_the_reason_is_reported",
    ),
    7: (
        "tests/unit/roles/handler_agent/test_policy.py::test_given_no_configuration_when_an_event_of_each_type_comes_then_the_defaults_have_a_plan",
        "tests/unit/plugins/module_utils/scheduled_events/test_document.py::TestFields::test_trap_7_no_impact_and_unknown_impact_and_not_said_are_three_different_things",
    ),
    8: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_8_given_the_names_in_an_event_when_it_is_ours_then_only_by_the_whole_name_and_without_case",
        "tests/unit/plugins/module_utils/scheduled_events/test_document.py::TestTheEvent::test_trap_8_names_match_whole_and_without_case",
        "tests/integration/modules/test_scheduled_events_info.py::TestFilters::test_trap_8_given_a_part_of_a_name_then_it_matches_no_vm",
    ),
    9: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_9_given_a_proxy_in_the_environment_when_polled_then_it_is_not_used",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_9_given_an_answer_that_takes_longer_than_a_second_when_polled_then_it_is_waited_for",
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_9_given_the_defaults_when_the_first_answer_is_awaited_then_for_as_long_as_enabling_may_take",
        "tests/integration/modules/test_scheduled_events_info.py::TestConnections::test_trap_9_given_proxies_in_the_environment_then_imds_is_asked_directly",
    ),
    10: (
        "tests/unit/roles/handler_agent/test_traps.py::test_trap_10_given_any_request_when_it_is_answered_then_the_agent_has_done_nothing",
    ),
    11: (
        "tests/integration/modules/test_untrusted.py::test_trap_11_given_a_template_in_what_a_filter_returns_then_it_stays_text",
        "tests/integration/modules/test_scheduled_events_info.py::TestTextsThatWantToBeRun::test_trap_11_given_a_hostile_document_then_no_use_of_what_is_returned_runs_any_of_it",
        "tests/integration/modules/test_scheduled_events_info.py::TestTextsThatWantToBeRun::test_trap_11_given_escape_sequences_then_none_gets_to_the_terminal",
        "tests/integration/modules/test_scheduled_events_lookup.py::TestTextsThatWantToBeRun::test_trap_11_given_a_hostile_document_then_no_use_of_what_is_found_runs_any_of_it",
        "tests/integration/playbooks/test_hostile.py::test_given_a_hostile_document_when_handled_then_nothing_of_it_runs_and_the_report_shows_it_as_text",
        "tests/unit/plugins/plugin_utils/event_driven/test_announcement.py::test_trap_11_given_text_of_others_anywhere_in_an_event_when_it_is_announced_then_it_is_in_base_64_only",
        "tests/unit/test_runtime.py::test_given_a_release_that_runs_templates_of_hostvars_then_it_is_refused",
        "tests/unit/roles/handler_agent/test_hostile.py::test_given_a_hostile_event_when_a_step_runs_for_it_then_shell_and_environment_hand_it_on_unrun",
        "tests/unit/roles/handler_agent/test_hostile.py::test_given_hostile_events_when_the_history_is_shown_then_each_record_is_one_line_that_only_shows_itself",
        "tests/unit/roles/handler_agent/test_hostile.py::test_given_hostile_events_when_metrics_are_scraped_then_each_line_is_ours",
        "tests/unit/roles/handler_agent/test_webhooks.py::test_given_an_event_with_any_text_when_a_body_is_made_then_it_stays_json_of_the_same_form",
        "tests/unit/plugins/module_utils/scheduled_events/test_document.py::TestWhatIsNotADocument::test_given_a_number_of_a_million_digits_then_it_is_refused_before_it_is_read",
        "tests/unit/plugins/module_utils/scheduled_events/test_client.py::TestAnswersThatCannotBeUsed::test_given_a_larger_answer_of_unknown_length_then_it_is_read_no_further",
    ),
    12: (
        "tests/unit/plugins/module_utils/arm/test_repairs.py::test_given_repairs_that_go_by_the_balancers_probe_then_the_warning_says_what_azure_does_and_when",
        "tests/unit/plugins/module_utils/arm/test_repairs.py::test_given_repairs_run_when_they_are_suspended_then_the_documented_body_is_sent_and_the_state_read_back",
        "tests/unit/plugins/module_utils/arm/test_protection.py::test_given_an_instance_when_it_is_protected_then_only_the_documented_body_is_put_with_the_etag",
    ),
    13: (
        "tests/unit/plugins/module_utils/arm/test_policy.py::test_given_approvals_are_wanted_then_those_that_differ_are_sent_as_documented",
    ),
    14: (
        "tests/integration/playbooks/test_redeploy_early.py::test_given_hardware_that_will_fail_in_days_when_run_then_that_machine_alone_is_drained_moved_and_back",
    ),
    15: (
        "tests/integration/modules/test_scheduled_event_approve.py::TestScopeOwn::test_given_neither_ids_nor_types_then_it_is_refused",
        "tests/integration/playbooks/test_handle_events.py::test_given_a_wrong_probe_url_that_alone_would_confirm_the_removal_then_the_event_is_not_approved",
        "tests/unit/roles/handler_agent/test_steps.py::test_given_a_file_that_is_not_executable_when_listed_then_it_comes_last_and_fails",
        "tests/unit/roles/handler_agent/test_agent.py::test_given_no_policy_and_no_hook_for_an_event_when_it_comes_then_nobody_approves_and_all_say_so",
        "tests/unit/plugins/plugin_utils/fleet/test_plan.py::test_given_a_host_on_which_nothing_is_done_and_nothing_confirms_then_it_is_drained_and_not_approved",
        "tests/unit/plugins/plugin_utils/fleet/test_reading.py::test_given_an_agent_with_nothing_to_do_for_the_event_then_its_host_counts_as_one_without",
        "tests/integration/playbooks/test_names.py::test_given_a_misspelt_name_in_a_play_when_a_role_is_used_by_itself_then_it_is_refused",
        "tests/unit/plugins/module_utils/scheduled_events/test_words.py::test_given_a_type_that_is_nearly_a_known_one_when_read_then_it_is_refused_with_what_was_meant",
        "tests/unit/roles/test_policies.py::test_given_a_policy_with_a_mistake_when_agent_and_controller_read_it_then_both_refuse_it_alike",
    ),
    16: (
        "tests/unit/plugins/module_utils/scheduled_events/test_operations.py::TestEventsThatMoveOnMeanwhile::test_given_the_post_is_refused_for_one_that_is_listed_then_the_others_are_approved_one_by_one",
        "tests/unit/roles/handler_agent/test_doubts.py::test_given_one_approval_that_is_refused_when_others_are_ready_then_they_are_approved_one_by_one",
    ),
    17: (
        "tests/unit/roles/handler_agent/test_doubts.py::test_given_a_vm_that_is_renamed_when_its_event_is_still_listed_then_it_is_tracked_on",
        "tests/unit/roles/handler_agent/test_doubts.py::test_given_the_disk_of_a_machine_that_was_drained_by_hand_when_a_clone_starts_then_nothing_runs_there",
        "tests/unit/roles/handler_agent/test_undo.py::test_given_a_policy_that_is_another_in_the_middle_of_an_event_when_it_is_over_then_what_was_done_is_undone",
        "tests/unit/roles/handler_agent/test_undo.py::test_given_a_kill_at_any_point_when_the_next_start_has_no_policies_then_what_was_begun_is_undone",
        "tests/unit/plugins/module_utils/test_claims.py::test_given_claims_of_another_vm_when_a_vm_finds_them_then_they_are_refused_with_both_remedies",
        "tests/unit/plugins/module_utils/test_claims.py::test_given_claims_of_an_earlier_life_when_its_vm_is_made_again_then_there_is_only_something_to_restore",
        "tests/integration/haproxy/test_fleet.py::test_given_hosts_that_are_renamed_or_made_again_when_run_again_then_each_server_is_restored_or_named",
        "tests/integration/haproxy/test_role.py::test_given_a_server_of_a_template_that_gets_another_name_while_it_is_out_when_restored_then_only_its_machine_is_in",
        "tests/integration/arm/test_load_balancer_removal.py::test_given_a_pool_of_azure_when_a_machine_is_removed_and_restored_then_it_leaves_what_is_named_and_is_back",
    ),
    18: (
        "tests/unit/plugins/plugin_utils/fleet/test_plan.py::test_given_a_clock_that_differs_from_those_of_half_of_the_hosts_then_the_run_is_refused_and_both_times_named",
        "tests/unit/plugins/plugin_utils/fleet/test_plan.py::test_given_one_clock_that_differs_then_its_host_is_held_back_and_the_others_continue",
        "tests/unit/roles/handler_agent/test_kill.py::test_given_a_clock_that_was_an_hour_off_when_it_is_corrected_then_the_deadline_is_the_right_one",
        "tests/unit/roles/handler_agent/test_doubts.py::test_given_a_hold_for_20_minutes_when_the_clock_is_corrected_then_it_ends_after_20_minutes",
    ),
    19: (
        "tests/integration/playbooks/test_hostile.py::test_given_a_host_whose_facts_set_our_variables_when_handled_then_it_alone_is_refused_and_decides_nothing",
        "tests/integration/playbooks/test_hostile.py::test_given_records_that_machines_have_changed_when_restored_then_they_decide_nothing_elsewhere",
        "tests/integration/playbooks/test_hostile.py::test_given_hosts_that_never_answer_or_cannot_when_handled_then_the_others_continue",
        "tests/integration/playbooks/test_redeploy_early.py::test_given_a_machine_that_claims_to_be_another_when_run_then_neither_is_moved",
        "tests/unit/playbooks/test_boundary.py::test_what_decides_on_the_controller_never_comes_from_a_host",
        "tests/unit/plugins/plugin_utils/fleet/test_plan.py::test_given_a_host_that_lies_about_an_event_then_what_is_done_on_the_other_hosts_is_as_the_others_say",
        "tests/unit/plugins/plugin_utils/event_driven/test_watch.py::TestLiars::test_given_a_lie_about_a_neighbours_event_when_the_neighbour_reports_it_then_it_is_announced",
    ),
    20: (
        "tests/unit/plugins/module_utils/test_probe_file.py::test_given_an_attacker_who_places_a_link_while_the_endpoint_is_asked_when_taken_out_then_it_is_not_followed",
        "tests/unit/plugins/module_utils/test_probe_file.py::test_given_an_attacker_who_exchanges_the_directory_while_the_endpoint_is_asked_then_nothing_moves_elsewhere",
        "tests/unit/plugins/module_utils/test_probe_file.py::test_given_an_attacker_who_replaces_the_file_while_the_machine_is_out_when_restored_then_nothing_elsewhere_changes",
        "tests/integration/playbooks/test_hostile.py::test_given_state_directories_that_another_user_could_change_then_no_record_in_them_is_read_or_written",
    ),
    21: (
        "tests/unit/roles/handler_agent/test_config_file.py::test_given_a_file_that_is_lost_when_loaded_again_then_it_is_a_mistake_and_the_last_good_one_stays",
        "tests/unit/roles/handler_agent/test_journal.py::test_given_a_journal_that_lost_records_of_the_disk_when_opened_then_what_is_missing_is_known_from_then_on",
        "tests/unit/roles/handler_agent/test_journal.py::test_given_a_lost_journal_when_opened_then_what_is_missing_is_known_from_then_on",
    ),
    22: (
        "tests/unit/roles/handler_agent/test_config.py::test_given_a_mistake_beside_a_secret_when_parsed_then_the_secret_is_not_quoted",
        "tests/unit/plugins/module_utils/scheduled_events/test_masking.py::test_given_a_secret_in_any_spelling_when_masked_then_nothing_of_it_is_left",
        "tests/unit/playbooks/test_secrets.py::test_given_any_task_when_it_handles_a_secret_then_it_shows_nothing",
    ),
    23: (
        "tests/unit/roles/handler_agent/test_still_down.py::test_given_a_unit_that_always_runs_again_then_its_event_is_not_approved_until_it_is_down",
        "tests/integration/playbooks/test_still_out.py::test_given_what_is_undone_before_the_approval_then_it_is_done_once_more_and_otherwise_nothing_is_approved",
    ),
    24: (
        "tests/unit/plugins/plugin_utils/fleet/test_advance.py::test_given_a_removal_that_fails_for_good_when_the_event_begins_anyway_then_services_are_stopped_in_time",
        "tests/unit/plugins/plugin_utils/fleet/test_advance.py::test_given_a_removal_that_fails_for_a_while_when_there_is_time_then_its_event_is_approved_without_a_failure",
    ),
}


def find(tree: ast.AST, name: str) -> ast.AST | None:
    """Return the class or function of that name that stands directly in the tree."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
    return None


def test_given_the_traps_of_the_page_then_each_has_proofs_and_no_other_has() -> None:
    assert [int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)] == list(PROOFS)


@pytest.mark.parametrize("name", [name for names in PROOFS.values() for name in names])
def test_given_a_test_that_is_named_then_it_exists(name: str) -> None:
    file, *path = name.split("::")
    node: ast.AST | None = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for part in path:
        node = find(node, part) if node else None

    assert isinstance(node, ast.FunctionDef)
    assert node.name.startswith("test_")
