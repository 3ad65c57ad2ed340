# Written by aws-operator for cluster managed. The next update of the cluster overwrites changes.

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

# Kubernetes cluster managed: what its machines share and what outlives them
locals {
  managed_tags = {
    "cluster-operator.aws/cluster"   = "managed"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "kubernetes.io/cluster/managed"  = "owned"
  }
}

resource "aws_eip" "managed_nat_address_eu_central_1a" {
  domain = "vpc"
  tags = merge(local.managed_tags, {
    Name = "managed-nat-eu-central-1a"
  })

  depends_on = [
    aws_internet_gateway_attachment.managed,
  ]
}

resource "aws_eks_access_entry" "managed_access_8425a_28bfc_70" {
  cluster_name  = aws_eks_cluster.managed.name
  principal_arn = "arn:aws:iam::123456789012:role/developers"
  tags          = local.managed_tags
}

resource "aws_eks_access_entry" "managed_accesse_680b_0ffdb_9a" {
  cluster_name  = aws_eks_cluster.managed.name
  principal_arn = "arn:aws:iam::123456789012:role/platform"
  tags          = local.managed_tags
}

resource "aws_eks_access_policy_association" "managed_access_8425a_28bfc_70_amazon_eks_edit_policy" {
  cluster_name  = aws_eks_access_entry.managed_access_8425a_28bfc_70.cluster_name
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy"
  principal_arn = aws_eks_access_entry.managed_access_8425a_28bfc_70.principal_arn

  access_scope {
    namespaces = ["default"]
    type       = "namespace"
  }
}

resource "aws_eks_access_policy_association" "managed_accesse_680b_0ffdb_9a_amazon_eks_cluster_admin_policy" {
  cluster_name  = aws_eks_access_entry.managed_accesse_680b_0ffdb_9a.cluster_name
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
  principal_arn = aws_eks_access_entry.managed_accesse_680b_0ffdb_9a.principal_arn

  access_scope {
    type = "cluster"
  }
}

resource "aws_eks_cluster" "managed" {
  enabled_cluster_log_types = ["api", "audit"]
  name                      = "managed"
  role_arn                  = aws_iam_role.managed_control_plane.arn
  tags                      = local.managed_tags
  version                   = "1.36"

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = true
  }

  kubernetes_network_config {
    service_ipv4_cidr = "172.20.0.0/16"
  }

  upgrade_policy {
    support_type = "STANDARD"
  }

  vpc_config {
    endpoint_private_access = true
    endpoint_public_access  = true
    public_access_cidrs     = ["192.0.2.0/24"]
    subnet_ids = [
      aws_subnet.managed_private_subnet_eu_central_1a.id,
      aws_subnet.managed_private_subnet_eu_central_1b.id,
    ]
  }

  depends_on = [
    aws_iam_role_policy_attachment.managed_control_plane_amazon_eks_cluster_policy,
  ]
}

resource "aws_eks_pod_identity_association" "managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145" {
  cluster_name    = aws_eks_cluster.managed.name
  namespace       = "kube-system"
  role_arn        = aws_iam_role.managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145.arn
  service_account = "ebs-csi-controller-sa"
  tags            = local.managed_tags

  depends_on = [
    aws_iam_role_policy_attachment.managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145_amazon_ebscsi_driver_policy,
  ]
}

resource "aws_iam_openid_connect_provider" "managed_issuer" {
  client_id_list = ["sts.amazonaws.com"]
  tags           = local.managed_tags
  url            = aws_eks_cluster.managed.identity[0].oidc[0].issuer
}

resource "aws_iam_role" "managed_control_plane" {
  assume_role_policy = file("${path.module}/data/managed/aws_iam_role.managed_control_plane.assume_role_policy.json")
  name_prefix        = "managed-ControlPlaneRole-"
  tags = merge(local.managed_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145" {
  assume_role_policy = file("${path.module}/data/managed/aws_iam_role.managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145.assume_role_policy.json")
  description        = "Pods of service account kube-system/ebs-csi-controller-sa of cluster managed"
  name_prefix        = "managed-PodKubeSystemEbsCsiC-6ef7379f-"
  tags = merge(local.managed_tags, {
    "cluster-operator.aws/role" = "pod"
  })
}

resource "aws_iam_role" "managed_worker" {
  assume_role_policy = file("${path.module}/data/managed/aws_iam_role.managed_worker.assume_role_policy.json")
  name_prefix        = "managed-WorkerRole-"
  tags = merge(local.managed_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy_attachment" "managed_control_plane_amazon_eks_cluster_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
  role       = aws_iam_role.managed_control_plane.name
}

resource "aws_iam_role_policy_attachment" "managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145_amazon_ebscsi_driver_policy" {
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
  role       = aws_iam_role.managed_pod_kube_system_ebs_csi_controller_sa_8ca_520051145.name
}

resource "aws_iam_role_policy_attachment" "managed_worker_amazon_ec2_container_registry_pull_only" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
  role       = aws_iam_role.managed_worker.name
}

resource "aws_iam_role_policy_attachment" "managed_worker_amazon_eks_cni_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
  role       = aws_iam_role.managed_worker.name
}

