# cfn-lint, AWS's own linter, on the templates of all examples, and so of every
# built-in kind; and on those of clusters of every shape, as the golden files
# have them.
source test/interop/lib.sh
need cfn-lint

# examples/terraform has templates of manifests.
files=(-f examples/quickstart -f examples/clusters)
for file in examples/*.yaml; do files+=(-f "$file"); done
"$OPERATOR" render "${files[@]}" --out "$WORK/templates"
for kind in dynamodb s3bucket ecrrepository snstopic snssubscription sqsqueue elasticache; do
  like "there is a template of $kind" "$(ls "$WORK/templates")" "^aws-operator-$kind-"
done
cfn-lint "$WORK"/templates/*.yaml
echo "ok     cfn-lint has nothing to say about $(ls "$WORK/templates" | wc -l) templates"

# W3010 warns of zones by name. Here they are what the user asked for: etcd's
# volumes and the subnets cannot move, and Fn::GetAZs may answer otherwise later.
clusters=(internal/cluster/render/testdata/golden/*.template.yaml)
cfn-lint --ignore-checks W3010 -- "${clusters[@]}"
echo "ok     cfn-lint has nothing to say about ${#clusters[@]} templates of clusters"
