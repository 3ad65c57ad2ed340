# Written by aws-operator for cluster eks-mixed. The next update of the cluster overwrites changes.

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

# Kubernetes cluster eks-mixed: what its machines share and what outlives them
locals {
  eks_mixed_tags = {
    "cluster-operator.aws/cluster"    = "eks-mixed"
    "cluster-operator.aws/namespace"  = "default"
    "cluster-operator.aws/operator"   = "aws-operator"
    "kubernetes.io/cluster/eks-mixed" = "owned"
  }
}

resource "aws_eip" "eks_mixed_nat_address_eu_central_1a" {
  domain = "vpc"
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed-nat-eu-central-1a"
  })

  depends_on = [
    aws_internet_gateway_attachment.eks_mixed,
  ]
}

resource "aws_eks_cluster" "eks_mixed" {
  enabled_cluster_log_types = []
  name                      = "eks-mixed"
  role_arn                  = aws_iam_role.eks_mixed_control_plane.arn
  tags                      = local.eks_mixed_tags
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
    public_access_cidrs     = ["0.0.0.0/0"]
    subnet_ids = [
      aws_subnet.eks_mixed_private_subnet_eu_central_1a.id,
      aws_subnet.eks_mixed_private_subnet_eu_central_1b.id,
    ]
  }

  depends_on = [
    aws_iam_role_policy_attachment.eks_mixed_control_plane_amazon_eks_cluster_policy,
  ]
}

resource "aws_iam_openid_connect_provider" "eks_mixed_issuer" {
  client_id_list = ["sts.amazonaws.com"]
  tags           = local.eks_mixed_tags
  url            = aws_eks_cluster.eks_mixed.identity[0].oidc[0].issuer
}

resource "aws_iam_role" "eks_mixed_control_plane" {
  assume_role_policy = file("${path.module}/data/eks-mixed/aws_iam_role.eks_mixed_control_plane.assume_role_policy.json")
  name_prefix        = "eks-mixed-ControlPlaneRole-"
  tags = merge(local.eks_mixed_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "eks_mixed_worker" {
  assume_role_policy = file("${path.module}/data/eks-mixed/aws_iam_role.eks_mixed_worker.assume_role_policy.json")
  name_prefix        = "eks-mixed-WorkerRole-"
  tags = merge(local.eks_mixed_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy_attachment" "eks_mixed_control_plane_amazon_eks_cluster_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
  role       = aws_iam_role.eks_mixed_control_plane.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_worker_amazon_ec2_container_registry_pull_only" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
  role       = aws_iam_role.eks_mixed_worker.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_worker_amazon_eks_cni_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
  role       = aws_iam_role.eks_mixed_worker.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_worker_amazon_eks_worker_node_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  role       = aws_iam_role.eks_mixed_worker.name
}

resource "aws_internet_gateway" "eks_mixed" {
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed"
  })
}

resource "aws_internet_gateway_attachment" "eks_mixed" {
  internet_gateway_id = aws_internet_gateway.eks_mixed.id
  vpc_id              = aws_vpc.eks_mixed.id
}

resource "aws_nat_gateway" "eks_mixed_nat_gateway_eu_central_1a" {
  allocation_id = aws_eip.eks_mixed_nat_address_eu_central_1a.id
  subnet_id     = aws_subnet.eks_mixed_public_subnet_eu_central_1a.id
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed-eu-central-1a"
  })

  depends_on = [
    aws_route.eks_mixed_public_default,
  ]
}

resource "aws_route" "eks_mixed_private_default_route_eu_central_1a" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.eks_mixed_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.eks_mixed_private_route_table_eu_central_1a.id
}

resource "aws_route" "eks_mixed_private_default_route_eu_central_1b" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.eks_mixed_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.eks_mixed_private_route_table_eu_central_1b.id
}

resource "aws_route" "eks_mixed_public_default" {
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.eks_mixed.id
  route_table_id         = aws_route_table.eks_mixed_public.id

  depends_on = [
    aws_internet_gateway_attachment.eks_mixed,
  ]
}

