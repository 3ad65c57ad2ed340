package ec2_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// request returns a request to a provider for a resource of a stack.
func request(properties, previous map[string]any, physicalID string) resource.Request {
	return resource.Request{
		Account: account, Region: region, StackName: "stack", LogicalID: "Thing", PhysicalID: physicalID, Properties: properties,
		Previous: previous,
		Tags:     map[string]string{"aws:cloudformation:stack-name": "stack"},
	}
}

func wantHandler(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*resource.Error](err); !ok || e.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// AWS documents what an update does to an instance:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-instance.html
func TestInstanceUpdates(t *testing.T) {
	w := start(t)
	p := w.service.Providers()["AWS::EC2::Instance"]
	stabilizer, ok := p.(resource.Stabilizer)
	if !ok {
		t.Fatal("instances do not stabilize")
	}
	settle := func(r resource.Request) {
		w.eventually("the instance to be stable", func() bool {
			done, err := stabilizer.Stable(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return done
		})
	}
	properties := func(kind, image string) map[string]any {
		return map[string]any{"ImageId": image, "InstanceType": kind, "SubnetId": w.subnets[region+"a"], "DisableApiTermination": true}
	}
	before := properties("m6i.large", w.image("amd64"))
	made, err := p.Create(t.Context(), request(before, nil, ""))
	if err != nil {
		t.Fatal(err)
	}
	settle(request(before, nil, made.PhysicalID))
	w.until(made.PhysicalID, types.InstanceStateNameRunning)

	bigger := properties("m6i.xlarge", w.image("amd64"))
	if _, err := p.Update(t.Context(), request(bigger, before, made.PhysicalID)); err != nil {
		t.Fatal(err)
	}
	w.eventually("a bigger instance", func() bool {
		i, _ := w.service.Instance(account, region, made.PhysicalID)
		return i.Type == "m6i.xlarge" && i.State == types.InstanceStateNameRunning
	})
	if !w.host.called("terminate " + made.PhysicalID) {
		t.Error("the machine was not stopped for it")
	}
	settle(request(bigger, before, made.PhysicalID))

	_, err = p.Update(t.Context(), request(properties("m6i.xlarge", "ami-0123456789abcdef0"), bigger, made.PhysicalID))
	wantHandler(t, err, resource.NotUpdatable)
	wantHandler(t, p.Delete(t.Context(), request(bigger, nil, made.PhysicalID)), resource.InvalidRequest) // it is protected
	free := map[string]any{"ImageId": w.image("amd64"), "InstanceType": "m6i.xlarge", "SubnetId": w.subnets[region+"a"]}
	if _, err := p.Update(t.Context(), request(free, bigger, made.PhysicalID)); err != nil {
		t.Fatal(err)
	}
	live, err := p.Read(t.Context(), request(free, nil, made.PhysicalID))
	if err != nil || live["InstanceType"] != "m6i.xlarge" || live["DisableApiTermination"] != false {
		t.Errorf("reads as %v %v", live, err)
	}
	if err := p.Delete(t.Context(), request(free, nil, made.PhysicalID)); err != nil {
		t.Fatal(err)
	}
	settle(request(free, nil, made.PhysicalID))
	w.until(made.PhysicalID, types.InstanceStateNameTerminated)
	wantHandler(t, p.Delete(t.Context(), request(free, nil, made.PhysicalID)), resource.NotFound)
}

// AWS documents what an update does to a volume:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-volume.html
func TestVolumeUpdates(t *testing.T) {
	w := start(t)
	p := w.service.Providers()["AWS::EC2::Volume"]
	before := map[string]any{
		"AvailabilityZone": region + "a",
		"Size":             "10",
		"VolumeType":       "gp3",
		"Tags":             []any{map[string]any{"Key": "a", "Value": "1"}},
	}
	made, err := p.Create(t.Context(), request(before, nil, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		change map[string]any
		code   string
	}{
		{"another zone is refused", map[string]any{"AvailabilityZone": region + "b", "Size": 10.0, "VolumeType": "gp3"}, resource.NotUpdatable},
		{"encryption is refused", map[string]any{"AvailabilityZone": region + "a", "Size": 10.0, "VolumeType": "gp3", "Encrypted": true}, resource.NotUpdatable},
		{"shrinking is refused", map[string]any{"AvailabilityZone": region + "a", "Size": 5.0, "VolumeType": "gp3"}, resource.InvalidRequest},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := p.Update(t.Context(), request(c.change, before, made.PhysicalID))
			wantHandler(t, err, c.code)
		})
	}
	after := map[string]any{
		"AvailabilityZone": region + "a",
		"Size":             20.0,
		"VolumeType":       "gp3",
		"Tags":             []any{map[string]any{"Key": "b", "Value": "2"}},
	}
	if _, err := p.Update(t.Context(), request(after, before, made.PhysicalID)); err != nil {
		t.Fatal(err)
	}
	v := w.volumeUntil(made.PhysicalID, types.VolumeStateAvailable, "")
	tags := map[string]string{}
	for _, tag := range v.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if *v.Size != 20 || tags["b"] != "2" || tags["a"] != "" || tags["aws:cloudformation:stack-name"] != "stack" {
		t.Errorf("updated to %d GiB, tagged %v", aws.ToInt32(v.Size), tags)
	}
	if err := p.Delete(t.Context(), request(after, nil, made.PhysicalID)); err != nil {
		t.Fatal(err)
	}
	if kept := w.service.Kept(account, region); len(kept) > 0 {
		t.Errorf("left: %v", kept)
	}
}
