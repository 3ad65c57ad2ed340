# cfn-lint, AWS's own linter, on the templates of all examples, and so of every
# built-in kind.
source test/interop/lib.sh
need cfn-lint

"$OPERATOR" render -f examples --out "$WORK/templates"
for kind in dynamodb s3bucket ecrrepository snstopic snssubscription sqsqueue elasticache; do
  like "there is a template of $kind" "$(ls "$WORK/templates")" "^aws-operator-$kind-"
done
cfn-lint "$WORK"/templates/*.yaml
echo "ok     cfn-lint has nothing to say about $(ls "$WORK/templates" | wc -l) templates"
