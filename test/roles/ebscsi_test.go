package roles_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// The real controller of the EBS CSI driver, with the policies of its role, creates, attaches, grows, copies, detaches and
// deletes volumes of the cluster and their snapshots. It cannot delete a volume of another cluster, nor one of etcd.
func TestEBSCSIDriver(t *testing.T) {
	if os.Getenv("TEST_EBS_CSI") == "" {
		t.Skip("it builds the EBS CSI driver: make test-ebs-csi")
	}
	d := startEBSCSIDriver(t)
	capability := map[string]any{"mount": map[string]any{"fsType": "ext4"}, "accessMode": map[string]any{"mode": "SINGLE_NODE_WRITER"}}
	volume := map[string]any{
		"name": "pvc-1", "capacityRange": map[string]any{"requiredBytes": 4 << 30}, "volumeCapabilities": []any{capability},
		"parameters": map[string]any{"type": "gp3"},
		"accessibilityRequirements": map[string]any{"requisite": []any{
			map[string]any{"segments": map[string]any{"topology.kubernetes.io/zone": "eu-central-1a"}},
		}},
	}
	id := d.call("CreateVolume", volume).Volume.VolumeID
	found := d.volume(id)
	if tag := tagOf(found.Tags, model.TagOwnedPrefix+"demo"); tag != model.TagOwned || *found.Size != 4 {
		t.Errorf("the volume has %d GiB and the tag %q of the cluster", *found.Size, tag)
	}
	if again := d.call("CreateVolume", volume).Volume.VolumeID; again != id {
		t.Errorf("the same request created another volume, %s and %s", id, again)
	}
	d.call("ControllerPublishVolume", map[string]any{"volumeId": id, "nodeId": d.instance, "volumeCapability": capability})
	if found := d.volume(id); len(found.Attachments) != 1 || *found.Attachments[0].InstanceId != d.instance {
		t.Errorf("the volume is attached to %v", found.Attachments)
	}
	d.call("ControllerExpandVolume", map[string]any{"volumeId": id, "capacityRange": map[string]any{"requiredBytes": 6 << 30}})
	if found := d.volume(id); *found.Size != 6 {
		t.Errorf("the volume has %d GiB", *found.Size)
	}
	snapshot := d.call("CreateSnapshot", map[string]any{"sourceVolumeId": id, "name": "snapshot-1"}).Snapshot.SnapshotID
	volume["name"], volume["capacityRange"] = "pvc-2", map[string]any{"requiredBytes": 6 << 30}
	volume["volumeContentSource"] = map[string]any{"snapshot": map[string]any{"snapshotId": snapshot}}
	restored := d.call("CreateVolume", volume).Volume.VolumeID
	if found := d.volume(restored); aws.ToString(found.SnapshotId) != snapshot {
		t.Errorf("the volume is of the snapshot %q", aws.ToString(found.SnapshotId))
	}
	d.call("ControllerUnpublishVolume", map[string]any{"volumeId": id, "nodeId": d.instance})
	d.call("DeleteSnapshot", map[string]any{"snapshotId": snapshot})
	for _, one := range []string{id, restored} {
		d.call("DeleteVolume", map[string]any{"volumeId": one})
		if d.volume(one) != nil {
			t.Errorf("volume %s is left", one)
		}
	}
	d.checkRefused("a volume of another cluster", map[string]string{model.TagOwnedPrefix + "demo-2": model.TagOwned})
	d.checkRefused("a volume of etcd", map[string]string{model.TagOwnedPrefix + "demo": model.TagOwned, model.TagEtcdSlot: "0"})
}

// ebsCSIDriver is the running controller, and an instance of the cluster.
type ebsCSIDriver struct {
	t        *testing.T
	ec2      *ec2.Client // of the root user
	client   string      // the program that calls the driver
	socket   string
	log      string
	instance string
}

