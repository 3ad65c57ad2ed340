# Terraform with the provider hashicorp/aws, if it is available: the workflow of users who keep
# clusters in Git, that Terraform and CloudFormation create the same cluster, the configurations of
# all examples, and machines that really boot. The tests find the provider and report where they
# searched; make test omits them, because they take some minutes.
source test/interop/lib.sh
need terraform

go test -c -o "$WORK/terraform.test" ./test/terraform
cd test/terraform
names=$("$WORK/terraform.test" -test.list '^Test')
# The provider mostly waits, so each test has a process of its own, four at a time. The longest begins first.
(echo TestWorkflow; grep -vx TestWorkflow <<<"$names") |
  xargs -P 4 -I{} sh -c '"$WORK/terraform.test" -test.v -test.timeout 25m -test.run "^{}\$" >"$WORK/terraform.{}.out" 2>&1' || failed=1
for name in $names; do cat "$WORK/terraform.$name.out"; done >"$WORK/tests.out"
if [[ ${failed:-0} -ne 0 ]]; then
  cat "$WORK/tests.out"
  exit 1
fi
grep -E '^ +[a-z_]+_test.go:[0-9]+: ' "$WORK/tests.out" || true
sed -nE 's/^--- (PASS|SKIP): (Test[A-Za-z]+) \(([0-9]+).*/\1   \2 (\3 s)/p' "$WORK/tests.out"
if ! grep -q '^--- PASS' "$WORK/tests.out"; then
  sed -nE 's/^ +[a-z_]+_test.go:[0-9]+: //p' "$WORK/tests.out" | sort -u | tail -n 1
  exit 75
fi
