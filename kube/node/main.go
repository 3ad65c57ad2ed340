// Command node is the kubelet and kube-proxy in one binary, for simulated
// machines that run containers. The component is the name the binary is called
// by, or else its first argument.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json, as the upstream mains register it
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go metrics, as the upstream mains register them
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() int{
	"kubelet":    func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kube-proxy": func() int { return cli.Run(kubeproxy.NewProxyCommand()) },
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
		fmt.Fprintln(os.Stderr, "usage: node kubelet|kube-proxy [flags]")
		os.Exit(2)
	}
	os.Exit(run())
}
