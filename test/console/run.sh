#!/usr/bin/env bash
# Drives the page of aws-operator console in Chromium: what it shows of a cluster and of services in local mode,
# an approval, a rolling update, the keyboard; and checks every page with axe. Screenshots are in .cache/console.
set -euo pipefail
cd "$(dirname "$0")/../.."

for program in chromium node npm kubectl; do
  if ! command -v "$program" >/dev/null; then
    echo "test-console needs $program: install it first (Debian: apt-get install chromium nodejs npm; kubectl from kubernetes.io)" >&2
    exit 1
  fi
done

out=$PWD/.cache/console
rm -rf "$out"
mkdir -p "$out"
cp test/console/package.json test/console/console.mjs "$out"
(cd "$out" && npm install --no-audit --no-fund --silent)

bin/aws-operator local up --detach --machines fake --dir "$out/local" >"$out/local.log"
console=
trap '[ -z "$console" ] || kill "$console"; bin/aws-operator local down --dir "$out/local" >/dev/null' EXIT
export KUBECONFIG=$out/local/kubeconfig
bin/aws-operator console >"$out/console.log" 2>&1 &
console=$!

kubectl apply -f "$out/local/quickstart" -f - >/dev/null <<'MANIFEST'
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: refused, annotations: {aws-operator/identity: missing}}
spec: {}
---
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: manual}
spec: {updatePolicy: Manual, visibilityTimeout: 30}
---
apiVersion: service-operator.aws/v1alpha1
kind: SNSTopic
metadata: {name: script, annotations: {aws-operator/tags: "<img src=x onerror=alert(1)>"}}
spec: {}
MANIFEST
kubectl wait --for=condition=Ready --timeout=5m cluster/demo instancegroup/demo-workers sqsqueue/manual >/dev/null
kubectl patch sqsqueue manual --type merge -p '{"spec":{"visibilityTimeout":60}}' >/dev/null
(cd "$out" && node console.mjs "$(sed -n 's/^Open //p' console.log)")
