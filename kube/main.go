// Command kube is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kubeadm in one binary, so that a machine with nothing but
// Go can run a real Kubernetes control plane.
//
// The component is the name the binary is called by (a symbolic link, as
// kubeadm's tests and KUBEBUILDER_ASSETS expect) or else its first argument:
//
//	kube kube-apiserver --help
//	ln -s kube etcd && ./etcd --version
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json, as the upstream mains register it
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go metrics, as the upstream mains register them
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

// components are the programs in this binary. Each reads os.Args as its own
// main would and returns its exit code.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubeadm":                 runKubeadm,
}

func main() {
	name := filepath.Base(os.Args[0])
	run, ok := components[name]
	if !ok && len(os.Args) > 1 {
		name = os.Args[1]
		if run, ok = components[name]; ok {
			os.Args = slices.Concat([]string{name}, os.Args[2:])
		}
	}
	if !ok {
		fmt.Fprintf(os.Stderr, "usage: kube COMPONENT [flags]\ncomponents: %s\n", strings.Join(names(), ", "))
		os.Exit(2)
	}
	os.Exit(run())
}

func names() []string {
	all := make([]string, 0, len(components))
	for name := range components {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// runEtcd serves until a signal ends it; etcd exits the process itself on
// failure.
func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// runKubeadm says what went wrong and ends the process with kubeadm's exit code
// for it, as kubeadm's own main does: its commands only return their errors.
func runKubeadm() int {
	kubeadmerrors.HandleError(kubeadm.Run())
	return 0
}
