package nodeup_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

func TestStagesOfDiagnosesAreTheTasks(t *testing.T) {
	for _, c := range []struct {
		bundle *bundle.Bundle
		stages []string
	}{{slot(), diagnosis.SlotStages()}, {worker(), diagnosis.WorkerStages()}} {
		m := newMachine(t, c.bundle)
		tasks := []string{diagnosis.UserData}
		m.options.Done = func(task string) { tasks = append(tasks, task) }
		if err := nodeup.Run(t.Context(), m.options); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tasks, c.stages) {
			t.Errorf("the tasks are\n%q, the stages\n%q", tasks, c.stages)
		}
		if boot := diagnosis.Read(m.log.Bytes(), c.bundle.Role == bundle.ControlPlane); !boot.Joined {
			t.Errorf("the diagnosis is %+v of\n%s", boot, m.log)
		}
	}
}

// deniedVolumes refuses as EC2 does.
type deniedVolumes struct{ *account }

func (deniedVolumes) DescribeVolumes(
	context.Context, *ec2.DescribeVolumesInput, ...func(*ec2.Options),
) (*ec2.DescribeVolumesOutput, error) {
	return nil, &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeVolumes", Err: &smithy.GenericAPIError{
		Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.",
	}}
}

// artifactAt returns a bundle with one artifact.
func artifactAt(url, hash string) *bundle.Bundle {
	b := slot()
	b.Artifacts = []bundle.Artifact{{Name: "kubelet", URL: url, SHA256: hash, Format: bundle.Binary, Path: "/usr/bin/kubelet"}}
	return b
}

// failingDial makes every connection of the artifacts' client fail with an error of the kernel or
// of the resolver.
func failingDial(m *machine, err error) {
	m.options.HTTP = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: err}
		},
	}}
}

// timeout is the error of a connection that is not answered.
type timeout struct{}

func (timeout) Error() string { return "i/o timeout" }
func (timeout) Timeout() bool { return true }

