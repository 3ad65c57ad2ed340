# Resources that exist. A queue, a table and a bucket were made by hand: an object adopts each, drift is
# reported and reverted, the pods of a service account use them with IAM enforced, and they stay as they were
# when the objects are deleted. And the resources of another tool's stack move to objects.
source test/interop/lib.sh
need aws
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 75; }
export AWS_PAGER="" AWS_DEFAULT_OUTPUT=text

# By hand
url=$(aws sqs create-queue --queue-name life-queue --attributes VisibilityTimeout=45 --query QueueUrl)
aws sqs create-queue --queue-name strange >/dev/null
aws dynamodb create-table --table-name life-table --attribute-definitions AttributeName=id,AttributeType=S \
  --key-schema AttributeName=id,KeyType=HASH --provisioned-throughput ReadCapacityUnits=2,WriteCapacityUnits=2 >/dev/null
aws dynamodb wait table-exists --table-name life-table
aws dynamodb put-item --table-name life-table --item '{"id":{"S":"a"},"n":{"N":"7"}}'
aws s3api create-bucket --bucket life-bucket --create-bucket-configuration "LocationConstraint=$AWS_REGION" >/dev/null
aws s3api put-bucket-versioning --bucket life-bucket --versioning-configuration Status=Enabled
echo content >"$WORK/file"
aws s3api put-object --bucket life-bucket --key file --body "$WORK/file" >/dev/null

timeout_of() { aws sqs get-queue-attributes --queue-url "$url" --attribute-names VisibilityTimeout --query Attributes.VisibilityTimeout; }
reads_of() { aws dynamodb describe-table --table-name life-table --query Table.ProvisionedThroughput.ReadCapacityUnits; }
versioning_of() { aws s3api get-bucket-versioning --bucket life-bucket --query Status; }
values() { echo "$(timeout_of) $(reads_of) $(versioning_of)"; }
have() { [[ $(values) == "$1" ]]; }
# everything that would differ if a resource had been made again
identity() {
  aws sqs get-queue-attributes --queue-url "$url" --attribute-names All --query 'Attributes.[QueueArn, CreatedTimestamp]'
  aws dynamodb describe-table --table-name life-table --query 'Table.[TableId, CreationDateTime]'
  aws dynamodb get-item --table-name life-table --key '{"id":{"S":"a"}}' --query Item.n.N
  aws s3api list-object-versions --bucket life-bucket --prefix file --query 'Versions[].[Key, VersionId, LastModified]'
}
eventually "the resources have their values" have "45 2 Enabled"
before=$(identity)

# Adopted
"$OPERATOR" import --type SQSQueue,DynamoDB,S3Bucket --name 'life-*' --out "$WORK/life-manifests" 2>"$WORK/life-import.log"
like "import names the flags for the operator" "$(cat "$WORK/life-import.log")" '--allow-adoption='
like "the plan changes nothing" "$("$OPERATOR" plan -f "$WORK/life-manifests")" 'Plan: 3 to import, in 3 stacks. No resource changes.'
kubectl apply -f "$WORK/life-manifests"
objects=(sqsqueue/life-queue dynamodb/life-table s3bucket/life-bucket)
kubectl wait --for=condition=Ready --timeout=120s "${objects[@]}"
is "nothing was changed" "$(values)" "45 2 Enabled"
is "nothing was made again" "$(identity)" "$before"
is "the queue is published" "$(kubectl get configmap life-queue -o jsonpath='{.data.queueURL}')" "$url"

# Drifted and reported
aws sqs set-queue-attributes --queue-url "$url" --attributes VisibilityTimeout=90
aws dynamodb update-table --table-name life-table --provisioned-throughput ReadCapacityUnits=4,WriteCapacityUnits=2 >/dev/null
aws s3api put-bucket-versioning --bucket life-bucket --versioning-configuration Status=Suspended
eventually "the resources have other values" have "90 4 Suspended"
drift=$("$OPERATOR" plan --drift -f "$WORK/life-manifests")
like "plan --drift has the queue" "$drift" 'VisibilityTimeout is 90 and should be 45'
like "plan --drift has the table" "$drift" 'ProvisionedThroughput/ReadCapacityUnits is 4 and should be 2'
like "plan --drift has the bucket" "$drift" 'VersioningConfiguration/Status is Suspended and should be Enabled'
kubectl annotate --overwrite "${objects[@]}" service-operator.aws/check-drift="$(date)" >/dev/null
kubectl wait --for=condition=Drifted=True --timeout=120s "${objects[@]}"
is "the status has both values" "$(kubectl get sqsqueue life-queue -o jsonpath='{.status.drift.resources[0].properties[0].expected} {.status.drift.resources[0].properties[0].actual}')" \
  "45 90"
is "nothing is reverted without a word" "$(values)" "90 4 Suspended"

# Reverted
kubectl annotate --overwrite "${objects[@]}" service-operator.aws/drift-policy=Revert >/dev/null
kubectl wait --for=condition=Drifted=False --timeout=180s "${objects[@]}"
eventually "the resources have their values again" have "45 2 Enabled"

