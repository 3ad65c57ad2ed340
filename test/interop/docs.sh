# README.md, the tutorials and the guides: every command of each page, from top to bottom, as written.
source test/interop/lib.sh
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 75; }

TEST_DOCS=1 go test -count=1 -timeout 20m -parallel 4 -run TestPagesCanBeFollowed -v ./test/docs 2>&1 |
  sed -nE 's/^ +[a-z_]+_test\.go:[0-9]+: (.* (took|skipped).*)/\1/p; t; /^(=== |ok |PASS)/d; p'
