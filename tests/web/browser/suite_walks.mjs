// The ways that deploy/test.sh walks: of each page and kind of gesture one. With PERFCI_TESTS_LONG=1 all are walked.
export const SUITE_WALKS = new Set([
  "overview_to_series", "a_broken_benchmark_says_since_when_and_why", "tooltip_tells_the_commit", "keyboard_walks_the_points",
  "search_narrows_and_stays_in_the_address", "triage_needs_a_sign_in_and_no_script_can_read_its_token",
  "a_failure_shows_the_servers_sentence", "the_theme_is_kept", "the_menu_works_on_a_phone", "a_page_that_breaks_leaves_the_way_out",
  "suspects_come_with_their_reasons_and_the_commands", "names_from_outside_are_text", "evidence_agrees_with_its_rows",
  "a_night_says_what_every_new_commit_did", "an_alert_shows_the_blocks_behind_it", "a_heat_map_tells_changes_from_noise_and_from_nothing",
  "keys_zoom_and_the_server_sends_the_part", "ends_are_typed_and_their_commits_named", "a_rule_is_tried_and_stored_by_keys",
  "gaps_are_named_and_closed_by_a_job", "settings_stored_meanwhile_are_not_overwritten", "a_secret_is_shown_once",
  "ten_alerts_of_one_cause_take_four_actions", "groups_are_triaged_by_keys_alone", "a_search_shows_its_cost_before_it_is_started",
  "accepting_a_level_says_what_it_resets_and_keeps", "keys_walk_and_mark_the_rows_of_a_list", "ctrl_wheel_zooms_the_series_at_the_pointer",
  "escape_closes_it_and_the_focus_is_back", "the_slider_and_keys_replay_the_posterior", "group_filters_complete_what_the_server_has",
  "a_dot_is_named_and_opened_by_keys", "shift_drag_pans_the_roofline_and_a_double_click_shows_all", "a_run_leads_to_its_timeline",
  "a_timeline_is_zoomed_and_moved_by_pointer",
]);
