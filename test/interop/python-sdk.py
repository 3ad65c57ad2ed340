"""boto3, the SDK that most tools are made with, on the simulator."""

import sys

try:
    import boto3
    from botocore.exceptions import ClientError
except ImportError:
    print("boto3 is not installed")
    sys.exit(75)


def check(what, got, want):
    if got != want:
        print(f"FAILED {what}: got {got!r}, want {want!r}")
        sys.exit(1)
    print(f"ok     {what}")


def tables():
    table = boto3.resource("dynamodb").create_table(
        TableName="boto",
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    table.wait_until_exists()
    with table.batch_writer() as batch:
        for i in range(60):
            batch.put_item(Item={"k": f"key-{i}", "n": i, "tags": {"a", "b"}, "deep": {"list": [1, "two", None, True]}})
    check("dynamodb: a batch is counted", table.scan()["Count"], 60)
    check("dynamodb: types come back", table.get_item(Key={"k": "key-7"})["Item"]["deep"], {"list": [1, "two", None, True]})
    table.update_item(Key={"k": "key-7"}, UpdateExpression="SET n = n + :d", ExpressionAttributeValues={":d": 5})
    check("dynamodb: an update expression", table.get_item(Key={"k": "key-7"})["Item"]["n"], 12)
    table.delete()


def buckets():
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="boto-bucket", CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name})
    s3.put_object(Bucket="boto-bucket", Key="a b/ü", Body=b"body", Metadata={"who": "me"})
    got = s3.get_object(Bucket="boto-bucket", Key="a b/ü")
    check("s3: body and metadata", (got["Body"].read(), got["Metadata"]), (b"body", {"who": "me"}))
    try:
        s3.get_object(Bucket="boto-bucket", Key="nothing")
        check("s3: a key that is not there", "found", "NoSuchKey")
    except ClientError as error:
        check("s3: a key that is not there", error.response["Error"]["Code"], "NoSuchKey")
    s3.delete_object(Bucket="boto-bucket", Key="a b/ü")
    s3.delete_bucket(Bucket="boto-bucket")


def queues():
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="boto.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})["QueueUrl"]
    for body in ("one", "two", "two"):
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="g")
    got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
    check("sqs: in order, without the double", [m["Body"] for m in got], ["one", "two"])
    sqs.delete_queue(QueueUrl=url)


def stacks():
    cfn = boto3.client("cloudformation")
    cfn.create_stack(StackName="boto", TemplateBody='{"Resources":{"T":{"Type":"AWS::SNS::Topic"}}}')
    cfn.get_waiter("stack_create_complete").wait(StackName="boto", WaiterConfig={"Delay": 1})
    kinds = [r["ResourceType"] for r in cfn.describe_stack_resources(StackName="boto")["StackResources"]]
    check("cloudformation: resources", kinds, ["AWS::SNS::Topic"])
    try:
        cfn.create_stack(StackName="boto", TemplateBody='{"Resources":{"T":{"Type":"AWS::SNS::Topic"}}}')
        check("cloudformation: the same name again", "made", "AlreadyExistsException")
    except ClientError as error:
        check("cloudformation: the same name again", error.response["Error"]["Code"], "AlreadyExistsException")
    cfn.delete_stack(StackName="boto")
    cfn.get_waiter("stack_delete_complete").wait(StackName="boto", WaiterConfig={"Delay": 1})


def accounts():
    other = boto3.client("sts", aws_access_key_id="111122223333", aws_secret_access_key="x").get_caller_identity()
    check("sts: twelve digits are an account", other["Account"], "111122223333")
    role = boto3.client("iam").create_role(RoleName="boto", AssumeRolePolicyDocument='{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}')
    assumed = boto3.client("sts").assume_role(RoleArn=role["Role"]["Arn"], RoleSessionName="me")["Credentials"]
    session = boto3.Session(assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"])
    arn = session.client("sts").get_caller_identity()["Arn"]
    check("sts: an assumed role", arn, "arn:aws:sts::123456789012:assumed-role/boto/me")
    boto3.client("iam").delete_role(RoleName="boto")


for part in (tables, buckets, queues, stacks, accounts):
    part()
