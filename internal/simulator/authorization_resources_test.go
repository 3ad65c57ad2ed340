package simulator_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestBucketPoliciesDecide(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	owner := s3.NewFromConfig(a.root, onPath)
	bucket := aws.String("shared")
	done(t)(owner.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: locationOf(a.root)}))
	done(t)(owner.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: bucket}))
	for _, key := range []string{"open/a", "secret/a", "partner/a"} {
		done(t)(owner.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader("x")}))
	}
	user := a.user("ann", allow(`"s3:GetObject"`, "arn:aws:s3:::shared/*"))
	lists := a.user("bob", allow(`["s3:GetObject","s3:ListBucket"]`, "*"))
	partner := a.of("210987654321").user("carl", allow(`"s3:*"`, "*"))
	done(t)(owner.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: bucket, Policy: policy(
		`{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::shared/*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}`,
		`{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::shared/open/*"}`,
		`{"Effect":"Allow","Principal":{"AWS":"210987654321"},"Action":"s3:GetObject","Resource":"arn:aws:s3:::shared/partner/*"}`,
		`{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::shared/secret/*","Condition":{"ArnNotEquals":{"aws:PrincipalArn":"arn:aws:iam::`+root+`:user/bob"}}}`,
	)}))
	read := func(config aws.Config, key string) error {
		_, err := s3.NewFromConfig(config, onPath).GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: &key})
		return err
	}
	anonymous := a.root.Copy()
	anonymous.Credentials = aws.AnonymousCredentials{}
	for name, test := range map[string]struct {
		config    aws.Config
		key, want string
	}{
		"a user":                            {user, "partner/a", ""},
		"a user, a denied path":             {user, "secret/a", "with an explicit deny in a resource-based policy"},
		"the exempt user":                   {lists, "secret/a", ""},
		"the root user, a denied path":      {a.root, "secret/a", "with an explicit deny in a resource-based policy"},
		"an anonymous caller, an open path": {anonymous, "open/a", ""},
		"an anonymous caller":               {anonymous, "partner/a", "Access Denied"},
		"another account":                   {partner, "partner/a", ""},
		"another account, another path":     {partner, "secret/a", "Access Denied"},
		"no object, may not list":           {user, "partner/none", "is not authorized to perform: s3:ListBucket on resource: \"arn:aws:s3:::shared\""},
		"no object, may list":               {lists, "partner/none", "NoSuchKey"},
	} {
		t.Run(name, func(t *testing.T) {
			err := read(test.config, test.key)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	deleted, err := s3.NewFromConfig(user, onPath).DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: bucket, Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("open/a")}}},
	})
	if err != nil || len(deleted.Errors) != 1 || *deleted.Errors[0].Code != "AccessDenied" {
		t.Errorf("got %+v, %v", deleted, err)
	}
}

// A role that may write under the condition that there is no object adds objects, and replaces none,
// however it writes: https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes-enforce.html
func TestPoliciesRequireConditionalWrites(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	owner := s3.NewFromConfig(a.root, onPath)
	bucket := aws.String("log")
	done(t)(owner.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: locationOf(a.root)}))
	adds := s3.NewFromConfig(a.user("ann",
		`{"Effect":"Allow","Action":"s3:PutObject","Resource":"arn:aws:s3:::log/audit/*","Condition":{"Null":{"s3:if-none-match":"false"},`+
			`"StringEquals":{"aws:ResourceAccount":"`+root+`"}}}`,
		`{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::log/*"}`,
	), onPath)
	other := s3.NewFromConfig(a.user("bob",
		`{"Effect":"Allow","Action":"s3:PutObject","Resource":"arn:aws:s3:::log/*","Condition":{"StringEquals":{"aws:ResourceAccount":"210987654321"}}}`,
	), onPath)
	put := func(client *s3.Client, key, condition string) error {
		in := &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader(condition)}
		if condition != "" {
			in.IfNoneMatch = &condition
		}
		_, err := client.PutObject(ctx, in)
		return err
	}
	if err := put(adds, "audit/a", "*"); err != nil {
		t.Fatal(err)
	}
	_, copied := adds.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: bucket, Key: aws.String("audit/a"), CopySource: aws.String("log/audit/a"),
	})
	_, begun := adds.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: aws.String("audit/a")})
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"an object that exists":         {put(adds, "audit/a", "*"), "PreconditionFailed"},
		"without the condition":         {put(adds, "audit/b", ""), "is not authorized to perform: s3:PutObject"},
		"another prefix":                {put(adds, "other/a", "*"), "is not authorized to perform: s3:PutObject"},
		"a copy":                        {copied, "is not authorized to perform: s3:PutObject"},
		"an upload in parts":            {begun, "is not authorized to perform: s3:PutObject"},
		"a bucket of an account's name": {put(other, "audit/c", "*"), "is not authorized to perform: s3:PutObject"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, test.err, test.want)
		}
	}
}

