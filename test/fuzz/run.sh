#!/usr/bin/env bash
# Fuzzes the parsers in a folder, one after another, and goes on after a finding.
#
#   test/fuzz/run.sh FOLDER PATTERN TIME
#
# Without a fix that is in Go 1.27, a run may end with "context deadline exceeded" when its time is over, and nothing else: that is no
# finding (https://go.dev/issue/75804).
set -uo pipefail
folders=$1 pattern=$2 time=$3

log=$(mktemp)
trap 'rm -f "$log"' EXIT
tried=0 findings=()
while read -r folder; do
  while read -r name; do
    echo "$folder $name"
    tried=$((tried + 1))
    if ! (cd "$folder" && ${GO:-go} test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 5s -timeout 0 .) 2>&1 </dev/null | tee "$log"; then
      said=$(grep -vE '^(fuzz: |FAIL|exit status )' "$log" | grep -vE "^--- FAIL: $name \(" | tr -d ' \n')
      [[ $said == contextdeadlineexceeded ]] || findings+=("$folder $name")
    fi
  done < <(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$folder"/*_test.go | sed 's/^func //' | grep -E "$pattern")
done < <(grep -rlE '^func Fuzz' --include=*_test.go "$folders" | xargs -rn1 dirname | sort -u)

echo "$tried parsers were fuzzed for $time each; ${#findings[@]} have findings."
for one in "${findings[@]}"; do echo "  $one"; done
[[ ${#findings[@]} -eq 0 && $tried -gt 0 ]]
