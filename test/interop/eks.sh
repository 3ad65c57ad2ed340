# EKS with the AWS CLI: a cluster with access entries, nodes, add-ons and tokens.
source test/interop/lib.sh
need aws
export AWS_PAGER="" AWS_DEFAULT_OUTPUT=text

trust() { printf '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"%s"},"Action":["sts:AssumeRole","sts:TagSession"]}]}' "$1"; }
role() { aws iam create-role --role-name "$1" --assume-role-policy-document "$(trust "$2")" --query Role.Arn; }
cluster_role=$(role interop-eks eks.amazonaws.com) node_role=$(role interop-node ec2.amazonaws.com) pod_role=$(role interop-pod pods.eks.amazonaws.com) auto_role=$(role interop-auto ec2.amazonaws.com)
vpc=$(aws ec2 create-vpc --cidr-block 10.77.0.0/16 --query Vpc.VpcId)
subnet() { aws ec2 create-subnet --vpc-id "$vpc" --cidr-block "10.77.$1.0/24" --availability-zone "$AWS_REGION$2" --query Subnet.SubnetId; }
eventually "ec2: the VPC is known" aws ec2 describe-vpcs --vpc-ids "$vpc"
a=$(subnet 0 a) b=$(subnet 1 b)

like "eks: versions" "$(aws eks describe-cluster-versions --query 'clusterVersions[].clusterVersion')" '1\.36.*1\.35.*1\.34.*1\.33'
fails "eks: one zone is too few" 'at least two different AZs' aws eks create-cluster --name interop --role-arn "$cluster_role" --resources-vpc-config "subnetIds=$a"
aws eks create-cluster --name interop --kubernetes-version 1.35 --role-arn "$cluster_role" --resources-vpc-config "subnetIds=$a,$b" \
  --access-config authenticationMode=API_AND_CONFIG_MAP --logging '{"clusterLogging":[{"types":["audit"],"enabled":true}]}' --tags team=interop >/dev/null
aws eks wait cluster-active --name interop
like "eks: the endpoint" "$(aws eks describe-cluster --name interop --query cluster.endpoint)" '^https://'
fails "eks: the name is taken" ResourceInUseException aws eks create-cluster --name interop --role-arn "$cluster_role" --resources-vpc-config "subnetIds=$a,$b"

aws eks update-kubeconfig --name interop --kubeconfig "$WORK/eks.kubeconfig" >/dev/null
like "eks: a kubeconfig" "$(cat "$WORK/eks.kubeconfig")" 'get-token'
like "eks: a token" "$(aws eks get-token --cluster-name interop --output json)" 'k8s-aws-v1\.'

aws eks create-access-entry --cluster-name interop --principal-arn "$pod_role" --kubernetes-groups builders >/dev/null
aws eks associate-access-policy --cluster-name interop --principal-arn "$pod_role" --access-scope type=namespace,namespaces=team \
  --policy-arn arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy >/dev/null
is "eks: the groups of an entry" "$(aws eks describe-access-entry --cluster-name interop --principal-arn "$pod_role" --query accessEntry.kubernetesGroups)" builders
is "eks: the scope of a policy" "$(aws eks list-associated-access-policies --cluster-name interop --principal-arn "$pod_role" \
  --query 'associatedAccessPolicies[0].accessScope.namespaces')" team

aws eks create-nodegroup --cluster-name interop --nodegroup-name workers --node-role "$node_role" --subnets "$a" "$b" \
  --scaling-config minSize=1,maxSize=2,desiredSize=2 --labels team=interop --kubernetes-version 1.34 >/dev/null
nodegroup_is() { [[ $(aws eks describe-nodegroup --cluster-name interop --nodegroup-name workers --query nodegroup.status) == "$1" ]]; }
eventually "eks: the node group is active" nodegroup_is ACTIVE
is "eks: its instances" "$(aws ec2 describe-instances --filters Name=tag:eks:nodegroup-name,Values=workers Name=instance-state-name,Values=running \
  --query 'length(Reservations[].Instances[])')" 2
