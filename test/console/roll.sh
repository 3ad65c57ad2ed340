#!/usr/bin/env bash
# Watches a roll of a whole cluster of about five minutes on one page of aws-operator console in Chromium, which must
# show every stage without being loaded again. Screenshots are in .cache/console-roll; SCREENSHOTS=folder keeps two.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
start_console console-roll

kubectl apply -f - >/dev/null <<'MANIFEST'
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  release: v1.36.3
  region: eu-central-2
  network: {cidr: 10.0.0.0/16, zones: [eu-central-2a, eu-central-2b, eu-central-2c], topology: Public}
  controlPlane: {replicas: 3, instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: shop-workers}
spec: {cluster: shop, minSize: 10, maxSize: 10, instanceTypes: [m6i.large], rollingUpdate: {batchSize: 1, minInService: 9}}
MANIFEST
kubectl wait --for=condition=Ready --timeout=5m cluster/shop instancegroup/shop-workers >/dev/null

# Each pod takes half a minute to become Ready, so the budget admits the next eviction after that time.
kubectl get secret shop-kubeconfig -o jsonpath='{.data.value}' | base64 -d >"$out/shop.kubeconfig"
kubectl --kubeconfig "$out/shop.kubeconfig" create -f - >/dev/null <<'MANIFEST'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: front, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: front}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: default}
spec:
  replicas: 10
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}, annotations: {played.aws-operator/ready-after: 30s}}
    spec:
      nodeSelector: {cluster-operator.aws/instance-group: shop-workers}
      containers: [{name: front, image: example.com/front}]
MANIFEST

(cd "$out" && node roll.mjs "$(address)")
if [ -n "${SCREENSHOTS:-}" ]; then
  cp "$out/blocked.png" "$SCREENSHOTS/roll-blocked.png"
  cp "$out/middle.png" "$SCREENSHOTS/roll-middle.png"
fi
