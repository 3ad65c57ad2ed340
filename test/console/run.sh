#!/usr/bin/env bash
# Drives the page of aws-operator console in Chromium: what it shows of a cluster and of services in local mode,
# of AWS, an approval, a rolling update, the keyboard, a console that users share; and checks every page with axe. Screenshots are in .cache/console.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
start_console console

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
---
apiVersion: service-operator.aws/v1alpha1
kind: SNSSubscription
metadata: {name: script-to-manual}
spec: {topicName: script, protocol: sqs, endpoint: manual}
---
apiVersion: aws-operator.aws/v1alpha1
kind: AWSIdentity
metadata: {name: team}
spec: {roleARN: "arn:aws:iam::210987654321:role/team", allowedNamespaces: {names: [default]}}
MANIFEST
kubectl wait --for=condition=Ready --timeout=5m cluster/demo instancegroup/demo-workers sqsqueue/manual >/dev/null
kubectl patch sqsqueue manual --type merge -p '{"spec":{"visibilityTimeout":60}}' >/dev/null
(cd "$out" && node console.mjs "$(address)")

# The console that users share: with the API server of local mode, and a user of the namespace default.
kubectl create serviceaccount ada >/dev/null
kubectl create role ada --verb=get,list,watch --resource=clusters.cluster-operator.aws,instancegroups.cluster-operator.aws >/dev/null
kubectl create rolebinding ada --role=ada --serviceaccount=default:ada >/dev/null
server=$(kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
kubectl config view --minify --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$out/ca.crt"
hostport=${server#https://}
KUBERNETES_SERVICE_HOST=${hostport%:*} KUBERNETES_SERVICE_PORT=${hostport##*:} bin/aws-operator console --in-cluster \
  --host console.example.com --certificate-authority "$out/ca.crt" >"$out/shared.log" 2>&1 &
shared=$!
trap 'kill $shared; end' EXIT
until grep -q '^Serving' "$out/shared.log"; do kill -0 "$shared"; sleep 0.1; done
(cd "$out" && node shared.mjs "$(sed -n 's/^Serving .* at //p' "$out/shared.log")" \
  "$(kubectl create token ada)" "$(kubectl create token ada --duration 30m)")