is "eks: nodes have an entry" "$(aws eks describe-access-entry --cluster-name interop --principal-arn "$node_role" --query accessEntry.type)" EC2_LINUX

aws eks create-addon --cluster-name interop --addon-name coredns >/dev/null
addon_is() { [[ $(aws eks describe-addon --cluster-name interop --addon-name coredns --query addon.status) == "$1" ]]; }
eventually "eks: the add-on is active" addon_is ACTIVE
association=$(aws eks create-pod-identity-association --cluster-name interop --namespace team --service-account app --role-arn "$pod_role" --query association.associationId)
like "eks: an association" "$association" '^a-[a-z0-9]{17}$'

update=$(aws eks update-cluster-version --name interop --kubernetes-version 1.36 --query update.id)
update_is() { [[ $(aws eks describe-update --name interop --update-id "$update" --query update.status) == "$1" ]]; }
eventually "eks: the cluster is updated" update_is Successful
is "eks: the new version" "$(aws eks describe-cluster --name interop --query cluster.version)" 1.36
aws eks update-nodegroup-version --cluster-name interop --nodegroup-name workers --kubernetes-version 1.35 >/dev/null
nodes_have() { nodegroup_is ACTIVE && [[ $(aws eks describe-nodegroup --cluster-name interop --nodegroup-name workers --query nodegroup.version) == "$1" ]]; }
eventually "eks: the nodes are replaced" nodes_have 1.35

fails "eks: parts of Auto Mode are refused" 'either fully enabled or fully disabled' aws eks update-cluster-config --name interop --compute-config enabled=true --storage-config '{"blockStorage":{"enabled":false}}'
for p in Cluster Compute BlockStorage LoadBalancing Networking; do aws iam attach-role-policy --role-name interop-eks --policy-arn "arn:aws:iam::aws:policy/AmazonEKS${p}Policy"; done
auto_mode() { # is it enabled, and node pools
  update=$(aws eks update-cluster-config --name interop --compute-config "enabled=$1$2" --storage-config "{\"blockStorage\":{\"enabled\":$1}}" \
    --kubernetes-network-config "{\"elasticLoadBalancing\":{\"enabled\":$1}}" --query update.id)
  eventually "eks: Auto Mode: $1" update_is Successful
}
auto_mode true ",nodePools=system,nodeRoleArn=$auto_role"
is "eks: node pools" "$(aws eks describe-cluster --name interop --query cluster.computeConfig.nodePools)" system
is "eks: nodes of Auto Mode have an entry" "$(aws eks describe-access-entry --cluster-name interop --principal-arn "$auto_role" --query accessEntry.type)" EC2
auto_mode false ""
for p in Cluster Compute BlockStorage LoadBalancing Networking; do aws iam detach-role-policy --role-name interop-eks --policy-arn "arn:aws:iam::aws:policy/AmazonEKS${p}Policy"; done

fails "eks: a cluster with nodes is not deleted" 'Cluster has nodegroups attached' aws eks delete-cluster --name interop
aws eks delete-addon --cluster-name interop --addon-name coredns >/dev/null
aws eks delete-nodegroup --cluster-name interop --nodegroup-name workers >/dev/null
none() { [[ -z $(aws eks list-nodegroups --cluster-name interop --query nodegroups) ]]; }
eventually "eks: the node group is deleted" none
aws eks delete-cluster --name interop >/dev/null
deleted() { ! aws eks describe-cluster --name interop; }
eventually "eks: the cluster is deleted" deleted
for s in "$a" "$b"; do eventually "ec2: a subnet is deleted" aws ec2 delete-subnet --subnet-id "$s"; done
eventually "ec2: the VPC is deleted" aws ec2 delete-vpc --vpc-id "$vpc"
for r in interop-eks interop-node interop-pod interop-auto; do aws iam delete-role --role-name "$r"; done