resource "aws_iam_role_policy_attachment" "managed_worker_amazon_eks_worker_node_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  role       = aws_iam_role.managed_worker.name
}

resource "aws_internet_gateway" "managed" {
  tags = merge(local.managed_tags, {
    Name = "managed"
  })
}

resource "aws_internet_gateway_attachment" "managed" {
  internet_gateway_id = aws_internet_gateway.managed.id
  vpc_id              = aws_vpc.managed.id
}

resource "aws_nat_gateway" "managed_nat_gateway_eu_central_1a" {
  allocation_id = aws_eip.managed_nat_address_eu_central_1a.id
  subnet_id     = aws_subnet.managed_public_subnet_eu_central_1a.id
  tags = merge(local.managed_tags, {
    Name = "managed-eu-central-1a"
  })

  depends_on = [
    aws_route.managed_public_default,
  ]
}

resource "aws_route" "managed_private_default_route_eu_central_1a" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.managed_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.managed_private_route_table_eu_central_1a.id
}

resource "aws_route" "managed_private_default_route_eu_central_1b" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.managed_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.managed_private_route_table_eu_central_1b.id
}

resource "aws_route" "managed_public_default" {
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.managed.id
  route_table_id         = aws_route_table.managed_public.id

  depends_on = [
    aws_internet_gateway_attachment.managed,
  ]
}

