# The AWS CLI with every simulated service.
source test/interop/lib.sh
need aws
export AWS_PAGER="" AWS_DEFAULT_OUTPUT=text

is "sts: who am I" "$(aws sts get-caller-identity --query Account)" 123456789012

# SQS
url=$(aws sqs create-queue --queue-name interop --attributes VisibilityTimeout=45 --query QueueUrl)
is "sqs: attributes are kept" "$(aws sqs get-queue-attributes --queue-url "$url" --attribute-names VisibilityTimeout --query Attributes.VisibilityTimeout)" 45
aws sqs send-message --queue-url "$url" --message-body hello >/dev/null
is "sqs: a message arrives" "$(aws sqs receive-message --queue-url "$url" --wait-time-seconds 5 --query 'Messages[0].Body')" hello
fails "sqs: a queue that does not exist" 'NonExistentQueue|QueueDoesNotExist' aws sqs get-queue-url --queue-name nothing

# SNS to SQS
topic=$(aws sns create-topic --name interop --query TopicArn)
queue_arn=$(aws sqs get-queue-attributes --queue-url "$url" --attribute-names QueueArn --query Attributes.QueueArn)
policy=$(printf '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"%s","Condition":{"ArnEquals":{"aws:SourceArn":"%s"}}}]}' "$queue_arn" "$topic")
aws sqs set-queue-attributes --queue-url "$url" --attributes "$(jq -n --arg p "$policy" '{Policy: $p}' 2>/dev/null || printf '{"Policy":"%s"}' "${policy//\"/\\\"}")"
aws sns subscribe --topic-arn "$topic" --protocol sqs --notification-endpoint "$queue_arn" --attributes RawMessageDelivery=true >/dev/null
aws sns publish --topic-arn "$topic" --message 'through the topic' >/dev/null
is "sns: a message reaches the queue" "$(aws sqs receive-message --queue-url "$url" --wait-time-seconds 5 --query 'Messages[0].Body')" 'through the topic'
aws sns delete-topic --topic-arn "$topic"
aws sqs delete-queue --queue-url "$url"

# DynamoDB
aws dynamodb create-table --table-name interop --billing-mode PAY_PER_REQUEST \
  --attribute-definitions AttributeName=id,AttributeType=S --key-schema AttributeName=id,KeyType=HASH >/dev/null
aws dynamodb wait table-exists --table-name interop
aws dynamodb put-item --table-name interop --item '{"id":{"S":"a"},"n":{"N":"7"}}'
is "dynamodb: an item is read back" "$(aws dynamodb get-item --table-name interop --key '{"id":{"S":"a"}}' --query Item.n.N)" 7
is "dynamodb: scan" "$(aws dynamodb scan --table-name interop --query Count)" 1
fails "dynamodb: a condition that is false" ConditionalCheckFailed aws dynamodb put-item --table-name interop \
  --item '{"id":{"S":"a"}}' --condition-expression 'attribute_not_exists(id)'
aws dynamodb delete-table --table-name interop >/dev/null

# S3
aws s3 mb s3://interop-bucket >/dev/null
echo content >"$WORK/file"
aws s3 cp --quiet "$WORK/file" s3://interop-bucket/folder/file
is "s3: an object is read back" "$(aws s3 cp --quiet s3://interop-bucket/folder/file -)" content
is "s3: list" "$(aws s3api list-objects-v2 --bucket interop-bucket --query 'Contents[0].Key')" folder/file
fails "s3: a non-empty bucket is not deleted" BucketNotEmpty aws s3 rb s3://interop-bucket
aws s3 rb --force s3://interop-bucket >/dev/null

# The others
uri=$(aws ecr create-repository --repository-name interop --query repository.repositoryUri)
like "ecr: the repository's address" "$uri" "^123456789012\.dkr\.ecr\.$AWS_REGION\.amazonaws\.com/interop$"
aws ecr delete-repository --repository-name interop >/dev/null
key=$(aws kms create-key --query KeyMetadata.KeyId)
printf secret >"$WORK/plain"
encrypted() { aws kms encrypt --key-id "$key" --plaintext "fileb://$WORK/plain" --query CiphertextBlob >"$WORK/cipher64"; }
eventually "kms: a new key encrypts" encrypted # KMS tells its other copies of a key within seconds
base64 -d <"$WORK/cipher64" >"$WORK/cipher"
is "kms: a ciphertext is decrypted" "$(aws kms decrypt --ciphertext-blob "fileb://$WORK/cipher" --query Plaintext | base64 -d)" secret
aws ssm put-parameter --name /interop --type SecureString --value s3cret >/dev/null
is "ssm: a parameter is read back" "$(aws ssm get-parameter --name /interop --with-decryption --query Parameter.Value)" s3cret
aws iam create-role --role-name interop --assume-role-policy-document '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}' >/dev/null
is "iam: a role" "$(aws iam get-role --role-name interop --query Role.Arn)" arn:aws:iam::123456789012:role/interop
aws iam delete-role --role-name interop
is "service-quotas: a default value" "$(aws service-quotas get-aws-default-service-quota --service-code vpc --quota-code L-F678F1CE --query Quota.Value)" 5.0
fails "service-quotas: quotas of IAM are in one region" NoSuchResource aws service-quotas get-service-quota --service-code iam --quota-code L-FE177D64

# EC2 images
ami=$(aws ec2 describe-images --owners 099720109477 --filters Name=architecture,Values=x86_64 --query 'Images[0].ImageId')
instance=$(aws ec2 run-instances --image-id "$ami" --instance-type t3.micro --query 'Instances[0].InstanceId')
aws ec2 wait instance-running --instance-ids "$instance"
aws ec2 stop-instances --instance-ids "$instance" >/dev/null
aws ec2 wait instance-stopped --instance-ids "$instance"
image=$(aws ec2 create-image --instance-id "$instance" --name interop \
  --tag-specifications 'ResourceType=image,Tags=[{Key=made-by,Value=interop}]' --query ImageId)
eventually "ec2: an image becomes available" aws ec2 wait image-available --image-ids "$image"
own() { [[ $(aws ec2 describe-images --owners self --filters Name=tag:made-by,Values=interop --query 'Images[0].ImageId') == "$image" ]]; }
eventually "ec2: the image is among the account's" own
fails "ec2: names of images are unique" InvalidAMIName.Duplicate aws ec2 create-image --instance-id "$instance" --name interop
of_image() {
  snapshot=$(aws ec2 describe-images --image-ids "$image" --query 'Images[0].BlockDeviceMappings[0].Ebs.SnapshotId') && [[ $snapshot == snap-* ]]
}
eventually "ec2: the image names its snapshot" of_image
fails "ec2: a snapshot of an image is not deleted" InvalidSnapshot.InUse aws ec2 delete-snapshot --snapshot-id "$snapshot"
is "ec2: an image goes with its snapshots" "$(aws ec2 deregister-image --image-id "$image" --delete-associated-snapshots \
  --query 'DeleteSnapshotResults[0].ReturnCode')" success
fails "ec2: a deregistered image launches nothing" InvalidAMIID.Unavailable aws ec2 run-instances --image-id "$image" --instance-type t3.micro
aws ec2 terminate-instances --instance-ids "$instance" >/dev/null

aws events put-rule --name interop --event-pattern '{"source":["aws.cloudformation"]}' >/dev/null
is "eventbridge: a rule" "$(aws events describe-rule --name interop --query State)" ENABLED
aws events delete-rule --name interop

# CloudFormation
cat >"$WORK/stack.yaml" <<'YAML'
Parameters:
  Name: {Type: String}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Ref Name}
  Topic:
    Type: AWS::SNS::Topic
    Properties: {TopicName: !Sub "${Name}-topic"}
