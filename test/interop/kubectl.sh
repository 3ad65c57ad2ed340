# A user's workflow with kubectl: apply, get, wait, explain, edit, delete.
source test/interop/lib.sh
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 75; }

kubectl apply -f examples/quickstart
kubectl wait --for=condition=Ready --timeout=60s dynamodb/dynamo-table snstopic/orders sqsqueue/billing snssubscription/orders-to-billing

is "the status in CloudFormation" "$(kubectl get ddb dynamo-table -o jsonpath='{.status.resourceStatus}')" CREATE_COMPLETE
is "the table's name in the output" "$(kubectl get ddb dynamo-table -o jsonpath='{.status.output.tableName}')" dynamo-table
is "the table's ARN in the output" "$(kubectl get ddb dynamo-table -o jsonpath='{.status.output.tableARN}')" \
  "arn:aws:dynamodb:$AWS_REGION:123456789012:table/dynamo-table"
is "the ConfigMap is named" "$(kubectl get ddb dynamo-table -o jsonpath='{.status.additionalResources.configMaps[0]}')" dynamo-table
is "the ConfigMap exists" "$(kubectl get configmap dynamo-table -o jsonpath='{.data.tableName}')" dynamo-table

kubectl get aws
like "one word lists all kinds" "$(kubectl get aws -o name)" 'sqsqueue.service-operator.aws/billing'
kubectl get ddb -o wide
like "short names and columns" "$(kubectl get ddbs -o wide)" 'READY +REASON +SYNCED +STATUS +DRIFTED +STACK'
kubectl explain dynamodb.spec
like "explain knows the fields" "$(kubectl explain dynamodb.spec)" 'readCapacityUnits'
kubectl describe ddb dynamo-table
like "describe shows events" "$(kubectl describe ddb dynamo-table)" 'Events:'

fails "a wrong type is refused, with the field" 'spec.hashAttribute.type' kubectl apply -f - <<'YAML'
apiVersion: service-operator.aws/v1alpha1
kind: DynamoDB
metadata: {name: wrong}
spec: {hashAttribute: {name: a, type: X}, readCapacityUnits: 1, writeCapacityUnits: 1}
YAML
fails "an unknown field is refused, with its name" 'unknown field "spec.visibilityTimeOut"' kubectl apply -f - <<'YAML'
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: wrong}
spec: {visibilityTimeOut: 1}
YAML

kubectl patch ddb dynamo-table --type=merge -p '{"spec":{"readCapacityUnits":7}}'
updated() { [[ $(kubectl get ddb dynamo-table -o jsonpath='{.status.resourceStatus}') == UPDATE_COMPLETE ]]; }
eventually "an edit updates the stack" updated

kubectl apply -f examples/modeldefinition.yaml
kubectl wait --for=condition=Ready --timeout=60s modeldefinition/kinesisstreams
kubectl apply -f examples/kinesisstream.yaml
kubectl wait --for=condition=Ready --timeout=60s kinesisstream/clicks
like "a user-defined kind can be explained" "$(kubectl explain kinesisstream.spec)" 'retentionPeriodHours'

kubectl delete --timeout=180s -f examples/kinesisstream.yaml -f examples/quickstart
kubectl delete --timeout=60s -f examples/modeldefinition.yaml
kubectl api-resources --cached=false >/dev/null # drop the deleted kind from the cache
is "nothing is left" "$(kubectl get aws -o name)" ""
