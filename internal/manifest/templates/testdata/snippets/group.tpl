{{ define "group" -}}
apiVersion: kops/v1alpha2
kind: InstanceGroup
metadata:
  name: {{ .name }}
  labels: {kops.k8s.io/cluster: {{ .root.cluster_name.value }}.{{ .root.dns_zone }}}
spec:
  role: {{ .group.role | default "Node" }}
  machineType: {{ .group.type }}
  minSize: {{ .group.min }}
  maxSize: {{ .group.max }}
  nodeLabels: {example.com/kind: {{ join "-" .root.labels }}}
  subnets:
{{ toYaml .root.zones.value | indent 4 }}
{{- end }}
