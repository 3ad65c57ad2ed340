package controller_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/cause"
	"github.com/aws-operator/aws-operator/internal/cli/diagnose"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// aheadClock is the real clock, moved ahead.
type aheadClock struct {
	clock.RealClock
	by atomic.Int64
}

func (c *aheadClock) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.by.Load())) }
func (c *aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// passDeadlines moves the controllers' clock ahead, to after the deadline of every stage, and makes
// them reconcile the object.
func (w *suite) passDeadlines(obj client.Object) {
	w.t.Helper()
	ahead, ok := w.clock.(*aheadClock)
	if !ok {
		w.t.Fatal("the suite has no clock that moves")
	}
	ahead.by.Store(int64(6 * time.Minute))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"test/deadline":"passed"}}}`))
	if err := w.client.Patch(w.t.Context(), obj, patch); err != nil {
		w.t.Fatal(err)
	}
}

// nodeupLine is a line that nodeup wrote before the test, at its time of the past: the stage counts
// from the launch.
func nodeupLine(task, problem string) string {
	return `time=2026-11-23T22:00:33.000Z level=WARN msg="` + task + `" error="` + strings.ReplaceAll(problem, `"`, `\"`) +
		`" "again in"=15s` + "\n"
}

// brokenBoot is a cluster of one slot, with or without workers, that does not boot.
type brokenBoot struct {
	// console is what instances of the broken image show. Tests of packages bootstrap and nodeup
	// verify that the user data and nodeup write these lines for these causes.
	console string
	// breakIt breaks the simulated AWS for real.
	breakIt func(*suite)
	// shows is what the console of an instance then shows.
	shows string
	// worker says that only the instances of the instance group are broken.
	worker bool
	// condition and reason are what reports it, says are parts of the message.
	condition, reason string
	says              []string
	// diagnosis is the reason of the cause that the command diagnose finds.
	diagnosis string
}

