package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/local/containerbuild"
)

// The images have the programs that Kubernetes' own images have: those of Kubernetes are built from
// its module, and the others are Debian's, in other versions than the images name. reasons.yaml lists
// them for the page. No image has another implementation of a program.
const (
	registry = "registry.k8s.io/"
	tests    = registry + "e2e-test-images/"
)

// host are the programs of the host that images contain, by the Debian package that has them.
var host = map[string]string{
	"/bin/bash": "bash", "/bin/busybox": "busybox-static", "/bin/dash": "dash", "/bin/ip": "iproute2", "/bin/nc.openbsd": "netcat-openbsd",
	"/bin/ss": "iproute2", "/usr/bin/curl": "curl", "/usr/bin/dig": "bind9-dnsutils", "/usr/bin/getent": "libc-bin",
	"/usr/bin/iperf": "iperf", "/usr/bin/nslookup": "bind9-dnsutils", "/usr/sbin/nginx": "nginx-light",
}

// alpine are the programs that the Alpine system of agnhost has beside busybox's
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/agnhost/Dockerfile), and a shell
// that finds them: that of Debian's static busybox runs its own commands, whatever is in the path.
var alpine = map[string]string{
	"/bin/sh": "/bin/dash", "/usr/bin/bash": "/bin/bash", "/usr/bin/curl": "/usr/bin/curl", "/usr/bin/dig": "/usr/bin/dig",
	"/usr/bin/getent": "/usr/bin/getent", "/usr/bin/iperf": "/usr/bin/iperf", "/usr/bin/nc": "/bin/nc.openbsd",
	"/usr/bin/nslookup": "/usr/bin/nslookup", "/usr/bin/ss": "/bin/ss", "/usr/sbin/ip": "/bin/ip",
}

const (
	passwd = "root:x:0:0:root:/root:/bin/sh\n" //nolint:gosec // no password
	group  = "root:x:0:\n"
	// users are those that agnhost's Dockerfile adds.
	users      = "user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"
	usersGroup = "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"
	nsswitch   = "passwd: files\ngroup: files\nhosts: files dns\n"
	// nginxConfig serves the files of Debian's package as the nginx image does.
	nginxConfig = `user www-data;
worker_processes 1;
pid /run/nginx.pid;
error_log /dev/stderr notice;
events { worker_connections 1024; }
http {
  default_type text/html;
  access_log /dev/stdout;
  server { listen 80; root /usr/share/nginx/html; index index.html; }
}
`
)

// writeImages makes the images that specs run, as an OCI layout.
func writeImages(ctx context.Context, root, programs, layout string) error {
	if err := missing(); err != nil {
		return err
	}
	m := maker{programs: programs}
	if err := m.findApplets(ctx); err != nil {
		return err
	}
	if err := m.findSources(ctx, root); err != nil {
		return err
	}
	var images []containerbuild.Image
	for _, build := range []func() (containerbuild.Image, error){
		m.agnhost, m.nautilus, m.kitten, m.nginx, m.nonroot, m.nonewprivs, m.dnsTesting,
	} {
		image, err := build()
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	busybox := m.base(tests + "busybox:1.37.0-1")
	busybox.Args = []string{"sh"}
	return containerbuild.WriteLayout(layout, append(images, busybox))
}

func missing() error {
	var packages []string
	for program, name := range host {
		if _, err := os.Stat(program); err != nil {
			packages = append(packages, name)
		}
	}
	if len(packages) == 0 {
		return nil
	}
	slices.Sort(packages)
	return fmt.Errorf("images need programs of these Debian packages: %s", strings.Join(slices.Compact(packages), ", "))
}

// maker makes images.
type maker struct {
	// programs is the folder of Kubernetes' programs, sources that of its module.
	programs, sources string
	// applets are the commands of busybox.
	applets []string
}

func (m *maker) findApplets(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "/bin/busybox", "--list").Output()
	m.applets = strings.Fields(string(out))
	if err == nil && len(m.applets) == 0 {
		err = errors.New("it has none")
	}
	if err != nil {
		return fmt.Errorf("list the commands of busybox: %w", err)
	}
	return nil
}

func (m *maker) findSources(ctx context.Context, root string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	cmd.Dir = filepath.Join(root, "test", "conformance", "suite")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("find the module of Kubernetes: %w", err)
	}
	m.sources = strings.TrimSpace(string(out))
	return nil
}

