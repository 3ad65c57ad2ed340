# Terraform with the provider hashicorp/aws makes a queue, a table and a bucket. Objects take them over, and
# Terraform lets them go: nothing is made again.
source test/interop/lib.sh
need aws
need terraform
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 75; }
export AWS_PAGER="" AWS_DEFAULT_OUTPUT=text

mkdir "$WORK/terraform-state"
cat >"$WORK/terraform-state/main.tf" <<'HCL'
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
provider "aws" {
  s3_use_path_style = true
}
resource "aws_sqs_queue" "jobs" {
  name                       = "tf-jobs"
  visibility_timeout_seconds = 50
}
resource "aws_dynamodb_table" "orders" {
  name         = "tf-orders"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}
resource "aws_s3_bucket" "files" {
  bucket = "tf-files"
}
HCL
terraform() { command terraform -chdir="$WORK/terraform-state" "$@"; }
# The provider is looked for where test/terraform looks.
[[ -e ${TF_CLI_CONFIG_FILE:-/dev/null} ]] || unset TF_CLI_CONFIG_FILE
init=(init -input=false -no-color)
for folder in "${TF_PLUGIN_DIR:-}" "${TF_PLUGIN_CACHE_DIR:-}" ~/.terraform.d/plugin-cache /opt/*; do
  if [[ -d $folder/registry.terraform.io/hashicorp/aws ]]; then
    init+=(-plugin-dir="$folder")
    break
  fi
done
if ! terraform "${init[@]}" >"$WORK/terraform-init.log" 2>&1; then
  grep '^Error' "$WORK/terraform-init.log" || true
  echo "terraform cannot install the provider hashicorp/aws"
  exit 75
fi
terraform apply -input=false -auto-approve -no-color >"$WORK/terraform-apply.log" || { tail -n 20 "$WORK/terraform-apply.log"; exit 1; }
url=$(aws sqs get-queue-url --queue-name tf-jobs --query QueueUrl)
aws dynamodb put-item --table-name tf-orders --item '{"id":{"S":"a"},"n":{"N":"7"}}'
echo content >"$WORK/file"
aws s3api put-object --bucket tf-files --key file --body "$WORK/file" >/dev/null
identity() {
  aws sqs get-queue-attributes --queue-url "$url" --attribute-names All --query 'Attributes.[QueueArn, CreatedTimestamp, VisibilityTimeout]'
  aws dynamodb describe-table --table-name tf-orders --query 'Table.[TableId, CreationDateTime]'
  aws dynamodb get-item --table-name tf-orders --key '{"id":{"S":"a"}}' --query Item.n.N
  aws s3api head-object --bucket tf-files --key file --query '[ETag, LastModified]'
}
before=$(identity)

terraform state pull >"$WORK/terraform.tfstate"
"$OPERATOR" import --terraform-state "$WORK/terraform.tfstate" --out "$WORK/tf-manifests" 2>"$WORK/tf-import.log"
like "import says how Terraform lets a resource go" "$(cat "$WORK/tf-import.log")" 'terraform state rm .?aws_sqs_queue.jobs'
like "the plan changes nothing" "$("$OPERATOR" plan -f "$WORK/tf-manifests")" 'Plan: 3 to import, in 3 stacks. No resource changes.'
[[ ! -e "$WORK/tf-manifests/kinds.yaml" ]] || kubectl apply -f "$WORK/tf-manifests/kinds.yaml"
kubectl apply -f "$WORK/tf-manifests"
kubectl wait --for=condition=Ready --timeout=120s sqsqueue/tf-jobs dynamodb/tf-orders s3bucket/tf-files
is "nothing was made again" "$(identity)" "$before"

terraform state rm aws_sqs_queue.jobs aws_dynamodb_table.orders aws_s3_bucket.files >/dev/null
terraform destroy -input=false -auto-approve -no-color >"$WORK/terraform-destroy.log" || { tail -n 20 "$WORK/terraform-destroy.log"; exit 1; }
is "Terraform has let them go" "$(identity)" "$before"
kubectl patch sqsqueue tf-jobs --type=merge -p '{"spec":{"visibilityTimeout":70}}' >/dev/null
seventy() { [[ $(aws sqs get-queue-attributes --queue-url "$url" --attribute-names VisibilityTimeout --query Attributes.VisibilityTimeout) == 70 ]]; }
eventually "from now on, the queue follows its object" seventy
kubectl delete --timeout=120s sqsqueue/tf-jobs dynamodb/tf-orders s3bucket/tf-files
