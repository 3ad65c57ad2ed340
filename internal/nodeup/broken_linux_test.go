package nodeup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// TestBrokenMachinesAreDiagnosed boots machines that cannot become nodes, and finds the cause of
// each in what EC2 returns of its console. User data and nodeup are the real ones. Machines have no
// route out of the VPC.
func TestBrokenMachinesAreDiagnosed(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	l := newSuite(t, release.Set110, 3)
	artifact := func(url string) func(*bootstrap.Bundle) {
		return func(b *bootstrap.Bundle) {
			b.Artifacts = []bundle.Artifact{
				{Name: "runc", URL: url, SHA256: strings.Repeat("ab", 32), Format: bundle.Binary, Path: "/usr/local/sbin/runc"},
			}
		}
	}
	bucket := "https://" + l.outputs[model.OutputBucket] + ".s3.eu-central-1.amazonaws.com/"
	for name, c := range map[string]struct {
		change func(*bootstrap.Bundle)
		stage  string
		cause  string
	}{
		"no-route": {artifact("https://198.51.100.1/runc"), "artifacts", diagnosis.ReasonNoRoute},
		"no-host":  {artifact("https://mirror.invalid/runc"), "artifacts", diagnosis.ReasonNameNotResolved},
		"no-file":  {artifact(bucket + "runc"), "artifacts", diagnosis.ReasonArtifactMissing},
		"bad-hash": {artifact(l.presigned("runc")), "artifacts", diagnosis.ReasonArtifactChecksum},
		"bad-unit": {func(b *bootstrap.Bundle) {
			b.Files = append(b.Files, bundle.File{
				Path: bundle.UnitFolder + "/agent.service", Mode: "0644", Content: "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'exit 3'\n",
			})
			b.ExtraUnits = []bundle.Unit{{Name: "agent.service", State: bundle.UnitStarted}}
		}, "extra units", diagnosis.ReasonUnitFailed},
		"no-unit": {func(b *bootstrap.Bundle) {
			b.ExtraUnits = []bundle.Unit{{Name: "missing.service", State: bundle.UnitStarted}}
		}, "units", diagnosis.ReasonUnitFailed},
		"bad-script": {func(b *bootstrap.Bundle) { b.ExtraUserData = "mount-nfs\n" }, "extra user data", diagnosis.ReasonUserScript},
	} {
		b := l.brokenWorker(name, c.change, l.userData)
		l.diagnosed(b.Cluster+"-"+name, map[string]string{model.TagInstanceGroup: name}, c.stage, c.cause)
	}

	other := bundle.HashOf([]byte("another nodeup"))
	l.brokenWorker("bad-nodeup", nil, func(b *bootstrap.Bundle) string {
		l.put(bundle.NodeupKey(other, b.Architecture), []byte("damaged"))
		return l.script(b, other)
	})
	of := func(group string) map[string]string { return map[string]string{model.TagInstanceGroup: group} }
	l.diagnosed("a damaged nodeup", of("bad-nodeup"), diagnosis.UserData, diagnosis.ReasonNodeupChanged)
	l.brokenWorker("bad-bundle", nil, func(b *bootstrap.Bundle) string {
		text := l.userData(b)
		l.put(bundle.Key(b.Hash()), []byte("{}"))
		return text
	})
	l.diagnosed("a damaged bundle", of("bad-bundle"), "bundle", diagnosis.ReasonBundleInvalid)

	l.moveVolume(0, "eu-central-1b")
	l.faults.Add(fault.Rule{Service: "ec2", Operation: "AttachVolume", Deny: true})
	l.startSlots()
	l.diagnosed("a volume in another zone", map[string]string{model.TagSlot: "0"}, "etcd volume", diagnosis.ReasonVolumeElsewhere)
	l.diagnosed("a role without a permission", map[string]string{model.TagSlot: "1"}, "etcd volume", diagnosis.ReasonAccessDenied)
}

// presigned stores an object in the cluster's bucket, and returns a URL that needs no credentials.
func (l *suite) presigned(key string) string {
	l.t.Helper()
	l.put(key, []byte("another file"))
	in := &s3.GetObjectInput{Bucket: aws.String(l.outputs[model.OutputBucket]), Key: &key}
	client := s3.New(s3.Options{
		Region: l.cluster.Region, Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	})
	request, err := s3.NewPresignClient(client).PresignGetObject(l.t.Context(), in)
	if err != nil {
		l.t.Fatal(err)
	}
	return request.URL
}

// brokenWorker makes the stack of an instance group with a changed bundle.
func (l *suite) brokenWorker(
	name string, change func(*bootstrap.Bundle), userData func(*bootstrap.Bundle) string,
) *bootstrap.Bundle {
	l.t.Helper()
	group, err := model.ResolveGroup(l.cluster, &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team"},
		Spec:       v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 1, MaxSize: 1, InstanceTypes: []string{"m6i.large"}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	cas, err := pki.New(clock.RealClock{})
	if err != nil {
		l.t.Fatal(err)
	}
	b, err := bootstrap.Worker(l.cluster, group, l.outputs, cas.CACertificate())
	if err != nil {
		l.t.Fatal(err)
	}
	if change != nil {
		change(b)
	}
	l.make(render.Group(l.cluster, group, l.outputs, userData(b)))
	return b
}

// moveVolume replaces the etcd volume of a slot by one in another zone.
func (l *suite) moveVolume(slot int, zone string) {
	l.t.Helper()
	found, err := l.instances.DescribeVolumes(l.t.Context(), &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag:" + model.TagEtcdSlot), Values: []string{model.EtcdSlotTag(slot, "")}},
	}})
	if err != nil || len(found.Volumes) != 1 {
		l.t.Fatalf("%v, %v", found, err)
	}
	old := &found.Volumes[0]
	var tags []ec2types.Tag
	for _, tag := range old.Tags {
		if !strings.HasPrefix(*tag.Key, "aws:") {
			tags = append(tags, tag)
		}
	}
	_, err = l.instances.CreateVolume(l.t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: &zone, Size: old.Size, VolumeType: old.VolumeType,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVolume, Tags: tags}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.instances.DeleteVolume(l.t.Context(), &ec2.DeleteVolumeInput{VolumeId: old.VolumeId}); err != nil {
		l.t.Fatal(err)
	}
}

// diagnosed waits until the console of the instance with these tags shows a cause.
func (l *suite) diagnosed(what string, tags map[string]string, stage, cause string) {
	l.t.Helper()
	l.await(what+" is diagnosed", func() error {
		found, err := consoles.Running(l.t.Context(), l.instances, tags)
		if err != nil || len(found) != 1 {
			return fmt.Errorf("there are %d instances: %w", len(found), err)
		}
		report := consoles.Read(l.t.Context(), l.instances, found[0])
		if report.Boot.Stage != stage || report.Boot.Error == "" || report.Boot.Cause.Reason != cause {
			return fmt.Errorf("the diagnosis is %+v", report)
		}
		l.t.Logf("%s: %s", what, report.Boot.Error)
		return nil
	})
}
