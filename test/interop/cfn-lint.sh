# cfn-lint, AWS's own linter, on the templates of all examples, and so of every built-in kind, and
# on the golden templates of clusters of every shape.
source test/interop/lib.sh
need cfn-lint

# examples/terraform contains templates of manifests, which cannot be rendered here.
files=(-f examples/quickstart -f examples/clusters)
for file in examples/*.yaml; do files+=(-f "$file"); done
"$OPERATOR" render "${files[@]}" --out "$WORK/templates"
for kind in dynamodb s3bucket ecrrepository snstopic snssubscription sqsqueue elasticache awssecret encryptionkey rdsinstance datastream elasticfilesystem auroracluster opensearchdomain eventbridgerule lambda stepfunction cloudfrontdistribution; do
  like "there is a template of $kind" "$(ls "$WORK/templates")" "^aws-operator-$kind-"
done
# E3502 compares a queue with its dead-letter queue, and takes one of another template for one of
# another type.
cfn-lint --ignore-checks E3502 -- "$WORK"/templates/*.yaml
echo "ok     cfn-lint accepts $(ls "$WORK/templates" | wc -l) templates"

# W3010 warns about zone names. Here the user sets them: etcd's volumes and the subnets cannot move,
# and Fn::GetAZs may return other zones later.
# W2506 wants images in parameters of images. Those of self-managed nodes of EKS are names of public parameters, as
# resolve:ssm:NAME, which EC2 reads at each launch and parameters of images do not accept.
clusters=(internal/cluster/render/testdata/golden/*.template.yaml)
cfn-lint --ignore-checks W3010 W2506 -- "${clusters[@]}"
echo "ok     cfn-lint accepts ${#clusters[@]} templates of clusters"
