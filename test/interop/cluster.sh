# A cluster, as observed by kubectl and aws from the first apply until everything is deleted.
source test/interop/lib.sh
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 75; }

kubectl apply -f examples/quickstart/cluster.yaml
kubectl wait --for=condition=Ready --timeout=180s cluster/demo instancegroup/demo-workers
kubectl get clusters,instancegroups
kubectl get secret demo-kubeconfig -o jsonpath='{.data.value}' | base64 -d > "$WORK/demo.kubeconfig"
nodes=$(kubectl --kubeconfig "$WORK/demo.kubeconfig" get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}' | wc -l)
is "the new cluster has three nodes" "$nodes" 3

if command -v aws >/dev/null; then
  vpc=$(aws ec2 describe-vpcs --filters Name=is-default,Values=false --query 'Vpcs[0].VpcId' --output text)
  running=$(aws ec2 describe-instances --filters Name=instance-state-name,Values=running "Name=vpc-id,Values=$vpc" \
    --query 'length(Reservations[].Instances[])' --output text)
  is "three instances run in its VPC" "$running" 3
  groups=$(aws autoscaling describe-auto-scaling-groups --query 'sort(AutoScalingGroups[].DesiredCapacity)' --output text | tr '\t' ' ')
  is "the sizes of its Auto Scaling groups" "$groups" "1 2"
  targets=$(aws elbv2 describe-target-health --query 'TargetHealthDescriptions[0].TargetHealth.State' --output text \
    --target-group-arn "$(aws elbv2 describe-target-groups --query 'TargetGroups[0].TargetGroupArn' --output text)")
  is "the API's target is healthy" "$targets" healthy
  zone=$(aws route53 list-hosted-zones --query 'HostedZones[0].Name' --output text)
  is "its private zone" "$zone" demo.internal.
fi

kubectl delete cluster demo --timeout=180s
fails "the instance group is deleted with its cluster" NotFound kubectl get instancegroup demo-workers
if command -v aws >/dev/null; then
  left=$(aws ec2 describe-vpcs --filters Name=is-default,Values=false --query 'Vpcs[].VpcId' --output text)
  is "no VPC is left" "$left" ""
fi