// The lines that nodeup writes for an error lead to its cause.
func TestErrorsAreDiagnosed(t *testing.T) {
	hash := bundle.HashOf([]byte("kubelet"))
	for _, c := range []struct {
		reason string
		bundle *bundle.Bundle
		change func(*machine)
		stage  string
		cause  string
	}{
		{
			"no route out", artifactAt("https://dl.example.com/kubelet", hash), func(m *machine) { failingDial(m, timeout{}) },
			"artifacts", diagnosis.ReasonNoRoute,
		},
		{
			"a host without an address", artifactAt("https://dl.example.com/kubelet", hash), func(m *machine) {
				failingDial(m, &net.DNSError{Err: "no such host", Name: "dl.example.com", Server: "10.0.0.2:53", IsNotFound: true})
			},
			"artifacts", diagnosis.ReasonNameNotResolved,
		},
		{
			"an artifact that is not there", artifactAt(serve(t, nil)+"kubelet", hash), nil,
			"artifacts", diagnosis.ReasonArtifactMissing,
		},
		{
			"a wrong checksum", artifactAt(serve(t, map[string][]byte{"kubelet": []byte("other")})+"kubelet", hash), nil,
			"artifacts", diagnosis.ReasonArtifactChecksum,
		},
		{
			"an artifact without a checksum", artifactAt("https://dl.example.com/kubelet", ""), nil,
			"artifacts", diagnosis.ReasonArtifactChecksum,
		},
		{
			"another bundle", slot(), func(m *machine) { m.account.objects[bundle.Key(m.options.BundleSHA256)] = []byte("{}") },
			"bundle", diagnosis.ReasonBundleInvalid,
		},
		{
			"a role without a permission", slot(), func(m *machine) { m.options.AWS.Volumes = deniedVolumes{m.account} },
			"etcd volume", diagnosis.ReasonAccessDenied,
		},
		{
			"a volume in another zone", slot(), func(m *machine) { *m.account.volumes[0].AvailabilityZone = "eu-central-1b" },
			"etcd volume", diagnosis.ReasonVolumeElsewhere,
		},
		{
			"a volume of another instance", slot(), func(m *machine) {
				m.account.volumes[0].Attachments = []ec2types.VolumeAttachment{{
					InstanceId: aws.String("i-other"), State: ec2types.VolumeAttachmentStateAttached,
				}}
			},
			"etcd volume", diagnosis.ReasonVolumeHeld,
		},
		{
			"a script that fails", scripted("no-such-program --now"), nil,
			"extra user data", diagnosis.ReasonUserScript,
		},
		{
			"a unit that does not start", furnished(), func(m *machine) {
				withUsers(t, m)
				setProgram(t, "systemctl", `case "$1" in
restart | start) test "$2" = containerd || { echo "Job for agent.service failed." >&2; exit 1; } ;;
is-active) echo failed; exit 3 ;;
esac`)
				setProgram(t, "journalctl", "echo no such host")
			},
			"extra units", diagnosis.ReasonUnitFailed,
		},
		{
			"drop-ins with which containerd does not start", furnished(), func(m *machine) {
				withUsers(t, m)
				setProgram(t, "systemctl", `test "$1" != restart || { echo "Job for containerd.service failed." >&2; exit 1; }`)
			},
			"units", diagnosis.ReasonUnitFailed,
		},
		{
			"encryption that was added", encrypting("demo"), func(m *machine) {
				setProgram(t, "mount", `mkdir -p "$ROOT/proc/self" "$ROOT/var/lib/etcd/member/wal"
					echo "$1 $2 ext4 rw 0 0" >> "$ROOT/proc/self/mounts"`)
			},
			"encryption at rest", diagnosis.ReasonEncryptionDiffers,
		},
		{
			"a key that is disabled", encrypting("demo"), func(m *machine) {
				m.options.AWS.Keys = plainKeys{failure: &smithy.GenericAPIError{Code: "DisabledException", Message: "It is disabled."}}
				m.serveKMS(t)
			},
			"encryption at rest", diagnosis.ReasonKeyUnusable,
		},
		{
			"a kubelet that does not start", worker(), func(*machine) {
				setProgram(t, "systemctl", `case "$1" in is-active) echo activating; exit 3 ;; esac`)
				setProgram(t, "journalctl", `echo "unknown flag: --nice"`)
				setProgram(t, "kubeadm", `echo "timed out waiting for the condition" >&2; exit 1`)
			},
			"join", diagnosis.ReasonKubeletDown,
		},
		{
			"no control plane", workerOf("https://127.0.0.1:1"), nil,
			"API", diagnosis.ReasonAPIDown,
		},
		{
			"an API that does not know the token", worker(), func(m *machine) {
				m.account.tokens = slices.Repeat([]string{"fedcba.0123456789abcdef"}, 100)
			},
			"join", diagnosis.ReasonTokenUnknown,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newMachine(t, c.bundle)
			if c.change != nil {
				c.change(m)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m.options.Log = slogTo(m.log, func(message string) {
				if message == c.stage {
					cancel()
				}
			})
			err := nodeup.Run(ctx, m.options)
			boot := diagnosis.Read(m.log.Bytes(), c.bundle.Role == bundle.ControlPlane)
			if boot.Stage != c.stage || boot.Cause.Reason != c.cause || boot.Error == "" {
				t.Errorf("got %+v of\n%s", boot, m.log)
			}
			if _, permanent := errors.AsType[*nodeup.PermanentError](err); boot.Ended != permanent {
				t.Errorf("nodeup ended with %v, the diagnosis is %+v", err, boot)
			}
		})
	}
}

func scripted(script string) *bundle.Bundle {
	b := worker()
	b.ExtraUserData = script + "\n"
	return b
}

func workerOf(server string) *bundle.Bundle {
	b := worker()
	b.API = &bundle.API{Server: server, CACertificate: b.API.CACertificate}
	return b
}
