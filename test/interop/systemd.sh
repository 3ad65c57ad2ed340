# Instances with the systemd and cloud-init of Debian 12. The tree takes minutes to make, so this runs only where it is in the cache.
source test/interop/lib.sh
command -v debootstrap >/dev/null || { echo "debootstrap is not installed"; exit 75; }
[[ $(id -u) -eq 0 ]] || { echo "instances that boot need root"; exit 75; }
compgen -G ".cache/debian-*[0-9a-f]" >/dev/null || { echo "there is no Debian tree in .cache; make test-systemd makes it, in some minutes"; exit 75; }

TEST_SYSTEMD=1 go test -count=1 -timeout 10m -v -run 'CloudInit|Logind|Bundles' ./test/systemd
