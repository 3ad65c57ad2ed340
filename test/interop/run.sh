#!/usr/bin/env bash
# Tests the operator and its simulator with common clients of AWS and Kubernetes: each has its own
# script in this folder. A client that is not installed is skipped, and the summary says so.
#
#   test/interop/run.sh            all
#   test/interop/run.sh aws moto   these
set -euo pipefail
cd "$(dirname "$0")/../.."

CLIENTS=(kubectl cluster docs aws eks adopt terraform-state python-sdk cfn-lint moto systemd terraform)
[[ $# -eq 0 ]] || CLIENTS=("$@")

WORK=$(mktemp -d "${TMPDIR:-/tmp}/aws-operator-interop-XXXXXX")
export WORK OPERATOR="$PWD/bin/aws-operator"
finish() {
  "$OPERATOR" local down --dir "$WORK/local" >/dev/null 2>&1 || true
  rm -rf "$WORK"
}
trap finish EXIT

# A script that cannot run exits with this code and prints the reason on its last line.
SKIPPED=75

"$OPERATOR" local up --detach --latency 100ms --dir "$WORK/local"
export KUBECONFIG="$WORK/local/kubeconfig" KUBECACHEDIR="$WORK/kube-cache"
# shellcheck disable=SC1091 # written a moment ago
source "$WORK/local/aws.env"
unset AWS_OPERATOR_RELEASES # tests of states bring their own Releases

summary=() failed=()
for client in "${CLIENTS[@]}"; do
  script=$(ls "test/interop/$client".*)
  echo; echo "== $client"
  started=$SECONDS code=0
  case $script in
    *.py) python=$(command -v python3) && "$python" "$script" 2>&1 | tee "$WORK/$client.log" || code=$? ;;
    *) bash "$script" 2>&1 | tee "$WORK/$client.log" || code=$? ;;
  esac
  case $code in
    0) result="passed in $((SECONDS - started)) s" ;;
    "$SKIPPED") result="SKIPPED: $(tail -n 1 "$WORK/$client.log" 2>/dev/null)" ;;
    *) result="FAILED" failed+=("$client") ;;
  esac
  summary+=("$(printf '  %-10s %s' "$client" "$result")")
done

# What failed comes last, where a reader of a long log begins.
if [[ ${#failed[@]} -ne 0 ]]; then
  echo; echo "the end of the operator's log:"; tail -n 40 "$WORK/local/operator.log"
fi
for client in "${failed[@]}"; do
  echo; echo "== how $client ended"; tail -n 15 "$WORK/$client.log"
done
echo; echo "== summary"; printf '%s\n' "${summary[@]}"
exit $((${#failed[@]} > 0))
