"""boto3, the SDK that most tools are made with, on the simulator."""

import sys
import time

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


def eventually(what, call, *codes):
    """Repeat a call while it fails with one of the codes: IAM tells its other copies within seconds."""
    end = time.monotonic() + 60
    while True:
        try:
            return call()
        except ClientError as error:
            if error.response["Error"]["Code"] not in codes or time.monotonic() > end:
                print(f"FAILED {what}: {error}")
                sys.exit(1)
            time.sleep(0.2)


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
    other = boto3.client("sts", aws_access_key_id="111122223333", aws_secret_access_key="secret").get_caller_identity()
    check("sts: twelve digits are an account", other["Account"], "111122223333")
    try:
        boto3.client("sts", aws_access_key_id="123456789012", aws_secret_access_key="guessed").get_caller_identity()
        check("sts: another secret", "accepted", "SignatureDoesNotMatch")
    except ClientError as error:
        check("sts: another secret", error.response["Error"]["Code"], "SignatureDoesNotMatch")


def permissions():
    iam = boto3.client("iam")
    iam.create_user(UserName="boto")
    key = iam.create_access_key(UserName="boto")["AccessKey"]
    user = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"])
    trust = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}'
    role = iam.create_role(RoleName="boto", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    try:
        user.client("sts").assume_role(RoleArn=role, RoleSessionName="me")
        check("sts: a user without policies", "assumed", "AccessDenied")
    except ClientError as error:
        check("sts: a user without policies", error.response["Error"]["Code"], "AccessDenied")
    iam.put_user_policy(UserName="boto", PolicyName="assume", PolicyDocument='{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Resource":"%s"}]}' % role)
    assume = lambda: user.client("sts").assume_role(RoleArn=role, RoleSessionName="me")["Credentials"]
    assumed = eventually("sts: a role that is new", assume, "AccessDenied")
    session = boto3.Session(assumed["AccessKeyId"], assumed["SecretAccessKey"], assumed["SessionToken"])
    arn = session.client("sts").get_caller_identity()["Arn"]
    check("sts: an assumed role", arn, "arn:aws:sts::123456789012:assumed-role/boto/me")
    try:
        session.client("sqs").create_queue(QueueName="denied")
        check("sqs: a role without policies", "created", "AccessDenied")
    except ClientError as error:
        check("sqs: a role without policies", error.response["Error"]["Code"], "AccessDenied")
    iam.delete_role(RoleName="boto")
    iam.delete_user_policy(UserName="boto", PolicyName="assume")
    iam.delete_access_key(UserName="boto", AccessKeyId=key["AccessKeyId"])
    iam.delete_user(UserName="boto")


def clusters():
    ec2, iam, eks = boto3.client("ec2"), boto3.client("iam"), boto3.client("eks")
    trust = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"eks.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
    role = iam.create_role(RoleName="boto-eks", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    vpc = ec2.create_vpc(CidrBlock="10.66.0.0/16")["Vpc"]["VpcId"]
    eventually("ec2: a VPC that is new", lambda: ec2.describe_vpcs(VpcIds=[vpc]), "InvalidVpcID.NotFound")
    zones = [zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"]][:2]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.66.{i}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"] for i, zone in enumerate(zones)
    ]
    made = eks.create_cluster(
        name="boto", roleArn=role, resourcesVpcConfig={"subnetIds": subnets}, accessConfig={"authenticationMode": "API"}, tags={"a": "1"}
    )["cluster"]
    check("eks: a cluster that is new", made["status"], "CREATING")
    eks.get_waiter("cluster_active").wait(name="boto", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    got = eks.describe_cluster(name="boto")["cluster"]
    check("eks: its VPC and tags", (got["resourcesVpcConfig"]["vpcId"], got["tags"]), (vpc, {"a": "1"}))
    check("eks: its creator has an entry", len(eks.list_access_entries(clusterName="boto")["accessEntries"]), 1)
    eks.tag_resource(resourceArn=got["arn"], tags={"b": "2"})
    eks.untag_resource(resourceArn=got["arn"], tagKeys=["a"])
    check("eks: tags", eks.list_tags_for_resource(resourceArn=got["arn"])["tags"], {"b": "2"})
    versions = eks.describe_addon_versions(addonName="vpc-cni", kubernetesVersion=got["version"])["addons"]
    check("eks: versions of an add-on", versions[0]["addonVersions"][0]["compatibilities"][0]["clusterVersion"], got["version"])
    try:
        eks.update_cluster_version(name="boto", version="1.31")
        check("eks: an older version", "updated", "refused")
    except eks.exceptions.InvalidParameterException as error:
        check("eks: an older version", error.response["clusterName"], "boto")
    eks.delete_cluster(name="boto")
    eks.get_waiter("cluster_deleted").wait(name="boto", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    for subnet in subnets:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)
    iam.delete_role(RoleName="boto-eks")


for part in (tables, buckets, queues, stacks, accounts, permissions, clusters):
    part()
