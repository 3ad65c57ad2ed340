# moto, an independent simulator of AWS: the same calls to both must return the same answers where
# both implement them. The operator itself also runs on it, as far as moto supports that.
source test/interop/lib.sh
need moto_server
need aws
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 75; }
export AWS_PAGER="" AWS_DEFAULT_OUTPUT=json AWS_ACCESS_KEY_ID=123456789012 AWS_SECRET_ACCESS_KEY=secret

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
moto_server -H 127.0.0.1 -p "$port" >"$WORK/moto-server.log" 2>&1 &
started=($!)
finish() {
  "$OPERATOR" local down --dir "$WORK/beside-moto" >/dev/null 2>&1 || true
  kill "${started[@]}" 2>/dev/null || true
  wait "${started[@]}" 2>/dev/null || true
}
trap finish EXIT
moto=http://127.0.0.1:$port
eventually "moto serves" curl -fs "$moto/moto-api/"

# same WHAT COMMAND…: the normalized answers of both are the same.
same() {
  local what=$1 ours theirs
  shift
  ours=$("$@" 2>&1 | normal) || true
  theirs=$(AWS_ENDPOINT_URL=$moto "$@" 2>&1 | normal) || true
  if [[ $ours != "$theirs" ]]; then
    echo "FAILED $what: ours < > theirs"
    diff <(echo "$ours") <(echo "$theirs") || true
    exit 1
  fi
  echo "ok     $what"
}

# Always different: addresses, identifiers and the text of messages.
normal() {
  sed -E 's#https?://[^/" ]+#URL#g; s/[0-9a-f]{8}-[0-9a-f-]{27}/ID/g; s/(An error occurred \([A-Za-z.]+\)).*/\1/; s/123456789012/ACCOUNT/g'
}

cat >"$WORK/both.yaml" <<'YAML'
Parameters:
  Name: {Type: String, Default: both}
Conditions:
  Never: !Equals [a, b]
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Ref Name
      AttributeDefinitions: [{AttributeName: k, AttributeType: S}]
      KeySchema: [{AttributeName: k, KeyType: HASH}]
      ProvisionedThroughput: {ReadCapacityUnits: 2, WriteCapacityUnits: 3}
  Queue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Join ["-", [!Ref Name, queue]], VisibilityTimeout: 33}
  Absent:
    Type: AWS::SNS::Topic
    Condition: Never
Outputs:
  TableArn: {Value: !GetAtt Table.Arn}
  QueueUrl: {Value: !Ref Queue}
  Split: {Value: !Select [1, !Split ["-", a-b-c]]}
YAML
for url in "$AWS_ENDPOINT_URL" "$moto"; do
  AWS_ENDPOINT_URL=$url aws cloudformation create-stack --stack-name both --template-body "file://$WORK/both.yaml" >/dev/null
  AWS_ENDPOINT_URL=$url stack_is both CREATE_COMPLETE
done
same "cloudformation: outputs" aws cloudformation describe-stacks --stack-name both --query 'sort_by(Stacks[0].Outputs, &OutputKey)[].[OutputKey, OutputValue]'
# moto lists the resource whose condition is false, without a type.
same "cloudformation: resources" aws cloudformation list-stack-resources --stack-name both \
  --query 'sort_by(StackResourceSummaries[?ResourceType], &LogicalResourceId)[].[LogicalResourceId, PhysicalResourceId, ResourceType, ResourceStatus]'
same "dynamodb: the table's keys and capacity" aws dynamodb describe-table --table-name both \
  --query 'Table.[TableName, TableStatus, KeySchema, AttributeDefinitions, ProvisionedThroughput.ReadCapacityUnits, ProvisionedThroughput.WriteCapacityUnits]'
same "dynamodb: an item" aws dynamodb put-item --table-name both --item '{"k":{"S":"a"}}' --return-values ALL_OLD
same "dynamodb: a table that does not exist" aws dynamodb describe-table --table-name nothing
same "sqs: the queue's timeout" aws sqs get-queue-attributes --queue-url "$(aws sqs get-queue-url --queue-name both-queue --query QueueUrl --output text)" \
  --attribute-names VisibilityTimeout
same "cloudformation: a stack that does not exist" aws cloudformation describe-stacks --stack-name nothing
same "s3: a bucket that does not exist" aws s3api head-bucket --bucket nothing-there

# The operator on moto. Moto sends no stack events, so the sweep has to find the changes.
"$OPERATOR" local up --detach --no-operator --dir "$WORK/beside-moto" >/dev/null
export KUBECONFIG="$WORK/beside-moto/kubeconfig" AWS_ENDPOINT_URL=$moto
"$OPERATOR" operator --metrics-bind-address=0 --health-probe-bind-address=0 --sweep-interval=1s >"$WORK/moto-operator.log" 2>&1 &
started+=($!)
# A CustomResourceDefinition exists before the API server serves its kind.
served() { kubectl get dynamodbs.service-operator.aws,sqsqueues.service-operator.aws; }
eventually "the operator serves its kinds" served
kubectl apply -f examples/quickstart/dynamodb.yaml -f examples/sqsqueue.yaml
ready() { kubectl wait --for=condition=Ready --timeout=1s dynamodb/dynamo-table sqsqueue/thumbnails sqsqueue/payments; }
eventually "moto's CloudFormation creates the objects' stacks" ready
is "the table exists" "$(aws dynamodb describe-table --table-name dynamo-table --query Table.TableStatus --output text)" ACTIVE
kubectl delete --timeout=60s -f examples/quickstart/dynamodb.yaml -f examples/sqsqueue.yaml
fails "the table was deleted with the object" ResourceNotFoundException aws dynamodb describe-table --table-name dynamo-table
