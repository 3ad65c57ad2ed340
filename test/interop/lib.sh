# Functions for the scripts. run.sh sets the environment and runs them.
set -euo pipefail

# need COMMAND: skip the script if the command is not installed.
need() {
  command -v "$1" >/dev/null && { "$1" --version || "$1" --help; } >/dev/null 2>&1 || { echo "$1 is not installed"; exit 75; }
}

# is WHAT GOT WANT: fail unless the two are the same.
is() {
  if [[ $2 != "$3" ]]; then
    echo "FAILED $1: got '$2', want '$3'"
    exit 1
  fi
  echo "ok     $1"
}

# like WHAT GOT PATTERN: fail unless the text matches the extended pattern.
like() {
  if ! grep -Eq -- "$3" <<<"$2"; then
    echo "FAILED $1: got '$2', want something like '$3'"
    exit 1
  fi
  echo "ok     $1"
}

# fails WHAT PATTERN COMMAND…: fail unless the command fails and its output matches.
fails() {
  local what=$1 pattern=$2 said
  shift 2
  if said=$("$@" 2>&1); then
    echo "FAILED $what: it succeeded: $said"
    exit 1
  fi
  like "$what" "$said" "$pattern"
}

# eventually WHAT COMMAND…: wait up to 60 s for the command to succeed.
eventually() {
  local what=$1 end=$((SECONDS + 60))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then
      echo "FAILED $what: not within 60 s; at last:"
      "$@" || true
      exit 1
    fi
    sleep 0.2
  done
  echo "ok     $what"
}

# stack_is NAME STATUS: wait for a stack; the AWS CLI's waiters poll only every 30 s.
stack_is() {
  eventually "cloudformation: stack $1 is $2" stack_has_status "$1" "$2"
}
stack_has_status() {
  [[ $(aws cloudformation describe-stacks --stack-name "$1" --query 'Stacks[0].StackStatus' --output text) == "$2" ]]
}
