# Terraform with the hashicorp/aws provider, where the provider can be had: the workflow of those who keep clusters in Git, that
# Terraform and CloudFormation make the same cluster, the configurations of all examples, and machines that boot for real.
# The tests find the provider and say where they looked; make test leaves them out, since they take some minutes.
source test/interop/lib.sh
need terraform

go test -count=1 -timeout 25m -v ./test/terraform >"$WORK/terraform.out" 2>&1 || { cat "$WORK/terraform.out"; exit 1; }
grep -E '^ +[a-z_]+_test.go:[0-9]+: ' "$WORK/terraform.out" | grep -v 'cloud_test' || true
sed -nE 's/^--- (PASS|SKIP): (Test[A-Za-z]+) \(([0-9]+).*/\1   \2 (\3 s)/p' "$WORK/terraform.out"
if ! grep -q '^--- PASS' "$WORK/terraform.out"; then
  sed -nE 's/^ +[a-z_]+_test.go:[0-9]+: //p' "$WORK/terraform.out" | sort -u | tail -n 1
  exit 75
fi
