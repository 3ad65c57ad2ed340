package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// maxUserData is EC2's limit for user data, in bytes:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const maxUserData = 16 << 10

// ImageInput is what a machine image holds.
type ImageInput struct {
	// Release is the Release whose artifacts the image holds.
	Release *v1alpha1.Release
	// Architecture is the image's.
	Architecture v1alpha1.Architecture
	// Base is the image that the new one is made of: an ID, or resolve:ssm: and the name of a parameter.
	Base string
	// ContainerImages are the container images that the image holds.
	ContainerImages []string
}

// Image is how an instance prepares for an image of it.
type Image struct {
	// Hash is a hash of what the image holds, 64 hex digits.
	Hash string
	// UserData is the script that prepares the instance and powers it off.
	UserData string
	// Prepared and Failed are the ends of the console's lines with the result.
	Prepared, Failed string
}

// NodeImages returns the container images that every node of a release runs: the sandbox of pods, and
// kube-proxy if kubeadm installs it.
func NodeImages(release *v1alpha1.Release) []string {
	var images []string
	if tag := release.Spec.Components["pause"]; tag != "" {
		images = append(images, imageRepository(release.Spec)+"/pause:"+tag)
	}
	if !slices.ContainsFunc(release.Spec.Addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == "kube-proxy" }) {
		images = append(images, imageRepository(release.Spec)+"/kube-proxy:"+release.Spec.Kubernetes)
	}
	return images
}

// NewImage returns how an instance prepares for an image. It returns an error if an artifact has no
// source or no hash, if containerd is needed and the release has none, or if the script is too long.
//
// The script does what nodeup does first, without nodeup: so the instance needs neither a bucket nor
// credentials. Binaries are where nodeup installs them, and it compares their hashes at boot. Archives
// are in [bundle.CacheFolder], because the hashes of unpacked files are unknown, and because an archive
// is smaller: a new volume loads each block from S3 when it is first read
// (https://docs.aws.amazon.com/ebs/latest/userguide/ebs-initialize.html).
func NewImage(in ImageInput) (Image, error) {
	body, err := imageBody(in)
	if err != nil {
		return Image{}, err
	}
	sum := sha256.Sum256([]byte(in.Base + "\n" + string(in.Architecture) + "\n" + imageHead + body + imageTail))
	hash := hex.EncodeToString(sum[:])
	i := Image{
		Hash: hash, UserData: fmt.Sprintf(imageHead, hash) + body + imageTail,
		Prepared: "aws-operator image " + hash + ": prepared", Failed: "aws-operator image " + hash + ": failed",
	}
	if len(i.UserData) > maxUserData {
		return Image{}, fmt.Errorf("release %s has too many artifacts for user data: %d bytes, and EC2 accepts %d", in.Release.Name, len(i.UserData), maxUserData)
	}
	return i, nil
}

// imageHead defines how the script ends and fetches. A failure also powers the instance off.
const imageHead = `#!/bin/sh
set -eu
umask 022
say() { echo "aws-operator image %s: $*"; }
end() {
if [ $? = 0 ]; then say prepared; else say failed; fi
sync
poweroff
}
trap end EXIT
fetch() {
mkdir -p "$(dirname "$3")"
curl -fsSL --connect-timeout 20 -m 900 --retry 5 --retry-delay 2 --retry-all-errors -o "$3.part" "$1"
echo "$2  $3.part" | sha256sum -c
mv "$3.part" "$3"
}
`

// imageTail removes what identifies the instance, or would make the next one take it for prepared
// already. The list is that of other projects, such as
// https://github.com/awslabs/amazon-eks-ami/blob/main/templates/shared/provisioners/cleanup.sh.
const imageTail = `rm -rf /var/lib/nodeup /var/lib/cloud/* /var/log/cloud-init*.log /var/log/journal/* /var/lib/dbus/machine-id
rm -f /etc/ssh/ssh_host_* /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys /root/.bash_history /home/*/.bash_history
rm -f /var/lib/systemd/random-seed /var/lib/systemd/credential.secret /etc/netplan/50-cloud-init.yaml
: >/etc/machine-id
`

func imageBody(in ImageInput) (string, error) {
	var script strings.Builder
	runtime := ""
	for i := range in.Release.Spec.Artifacts {
		a := &in.Release.Spec.Artifacts[i]
		source, ok := a.Sources[in.Architecture]
		if !ok || source.SHA256 == "" {
			return "", fmt.Errorf("spec.artifacts[%d] (%s) of release %s has no file with a hash for %s", i, a.Name, in.Release.Name, in.Architecture)
		}
		if a.Format != v1alpha1.ArtifactTarGz {
			fmt.Fprintf(&script, "fetch %s %s %s\nchmod 755 %s\n", quote(source.URL), quote(source.SHA256), quote(a.Path), quote(a.Path))
			continue
		}
		archive := path.Join(bundle.CacheFolder, source.SHA256)
		fmt.Fprintf(&script, "fetch %s %s %s\n", quote(source.URL), quote(source.SHA256), quote(archive))
		if a.Name == "containerd" {
			runtime = fmt.Sprintf("mkdir -p %s\ntar -xzf %s -C %s\nd=%s\n", quote(a.Path), quote(archive), quote(a.Path), quote(path.Join(a.Path, "bin")))
		}
	}
	if len(in.ContainerImages) == 0 {
		return script.String(), nil
	}
	if runtime == "" {
		return "", fmt.Errorf("release %s has no artifact containerd, which pulls container images", in.Release.Name)
	}
	script.WriteString(runtime + `"$d/containerd" >/var/log/containerd-image.log 2>&1 &
p=$!
n=0
until "$d/ctr" version >/dev/null 2>&1; do
n=$((n+1))
if [ $n = 60 ] || ! kill -0 $p; then tail -n 5 /var/log/containerd-image.log; exit 1; fi
sleep 1
done
`)
	for _, image := range in.ContainerImages {
		// The kubelet's images are in this namespace, and it does not remove pinned ones:
		// https://github.com/containerd/containerd/blob/main/docs/cri/architecture.md,
		// https://kubernetes.io/docs/concepts/architecture/garbage-collection/#container-image-garbage-collection
		fmt.Fprintf(&script, "\"$d/ctr\" -n k8s.io images pull --platform linux/%s %s >/dev/null\n", in.Architecture, quote(image))
		fmt.Fprintf(&script, "\"$d/ctr\" -n k8s.io images label %s io.cri-containerd.image=managed io.cri-containerd.pinned=pinned >/dev/null\n", quote(image))
	}
	script.WriteString("kill $p\nwait $p || :\nrm -f /var/log/containerd-image.log\n")
	return script.String(), nil
}

// quote quotes a word for a POSIX shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
