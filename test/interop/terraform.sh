# Terraform with the hashicorp/aws provider, where the provider can be had.
source test/interop/lib.sh
need terraform

cp test/interop/terraform/main.tf "$WORK/"
cd "$WORK"
if ! said=$(terraform init -input=false -no-color 2>&1); then
  grep -Eq 'could not connect|no such host|provider registry|timeout' <<<"$said" || { echo "$said"; exit 1; }
  echo "the hashicorp/aws provider cannot be downloaded here"
  exit 75
fi
terraform apply -auto-approve -input=false -no-color
is "a second apply changes nothing" "$(terraform plan -detailed-exitcode -input=false -no-color >/dev/null 2>&1; echo $?)" 0
is "outputs" "$(terraform output -raw queue)" "arn:aws:sqs:$AWS_REGION:123456789012:terraform"
terraform destroy -auto-approve -input=false -no-color
