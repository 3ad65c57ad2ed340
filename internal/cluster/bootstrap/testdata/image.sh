#!/bin/sh
set -eu
umask 022
say() { echo "aws-operator image c23830b80a1c0119327945e7b1845255e38a4462cb6188ce531f60df1a0dc9f0: $*"; }
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
fetch 'https://github.com/containerd/containerd/releases/download/v2.3.4/containerd-2.3.4-linux-amd64.tar.gz' '9d68969855fbf676cdb8ed758e420fb048d61f984f61de3e53eddfebe484d168' '/var/cache/nodeup/9d68969855fbf676cdb8ed758e420fb048d61f984f61de3e53eddfebe484d168'
fetch 'https://github.com/opencontainers/runc/releases/download/v1.4.3/runc.amd64' 'f6ae8efc0fa40079e1475e97cbe9d1bd3f106a28d6af78a11d9f1bd565515e60' '/usr/local/sbin/runc'
chmod 755 '/usr/local/sbin/runc'
fetch 'https://github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz' 'b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303' '/var/cache/nodeup/b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303'
fetch 'https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubelet' 'cf2562db46c48ab84cc3791540778ee7fb1a0a008529adbb434723dd02ed8b4b' '/usr/local/bin/kubelet'
chmod 755 '/usr/local/bin/kubelet'
fetch 'https://dl.k8s.io/release/v1.36.4/bin/linux/amd64/kubeadm' '10d054585907f2c8bb823c84f6a66b3bd2a474c3d795475f04e9a44f78650fe6' '/usr/local/bin/kubeadm'
chmod 755 '/usr/local/bin/kubeadm'
fetch 'https://github.com/kubernetes-sigs/cri-tools/releases/download/v1.36.0/crictl-v1.36.0-linux-amd64.tar.gz' '83855e114566a8a8c44c548d515670f51de3a5e1da8b2effb59870e2f10c25a3' '/var/cache/nodeup/83855e114566a8a8c44c548d515670f51de3a5e1da8b2effb59870e2f10c25a3'
fetch 'https://artifacts.k8s.io/binaries/cloud-provider-aws/v1.31.7/linux/amd64/ecr-credential-provider-linux-amd64' '7644623e4ec9ad443ab352a8a5800a5180ee28741288be805286ba72bb8e7164' '/usr/local/bin/ecr-credential-provider'
chmod 755 '/usr/local/bin/ecr-credential-provider'
mkdir -p '/usr/local'
tar -xzf '/var/cache/nodeup/9d68969855fbf676cdb8ed758e420fb048d61f984f61de3e53eddfebe484d168' -C '/usr/local'
d='/usr/local/bin'
"$d/containerd" >/var/log/containerd-image.log 2>&1 &
p=$!
n=0
until "$d/ctr" version >/dev/null 2>&1; do
n=$((n+1))
if [ $n = 60 ] || ! kill -0 $p; then tail -n 5 /var/log/containerd-image.log; exit 1; fi
sleep 1
done
"$d/ctr" -n k8s.io images pull --platform linux/amd64 'registry.k8s.io/pause:3.10.2' >/dev/null
"$d/ctr" -n k8s.io images label 'registry.k8s.io/pause:3.10.2' io.cri-containerd.image=managed io.cri-containerd.pinned=pinned >/dev/null
"$d/ctr" -n k8s.io images pull --platform linux/amd64 'registry.k8s.io/kube-proxy:v1.36.4' >/dev/null
"$d/ctr" -n k8s.io images label 'registry.k8s.io/kube-proxy:v1.36.4' io.cri-containerd.image=managed io.cri-containerd.pinned=pinned >/dev/null
kill $p
wait $p || :
rm -f /var/log/containerd-image.log
rm -rf /var/lib/nodeup /var/lib/cloud/* /var/log/cloud-init*.log /var/log/journal/* /var/lib/dbus/machine-id
rm -f /etc/ssh/ssh_host_* /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys /root/.bash_history /home/*/.bash_history
rm -f /var/lib/systemd/random-seed /var/lib/systemd/credential.secret /etc/netplan/50-cloud-init.yaml
: >/etc/machine-id
