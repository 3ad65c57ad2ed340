package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// No private key and no token is where it does not belong: in templates, parameters, user data,
// bundles, the operator's log, Events, or the objects themselves.
func TestSecretsDoNotLeak(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{logLevel: "debug"})
	objects := c.apply(small)
	c.awaitReady(objects...)
	c.checkEffects()
	needles := c.secrets("small")
	if len(needles) < 6 {
		t.Fatalf("only %d secrets are known: the test would prove little", len(needles))
	}
	hay := c.everythingWritten("small")
	for where, text := range hay {
		for what, secret := range needles {
			if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) {
				t.Errorf("%s is in %s", what, where)
			}
		}
		if strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("a private key is in %s", where)
		}
	}
	t.Logf("searched for %d secrets in %d texts", len(needles), len(hay))
}

// checkEffects checks that the operator's log has a line for each effect, which says what it was
// on, for which object, and why.
func (c *cloud) checkEffects() {
	c.t.Helper()
	calls := map[string]int{}
	for line := range strings.Lines(c.log()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		has := func(keys ...string) {
			c.t.Helper()
			for _, key := range keys {
				if entry[key] == nil || entry[key] == "" {
					c.t.Errorf("there is no %s in %s", key, line)
				}
			}
		}
		switch entry["msg"] {
		case "Called AWS":
			operation, _ := entry["operation"].(string)
			calls[operation]++
			has("requestID")
			if operation == "CreateStack" {
				has("stackName", "reason")
			}
		case "Called a workload cluster":
			calls["workload"]++
			has("cluster", "verb", "path", "requestID")
		case "Decided what to do with a stack":
			calls["decision"]++
			has("stackName", "action")
		}
		if stack := entry["stackName"]; stack != nil && stack != "aws-operator-events" { // The operator's own is for no object.
			has("object", "reconcileID")
		}
	}
	// The network, the slot or slots, and the group.
	if calls["CreateStack"] < 3 || calls["PutObject"] == 0 || calls["workload"] == 0 || calls["decision"] == 0 {
		c.t.Errorf("the log has these effects: %v", calls)
	}
}

// secrets returns the distinctive parts of a cluster's secrets.
func (c *cloud) secrets(name string) map[string]string {
	c.t.Helper()
	needles := map[string]string{}
	list, err := c.core.CoreV1().Secrets(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for n := range list.Items {
		for field, value := range list.Items[n].Data {
			where := list.Items[n].Name + "/" + field
			if line := keyLine(value); line != "" {
				needles["a line of the key in Secret "+where] = line
			}
			if config, err := clientcmd.Load(value); err == nil {
				for user, auth := range config.AuthInfos {
					needles["a line of the key of "+user+" in Secret "+where] = keyLine(auth.ClientKeyData)
				}
			}
		}
	}
	_, secret, _ := strings.Cut(c.bootstrapToken(name), ".")
	needles["the bootstrap token"] = secret
	return needles
}

// bootstrapToken returns the token with which workers join: from resource set 1.2.0 on, slots keep
// it in the bucket; before, the operator keeps it in a parameter.
func (c *cloud) bootstrapToken(name string) string {
	c.t.Helper()
	parameter, err := ssm.NewFromConfig(c.config(account)).GetParameter(c.t.Context(), &ssm.GetParameterInput{
		Name: aws.String(model.TokenParameterName(name)), WithDecryption: aws.Bool(true),
	})
	if err == nil {
		return aws.ToString(parameter.Parameter.Value)
	}
	store := s3.NewFromConfig(c.config(account), func(o *s3.Options) { o.UsePathStyle = true })
	found, inBucket := store.GetObject(c.t.Context(), &s3.GetObjectInput{
		Bucket: aws.String(model.BucketName(name, account, region)), Key: aws.String(model.KeyToken),
	})
	if inBucket != nil {
		c.t.Fatal(errors.Join(err, inBucket))
	}
	defer func() { _ = found.Body.Close() }()
	token, err := io.ReadAll(found.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(token)
}

// keyLine returns the second line of a private key, or "": the first is the same in all keys of a
// kind.
func keyLine(value []byte) string {
	_, key, found := bytes.Cut(value, []byte("PRIVATE KEY-----\n"))
	if !found {
		return ""
	}
	lines := strings.Split(string(key), "\n")
	return lines[min(1, len(lines)-1)]
}

// everythingWritten returns the texts that users and machines without special permissions may read.
func (c *cloud) everythingWritten(name string) map[string]string {
	c.t.Helper()
	ctx, texts := c.t.Context(), map[string]string{}
	must := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	stacks := cloudformation.NewFromConfig(c.config(account))
	described, err := stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{})
	must(err)
	for n := range described.Stacks {
		stack := &described.Stacks[n]
		body, err := stacks.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: stack.StackName})
		must(err)
		rest, err := json.Marshal(stack)
		must(err)
		texts["template of "+*stack.StackName], texts["stack "+*stack.StackName] = aws.ToString(body.TemplateBody), string(rest)
	}
	compute := ec2.NewFromConfig(c.config(account))
	versions, err := compute.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest"}})
	must(err)
	for n := range versions.LaunchTemplateVersions {
		version := &versions.LaunchTemplateVersions[n]
		data, err := base64.StdEncoding.DecodeString(aws.ToString(version.LaunchTemplateData.UserData))
		must(err)
		texts["user data of "+*version.LaunchTemplateName] = string(data)
		if len(data) > 1024 {
			c.t.Errorf("the user data of %s has %d bytes", *version.LaunchTemplateName, len(data))
		}
	}
	instances, err := compute.DescribeInstances(
		ctx,
		&ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"running"}}}},
	)
	must(err)
	shown, err := json.Marshal(instances.Reservations)
	must(err)
	texts["the instances"] = string(shown)
	c.bundles(name, texts)
	log, err := os.ReadFile(filepath.Join(c.dir, "operator.log"))
	must(err)
	texts["the operator's log"] = string(log)
	events, err := c.core.EventsV1().Events(c.namespace).List(ctx, metav1.ListOptions{})
	must(err)
	shown, err = json.Marshal(events)
	must(err)
	texts["the Events"] = string(shown)
	for kind, resource := range resources {
		list, err := c.client.Resource(resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
		must(err)
		shown, err := list.MarshalJSON()
		must(err)
		texts["the objects of kind "+kind] = string(shown)
	}
	return texts
}

// bundles adds all objects of the cluster's bucket that workers may read, except the token with which
// they join.
func (c *cloud) bundles(name string, texts map[string]string) {
	c.t.Helper()
	store := s3.NewFromConfig(c.config(account), func(o *s3.Options) { o.UsePathStyle = true })
	buckets, err := store.ListBuckets(c.t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, bucket := range buckets.Buckets {
		listed, err := store.ListObjectsV2(c.t.Context(), &s3.ListObjectsV2Input{Bucket: bucket.Name})
		if err != nil {
			c.t.Fatal(err)
		}
		for _, object := range listed.Contents {
			if strings.HasPrefix(*object.Key, "pki/") || *object.Key == model.KeyToken {
				continue
			}
			read, err := store.GetObject(c.t.Context(), &s3.GetObjectInput{Bucket: bucket.Name, Key: object.Key})
			if err != nil {
				c.t.Fatal(err)
			}
			data, err := io.ReadAll(read.Body)
			if err != nil {
				c.t.Fatal(err)
			}
			texts["object "+*object.Key+" of cluster "+name] = string(data)
		}
	}
}