# Used by the pods of a service account
kubectl create serviceaccount web >/dev/null
for object in "${objects[@]}"; do
  kubectl patch "$object" --type=merge -p '{"spec":{"grants":[{"serviceAccount":"web","access":"ReadWrite"}]}}' >/dev/null
done
role=
annotated() { role=$(kubectl get serviceaccount web -o jsonpath='{.metadata.annotations.eks\.amazonaws\.com/role-arn}') && [[ -n $role ]]; }
eventually "the ServiceAccount names a role" annotated
kubectl wait --for=condition=Ready --timeout=120s "${objects[@]}"
token=$(kubectl create token web --audience=sts.amazonaws.com)
session=
assumed() {
  session=$(aws sts assume-role-with-web-identity --role-arn "$role" --role-session-name pod --web-identity-token "$token" \
    --query 'Credentials.[AccessKeyId, SecretAccessKey, SessionToken]')
}
eventually "a pod's token assumes the role" assumed
read -r key secret temporary <<<"$session"
pod() { AWS_ACCESS_KEY_ID=$key AWS_SECRET_ACCESS_KEY=$secret AWS_SESSION_TOKEN=$temporary aws "$@"; }
eventually "the pod sends" pod sqs send-message --queue-url "$url" --message-body hello
eventually "the pod writes an item" pod dynamodb put-item --table-name life-table --item '{"id":{"S":"b"}}'
eventually "the pod writes an object" pod s3api put-object --bucket life-bucket --key pod --body "$WORK/file"
fails "the pod may not use another queue" 'AccessDenied' pod sqs send-message --queue-url "${url/life-queue/strange}" --message-body hello
fails "the pod may not delete the table" 'AccessDenied' pod dynamodb delete-table --table-name life-table

# Released
kubectl delete --timeout=120s "${objects[@]}"
is "the resources have their values" "$(values)" "45 2 Enabled"
is "and nothing was made again" "$(identity)" "$before"

# The stack of another tool
cat >"$WORK/legacy.yaml" <<'YAML'
Parameters:
  Timeout: {Type: Number, Default: "30"}
Resources:
  Jobs:
    Type: AWS::SQS::Queue
    Properties: {QueueName: legacy-jobs, VisibilityTimeout: !Ref Timeout}
  News:
    Type: "AWS::SNS::Topic"
    Properties: {TopicName: legacy-news}
YAML
aws cloudformation create-stack --stack-name legacy --template-body "file://$WORK/legacy.yaml" --parameters ParameterKey=Timeout,ParameterValue=50 >/dev/null
stack_is legacy CREATE_COMPLETE
jobs=$(aws sqs get-queue-url --queue-name legacy-jobs --query QueueUrl)
made() { aws sqs get-queue-attributes --queue-url "$jobs" --attribute-names All --query 'Attributes.[QueueArn, CreatedTimestamp, VisibilityTimeout]'; }
before=$(made)
"$OPERATOR" import --stack legacy --out "$WORK/legacy" 2>/dev/null
# as in the guide
stack=legacy
aws cloudformation get-template --stack-name "$stack" --query TemplateBody --output text |
  sed -E 's/^( +)Type: .?AWS::.*/&\n\1DeletionPolicy: Retain/' >"$WORK/retained.yaml"
is "every resource is retained" "$(grep -c 'DeletionPolicy: Retain' "$WORK/retained.yaml")" 2
# shellcheck disable=SC2046 # several words
aws cloudformation update-stack --stack-name "$stack" --template-body "file://$WORK/retained.yaml" --parameters \
  $(aws cloudformation describe-stacks --stack-name "$stack" --output text \
    --query "join(' ', Stacks[0].Parameters[].join('', ['ParameterKey=', ParameterKey, ',UsePreviousValue=true']))") >/dev/null
stack_is legacy UPDATE_COMPLETE
aws cloudformation delete-stack --stack-name legacy
stack_gone() { ! aws cloudformation describe-stacks --stack-name legacy; }
eventually "the other tool's stack is deleted" stack_gone
like "the plan imports its resources" "$("$OPERATOR" plan -f "$WORK/legacy")" 'Plan: 2 to import, in 2 stacks. No resource changes.'
kubectl apply -f "$WORK/legacy"
kubectl wait --for=condition=Ready --timeout=120s sqsqueue/legacy-jobs snstopic/legacy-news
is "nothing was made again" "$(made)" "$before"
kubectl patch sqsqueue legacy-jobs --type=merge -p '{"spec":{"visibilityTimeout":70}}' >/dev/null
seventy() { [[ $(aws sqs get-queue-attributes --queue-url "$jobs" --attribute-names VisibilityTimeout --query Attributes.VisibilityTimeout) == 70 ]]; }
eventually "from now on, the queue follows its object" seventy
kubectl delete --timeout=120s sqsqueue/legacy-jobs snstopic/legacy-news serviceaccount/web