resource "aws_route_table" "managed_private_route_table_eu_central_1a" {
  tags = merge(local.managed_tags, {
    Name = "managed-private-eu-central-1a"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_route_table" "managed_private_route_table_eu_central_1b" {
  tags = merge(local.managed_tags, {
    Name = "managed-private-eu-central-1b"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_route_table" "managed_public" {
  tags = merge(local.managed_tags, {
    Name = "managed-public"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_route_table_association" "managed_private_subnet_eu_central_1a" {
  route_table_id = aws_route_table.managed_private_route_table_eu_central_1a.id
  subnet_id      = aws_subnet.managed_private_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "managed_private_subnet_eu_central_1b" {
  route_table_id = aws_route_table.managed_private_route_table_eu_central_1b.id
  subnet_id      = aws_subnet.managed_private_subnet_eu_central_1b.id
}

resource "aws_route_table_association" "managed_public_subnet_eu_central_1a" {
  route_table_id = aws_route_table.managed_public.id
  subnet_id      = aws_subnet.managed_public_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "managed_public_subnet_eu_central_1b" {
  route_table_id = aws_route_table.managed_public.id
  subnet_id      = aws_subnet.managed_public_subnet_eu_central_1b.id
}

resource "aws_s3_object" "managed_pki_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/managed/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/managed/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_etcd_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/managed/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_etcd_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/managed/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_front_proxy_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/managed/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_front_proxy_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/managed/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_sa_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/managed/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "managed_pki_sa_pub" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/managed/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_subnet" "managed_private_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.0.0.0/20"
  tags = merge(local.managed_tags, {
    Name                              = "managed-private-eu-central-1a"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_subnet" "managed_private_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.0.32.0/20"
  tags = merge(local.managed_tags, {
    Name                              = "managed-private-eu-central-1b"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_subnet" "managed_public_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.0.16.0/21"
  tags = merge(local.managed_tags, {
    Name                     = "managed-public-eu-central-1a"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_subnet" "managed_public_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.0.48.0/21"
  tags = merge(local.managed_tags, {
    Name                     = "managed-public-eu-central-1b"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.managed.id
}

resource "aws_vpc" "managed" {
  cidr_block           = "10.0.0.0/16"
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags = merge(local.managed_tags, {
    Name = "managed"
  })
}

resource "aws_vpc_endpoint" "managed_s3" {
  route_table_ids = [
    aws_route_table.managed_public.id,
    aws_route_table.managed_private_route_table_eu_central_1a.id,
    aws_route_table.managed_private_route_table_eu_central_1b.id,
  ]
  service_name      = "com.amazonaws.eu-central-1.s3"
  tags              = local.managed_tags
  vpc_endpoint_type = "Gateway"
  vpc_id            = aws_vpc.managed.id
}

# Kubernetes cluster managed: instance group managed-workers
locals {
  managed_workers_tags = {
    "cluster-operator.aws/cluster"        = "managed"
    "cluster-operator.aws/instance-group" = "managed-workers"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/managed"       = "owned"
  }
}

resource "aws_eks_node_group" "managed_workers_node_group" {
  ami_type             = "AL2023_x86_64_STANDARD"
  capacity_type        = "ON_DEMAND"
  cluster_name         = "managed"
  force_update_version = true
  instance_types       = ["m6i.large"]
  labels = {
    "cluster-operator.aws/cluster"        = "managed"
    "cluster-operator.aws/instance-group" = "managed-workers"
    team                                  = "web"
  }
  node_group_name_prefix = "managed-workers-"
  node_role_arn          = aws_iam_role.managed_worker.arn
  subnet_ids = [
    aws_subnet.managed_private_subnet_eu_central_1a.id,
    aws_subnet.managed_private_subnet_eu_central_1b.id,
  ]
  tags = merge(local.managed_workers_tags, {
    Name = "managed-workers"
  })
  version = "1.36"

  launch_template {
    id      = aws_launch_template.managed_workers.id
    version = aws_launch_template.managed_workers.latest_version
  }

  node_repair_config {
    enabled = true
  }

  scaling_config {
    desired_size = 2
    max_size     = 5
    min_size     = 2
  }

  update_config {
    max_unavailable = 1
  }

  depends_on = [
    aws_iam_role_policy_attachment.managed_worker_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.managed_worker_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.managed_worker_amazon_eks_worker_node_policy,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_launch_template" "managed_workers" {
  name_prefix = "managed-workers-LaunchTemplate-"

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      delete_on_termination = true
      encrypted             = true
      iops                  = 3000
      throughput            = 125
      volume_size           = 30
      volume_type           = "gp3"
    }
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_put_response_hop_limit = 1
    http_tokens                 = "required"
  }

  network_interfaces {
    associate_public_ip_address = false
    delete_on_termination       = true
    device_index                = 0
    security_groups             = [aws_eks_cluster.managed.vpc_config[0].cluster_security_group_id]
  }

  tag_specifications {
    resource_type = "instance"
    tags = {
      Name                                  = "managed-workers"
      "cluster-operator.aws/cluster"        = "managed"
      "cluster-operator.aws/instance-group" = "managed-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/managed"       = "owned"
    }
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "managed-workers"
      "cluster-operator.aws/cluster"        = "managed"
      "cluster-operator.aws/instance-group" = "managed-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/managed"       = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "managed-workers"
      "cluster-operator.aws/cluster"        = "managed"
      "cluster-operator.aws/instance-group" = "managed-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/managed"       = "owned"
    }
  }
}

# Kubernetes cluster managed: instance group managed-spot
locals {
  managed_spot_tags = {
    "cluster-operator.aws/cluster"        = "managed"
    "cluster-operator.aws/instance-group" = "managed-spot"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/managed"       = "owned"
  }
}

resource "aws_eks_node_group" "managed_spot_node_group" {
  ami_type             = "AL2023_ARM_64_STANDARD"
  capacity_type        = "SPOT"
  cluster_name         = "managed"
  force_update_version = true
  instance_types       = ["m7g.large", "m6g.large"]
  labels = {
    "cluster-operator.aws/cluster"        = "managed"
    "cluster-operator.aws/instance-group" = "managed-spot"
  }
  node_group_name_prefix = "managed-spot-"
  node_role_arn          = aws_iam_role.managed_worker.arn
  subnet_ids = [
    aws_subnet.managed_private_subnet_eu_central_1a.id,
    aws_subnet.managed_private_subnet_eu_central_1b.id,
  ]
  tags = merge(local.managed_spot_tags, {
    Name = "managed-spot"
  })
  version = "1.36"

  launch_template {
    id      = aws_launch_template.managed_spot.id
    version = aws_launch_template.managed_spot.latest_version
  }

  node_repair_config {
    enabled = true
  }

  scaling_config {
    desired_size = 0
    max_size     = 10
    min_size     = 0
  }

  taint {
    effect = "NO_SCHEDULE"
    key    = "spot"
    value  = "true"
  }

  update_config {
    max_unavailable = 1
  }

  depends_on = [
    aws_iam_role_policy_attachment.managed_worker_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.managed_worker_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.managed_worker_amazon_eks_worker_node_policy,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_launch_template" "managed_spot" {
  name_prefix = "managed-spot-LaunchTemplate-"

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      delete_on_termination = true
      encrypted             = true
      iops                  = 3000
      throughput            = 125
      volume_size           = 30
      volume_type           = "gp3"
    }
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_put_response_hop_limit = 1
    http_tokens                 = "required"
  }

  network_interfaces {
    associate_public_ip_address = false
    delete_on_termination       = true
    device_index                = 0
    security_groups             = [aws_eks_cluster.managed.vpc_config[0].cluster_security_group_id]
  }

  tag_specifications {
    resource_type = "instance"
    tags = {
      Name                                  = "managed-spot"
      "cluster-operator.aws/cluster"        = "managed"
      "cluster-operator.aws/instance-group" = "managed-spot"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/managed"       = "owned"
    }
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "managed-spot"
      "cluster-operator.aws/cluster"        = "managed"
      "cluster-operator.aws/instance-group" = "managed-spot"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/managed"       = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "managed-spot"
      "cluster-operator.aws/cluster"        = "managed"
      "cluster-operator.aws/instance-group" = "managed-spot"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/managed"       = "owned"
    }
  }
}

# Kubernetes cluster managed: add-ons of EKS
locals {
  managed_eks_addons_tags = {
    "cluster-operator.aws/cluster"   = "managed"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "eks-addons"
    "kubernetes.io/cluster/managed"  = "owned"
  }
}

resource "aws_eks_addon" "managed_eks_addons_aws_ebs_csi_driver" {
  addon_name                  = "aws-ebs-csi-driver"
  cluster_name                = "managed"
  configuration_values        = "{\"controller\":{\"replicaCount\":1}}"
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"
  tags                        = local.managed_eks_addons_tags

  depends_on = [
    aws_eks_cluster.managed,
    aws_eks_node_group.managed_spot_node_group,
    aws_eks_node_group.managed_workers_node_group,
  ]
}

resource "aws_eks_addon" "managed_eks_addons_eks_pod_identity_agent" {
  addon_name                  = "eks-pod-identity-agent"
  cluster_name                = "managed"
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"
  tags                        = local.managed_eks_addons_tags

  depends_on = [
    aws_eks_cluster.managed,
    aws_eks_node_group.managed_spot_node_group,
    aws_eks_node_group.managed_workers_node_group,
  ]
}

resource "aws_eks_addon" "managed_eks_addons_vpc_cni" {
  addon_name                  = "vpc-cni"
  cluster_name                = "managed"
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "OVERWRITE"
  tags                        = local.managed_eks_addons_tags

  depends_on = [
    aws_eks_cluster.managed,
    aws_eks_node_group.managed_spot_node_group,
    aws_eks_node_group.managed_workers_node_group,
  ]
}

output "cluster_certificate_authority_data" {
  description = "The CA of that address, in PEM and base64."
  value       = aws_eks_cluster.managed.certificate_authority[0].data
}

output "cluster_endpoint" {
  description = "The address of the Kubernetes API, which EKS serves."
  value       = aws_eks_cluster.managed.endpoint
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "managed"
}

output "cluster_security_group_id" {
  description = "The ID of the security group that EKS made for the cluster."
  value       = aws_eks_cluster.managed.vpc_config[0].cluster_security_group_id
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.managed_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.managed_control_plane.name
}

output "instance_group_node_group_names" {
  description = "The names of the instance groups' managed node groups, by instance group."
  value = {
    "managed-workers" = aws_eks_node_group.managed_workers_node_group.node_group_name
    "managed-spot"    = aws_eks_node_group.managed_spot_node_group.node_group_name
  }
}

output "private_subnet_ids" {
  description = "The IDs of the private subnets, by zone."
  value = [
    aws_subnet.managed_private_subnet_eu_central_1a.id,
    aws_subnet.managed_private_subnet_eu_central_1b.id,
  ]
}

output "public_subnet_ids" {
  description = "The IDs of the public subnets, by zone."
  value = [
    aws_subnet.managed_public_subnet_eu_central_1a.id,
    aws_subnet.managed_public_subnet_eu_central_1b.id,
  ]
}

output "region" {
  description = "The region that it stands in."
  value       = "eu-central-1"
}

output "service_account_issuer_arn" {
  description = "The ARN of the OpenID Connect provider of the cluster's service accounts."
  value       = aws_iam_openid_connect_provider.managed_issuer.arn
}

output "vpc_id" {
  description = "The ID of the VPC."
  value       = aws_vpc.managed.id
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.managed_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.managed_worker.name
}