Outputs:
  Arn: {Value: !GetAtt Queue.Arn}
YAML
like "cloudformation: a template is validated" "$(aws cloudformation validate-template --template-body "file://$WORK/stack.yaml")" Name
aws cloudformation create-stack --stack-name interop --template-body "file://$WORK/stack.yaml" --parameters ParameterKey=Name,ParameterValue=of-stack >/dev/null
stack_is interop CREATE_COMPLETE
is "cloudformation: outputs" "$(aws cloudformation describe-stacks --stack-name interop --query 'Stacks[0].Outputs[0].OutputValue')" \
  "arn:aws:sqs:$AWS_REGION:123456789012:of-stack"
like "cloudformation: the queue is real" "$(aws sqs get-queue-url --queue-name of-stack)" of-stack
like "cloudformation: events" "$(aws cloudformation describe-stack-events --stack-name interop)" CREATE_COMPLETE
aws cloudformation delete-stack --stack-name interop
deleted() { [[ $(aws cloudformation list-stacks --stack-status-filter DELETE_COMPLETE --query 'length(StackSummaries[?StackName==`interop`])') == 1 ]]; }
eventually "cloudformation: the stack is deleted" deleted
fails "cloudformation: the queue was deleted with the stack" 'NonExistentQueue|QueueDoesNotExist' aws sqs get-queue-url --queue-name of-stack
