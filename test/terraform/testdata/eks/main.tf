# An EKS cluster with nodes, an access entry, an add-on and a Pod Identity association.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.81"
    }
  }
}

variable "cluster_version" { default = "1.35" }
variable "node_version" { default = "1.34" }
variable "logs" {
  type    = list(string)
  default = []
}

data "aws_availability_zones" "all" {}

locals {
  services = { cluster = "eks.amazonaws.com", nodes = "ec2.amazonaws.com", pods = "pods.eks.amazonaws.com" }
}

resource "aws_vpc" "network" {
  cidr_block = "10.88.0.0/16"
}

resource "aws_subnet" "nodes" {
  count             = 2
  vpc_id            = aws_vpc.network.id
  cidr_block        = cidrsubnet(aws_vpc.network.cidr_block, 8, count.index)
  availability_zone = data.aws_availability_zones.all.names[count.index]
}

resource "aws_iam_role" "of" {
  for_each = local.services
  name     = "terraform-eks-${each.key}"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = each.value }, Action = ["sts:AssumeRole", "sts:TagSession"] }]
  })
}

resource "aws_eks_cluster" "one" {
  name                      = "terraform"
  version                   = var.cluster_version
  role_arn                  = aws_iam_role.of["cluster"].arn
  enabled_cluster_log_types = var.logs

  access_config {
    authentication_mode = "API_AND_CONFIG_MAP"
  }

  vpc_config {
    subnet_ids              = aws_subnet.nodes[*].id
    endpoint_private_access = true
  }

  tags = { team = "terraform" }
}

resource "aws_eks_node_group" "workers" {
  cluster_name    = aws_eks_cluster.one.name
  node_group_name = "workers"
  node_role_arn   = aws_iam_role.of["nodes"].arn
  subnet_ids      = aws_subnet.nodes[*].id
  version         = var.node_version
  labels          = { team = "terraform" }

  scaling_config {
    min_size     = 1
    max_size     = 3
    desired_size = 2
  }

  taint {
    key    = "dedicated"
    value  = "terraform"
    effect = "PREFER_NO_SCHEDULE"
  }
}

resource "aws_eks_access_entry" "pods" {
  cluster_name      = aws_eks_cluster.one.name
  principal_arn     = aws_iam_role.of["pods"].arn
  kubernetes_groups = ["builders"]
}

resource "aws_eks_access_policy_association" "pods" {
  cluster_name  = aws_eks_cluster.one.name
  principal_arn = aws_eks_access_entry.pods.principal_arn
  policy_arn    = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"

  access_scope {
    type       = "namespace"
    namespaces = ["team"]
  }
}

data "aws_eks_addon_version" "coredns" {
  addon_name         = "coredns"
  kubernetes_version = aws_eks_cluster.one.version
}

resource "aws_eks_addon" "coredns" {
  cluster_name                = aws_eks_cluster.one.name
  addon_name                  = "coredns"
  addon_version               = data.aws_eks_addon_version.coredns.version
  configuration_values        = jsonencode({ replicaCount = 2 })
  resolve_conflicts_on_create = "OVERWRITE"
  depends_on                  = [aws_eks_node_group.workers]
}

resource "aws_eks_pod_identity_association" "app" {
  cluster_name    = aws_eks_cluster.one.name
  namespace       = "team"
  service_account = "app"
  role_arn        = aws_iam_role.of["pods"].arn
}

data "aws_eks_cluster_auth" "one" {
  name = aws_eks_cluster.one.name
}

output "endpoint" { value = aws_eks_cluster.one.endpoint }
output "issuer" { value = aws_eks_cluster.one.identity[0].oidc[0].issuer }
output "node_version" { value = aws_eks_node_group.workers.version }
output "cluster_version" { value = aws_eks_cluster.one.version }
