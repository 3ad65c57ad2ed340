# What the tests of the page share.
cd "$(dirname "$0")/../.."

for program in chromium node npm kubectl; do
  if ! command -v "$program" >/dev/null; then
    echo "$0 needs $program: install it first (Debian: apt-get install chromium nodejs npm; kubectl from kubernetes.io)" >&2
    exit 1
  fi
done

console=

end() {
  [ -z "$console" ] || kill "$console"
  bin/aws-operator local down --dir "$out/local" >/dev/null
}

# start_console NAME starts local mode and a console below .cache/NAME, with what the scripts need.
start_console() {
  out=$PWD/.cache/$1
  rm -rf "$out"
  mkdir -p "$out"
  cp test/console/package.json test/console/*.mjs "$out"
  (cd "$out" && npm install --no-audit --no-fund --silent)
  bin/aws-operator local up --detach --machines fake --dir "$out/local" >"$out/local.log"
  trap end EXIT
  export KUBECONFIG=$out/local/kubeconfig
  . "$out/local/aws.env"
  : >"$out/console.log"
  bin/aws-operator console --aws --operator-log "$out/local/operator.log" >"$out/console.log" 2>&1 &
  console=$!
  until [ -n "$(address)" ]; do kill -0 "$console"; sleep 0.1; done
}

# address prints the address of the page.
address() {
  sed -n 's/^Open //p' "$out/console.log"
}