func TestKeyPoliciesAndGrantsDecide(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	ann, bob := a.user("ann", allow(`"kms:Encrypt"`, "*")), a.user("bob")
	keys := kms.NewFromConfig(a.root)
	key, err := keys.CreateKey(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := key.KeyMetadata.KeyId
	encrypt := func(config aws.Config, context map[string]string) ([]byte, error) {
		out, err := kms.NewFromConfig(config).Encrypt(ctx, &kms.EncryptInput{KeyId: id, Plaintext: []byte("x"), EncryptionContext: context})
		if err != nil {
			return nil, err
		}
		return out.CiphertextBlob, nil
	}
	blob, err := encrypt(ann, map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = encrypt(bob, nil)
	wantDenied(t, "a user without policies", err, "AccessDeniedException", "because no identity-based policy allows the kms:Encrypt action")
	decrypt := func(config aws.Config) error {
		_, err := kms.NewFromConfig(config).Decrypt(ctx, &kms.DecryptInput{CiphertextBlob: blob, EncryptionContext: map[string]string{"a": "b"}})
		return err
	}
	wantDenied(t, "another action", decrypt(ann), "AccessDeniedException", "kms:Decrypt on resource: "+*key.KeyMetadata.Arn)
	grant, err := keys.CreateGrant(ctx, &kms.CreateGrantInput{
		KeyId: id, GranteePrincipal: aws.String("arn:aws:iam::" + root + ":user/bob"), Operations: []kmstypes.GrantOperation{"Decrypt"},
		Constraints: &kmstypes.GrantConstraints{EncryptionContextSubset: map[string]string{"a": "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := decrypt(bob); err != nil {
		t.Errorf("with a grant: %v", err)
	}
	done(t)(keys.RevokeGrant(ctx, &kms.RevokeGrantInput{KeyId: id, GrantId: grant.GrantId}))
	wantDenied(t, "without the grant", decrypt(bob), "AccessDeniedException", "user/bob")
	// A policy that does not name the account takes the key from the account's IAM policies.
	done(t)(keys.PutKeyPolicy(ctx, &kms.PutKeyPolicyInput{KeyId: id, Policy: policy(
		`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + root + `:user/bob"},"Action":"kms:*","Resource":"*"}`)}))
	_, err = encrypt(ann, nil)
	wantDenied(t, "not in the key's policy", err, "AccessDeniedException", "because no resource-based policy allows the kms:Encrypt action")
	if err := decrypt(bob); err != nil {
		t.Errorf("in the key's policy: %v", err)
	}
}

// Policies allow direct calls with an encryption context, and deny them with another or without any:
// https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html#conditions-kms-encryption-context
func TestPoliciesRequireAnEncryptionContext(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	key, err := kms.NewFromConfig(a.root).CreateKey(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := key.KeyMetadata.Arn
	of := func(cluster string) string {
		return `{"Effect":"Allow","Action":["kms:Encrypt","kms:Decrypt","kms:ReEncrypt*"],"Resource":"` + *id + `",` +
			`"Condition":{"StringEquals":{"kms:EncryptionContext:example.com/cluster":"` + cluster + `"}}}`
	}
	one, two := kms.NewFromConfig(a.user("ann", of("one"))), kms.NewFromConfig(a.user("bob", of("two")))
	denied := kms.NewFromConfig(a.user("carl", allow(`"kms:*"`, "*"),
		`{"Effect":"Deny","Action":"kms:Encrypt","Resource":"*","Condition":{"ForAnyValue:StringEquals":{"kms:EncryptionContextKeys":"example.com/cluster"}}}`))
	context := map[string]string{"example.com/cluster": "one", "more": "x"}
	sealed, err := one.Encrypt(ctx, &kms.EncryptInput{KeyId: id, Plaintext: []byte("x"), EncryptionContext: context})
	if err != nil {
		t.Fatal(err)
	}
	open := func(client *kms.Client, context map[string]string) error {
		_, err := client.Decrypt(ctx, &kms.DecryptInput{KeyId: id, CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: context})
		return err
	}
	seal := func(client *kms.Client, context map[string]string) error {
		_, err := client.Encrypt(ctx, &kms.EncryptInput{KeyId: id, Plaintext: []byte("x"), EncryptionContext: context})
		return err
	}
	other := map[string]string{"example.com/cluster": "two"}
	_, moved := one.ReEncrypt(ctx, &kms.ReEncryptInput{
		CiphertextBlob: sealed.CiphertextBlob, SourceEncryptionContext: context, DestinationKeyId: id, DestinationEncryptionContext: other,
	})
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"its own context":                    {open(one, context), ""},
		"encrypt without a context":          {seal(one, nil), "AccessDeniedException"},
		"encrypt for another":                {seal(one, other), "AccessDeniedException"},
		"encrypt again for another":          {moved, "AccessDeniedException"},
		"the context of another's data":      {open(two, context), "AccessDeniedException"},
		"another's data with its own":        {open(two, other), "InvalidCiphertextException"},
		"a statement that denies the key":    {seal(denied, other), "AccessDeniedException"},
		"a statement that denies it, is met": {seal(denied, map[string]string{"more": "x"}), ""},
	} {
		if test.want == "" && test.err != nil || test.want != "" && (test.err == nil || !strings.Contains(test.err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, test.err, test.want)
		}
	}
}

func TestObjectsNeedTheirKeyThroughS3(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	key, err := kms.NewFromConfig(a.root).CreateKey(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	bucket, name := aws.String("sealed"), aws.String("a/b")
	done(t)(s3.NewFromConfig(a.root, onPath).CreateBucket(
		ctx, &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: locationOf(a.root)},
	))
	condition := `,"Condition":{"StringEquals":{"kms:ViaService":"s3.eu-central-1.amazonaws.com",` +
		`"kms:EncryptionContext:aws:s3:arn":"arn:aws:s3:::sealed/a/b"}}`
	use := `{"Effect":"Allow","Action":["kms:GenerateDataKey","kms:Decrypt"],"Resource":"` + *key.KeyMetadata.Arn + `"` + condition + `}`
	all := allow(`"s3:*"`, "*")
	writer, other := a.user("writer", all, use), a.user("other", all)
	write := func(config aws.Config) error {
		_, err := s3.NewFromConfig(config, onPath).PutObject(ctx, &s3.PutObjectInput{
			Bucket: bucket, Key: name, Body: strings.NewReader("x"), ServerSideEncryption: s3types.ServerSideEncryptionAwsKms,
			SSEKMSKeyId: key.KeyMetadata.Arn,
		})
		return err
	}
	if err := write(writer); err != nil {
		t.Error(err)
	}
	wantDenied(t, "without the key", write(other), "AccessDenied", "is not authorized to perform: kms:GenerateDataKey on resource")
	_, err = s3.NewFromConfig(other, onPath).GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: name})
	wantDenied(t, "without the key", err, "AccessDenied", "is not authorized to perform: kms:Decrypt on resource")
	_, err = kms.NewFromConfig(writer).GenerateDataKey(ctx, &kms.GenerateDataKeyInput{KeyId: key.KeyMetadata.Arn, KeySpec: "AES_256"})
	wantDenied(t, "not through S3", err, "AccessDeniedException", "kms:GenerateDataKey")
}

func TestServicesNeedTheQueuesPolicy(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	topics, queues := sns.NewFromConfig(a.root), sqs.NewFromConfig(a.root)
	topic, err := topics.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("t")})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("q")})
	if err != nil {
		t.Fatal(err)
	}
	arn := aws.String("arn:aws:sqs:eu-central-1:" + root + ":q")
	done(t)(topics.Subscribe(ctx, &sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: arn}))
	received := func() int {
		done(t)(topics.Publish(ctx, &sns.PublishInput{TopicArn: topic.TopicArn, Message: aws.String("m")}))
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Messages)
	}
	if n := received(); n != 0 {
		t.Errorf("%d messages without a policy", n)
	}
	done(t)(queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: queue.QueueUrl, Attributes: map[string]string{
		"Policy": *policy(`{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + *arn +
			`","Condition":{"ArnEquals":{"aws:SourceArn":"` + *topic.TopicArn + `"},"StringEquals":{"aws:SourceAccount":"` + root + `"}}}`),
	}}))
	if n := received(); n != 1 {
		t.Errorf("%d messages with the policy", n)
	}
}

