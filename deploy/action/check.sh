#!/usr/bin/env bash
# The work of action.yml: perfci check, the comment of the pull request, the outputs. Inputs are PERFCI_ACTION_*.
# Ends with perfci's exit status: 1 regression, 3 inconclusive, 4 broken, 2 and 5 failures.
set -euo pipefail
comparison=${RUNNER_TEMP:-/tmp}/perfci-comparison.json
options=(--json --max-time "${PERFCI_ACTION_MAX_TIME:-10m}")
[ -z "${PERFCI_ACTION_BASE:-}" ] || options+=(--base "$PERFCI_ACTION_BASE")
[ -z "${PERFCI_ACTION_MEASURE:-}" ] || options+=(--measure "$PERFCI_ACTION_MEASURE")
[ -z "${PERFCI_ACTION_BUILD:-}" ] || options+=(--build "$PERFCI_ACTION_BUILD")
status=0
perfci check "${options[@]}" >"$comparison" || status=$?
case "$status" in
0) verdict=ok ;;
1) verdict=regression ;;
3) verdict=inconclusive ;;
4) verdict=broken ;;
*) verdict=failed ;;
esac
{
    echo "verdict=$verdict"
    echo "comparison=$comparison"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [ -s "$comparison" ]; then
    # The same text in the job's summary, also where no comment is wanted.
    perfci comment --dry-run --repo "${PERFCI_ACTION_REPOSITORY:-owner/name}" --pr "${PERFCI_ACTION_PULL_REQUEST:-1}" "$comparison" \
        >>"${GITHUB_STEP_SUMMARY:-/dev/null}" || true
    if [ "${PERFCI_ACTION_COMMENT:-true}" = true ] && [ -n "${PERFCI_ACTION_PULL_REQUEST:-}" ]; then
        perfci comment --repo "$PERFCI_ACTION_REPOSITORY" --pr "$PERFCI_ACTION_PULL_REQUEST" "$comparison" ||
            echo "::warning::perfci: the comment could not be written; the verdict is $verdict"
    fi
fi
exit "$status"