resource "aws_route_table" "eks_mixed_private_route_table_eu_central_1a" {
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed-private-eu-central-1a"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_route_table" "eks_mixed_private_route_table_eu_central_1b" {
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed-private-eu-central-1b"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_route_table" "eks_mixed_public" {
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed-public"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_route_table_association" "eks_mixed_private_subnet_eu_central_1a" {
  route_table_id = aws_route_table.eks_mixed_private_route_table_eu_central_1a.id
  subnet_id      = aws_subnet.eks_mixed_private_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "eks_mixed_private_subnet_eu_central_1b" {
  route_table_id = aws_route_table.eks_mixed_private_route_table_eu_central_1b.id
  subnet_id      = aws_subnet.eks_mixed_private_subnet_eu_central_1b.id
}

resource "aws_route_table_association" "eks_mixed_public_subnet_eu_central_1a" {
  route_table_id = aws_route_table.eks_mixed_public.id
  subnet_id      = aws_subnet.eks_mixed_public_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "eks_mixed_public_subnet_eu_central_1b" {
  route_table_id = aws_route_table.eks_mixed_public.id
  subnet_id      = aws_subnet.eks_mixed_public_subnet_eu_central_1b.id
}

resource "aws_s3_object" "eks_mixed_pki_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/eks-mixed/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/eks-mixed/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_etcd_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/eks-mixed/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_etcd_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/eks-mixed/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_front_proxy_ca_crt" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/eks-mixed/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_front_proxy_ca_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/eks-mixed/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_sa_key" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/eks-mixed/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "eks_mixed_pki_sa_pub" {
  bucket       = "tf-output-bucket.invalid"
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/eks-mixed/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_subnet" "eks_mixed_private_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.0.0.0/20"
  tags = merge(local.eks_mixed_tags, {
    Name                              = "eks-mixed-private-eu-central-1a"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_subnet" "eks_mixed_private_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.0.32.0/20"
  tags = merge(local.eks_mixed_tags, {
    Name                              = "eks-mixed-private-eu-central-1b"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_subnet" "eks_mixed_public_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.0.16.0/21"
  tags = merge(local.eks_mixed_tags, {
    Name                     = "eks-mixed-public-eu-central-1a"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_subnet" "eks_mixed_public_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.0.48.0/21"
  tags = merge(local.eks_mixed_tags, {
    Name                     = "eks-mixed-public-eu-central-1b"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.eks_mixed.id
}

resource "aws_vpc" "eks_mixed" {
  cidr_block           = "10.0.0.0/16"
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags = merge(local.eks_mixed_tags, {
    Name = "eks-mixed"
  })
}

resource "aws_vpc_endpoint" "eks_mixed_s3" {
  route_table_ids = [
    aws_route_table.eks_mixed_public.id,
    aws_route_table.eks_mixed_private_route_table_eu_central_1a.id,
    aws_route_table.eks_mixed_private_route_table_eu_central_1b.id,
  ]
  service_name      = "com.amazonaws.eu-central-1.s3"
  tags              = local.eks_mixed_tags
  vpc_endpoint_type = "Gateway"
  vpc_id            = aws_vpc.eks_mixed.id
}

# Kubernetes cluster eks-mixed: instance group eks-mixed-system
locals {
  eks_mixed_system_tags = {
    "cluster-operator.aws/cluster"        = "eks-mixed"
    "cluster-operator.aws/instance-group" = "eks-mixed-system"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/eks-mixed"     = "owned"
  }
}

resource "aws_eks_node_group" "eks_mixed_system_node_group" {
  ami_type             = "AL2023_x86_64_STANDARD"
  capacity_type        = "ON_DEMAND"
  cluster_name         = "eks-mixed"
  force_update_version = true
  instance_types       = ["m6i.large"]
  labels = {
    "cluster-operator.aws/cluster"        = "eks-mixed"
    "cluster-operator.aws/instance-group" = "eks-mixed-system"
  }
  node_group_name_prefix = "eks-mixed-system-"
  node_role_arn          = aws_iam_role.eks_mixed_worker.arn
  subnet_ids = [
    aws_subnet.eks_mixed_private_subnet_eu_central_1a.id,
    aws_subnet.eks_mixed_private_subnet_eu_central_1b.id,
  ]
  tags = merge(local.eks_mixed_system_tags, {
    Name = "eks-mixed-system"
  })
  version = "1.36"

  launch_template {
    id      = aws_launch_template.eks_mixed_system.id
    version = aws_launch_template.eks_mixed_system.latest_version
  }

  node_repair_config {
    enabled = true
  }

  scaling_config {
    desired_size = 1
    max_size     = 3
    min_size     = 1
  }

  update_config {
    max_unavailable = 1
  }

  depends_on = [
    aws_iam_role_policy_attachment.eks_mixed_worker_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.eks_mixed_worker_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.eks_mixed_worker_amazon_eks_worker_node_policy,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_launch_template" "eks_mixed_system" {
  name_prefix = "eks-mixed-system-LaunchTemplate-"

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
    security_groups             = [aws_eks_cluster.eks_mixed.vpc_config[0].cluster_security_group_id]
  }

  tag_specifications {
    resource_type = "instance"
    tags = {
      Name                                  = "eks-mixed-system"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-system"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "eks-mixed-system"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-system"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "eks-mixed-system"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-system"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }
}

# Kubernetes cluster eks-mixed: instance group eks-mixed-batch
locals {
  eks_mixed_batch_tags = {
    "cluster-operator.aws/cluster"        = "eks-mixed"
    "cluster-operator.aws/instance-group" = "eks-mixed-batch"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/eks-mixed"     = "owned"
  }
}

resource "aws_autoscaling_group" "eks_mixed_batch" {
  capacity_rebalance        = true
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 10
  min_size                  = 2
  name_prefix               = "eks-mixed-batch-AutoScalingGroup-"
  vpc_zone_identifier = [
    aws_subnet.eks_mixed_private_subnet_eu_central_1a.id,
    aws_subnet.eks_mixed_private_subnet_eu_central_1b.id,
  ]
  wait_for_capacity_timeout = "0"

  mixed_instances_policy {
    instances_distribution {
      on_demand_allocation_strategy            = "prioritized"
      on_demand_base_capacity                  = 1
      on_demand_percentage_above_base_capacity = 0
      spot_allocation_strategy                 = "price-capacity-optimized"
    }

    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.eks_mixed_batch.id
        version            = aws_launch_template.eks_mixed_batch.latest_version
      }

      override {
        instance_type = "m6i.large"
      }

      override {
        instance_type = "m6a.large"
      }
    }
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "eks-mixed-batch"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "eks-mixed"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "eks-mixed-batch"
  }

  tag {
    key                 = "cluster-operator.aws/namespace"
    propagate_at_launch = true
    value               = "default"
  }

  tag {
    key                 = "cluster-operator.aws/operator"
    propagate_at_launch = true
    value               = "aws-operator"
  }

  tag {
    key                 = "cluster-operator.aws/role"
    propagate_at_launch = true
    value               = "worker"
  }

  tag {
    key                 = "kubernetes.io/cluster/eks-mixed"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_eks_access_entry.eks_mixed_batch,
    aws_eks_cluster.eks_mixed,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "eks_mixed_batch_drain" {
  autoscaling_group_name = aws_autoscaling_group.eks_mixed_batch.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_eks_access_entry" "eks_mixed_batch" {
  cluster_name  = "eks-mixed"
  principal_arn = aws_iam_role.eks_mixed_batch_node.arn
  tags          = local.eks_mixed_batch_tags
  type          = "EC2_LINUX"

  depends_on = [
    aws_eks_cluster.eks_mixed,
    aws_iam_role_policy_attachment.eks_mixed_batch_node_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.eks_mixed_batch_node_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.eks_mixed_batch_node_amazon_eks_worker_node_policy,
  ]
}

resource "aws_iam_instance_profile" "eks_mixed_batch" {
  name_prefix = "eks-mixed-batch-InstanceProfile-"
  role        = aws_iam_role.eks_mixed_batch_node.name

  depends_on = [
    aws_iam_role_policy_attachment.eks_mixed_batch_node_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.eks_mixed_batch_node_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.eks_mixed_batch_node_amazon_eks_worker_node_policy,
  ]
}

resource "aws_iam_role" "eks_mixed_batch_node" {
  assume_role_policy = file("${path.module}/data/eks-mixed/aws_iam_role.eks_mixed_batch_node.assume_role_policy.json")
  name_prefix        = "eks-mixed-batch-NodeRole-"
  tags = merge(local.eks_mixed_batch_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy_attachment" "eks_mixed_batch_node_amazon_ec2_container_registry_pull_only" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
  role       = aws_iam_role.eks_mixed_batch_node.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_batch_node_amazon_eks_cni_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
  role       = aws_iam_role.eks_mixed_batch_node.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_batch_node_amazon_eks_worker_node_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  role       = aws_iam_role.eks_mixed_batch_node.name
}

resource "aws_launch_template" "eks_mixed_batch" {
  image_id      = "resolve:ssm:/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
  instance_type = "m6i.large"
  name_prefix   = "eks-mixed-batch-LaunchTemplate-"
  user_data     = base64encode(replace(replace(file("${path.module}/data/eks-mixed/aws_launch_template.eks_mixed_batch.user_data"), "tf-output-certificateauthority.invalid", aws_eks_cluster.eks_mixed.certificate_authority[0].data), "tf-output-endpoint.invalid", aws_eks_cluster.eks_mixed.endpoint))

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

  iam_instance_profile {
    name = aws_iam_instance_profile.eks_mixed_batch.name
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
    security_groups             = [aws_eks_cluster.eks_mixed.vpc_config[0].cluster_security_group_id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "eks-mixed-batch"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-batch"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "eks-mixed-batch"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-batch"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }
}

# Kubernetes cluster eks-mixed: instance group eks-mixed-web
locals {
  eks_mixed_web_tags = {
    "cluster-operator.aws/cluster"        = "eks-mixed"
    "cluster-operator.aws/instance-group" = "eks-mixed-web"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/eks-mixed"     = "owned"
  }
}

resource "aws_autoscaling_group" "eks_mixed_web" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 4
  min_size                  = 1
  name_prefix               = "eks-mixed-web-AutoScalingGroup-"
  vpc_zone_identifier = [
    aws_subnet.eks_mixed_private_subnet_eu_central_1a.id,
    aws_subnet.eks_mixed_private_subnet_eu_central_1b.id,
  ]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.eks_mixed_web.id
    version = aws_launch_template.eks_mixed_web.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "eks-mixed-web"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "eks-mixed"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "eks-mixed-web"
  }

  tag {
    key                 = "cluster-operator.aws/namespace"
    propagate_at_launch = true
    value               = "default"
  }

  tag {
    key                 = "cluster-operator.aws/operator"
    propagate_at_launch = true
    value               = "aws-operator"
  }

  tag {
    key                 = "cluster-operator.aws/role"
    propagate_at_launch = true
    value               = "worker"
  }

  tag {
    key                 = "kubernetes.io/cluster/eks-mixed"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_eks_access_entry.eks_mixed_web,
    aws_eks_cluster.eks_mixed,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "eks_mixed_web_drain" {
  autoscaling_group_name = aws_autoscaling_group.eks_mixed_web.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_eks_access_entry" "eks_mixed_web" {
  cluster_name  = "eks-mixed"
  principal_arn = aws_iam_role.eks_mixed_web_node.arn
  tags          = local.eks_mixed_web_tags
  type          = "EC2_LINUX"

  depends_on = [
    aws_eks_cluster.eks_mixed,
    aws_iam_role_policy_attachment.eks_mixed_web_node_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.eks_mixed_web_node_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.eks_mixed_web_node_amazon_eks_worker_node_policy,
  ]
}

resource "aws_iam_instance_profile" "eks_mixed_web" {
  name_prefix = "eks-mixed-web-InstanceProfile-"
  role        = aws_iam_role.eks_mixed_web_node.name

  depends_on = [
    aws_iam_role_policy_attachment.eks_mixed_web_node_amazon_ec2_container_registry_pull_only,
    aws_iam_role_policy_attachment.eks_mixed_web_node_amazon_eks_cni_policy,
    aws_iam_role_policy_attachment.eks_mixed_web_node_amazon_eks_worker_node_policy,
  ]
}

resource "aws_iam_role" "eks_mixed_web_node" {
  assume_role_policy = file("${path.module}/data/eks-mixed/aws_iam_role.eks_mixed_web_node.assume_role_policy.json")
  name_prefix        = "eks-mixed-web-NodeRole-"
  tags = merge(local.eks_mixed_web_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy_attachment" "eks_mixed_web_node_amazon_ec2_container_registry_pull_only" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"
  role       = aws_iam_role.eks_mixed_web_node.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_web_node_amazon_eks_cni_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
  role       = aws_iam_role.eks_mixed_web_node.name
}

resource "aws_iam_role_policy_attachment" "eks_mixed_web_node_amazon_eks_worker_node_policy" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
  role       = aws_iam_role.eks_mixed_web_node.name
}

resource "aws_launch_template" "eks_mixed_web" {
  image_id      = "resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id"
  instance_type = "m7g.large"
  name_prefix   = "eks-mixed-web-LaunchTemplate-"
  user_data     = base64encode(replace(replace(file("${path.module}/data/eks-mixed/aws_launch_template.eks_mixed_web.user_data"), "tf-output-certificateauthority.invalid", aws_eks_cluster.eks_mixed.certificate_authority[0].data), "tf-output-endpoint.invalid", aws_eks_cluster.eks_mixed.endpoint))

  block_device_mappings {
    device_name = "/dev/xvda"

    ebs {
      delete_on_termination = true
      encrypted             = true
      volume_type           = "gp3"
    }
  }

  block_device_mappings {
    device_name = "/dev/xvdb"

    ebs {
      delete_on_termination = true
      encrypted             = true
      iops                  = 3000
      throughput            = 125
      volume_size           = 50
      volume_type           = "gp3"
    }
  }

  iam_instance_profile {
    name = aws_iam_instance_profile.eks_mixed_web.name
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
    security_groups             = [aws_eks_cluster.eks_mixed.vpc_config[0].cluster_security_group_id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "eks-mixed-web"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-web"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "eks-mixed-web"
      "cluster-operator.aws/cluster"        = "eks-mixed"
      "cluster-operator.aws/instance-group" = "eks-mixed-web"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/eks-mixed"     = "owned"
    }
  }
}

output "cluster_certificate_authority_data" {
  description = "The CA of that address, in PEM and base64."
  value       = aws_eks_cluster.eks_mixed.certificate_authority[0].data
}

output "cluster_endpoint" {
  description = "The address of the Kubernetes API, which EKS serves."
  value       = aws_eks_cluster.eks_mixed.endpoint
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "eks-mixed"
}

output "cluster_security_group_id" {
  description = "The ID of the security group that EKS made for the cluster."
  value       = aws_eks_cluster.eks_mixed.vpc_config[0].cluster_security_group_id
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.eks_mixed_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.eks_mixed_control_plane.name
}

output "instance_group_autoscaling_group_names" {
  description = "The names of the Auto Scaling groups of self-managed instance groups, by instance group."
  value = {
    "eks-mixed-batch" = aws_autoscaling_group.eks_mixed_batch.name
    "eks-mixed-web"   = aws_autoscaling_group.eks_mixed_web.name
  }
}

output "instance_group_node_group_names" {
  description = "The names of the instance groups' managed node groups, by instance group."
  value = {
    "eks-mixed-system" = aws_eks_node_group.eks_mixed_system_node_group.node_group_name
  }
}

output "private_subnet_ids" {
  description = "The IDs of the private subnets, by zone."
  value = [
    aws_subnet.eks_mixed_private_subnet_eu_central_1a.id,
    aws_subnet.eks_mixed_private_subnet_eu_central_1b.id,
  ]
}

output "public_subnet_ids" {
  description = "The IDs of the public subnets, by zone."
  value = [
    aws_subnet.eks_mixed_public_subnet_eu_central_1a.id,
    aws_subnet.eks_mixed_public_subnet_eu_central_1b.id,
  ]
}

output "region" {
  description = "The region that it stands in."
  value       = "eu-central-1"
}

output "service_account_issuer_arn" {
  description = "The ARN of the OpenID Connect provider of the cluster's service accounts."
  value       = aws_iam_openid_connect_provider.eks_mixed_issuer.arn
}

output "vpc_id" {
  description = "The ID of the VPC."
  value       = aws_vpc.eks_mixed.id
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.eks_mixed_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.eks_mixed_worker.name
}
