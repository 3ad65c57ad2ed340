# Written by aws-operator for cluster automatic. The next update of the cluster overwrites changes.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.81"
    }
  }
}

provider "aws" {
  region = "eu-central-1"
}

# Kubernetes cluster automatic: what its machines share and what outlives them
locals {
  automatic_tags = {
    "cluster-operator.aws/cluster"    = "automatic"
    "cluster-operator.aws/namespace"  = "default"
    "cluster-operator.aws/operator"   = "aws-operator"
    "kubernetes.io/cluster/automatic" = "owned"
  }
}

resource "aws_eip" "automatic_nat_address_eu_central_1a" {
  domain = "vpc"
  tags = merge(local.automatic_tags, {
    Name = "automatic-nat-eu-central-1a"
  })

  depends_on = [
    aws_internet_gateway_attachment.automatic,
  ]
}

resource "aws_eks_access_entry" "automatic_accesse_680b_0ffdb_9a" {
  cluster_name  = aws_eks_cluster.automatic.name
  principal_arn = "arn:aws:iam::123456789012:role/platform"
  tags          = local.automatic_tags
}

resource "aws_eks_access_policy_association" "automatic_accesse_680b_0ffdb_9a_amazon_eks_cluster_admin_policy" {
  cluster_name  = aws_eks_access_entry.automatic_accesse_680b_0ffdb_9a.cluster_name
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
  principal_arn = aws_eks_access_entry.automatic_accesse_680b_0ffdb_9a.principal_arn

  access_scope {
    type = "cluster"
  }
}

resource "aws_eks_cluster" "automatic" {
  bootstrap_self_managed_addons = false
  enabled_cluster_log_types     = []
  name                          = "automatic"
  role_arn                      = aws_iam_role.automatic_control_plane.arn
  tags                          = local.automatic_tags
  version                       = "1.36"

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = true
  }

  compute_config {
    enabled       = true
    node_pools    = ["general-purpose", "system"]
    node_role_arn = aws_iam_role.automatic_auto_mode_node.arn
  }

  kubernetes_network_config {
    service_ipv4_cidr = "172.20.0.0/16"

    elastic_load_balancing {
      enabled = true
    }
  }

  storage_config {
    block_storage {
      enabled = true
    }
  }

  upgrade_policy {
    support_type = "STANDARD"
  }

  vpc_config {
    endpoint_private_access = true
    endpoint_public_access  = true
    public_access_cidrs     = ["192.0.2.0/24"]
    subnet_ids = [
      aws_subnet.automatic_private_subnet_eu_central_1a.id,
      aws_subnet.automatic_private_subnet_eu_central_1b.id,
    ]
  }

  depends_on = [
    aws_iam_role_policy_attachment.automatic_auto_mode_node_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.automatic_auto_mode_node_amazon_eks_worker_node_minimal_policy,
    aws_iam_role_policy_attachment.automatic_control_plane_amazon_eks_block_storage_policy,
    aws_iam_role_policy_attachment.automatic_control_plane_amazon_eks_cluster_policy,
    aws_iam_role_policy_attachment.automatic_control_plane_amazon_eks_compute_policy,
    aws_iam_role_policy_attachment.automatic_control_plane_amazon_eks_load_balancing_policy,
    aws_iam_role_policy_attachment.automatic_control_plane_amazon_eks_networking_policy,
  ]
}

resource "aws_eks_pod_identity_association" "automatic_pod_default_web_82b_3ade_9d_00c" {
  cluster_name    = aws_eks_cluster.automatic.name
  namespace       = "default"
  role_arn        = aws_iam_role.automatic_pod_default_web_82b_3ade_9d_00c.arn
  service_account = "web"
  tags            = local.automatic_tags

  depends_on = [
    aws_iam_role_policy_attachment.automatic_pod_default_web_82b_3ade_9d_00c_amazon_s3_read_only_access,
  ]
}

resource "aws_iam_openid_connect_provider" "automatic_issuer" {
  client_id_list = ["sts.amazonaws.com"]
  tags           = local.automatic_tags
  url            = aws_eks_cluster.automatic.identity[0].oidc[0].issuer
}

resource "aws_iam_role" "automatic_auto_mode_node" {
  assume_role_policy = file("${path.module}/data/automatic/aws_iam_role.automatic_auto_mode_node.assume_role_policy.json")
  name_prefix        = "automatic-AutoModeNodeRole-"
  tags = merge(local.automatic_tags, {
    "cluster-operator.aws/role" = "auto-mode-node"
  })
}