func startEBSCSIDriver(t *testing.T) *ebsCSIDriver {
	t.Helper()
	folder := t.TempDir()
	program, client := filepath.Join(folder, "driver"), filepath.Join(folder, "client")
	for output, of := range map[string]string{program: "github.com/kubernetes-sigs/aws-ebs-csi-driver/cmd", client: "."} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", output, of)
		build.Dir = "../ebscsi"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	sim := simulatortest.New(t, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag})
	endpoint := simulatortest.Serve(t, sim.Handler())
	root := simulatortest.Root(endpoint, account, "eu-central-1")
	key := simulatortest.User(t, root, "ebs-csi", policiesOf(t, root, ebsCSI, strings.NewReplacer())...)
	d := &ebsCSIDriver{
		t: t, ec2: ec2.NewFromConfig(root), client: client, socket: filepath.Join(folder, "csi.sock"), log: filepath.Join(folder, "driver.log"),
	}
	d.launch(sim)

	log, err := os.Create(d.log)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "controller", "--endpoint=unix://"+d.socket, "--k8s-tag-cluster-id=demo", "--batching=true", "--v=2") //nolint:noctx // until the test ends
	command.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+endpoint, "AWS_REGION=eu-central-1", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID="+key.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+key.SecretAccessKey)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(d.log)
			t.Logf("%s", text[max(0, len(text)-8000):])
		}
	})
	patience.Until(t, "the driver listens", func() error {
		_, err := os.Stat(d.socket)
		return err
	})
	return d
}

// launch creates an instance of the cluster.
func (d *ebsCSIDriver) launch(sim *simulator.Simulator) {
	d.t.Helper()
	const image = "ami-0123456789abcdef0"
	sim.Instances().AddImage("eu-central-1", types.Image{ImageId: aws.String(image)})
	vpc, err := d.ec2.CreateVpc(d.t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		d.t.Fatal(err)
	}
	subnet, err := d.ec2.CreateSubnet(d.t.Context(), &ec2.CreateSubnetInput{
		VpcId: vpc.Vpc.VpcId, CidrBlock: aws.String("10.0.0.0/24"), AvailabilityZone: aws.String("eu-central-1a"),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	made, err := d.ec2.RunInstances(d.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(image), InstanceType: types.InstanceTypeM6iLarge, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: subnet.Subnet.SubnetId,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{
			{Key: aws.String(model.TagOwnedPrefix + "demo"), Value: aws.String(model.TagOwned)},
		}}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.instance = *made.Instances[0].InstanceId
	patience.UntilTrue(d.t, "the instance runs", func() bool {
		out, err := d.ec2.DescribeInstances(d.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{d.instance}})
		return err == nil && out.Reservations[0].Instances[0].State.Name == types.InstanceStateNameRunning
	})
}

// response is what the driver answers.
type response struct {
	Volume   struct{ VolumeID string }
	Snapshot struct{ SnapshotID string }
}

// call calls the driver as the sidecars of Kubernetes do.
func (d *ebsCSIDriver) call(method string, request any) response {
	d.t.Helper()
	out, err := d.try(method, request)
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", method, err, out)
	}
	var answer response
	if err := json.Unmarshal(out, &answer); err != nil {
		d.t.Fatalf("%s: %v", out, err)
	}
	return answer
}

func (d *ebsCSIDriver) try(method string, request any) ([]byte, error) {
	d.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		d.t.Fatal(err)
	}
	return exec.CommandContext(d.t.Context(), d.client, d.socket, method, string(text)).CombinedOutput()
}

// volume returns a volume, nil if there is none.
func (d *ebsCSIDriver) volume(id string) *types.Volume {
	d.t.Helper()
	out, err := d.ec2.DescribeVolumes(d.t.Context(), &ec2.DescribeVolumesInput{
		Filters: []types.Filter{{Name: aws.String("volume-id"), Values: []string{id}}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if len(out.Volumes) == 0 {
		return nil
	}
	return &out.Volumes[0]
}

// checkRefused checks that the driver cannot delete a volume with tags.
func (d *ebsCSIDriver) checkRefused(what string, tags map[string]string) {
	d.t.Helper()
	var list []types.Tag
	for key, value := range tags {
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	made, err := d.ec2.CreateVolume(d.t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1), VolumeType: types.VolumeTypeGp3,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVolume, Tags: list}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if out, err := d.try("DeleteVolume", map[string]any{"volumeId": *made.VolumeId}); err == nil || !strings.Contains(string(out), "UnauthorizedOperation") {
		d.t.Errorf("the deletion of %s answers %v\n%s", what, err, out)
	}
	if d.volume(*made.VolumeId) == nil {
		d.t.Errorf("the driver deleted %s", what)
	}
}

func tagOf(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}