// base returns an image with busybox, whose commands are in /bin as in its own image.
func (m *maker) base(names ...string) containerbuild.Image {
	image := containerbuild.Image{
		Names: names, Files: map[string]string{"/bin/busybox": "/bin/busybox"}, Links: map[string]string{"/usr/bin/env": "/bin/busybox"},
		Texts: map[string]string{"/etc/passwd": passwd, "/etc/group": group, "/etc/nsswitch.conf": nsswitch},
		Modes: map[string]int64{"/etc/passwd": 0o644, "/etc/group": 0o644, "/etc/nsswitch.conf": 0o644},
	}
	for _, applet := range m.applets {
		if applet != "busybox" {
			image.Links["/bin/"+applet] = "busybox"
		}
	}
	return image
}

// add adds programs of the host with their libraries, instead of busybox's commands.
func add(image *containerbuild.Image, programs map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		file, err := filepath.EvalSymlinks(programs[name])
		if err != nil {
			return fmt.Errorf("find a program of the image %s: %w", image.Names[0], err)
		}
		image.Files[name] = file
		delete(image.Links, "/bin/"+filepath.Base(name))
		if err := containerbuild.AddLibraries(image.Files, file); err != nil {
			return err
		}
	}
	return nil
}

// agnhost is Kubernetes' image for most specs. The older one differs in nothing that specs use: they
// only replace the one image by the other.
func (m *maker) agnhost() (containerbuild.Image, error) {
	image := m.base(tests+"agnhost:2.63.0", tests+"agnhost:2.55")
	image.Entrypoint, image.Args = []string{"/agnhost"}, []string{"pause"}
	image.Files["/agnhost"] = filepath.Join(m.programs, "agnhost")
	image.Links["/agnhost-2"] = "agnhost"
	image.Texts["/etc/passwd"] += users
	image.Texts["/etc/group"] += usersGroup
	image.Texts["/uploads/.keep"] = ""
	for _, name := range []string{"localhost.crt", "localhost.key"} {
		image.Files["/"+name] = filepath.Join(m.sources, "test", "images", "agnhost", "porter", name)
	}
	return image, add(&image, alpine)
}

func (m *maker) nautilus() (containerbuild.Image, error) {
	return m.pictured("nautilus", tests+"nautilus:1.8")
}

func (m *maker) kitten() (containerbuild.Image, error) {
	return m.pictured("kitten", tests+"kitten:1.8")
}

// pictured is agnhost's web server with a picture.
func (m *maker) pictured(of, name string) (containerbuild.Image, error) {
	image, err := m.agnhost()
	if err != nil {
		return image, err
	}
	image.Names, image.Args = []string{name}, []string{"test-webserver"}
	for _, file := range []string{of + ".jpg", "data.json"} {
		image.Files["/"+file] = filepath.Join(m.sources, "test", "images", of, "html", file)
	}
	return image, nil
}

func (m *maker) nginx() (containerbuild.Image, error) {
	image := m.base(tests+"nginx:1.15-4", tests+"nginx:1.27-0")
	image.Args = []string{"/usr/sbin/nginx", "-g", "daemon off;"}
	image.Files["/usr/share/nginx/html/index.html"] = "/usr/share/nginx/html/index.html"
	maps.Copy(image.Texts, map[string]string{
		"/etc/nginx/nginx.conf": nginxConfig, "/var/lib/nginx/.keep": "", "/var/log/nginx/.keep": "", "/run/.keep": "",
	})
	image.Texts["/etc/passwd"] += "www-data:x:33:33::/var/www:/bin/false\n"
	image.Texts["/etc/group"] += "www-data:x:33:\n"
	return image, add(&image, map[string]string{"/usr/sbin/nginx": "/usr/sbin/nginx"})
}

// nonroot is busybox's image with another user.
func (m *maker) nonroot() (containerbuild.Image, error) {
	image := m.base(tests + "nonroot:1.5")
	image.Args, image.User = []string{"sh"}, "1234"
	return image, nil
}

// nonewprivs has a program of Kubernetes with the setuid and setgid bits.
func (m *maker) nonewprivs() (containerbuild.Image, error) {
	image := m.base(tests + "nonewprivs:1.4")
	image.Args = []string{"nnp"}
	image.Files["/usr/local/bin/nnp"] = filepath.Join(m.programs, "nonewprivs")
	image.Modes["/usr/local/bin/nnp"] = 0o6755
	return image, nil
}

// dnsTesting is a Debian system with dnsutils.
func (m *maker) dnsTesting() (containerbuild.Image, error) {
	image := m.base(tests + "glibc-dns-testing:2.0.0")
	image.Args = []string{"sh"}
	return image, add(&image, map[string]string{
		"/usr/bin/dig": "/usr/bin/dig", "/usr/bin/nslookup": "/usr/bin/nslookup", "/usr/bin/getent": "/usr/bin/getent",
		"/bin/bash": "/bin/bash", "/bin/sh": "/bin/dash",
	})
}
