"""What every test can rely on, however the tests themselves were started."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile

import pytest
from hypothesis import HealthCheck, Phase, settings

# Each worker would rewrite the asserts of all modules again, which is half of what collecting them takes.
# What tests start still inherits PYTHONDONTWRITEBYTECODE, if that is set.
sys.dont_write_bytecode = False
pytest.register_assert_rewrite("support.golden")  # texts that differ are shown
collect_ignore = ["projects", "data"]  # what tests run, and is no test of ours

# The history of the many projects that tests make is no part of the user's. Workers share the directory.
if "TESTS_OF_PROCTOR_STATE" not in os.environ:
    os.environ["TESTS_OF_PROCTOR_STATE"] = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(
        prefix="proctor-state-"
    )
    atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# What `make quick` leaves out: mostly real processes, other interpreters and other tools, or installs.
SLOW = (
    "archive/test_killed_anywhere.py",
    "archive/test_links.py::test_a_link_that_a_test_puts_there_gets_nothing_and_a_notice",
    "archive/test_links.py::test_a_run_behind_a_link_is_kept_in_the_cache_and_says_so",
    "archive/test_links.py::test_the_server_reads_no_runs_behind_a_link",
    "archive/test_links.py::test_what_is_in_a_runs_directory_is_removed_however_deep_and_links_are_not_followed",
    "baseline/",
    "cli/test_cli.py::test_keep_runs_bounds_the_archive",
    "cli/test_cli.py::test_last_failed_",
    "cli/test_cli.py::test_selection_by_keyword_marker_target_and_the_runners_own_arguments",
    "cli/test_compare.py",
    "cli/test_engine.py",
    "cli/test_completion.py::test_a_person_presses_tab",
    "cli/test_history.py",
    "cli/test_lost_outputs.py",
    "cli/test_last_screens.py",
    "cli/test_plan.py",
    "cli/test_shard.py",
    "cli/test_screens.py",
    "cli/test_show_stream.py::test_the_stream_of_a_run_that_took_too_long",
    "clients/",
    "docs/test_console.py",
    "docs/test_support.py",  # installs what the examples need
    "engines/test_dask.py",
    "engines/test_dask_connection.py",
    "engines/test_executors.py",
    "history/test_last_failed.py::test_a_",
    "history/test_last_failed.py::test_without_an_archive_",
    "history/test_no_history.py",
    "history/test_records.py",
    "history/test_store_faults.py",
    "history/test_store_killed.py",
    "history/test_words.py::test_every_word",
    "history/test_words_in_git.py",
    "history/test_texts_of_runs.py",
    "inject/test_benchmarks.py",
    "inject/test_breakpoint.py",
    "inject/test_explained_status.py",
    "inject/test_failure_index.py",
    "inject/test_imports.py::test_a_document_says_the_same_whether_it_was_asked_or_not",
    "inject/test_imports.py::test_a_session_names_the_modules_and_the_test_files_of_the_project",
    "inject/test_later_reports.py",
    "inject/test_later_sessions.py",
    "inject/test_later_unittest.py",
    "inject/test_marks.py",
    "inject/test_report_fixture.py",
    "inject/test_summary.py",
    "inject/test_targets.py",
    "inject/test_worker",
    "mcp_server/test_answers.py::test_an_answer_is_the_same_at_once_later_and_from_another_server",
    "mcp_server/test_answers.py::test_a_run_is_told_in_the_same_words_from_memory_and_from_the_archive[5000",
    "mcp_server/test_archive_faults.py",
    "mcp_server/test_history.py",
    "mcp_server/test_http.py",
    "mcp_server/test_life.py",
    "mcp_server/test_malformed.py::test_a_line_of_a_hundred_megabytes_is_refused_and_not_kept",
    "mcp_server/test_malformed.py::test_nobody_has_to_read_what_the_server_says",
    "mcp_server/test_malformed.py::test_what_is_asked_before_the_input_ends_is_answered",
    "mcp_server/test_masking.py",
    "mcp_server/test_omitted.py::test_a_client_can_make_every_call_that_an_answer_names",
    "mcp_server/test_protocol.py",
    "mcp_server/test_scenarios.py",
    "mcp_server/test_warm_life.py",
    "page/test_browser.py",
    "page/test_hostile_pages.py",
    "page/test_in_browser.py",
    "page/test_large_pages.py",
    "page/test_pictures.py",
    "page/test_reading_a_page.py",
    "page/test_using_a_page.py",
    "page/test_valid_pages.py",
    "process/test_interpreter.py",
    "process/test_supervise.py",
    "process/test_warm_start.py",
    "render/test_agent_budget.py::test_five_thousand_failures_of_one_cause_cost_less_than_three_thousand_tokens",
    "render/test_rerun.py::test_any_id_of_pytest_runs_that_test_alone_when_it_is_pasted",
    "render/test_rerun.py::test_ids_of_other_runners_run_that_test_alone_when_they_are_pasted",
    "render/test_rerun.py::test_the_line_that_is_printed_works_from_where_the_person_stands",
    "runners/test_cargo.py",
    "runners/test_go.py",
    "runners/test_javascript.py",
    "runners/test_jest.py",
    "runners/test_node.py",
    "runners/test_tap.py",
    "runners/test_unittest.py",
    "shards/test_merge_model.py",
    "runners/test_vitest.py",
    "soak/",
    "test_asking_for_more.py",
    "test_ci_recipes.py::test_the_command_of_a_recipe",
    "test_ci_recipes.py::test_the_history_is_kept_where_the_cache_of_a_recipe_looks",
    "test_documents.py",
    "test_enough.py",
    "test_exitfirst_new.py",
    "test_failed_first.py",
    "test_longest_first.py::test_workers_",
    "test_isolation.py",
    "test_missing_suites.py::test_a_list_of_tests_says_which_suite_it_lacks",
    "test_missing_suites.py::test_a_run_with_and_without_ci",
    "test_missing_suites.py::test_arguments_for_pytest_work_beside_another_suite",
    "test_missing_suites.py::test_the_server_says_it_and_knows_ci",
    "test_reports_of_runs.py",
    "test_odd_names.py",
    "test_programs.py",
    "test_real_suites.py",
    "test_repeated_tests.py",
    "test_same_results.py",
    "test_skipped_modules.py",
    "test_session_errors.py",
    "test_suites.py",
    "test_truth.py",
    "test_unexplained_status.py",
    "test_usage_errors.py",
    "test_versions.py",
    "torture/",
    "warm/test_equal",
    "warm/test_fresh_runs.py",
    "warm/test_fresh_sequence.py",
    "watching/test_watch.py",
    "watching/test_watch_terminal.py",
    "wire/control/test_pairs.py::test_every_vector_is_told_alike[7-file-larger-than-a-pipe]",
    "wire/control/test_parts.py::test_every_vector_is_told_alike[7-file-larger-than-a-pipe]",
    "wire/document/test_json_report.py",
    "wire/reports/test_junit.py::test_a_large_report_of_many_tests_is_read_in_little_memory",
    "wire/reports/test_ctrf_writer.py::test_every_kind_of_run_is_valid",  # fetches the validator
    "wire/reports/test_ctrf_writer.py::test_the_validator_of_ctrf",
    "wire/reports/test_junit_schema.py",  # fetches the schema
    "wire/reports/test_mutated.py::test_what_the_schema_of_ctrf",  # likewise
    "wire/reports/test_writers.py::test_ctrf_keeps_to_its_schema",  # fetches the schema
    "process/test_import_times.py",
    "warm/test_preload",
)
# Of those, the longest. They come first, so that no worker is left with one of them when all others are done.
LONGEST = (
    "soak/",
    "test_real_suites.py",
    "archive/test_killed_anywhere.py",
    "runners/test_javascript.py::test_each_id_runs_that_test_again",
    "runners/test_cargo.py::test_each_printed_id_runs_that_test_alone",
)
# And the runs from end to end that it has all the same: one for each way in which proctor works.
END_TO_END = {
    "test_all_pass",
    "test_every_suite_that_is_found_runs_and_the_result_is_one",
    "test_a_green_run_is_short",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow, longest = (tuple(f"tests/{name}" for name in names) for names in (SLOW, LONGEST))
    items.sort(key=lambda item: not item.nodeid.startswith(longest))
    for item in items:
        if item.nodeid.startswith(slow) and item.name.partition("[")[0] not in END_TO_END:
            item.add_marker(pytest.mark.slow)


# A shell starts its background jobs with some of these ignored, and nohup everything with another; and
# programs hand that down to what they start.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# A busy machine is no fault of what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "brief",  # for `make mutate`, which asks whether a test fails, a thousand times, and not with what
    settings.get_profile("patient"),
    max_examples=10,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("patient")
