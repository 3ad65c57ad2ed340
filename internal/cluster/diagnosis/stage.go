package diagnosis

import (
	"slices"
	"time"
)

// UserData is the stage before nodeup starts. All other stages are tasks of nodeup.
const UserData = "user data"

// joined is the message of nodeup's last line.
const joined = "this machine is a node of its cluster"

// Deadlines of stages. docs/design/boot.md gives the reasons.
const (
	// userDataDeadline covers the start of the image, and the seconds until a new instance profile
	// is known everywhere.
	userDataDeadline = 3 * time.Minute
	// downloadDeadline covers a few hundred megabytes over a slow connection.
	downloadDeadline = 5 * time.Minute
	// othersDeadline covers what depends on other instances: the volume that a terminating instance
	// holds, the majority of the slots, and the API.
	othersDeadline = 5 * time.Minute
	// scriptDeadline covers the user's units, and the user's script.
	scriptDeadline = 5 * time.Minute
	// localDeadline covers what takes an instance seconds and depends on no other.
	localDeadline = 2 * time.Minute
)

// deadlines are the deadlines of the stages that are not local.
var deadlines = map[string]time.Duration{
	UserData: userDataDeadline, "artifacts": downloadDeadline, "extra units": scriptDeadline, "extra user data": scriptDeadline,
	"etcd volume": othersDeadline, "etcd restore": othersDeadline, "etcd name": othersDeadline, "etcd member": othersDeadline,
	"etcd learner":          othersDeadline,
	"kubeadm upload-config": othersDeadline, "own node": othersDeadline, "kubeadm addons": othersDeadline,
	"API": othersDeadline, "join": othersDeadline,
}

// Deadline returns how long a stage may take.
func Deadline(stage string) time.Duration {
	if deadline, ok := deadlines[stage]; ok {
		return deadline
	}
	return localDeadline
}

// FirstDeadline is how long after its launch an instance can be stalled at the earliest.
const FirstDeadline = userDataDeadline

// Stages are the stages of a slot and of a worker, in order.
var (
	common = []string{
		UserData, "metadata", "bundle", "start at each boot", "artifacts", "kernel", "files", "ssh keys", "units", "extra units",
	}
	slotStages = slices.Concat(common, []string{
		"etcd volume", "etcd file system", "etcd restore", "etcd name", "authorities", "extra user data", "kubelet unit",
		"kubeadm configuration", "kubeadm certs", "certificate chains", "kubeadm kubeconfigs", "audit log", "encryption at rest",
		"etcd member", "kubeadm etcd", "kubeadm control plane", "kubeadm kubelet", "etcd learner", "kubeadm upload-config", "etcd formed",
		"own node",
		"kubeadm mark-control-plane",
		"kubeadm bootstrap-token", "bootstrap token", "etcd backups", "kubeadm addons", "kubeadm finalize", "kubelet", "done",
	})
	workerStages = slices.Concat(common, []string{"extra user data", "kubelet unit", "API", "join", "kubelet", "done"})
)

// SlotStages returns the stages of a slot, in order.
func SlotStages() []string { return slices.Clone(slotStages) }

// WorkerStages returns the stages of a worker, in order.
func WorkerStages() []string { return slices.Clone(workerStages) }

// Progress returns how many stages of a slot, or of a worker, come before a stage.
func Progress(slot bool, stage string) int { return max(0, slices.Index(stagesOf(slot), stage)) }

func stagesOf(slot bool) []string {
	if slot {
		return slotStages
	}
	return workerStages
}