resource "aws_iam_role" "automatic_control_plane" {
  assume_role_policy = file("${path.module}/data/automatic/aws_iam_role.automatic_control_plane.assume_role_policy.json")
  name_prefix        = "automatic-ControlPlaneRole-"
  tags = merge(local.automatic_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "automatic_pod_default_web_82b_3ade_9d_00c" {
  assume_role_policy = file("${path.module}/data/automatic/aws_iam_role.automatic_pod_default_web_82b_3ade_9d_00c.assume_role_policy.json")
  description        = "Pods of service account default/web of cluster automatic"
  name_prefix        = "automatic-PodDefaultWeb82b3a-9646acbb-"
  tags = merge(local.automatic_tags, {
    "cluster-operator.aws/role" = "pod"
  })
}

resource "aws_iam_role" "automatic_worker" {
  assume_role_policy = file("${path.module}/data/automatic/aws_iam_role.automatic_worker.assume_role_policy.json")
  name_prefix        = "automatic-WorkerRole-"
  tags = merge(local.automatic_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy_attachment" "automatic_auto_mode_node_amazon_ec2_container_registry_pull_only" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
  role       = aws_iam_role.automatic_auto_mode_node.name
}

resource "aws_iam_role_policy_attachment" "automatic_auto_mode_node_amazon_eks_worker_node_minimal_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy"
  role       = aws_iam_role.automatic_auto_mode_node.name
}

resource "aws_iam_role_policy_attachment" "automatic_control_plane_amazon_eks_block_storage_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSBlockStoragePolicy"
  role       = aws_iam_role.automatic_control_plane.name
}

resource "aws_iam_role_policy_attachment" "automatic_control_plane_amazon_eks_cluster_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
  role       = aws_iam_role.automatic_control_plane.name
}

resource "aws_iam_role_policy_attachment" "automatic_control_plane_amazon_eks_compute_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSComputePolicy"
  role       = aws_iam_role.automatic_control_plane.name
}

resource "aws_iam_role_policy_attachment" "automatic_control_plane_amazon_eks_load_balancing_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSLoadBalancingPolicy"
  role       = aws_iam_role.automatic_control_plane.name
}

resource "aws_iam_role_policy_attachment" "automatic_control_plane_amazon_eks_networking_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSNetworkingPolicy"
  role       = aws_iam_role.automatic_control_plane.name
}

resource "aws_iam_role_policy_attachment" "automatic_pod_default_web_82b_3ade_9d_00c_amazon_s3_read_only_access" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
  role       = aws_iam_role.automatic_pod_default_web_82b_3ade_9d_00c.name
}

resource "aws_iam_role_policy_attachment" "automatic_worker_amazon_ec2_container_registry_pull_only" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
  role       = aws_iam_role.automatic_worker.name
}

resource "aws_iam_role_policy_attachment" "automatic_worker_amazon_eks_cni_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
  role       = aws_iam_role.automatic_worker.name
}

resource "aws_iam_role_policy_attachment" "automatic_worker_amazon_eks_worker_node_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  role       = aws_iam_role.automatic_worker.name
}

resource "aws_internet_gateway" "automatic" {
  tags = merge(local.automatic_tags, {
    Name = "automatic"
  })
}

resource "aws_internet_gateway_attachment" "automatic" {
  internet_gateway_id = aws_internet_gateway.automatic.id
  vpc_id              = aws_vpc.automatic.id
}

resource "aws_nat_gateway" "automatic_nat_gateway_eu_central_1a" {
  allocation_id = aws_eip.automatic_nat_address_eu_central_1a.id
  subnet_id     = aws_subnet.automatic_public_subnet_eu_central_1a.id
  tags = merge(local.automatic_tags, {
    Name = "automatic-eu-central-1a"
  })

  depends_on = [
    aws_route.automatic_public_default,
  ]
}

resource "aws_route" "automatic_private_default_route_eu_central_1a" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.automatic_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.automatic_private_route_table_eu_central_1a.id
}

resource "aws_route" "automatic_private_default_route_eu_central_1b" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.automatic_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.automatic_private_route_table_eu_central_1b.id
}

resource "aws_route" "automatic_public_default" {
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.automatic.id
  route_table_id         = aws_route_table.automatic_public.id

  depends_on = [
    aws_internet_gateway_attachment.automatic,
  ]
}

