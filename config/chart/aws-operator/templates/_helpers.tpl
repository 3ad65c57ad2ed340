{{- define "aws-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 53 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "aws-operator.serviceAccountName" -}}
{{ .Values.serviceAccount.name | default (include "aws-operator.fullname" .) }}
{{- end -}}

{{- define "aws-operator.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "aws-operator.labels" -}}
{{ include "aws-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The console has another name than the operator, whose Deployment, Service and budget select by name. */}}
{{- define "aws-operator.consoleSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-console
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "aws-operator.consoleLabels" -}}
{{ include "aws-operator.consoleSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "aws-operator.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}:{{ $tag }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{/* Arguments of the container. A flag whose value is empty, 0 or false is left to its default. */}}
{{- define "aws-operator.args" -}}
{{- $budgets := list }}
{{- range $service, $budget := .Values.aws.apiBudget }}
{{- $budgets = append $budgets (printf "%s=%s" $service $budget) }}
{{- end }}
{{- $flags := dict
  "aws-region" .Values.aws.region
  "aws-endpoint-url" .Values.aws.endpointURL
  "aws-account-id" .Values.aws.accountID
  "aws-api-budget" (join "," $budgets)
  "template-bucket" .Values.aws.templateBucket
  "nodeup-dir" .Values.nodeupDir
  "user-templates-allowed-types" .Values.userTemplates.allowedTypes
  "user-templates-namespaces" .Values.userTemplates.namespaces
  "allow-foreign" .Values.allowForeign
  "allow-adoption" .Values.allowAdoption
  "allow-roles" .Values.allowRoles
  "service-account-issuer" .Values.serviceAccountIssuer
  "eks-cluster" .Values.eksCluster
  "require-identity" .Values.requireIdentity
  "cluster-api" .Values.clusterAPI.enabled
  "cluster-name" .Values.clusterName
  "watch-namespace" .Values.watchNamespaces
  "max-concurrent-reconciles" .Values.maxConcurrentReconciles
  "sweep-interval" .Values.sweepInterval
  "drift-interval" .Values.driftInterval
  "metrics-bind-address" (ternary (printf ":%v" .Values.metrics.port) "0" .Values.metrics.enabled)
  "health-probe-bind-address" (printf ":%v" .Values.probes.port)
  "pprof-bind-address" (ternary (printf "127.0.0.1:%v" .Values.profiling.port) "" .Values.profiling.enabled)
  "leader-elect" (and .Values.leaderElection.enabled (not .Values.shards))
  "leader-election-namespace" .Values.leaderElection.namespace
  "shards" .Values.shards
  "log-level" .Values.log.level
  "log-format" .Values.log.format
-}}
- operator
{{- range $flag, $value := $flags }}
{{- if kindIs "slice" $value }}
{{- range $value }}
- {{ printf "--%s=%v" $flag . | quote }}
{{- end }}
{{- else if $value }}
- {{ printf "--%s=%v" $flag $value | quote }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Whether pods hold Leases. */}}
{{- define "aws-operator.leases" -}}
{{- if or .Values.leaderElection.enabled .Values.shards }}true{{ end }}
{{- end -}}

{{/* Rights in the namespaces of objects. */}}
{{- define "aws-operator.namespacedRules" -}}
# What it makes from the outputs of a stack, and the keys and kubeconfigs of clusters.
- apiGroups: [""]
  resources: [configmaps, secrets, services]
  verbs: [get, list, watch, create, patch, update, delete]
# The ServiceAccounts that spec.grants names get the annotation of their role.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, watch, patch]
{{- if .Values.clusterAPI.enabled }}
# The objects of Cluster API that own Clusters and InstanceGroups. The operator never writes them.
- apiGroups: [cluster.x-k8s.io]
  resources: [clusters, machinepools]
  verbs: [get, list, watch]
{{- end }}
{{- end -}}

{{/* Combinations of values that the schema cannot refuse with a clear message. */}}
{{- define "aws-operator.check" -}}
{{- with .Values }}
{{- if and (gt (int .replicas) 1) (not .leaderElection.enabled) (not .shards) }}
{{- fail (printf "replicas is %v, but leaderElection.enabled is false: each pod would change the same stacks. Set replicas to 1, leaderElection.enabled to true, or shards" .replicas) }}
{{- end }}
{{- if and (not .serviceAccount.create) (not .serviceAccount.name) }}
{{- fail "serviceAccount.create is false, but serviceAccount.name is empty: set it to the ServiceAccount that the operator's pods use" }}
{{- end }}
{{- if and (not .serviceAccount.create) (or .serviceAccount.roleARN .serviceAccount.annotations) }}
{{- fail "serviceAccount.create is false, so the chart cannot set serviceAccount.roleARN and serviceAccount.annotations: leave them empty and annotate the ServiceAccount where you create it" }}
{{- end }}
{{- if and .serviceAccountIssuer .eksCluster }}
{{- fail "serviceAccountIssuer and eksCluster are two ways to give pods their roles: leave one of them empty" }}
{{- end }}
{{- if and .metrics.serviceMonitor.enabled (not .metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled is true, but metrics.enabled is false: set metrics.enabled to true" }}
{{- end }}
{{- if and .metrics.rules.enabled (not .metrics.enabled) }}
{{- fail "metrics.rules.enabled is true, but metrics.enabled is false: set metrics.enabled to true" }}
{{- end }}
{{- if and .metrics.dashboards.enabled (not .metrics.enabled) }}
{{- fail "metrics.dashboards.enabled is true, but metrics.enabled is false: set metrics.enabled to true" }}
{{- end }}
{{- if and .metrics.enabled (eq (int .metrics.port) (int .probes.port)) }}
{{- fail (printf "metrics.port and probes.port are both %v: set them to different ports" .probes.port) }}
{{- end }}
{{- if and .console.enabled (not .console.hosts) }}
{{- fail "console.enabled is true, but console.hosts is empty: set it to the host by which browsers reach the console" }}
{{- end }}
{{- if and (not .roles.create) (or .roles.aggregate .roles.additionalKinds) }}
{{- fail "roles.create is false, so roles.aggregate and roles.additionalKinds have no effect: set roles.create to true, or leave them out" }}
{{- end }}
{{- end }}
{{- end -}}
