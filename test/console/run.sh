#!/usr/bin/env bash
# Drives the page of aws-operator console in Chromium: what it shows of a cluster and of services in local mode,
# of AWS, an approval, a rolling update, the keyboard; and checks every page with axe. Screenshots are in .cache/console.
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