var brokenBoots = map[string]brokenBoot{
	"no route out": {
		diagnosis: diagnosis.ReasonNoRoute,
		console:   "curl: (28) Connection timed out after 300001 milliseconds\n",
		condition: "APIReachable", reason: "BootStalled",
		says: []string{`of slot 0 has not passed boot stage "user data" since `, "curl: (28) Connection timed out", "no route to the server"},
	},
	"image with an old curl": {
		diagnosis: diagnosis.ReasonImageUnsuitable,
		console:   "S3 needs an image with curl 7.87 or later, not curl 7.81.0 (x86_64-pc-linux-gnu)\n",
		condition: "APIReachable", reason: "BootStalled",
		says: []string{`of slot 0 gave up at boot stage "user data"`, "The image's curl is too old"},
	},
	"image that does not run user data": {
		diagnosis: diagnosis.ReasonSilentConsole,
		condition: "APIReachable", reason: "BootStalled",
		says: []string{"The console is empty: the image does not boot"},
	},
	"artifact unreachable": {
		diagnosis: diagnosis.ReasonNameNotResolved,
		console:   nodeupLine("artifacts", `install kubelet: fetch it: Get "https://mirror.example.com/kubelet": dial tcp: lookup mirror.example.com on 10.0.0.2:53: no such host`),
		condition: "APIReachable", reason: "BootStalled",
		says: []string{`boot stage "artifacts"`, "lookup mirror.example.com", "The instance cannot resolve a name."},
	},
	"wrong checksum": {
		diagnosis: diagnosis.ReasonArtifactChecksum,
		console:   nodeupLine("artifacts", "install kubelet: https://example.com/kubelet has the SHA-256 aaaa; the release expects bbbb"),
		condition: "APIReachable", reason: "BootStalled",
		says: []string{"has the SHA-256 aaaa; the release expects bbbb", "The server has another file than the Release expects."},
	},
	"security group rule missing": {
		diagnosis: diagnosis.ReasonAPIBlocked,
		console:   nodeupLine("API", `ask the API: Get "https://demo-api.example.com:6443/api/v1/namespaces/kube-public/configmaps/cluster-info": dial tcp 10.0.0.7:6443: i/o timeout`),
		worker:    true, condition: "NodesReady", reason: "BootStalled",
		says: []string{`of instance group demo-workers has not passed boot stage "API"`, "does not accept connections from the instance"},
	},
	"role without a permission": {
		diagnosis: diagnosis.ReasonAccessDenied,
		breakIt:   func(w *suite) { w.sim.Faults().Add(fault.Rule{Service: "ec2", Operation: "AttachVolume", Deny: true}) },
		shows:     "AttachVolume",
		condition: "APIReachable", reason: "BootStalled",
		says: []string{`boot stage "etcd volume"`, "AttachVolume", "The instance's role lacks a permission."},
	},
	"volume in another zone": {
		diagnosis: diagnosis.ReasonVolumeElsewhere,
		breakIt:   func(w *suite) { w.moveVolume("eu-central-1b") },
		shows:     "there are 0 volumes",
		condition: "APIReachable", reason: "BootStalled",
		says: []string{`boot stage "etcd volume"`, "there are 0 volumes", "does not exist in the zone of the instance"},
	},
	"quota": {
		diagnosis: cause.Quota,
		breakIt:   func(w *suite) { w.sim.Instances().SetQuota(account, region, false, 0) },
		condition: "ControlPlaneReady", reason: "QuotaExceeded",
		says: []string{"vCPU"},
	},
	"unit of the user that fails": {
		diagnosis: diagnosis.ReasonUnitFailed,
		console: nodeupLine("extra units", "systemctl restart agent.service: exit status 1: Job for agent.service failed because the control process "+
			"exited with error code.: the unit agent.service is failed: agent: no license"),
		worker: true, condition: "NodesReady", reason: "BootStalled",
		says: []string{"the unit agent.service is failed: agent: no license", "A systemd unit of the spec does not start"},
	},
	"bad user script": {
		diagnosis: diagnosis.ReasonUserScript,
		console:   nodeupLine("extra user data", "sh /var/lib/nodeup/extra-user-data.sh: exit status 127: /var/lib/nodeup/extra-user-data.sh: 1: mount-nfs: not found"),
		worker:    true, condition: "NodesReady", reason: "BootStalled",
		says: []string{"mount-nfs: not found", "The script in spec.extraUserData fails."},
	},
	"unreachable API": {
		diagnosis: "APIUnreachableFromHere",
		breakIt: func(w *suite) {
			w.resolver = func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.255.255.254")}, nil
			}
		},
		shows:     "this machine is a node of its cluster",
		condition: "APIReachable", reason: "APIUnreachable",
		says: []string{"show that they have joined, but the operator cannot reach the Kubernetes API", "spec.api.allowedCIDRs"},
	},
}

// moveVolume replaces the etcd volume of slot 0, as soon as a machine looks for it, by one in
// another zone.
func (w *suite) moveVolume(zone string) {
	api, moving := ec2.NewFromConfig(w.awsConfig(account, region)), sync.Mutex{}
	w.sim.Faults().OnCall(func(c fault.CallInfo) {
		if c.Service != "ec2" || c.Operation != "DescribeVolumes" || c.Phase != fault.Before || !moving.TryLock() {
			return
		}
		defer moving.Unlock()
		found, err := api.DescribeVolumes(context.Background(), &ec2.DescribeVolumesInput{Filters: []types.Filter{
			{Name: aws.String("tag:" + model.TagEtcdSlot), Values: []string{"*"}},
		}})
		if err != nil || len(found.Volumes) != 1 || aws.ToString(found.Volumes[0].AvailabilityZone) == zone {
			return
		}
		old := &found.Volumes[0]
		tags := slices.DeleteFunc(old.Tags, func(tag types.Tag) bool { return strings.HasPrefix(*tag.Key, "aws:") })
		_, err1 := api.CreateVolume(context.Background(), &ec2.CreateVolumeInput{
			AvailabilityZone: &zone, Size: old.Size, VolumeType: old.VolumeType,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVolume, Tags: tags}},
		})
		_, err2 := api.DeleteVolume(context.Background(), &ec2.DeleteVolumeInput{VolumeId: old.VolumeId})
		if err := errors.Join(err1, err2); err != nil {
			w.t.Error(err)
		}
	})
}