resource "aws_route_table" "automatic_private_route_table_eu_central_1a" {
  tags = merge(local.automatic_tags, {
    Name = "automatic-private-eu-central-1a"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_route_table" "automatic_private_route_table_eu_central_1b" {
  tags = merge(local.automatic_tags, {
    Name = "automatic-private-eu-central-1b"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_route_table" "automatic_public" {
  tags = merge(local.automatic_tags, {
    Name = "automatic-public"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_route_table_association" "automatic_private_subnet_eu_central_1a" {
  route_table_id = aws_route_table.automatic_private_route_table_eu_central_1a.id
  subnet_id      = aws_subnet.automatic_private_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "automatic_private_subnet_eu_central_1b" {
  route_table_id = aws_route_table.automatic_private_route_table_eu_central_1b.id
  subnet_id      = aws_subnet.automatic_private_subnet_eu_central_1b.id
}

resource "aws_route_table_association" "automatic_public_subnet_eu_central_1a" {
  route_table_id = aws_route_table.automatic_public.id
  subnet_id      = aws_subnet.automatic_public_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "automatic_public_subnet_eu_central_1b" {
  route_table_id = aws_route_table.automatic_public.id
  subnet_id      = aws_subnet.automatic_public_subnet_eu_central_1b.id
}

resource "aws_s3_object" "automatic_pki_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/automatic/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/automatic/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_etcd_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/automatic/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_etcd_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/automatic/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_front_proxy_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/automatic/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_front_proxy_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/automatic/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_sa_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/automatic/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "automatic_pki_sa_pub" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/automatic/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_subnet" "automatic_private_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.0.0.0/20"
  tags = merge(local.automatic_tags, {
    Name                              = "automatic-private-eu-central-1a"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_subnet" "automatic_private_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.0.32.0/20"
  tags = merge(local.automatic_tags, {
    Name                              = "automatic-private-eu-central-1b"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_subnet" "automatic_public_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.0.16.0/21"
  tags = merge(local.automatic_tags, {
    Name                     = "automatic-public-eu-central-1a"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_subnet" "automatic_public_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.0.48.0/21"
  tags = merge(local.automatic_tags, {
    Name                     = "automatic-public-eu-central-1b"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.automatic.id
}

resource "aws_vpc" "automatic" {
  cidr_block           = "10.0.0.0/16"
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags = merge(local.automatic_tags, {
    Name = "automatic"
  })
}

resource "aws_vpc_endpoint" "automatic_s3" {
  route_table_ids = [
    aws_route_table.automatic_public.id,
    aws_route_table.automatic_private_route_table_eu_central_1a.id,
    aws_route_table.automatic_private_route_table_eu_central_1b.id,
  ]
  service_name      = "com.amazonaws.eu-central-1.s3"
  tags              = local.automatic_tags
  vpc_endpoint_type = "Gateway"
  vpc_id            = aws_vpc.automatic.id
}

output "cluster_certificate_authority_data" {
  description = "The CA of that address, in PEM and base64."
  value       = aws_eks_cluster.automatic.certificate_authority[0].data
}

output "cluster_endpoint" {
  description = "The address of the Kubernetes API, which EKS serves."
  value       = aws_eks_cluster.automatic.endpoint
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "automatic"
}

output "cluster_security_group_id" {
  description = "The ID of the security group that EKS made for the cluster."
  value       = aws_eks_cluster.automatic.vpc_config[0].cluster_security_group_id
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.automatic_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.automatic_control_plane.name
}

output "instance_group_node_group_names" {
  description = "The names of the instance groups' managed node groups, by instance group."
  value       = {}
}

output "private_subnet_ids" {
  description = "The IDs of the private subnets, by zone."
  value = [
    aws_subnet.automatic_private_subnet_eu_central_1a.id,
    aws_subnet.automatic_private_subnet_eu_central_1b.id,
  ]
}

output "public_subnet_ids" {
  description = "The IDs of the public subnets, by zone."
  value = [
    aws_subnet.automatic_public_subnet_eu_central_1a.id,
    aws_subnet.automatic_public_subnet_eu_central_1b.id,
  ]
}

output "region" {
  description = "The region that it stands in."
  value       = "eu-central-1"
}

output "service_account_issuer_arn" {
  description = "The ARN of the OpenID Connect provider of the cluster's service accounts."
  value       = aws_iam_openid_connect_provider.automatic_issuer.arn
}

output "vpc_id" {
  description = "The ID of the VPC."
  value       = aws_vpc.automatic.id
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.automatic_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.automatic_worker.name
}