func TestListenersAreTaggedBelowTheirLoadBalancer(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	subnets, err := ec2.NewFromConfig(a.root).DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	owner := elbv2.NewFromConfig(a.root)
	balancer, err := owner.CreateLoadBalancer(ctx, &elbv2.CreateLoadBalancerInput{
		Name: aws.String("front"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: []string{*subnets.Subnets[0].SubnetId},
	})
	if err != nil {
		t.Fatal(err)
	}
	targets, err := owner.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{
		Name: aws.String("back"), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(80), VpcId: subnets.Subnets[0].VpcId,
	})
	if err != nil {
		t.Fatal(err)
	}
	create := func(config aws.Config, port int32) error {
		_, err := elbv2.NewFromConfig(config).CreateListener(ctx, &elbv2.CreateListenerInput{
			LoadBalancerArn: balancer.LoadBalancers[0].LoadBalancerArn, Protocol: elbtypes.ProtocolEnumTcp, Port: &port,
			DefaultActions: []elbtypes.Action{{
				Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: targets.TargetGroups[0].TargetGroupArn,
			}},
			Tags: []elbtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
		})
		return err
	}
	may := func(listeners string) []string {
		return []string{
			allow(`"elasticloadbalancing:CreateListener"`, "*"),
			allow(`"elasticloadbalancing:AddTags"`, "arn:aws:elasticloadbalancing:eu-central-1:"+root+":listener/"+listeners),
		}
	}
	if err := create(a.user("ann", may("net/*")...), 80); err != nil {
		t.Error(err)
	}
	wantDenied(t, "of another kind of load balancer", create(a.user("bob", may("app/*")...), 81), "AccessDenied", ":listener/net/front/")

	carl := a.user("carl", allow(`"elasticloadbalancing:CreateListener"`, "*"), `{"Effect":"Allow","Action":"elasticloadbalancing:AddTags",
		"Resource":"*","Condition":{"StringEquals":{"elasticloadbalancing:CreateAction":"CreateListener"}}}`)
	if err := create(carl, 82); err != nil {
		t.Error(err)
	}
	_, err = elbv2.NewFromConfig(carl).AddTags(ctx, &elbv2.AddTagsInput{
		ResourceArns: []string{*balancer.LoadBalancers[0].LoadBalancerArn}, Tags: []elbtypes.Tag{{Key: aws.String("k")}},
	})
	wantDenied(t, "tags of what exists", err, "AccessDenied", ":loadbalancer/net/front/")
}