// consoleShows waits until the console of an instance shows a text.
func (w *suite) consoleShows(text string) {
	w.t.Helper()
	if text == "" {
		return
	}
	api := ec2.NewFromConfig(w.awsConfig(account, region))
	w.eventually("a console shows "+text, func() error {
		found, err := api.DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{})
		if err != nil {
			return err
		}
		var all []string
		for i := range found.Reservations {
			for _, one := range found.Reservations[i].Instances {
				in := &ec2.GetConsoleOutputInput{InstanceId: one.InstanceId, Latest: aws.Bool(true)}
				out, err := api.GetConsoleOutput(w.t.Context(), in)
				if err != nil {
					return err
				}
				console, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
				if err != nil || strings.Contains(string(console), text) {
					return err
				}
				all = append(all, string(console))
			}
		}
		return errors.New(strings.Join(all, "\n"))
	})
}

// diagnosed checks what the command diagnose says about the cluster demo, once the load balancer
// has finished its first health checks.
func (w *suite) diagnosed(c *brokenBoot) {
	w.t.Helper()
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	names, err := w.sim.ServeNames(w.t.Context())
	if err := errors.Join(err, os.WriteFile(kubeconfig, w.cluster.Kubeconfig(), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	if w.resolver != nil {
		names = "127.0.0.1:9" // no DNS server
	}
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL": w.endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
		"KUBECONFIG": kubeconfig, awsapi.ResolverVariable: names,
	} {
		w.t.Setenv(key, value)
	}
	w.eventually("the command diagnose names the cause", func() error {
		var out bytes.Buffer
		cmd := diagnose.CommandAt(w.clock)
		cmd.SetArgs([]string{"cluster", "demo", "--state", "k8s", "-n", w.namespace, "-o", "json"})
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		code := exit.Code(cmd.ExecuteContext(w.t.Context()))
		var found struct {
			Healthy bool
			Cause   struct{ Reason string }
		}
		err := json.Unmarshal(out.Bytes(), &found)
		if err != nil || code != exit.NotValid || found.Healthy || found.Cause.Reason != c.diagnosis {
			return errors.Join(err, fmt.Errorf("want %s, got exit code %d: %s", c.diagnosis, code, out.String()))
		}
		return nil
	})
}

// Ten ways in which a cluster does not boot: a condition names the cause of each once its deadline
// has passed, and so does the command diagnose. Fake machines send no packets and do not run user data
// and nodeup. So the causes that need those are lines of the console, and all others are
// real.
func TestConditionsSayWhyInstancesDoNotBoot(t *testing.T) {
	for reason, c := range brokenBoots {
		t.Run(reason, func(t *testing.T) {
			host := fake.New(fake.Options{})
			w := newSuiteAlone(t, host, nil) // The command diagnose reads the environment.
			w.clock = &aheadClock{}
			cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
			cluster.Spec.ControlPlane.Replicas = 1
			w.sim.Instances().AddImage(region, types.Image{ImageId: aws.String(brokenImage)})
			host.SetImage(brokenImage, fake.Behaviour{NeverJoins: true, Console: c.console})
			if c.breakIt != nil {
				c.breakIt(w)
			}
			w.start()
			var broken conditioned = cluster
			switch {
			case c.worker:
				group.Spec.Image, broken = brokenImage, group
				w.create(cluster, group)
				w.condition(cluster, "APIReachable", metav1.ConditionTrue, "")
				w.condition(group, "NodesReady", metav1.ConditionFalse, "NodesMissing")
			case c.condition == "APIReachable":
				if c.console != "" || c.diagnosis == diagnosis.ReasonSilentConsole {
					cluster.Spec.ControlPlane.Image = brokenImage
				}
				w.create(cluster)
				w.condition(cluster, "APIReachable", metav1.ConditionFalse, "APIUnreachable")
			default:
				w.create(cluster)
			}
			w.consoleShows(c.console + c.shows)
			w.passDeadlines(broken)
			w.eventually("the condition names the cause", func() error {
				found := w.condition(broken, c.condition, metav1.ConditionFalse, c.reason)
				for _, words := range c.says {
					if !strings.Contains(found.Message, words) {
						return fmt.Errorf("it lacks %q: %s", words, found.Message)
					}
				}
				return nil
			})
			w.condition(broken, "Ready", metav1.ConditionFalse, c.reason)
			w.diagnosed(&c)
		})
	}
}
