# Written by aws-operator for cluster adopted. The next update of the cluster overwrites changes.

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

# Kubernetes cluster adopted: what its machines share and what outlives them
locals {
  adopted_tags = {
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "kubernetes.io/cluster/adopted"  = "owned"
  }
}

resource "aws_ebs_volume" "adopted_etcd_volume_0" {
  availability_zone = "eu-central-1a"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.adopted.arn
  size              = 20
  tags = merge(local.adopted_tags, {
    Name                             = "adopted-etcd-0"
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/etcd-slot" = "0"
    "kubernetes.io/cluster/adopted"  = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_ebs_volume" "adopted_etcd_volume_1" {
  availability_zone = "eu-central-1b"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.adopted.arn
  size              = 20
  tags = merge(local.adopted_tags, {
    Name                             = "adopted-etcd-1"
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/etcd-slot" = "1"
    "kubernetes.io/cluster/adopted"  = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_ebs_volume" "adopted_etcd_volume_2" {
  availability_zone = "eu-central-1c"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.adopted.arn
  size              = 20
  tags = merge(local.adopted_tags, {
    Name                             = "adopted-etcd-2"
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/etcd-slot" = "2"
    "kubernetes.io/cluster/adopted"  = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_iam_instance_profile" "adopted_control_plane" {
  name_prefix = "adopted-ControlPlaneInstanceProfile-"
  role        = aws_iam_role.adopted_control_plane.name

  depends_on = [
    aws_iam_role_policy.adopted_control_plane_autoscaler,
    aws_iam_role_policy.adopted_control_plane_boot,
    aws_iam_role_policy.adopted_control_plane_describe,
    aws_iam_role_policy.adopted_control_plane_volumes,
    aws_iam_role_policy_attachment.adopted_control_plane_load_balancers,
  ]
}

resource "aws_iam_instance_profile" "adopted_worker" {
  name_prefix = "adopted-WorkerInstanceProfile-"
  role        = aws_iam_role.adopted_worker.name

  depends_on = [
    aws_iam_role_policy.adopted_worker_boot,
  ]
}

resource "aws_iam_policy" "adopted_load_balancers" {
  description = "Load balancers of Services of cluster adopted"
  name_prefix = "adopted-LoadBalancersPolicy-"
  policy = templatefile("${path.module}/data/adopted/aws_iam_policy.adopted_load_balancers.policy.json", {
    api_listener_arn         = aws_lb_listener.adopted_api.arn
    worker_security_group_id = aws_security_group.adopted_worker.id
  })
}

resource "aws_iam_role" "adopted_control_plane" {
  assume_role_policy = file("${path.module}/data/adopted/aws_iam_role.adopted_control_plane.assume_role_policy.json")
  name_prefix        = "adopted-ControlPlaneRole-"
  tags = merge(local.adopted_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "adopted_worker" {
  assume_role_policy = file("${path.module}/data/adopted/aws_iam_role.adopted_worker.assume_role_policy.json")
  name_prefix        = "adopted-WorkerRole-"
  tags = merge(local.adopted_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy" "adopted_control_plane_autoscaler" {
  name   = "autoscaler"
  policy = file("${path.module}/data/adopted/aws_iam_role_policy.adopted_control_plane_autoscaler.policy.json")
  role   = aws_iam_role.adopted_control_plane.id
}

resource "aws_iam_role_policy" "adopted_control_plane_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/adopted/aws_iam_role_policy.adopted_control_plane_boot.policy.json", {
    key_arn             = aws_kms_key.adopted.arn
    hosted_zone_zone_id = aws_route53_zone.adopted.zone_id
  })
  role = aws_iam_role.adopted_control_plane.id
}

resource "aws_iam_role_policy" "adopted_control_plane_describe" {
  name   = "describe"
  policy = file("${path.module}/data/adopted/aws_iam_role_policy.adopted_control_plane_describe.policy.json")
  role   = aws_iam_role.adopted_control_plane.id
}

resource "aws_iam_role_policy" "adopted_control_plane_volumes" {
  name   = "volumes"
  policy = file("${path.module}/data/adopted/aws_iam_role_policy.adopted_control_plane_volumes.policy.json")
  role   = aws_iam_role.adopted_control_plane.id
}

resource "aws_iam_role_policy" "adopted_worker_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/adopted/aws_iam_role_policy.adopted_worker_boot.policy.json", {
    key_arn = aws_kms_key.adopted.arn
  })
  role = aws_iam_role.adopted_worker.id
}

resource "aws_iam_role_policy_attachment" "adopted_control_plane_load_balancers" {
  policy_arn = aws_iam_policy.adopted_load_balancers.arn
  role       = aws_iam_role.adopted_control_plane.name
}

resource "aws_kms_alias" "adopted_key" {
  name          = "alias/cluster-operator/adopted"
  target_key_id = aws_kms_key.adopted.key_id
}

resource "aws_kms_key" "adopted" {
  deletion_window_in_days = 30
  description             = "Secrets, bucket and etcd volumes of cluster adopted"
  enable_key_rotation     = true
  policy                  = file("${path.module}/data/adopted/aws_kms_key.adopted.policy.json")
  tags = merge(local.adopted_tags, {
    Name = "adopted"
  })
}

resource "aws_lb" "adopted_api" {
  enable_cross_zone_load_balancing = true
  internal                         = false
  ip_address_type                  = "ipv4"
  load_balancer_type               = "network"
  security_groups                  = [aws_security_group.adopted_load_balancer.id]
  subnets                          = ["subnet-0000000000000001a", "subnet-0000000000000001b", "subnet-0000000000000001c"]
  tags = merge(local.adopted_tags, {
    Name = "adopted-api"
  })
}

resource "aws_lb_listener" "adopted_api" {
  load_balancer_arn = aws_lb.adopted_api.arn
  port              = 6443
  protocol          = "TCP"

  default_action {
    target_group_arn = aws_lb_target_group.adopted_api.arn
    type             = "forward"
  }
}

resource "aws_lb_target_group" "adopted_api" {
  connection_termination = true
  deregistration_delay   = 10
  port                   = 6443
  preserve_client_ip     = false
  protocol               = "TCP"
  tags = merge(local.adopted_tags, {
    Name = "adopted-api"
  })
  target_type = "instance"
  vpc_id      = "vpc-0123456789abcdef0"

  health_check {
    healthy_threshold   = 2
    interval            = 5
    matcher             = "200"
    path                = "/readyz"
    port                = "traffic-port"
    protocol            = "HTTPS"
    timeout             = 4
    unhealthy_threshold = 2
  }
}

resource "aws_route53_zone" "adopted" {
  comment       = "Names within cluster adopted"
  force_destroy = true
  name          = "adopted.internal"
  tags          = local.adopted_tags

  vpc {
    vpc_id     = "vpc-0123456789abcdef0"
    vpc_region = "eu-central-1"
  }
}

resource "aws_s3_bucket" "adopted" {
  bucket        = "adopted-123456789012-eu-central-1"
  force_destroy = true
  tags = merge(local.adopted_tags, {
    Name = "adopted-123456789012-eu-central-1"
  })
}

resource "aws_s3_bucket_lifecycle_configuration" "adopted" {
  bucket = aws_s3_bucket.adopted.id

  rule {
    id     = "forget-deleted"
    status = "Enabled"

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }

    expiration {
      expired_object_delete_marker = true
    }

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }
  }
}

resource "aws_s3_bucket_ownership_controls" "adopted" {
  bucket = aws_s3_bucket.adopted.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_policy" "adopted" {
  bucket = aws_s3_bucket.adopted.id
  policy = templatefile("${path.module}/data/adopted/aws_s3_bucket_policy.adopted.policy.json", {
    worker_role_arn = aws_iam_role.adopted_worker.arn
  })

  depends_on = [
    aws_iam_role_policy.adopted_worker_boot,
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]
}

resource "aws_s3_bucket_public_access_block" "adopted" {
  block_public_acls       = true
  block_public_policy     = true
  bucket                  = aws_s3_bucket.adopted.id
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "adopted" {
  bucket = aws_s3_bucket.adopted.id

  rule {
    bucket_key_enabled = false

    apply_server_side_encryption_by_default {
      kms_master_key_id = aws_kms_key.adopted.arn
      sse_algorithm     = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_versioning" "adopted" {
  bucket = aws_s3_bucket.adopted.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "adopted_nodeup_amd64" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/octet-stream"
  key          = "nodeup/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a/nodeup-linux-amd64"
  source       = "${path.module}/data/adopted/nodeup-0a0a0a0a0a0a0a0a-linux-amd64"
  source_hash  = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_ca_crt" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/adopted/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_ca_key" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/adopted/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_etcd_ca_crt" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/adopted/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_etcd_ca_key" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/adopted/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_front_proxy_ca_crt" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/adopted/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_front_proxy_ca_key" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/adopted/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_sa_key" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/adopted/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "adopted_pki_sa_pub" {
  bucket       = aws_s3_bucket.adopted.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/adopted/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "adopted_control_plane" {
  description = "Control plane of cluster adopted"
  name_prefix = "adopted-ControlPlaneSecurityGroup-"
  tags = merge(local.adopted_tags, {
    Name = "adopted-control-plane"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_security_group" "adopted_load_balancer" {
  description = "API load balancer of cluster adopted"
  name_prefix = "adopted-LoadBalancerSecurityGroup-"
  tags = merge(local.adopted_tags, {
    Name = "adopted-api"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_security_group" "adopted_worker" {
  description = "Workers of cluster adopted"
  name_prefix = "adopted-WorkerSecurityGroup-"
  tags = merge(local.adopted_tags, {
    Name = "adopted-worker"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_vpc_security_group_egress_rule" "adopted_control_plane" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.adopted_control_plane.id
}

resource "aws_vpc_security_group_egress_rule" "adopted_load_balancer" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.adopted_load_balancer.id
}

resource "aws_vpc_security_group_egress_rule" "adopted_worker" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.adopted_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_api_from_control_plane" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_api_from_load_balancer" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_load_balancer.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_api_from_worker" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_cilium_health_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_cilium_health_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_echo_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_echo_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_etcd_from_control_plane" {
  description                  = "etcd, clients and members"
  from_port                    = 2379
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 2380
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_kubelet_from_control_plane" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_kubelet_from_worker" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_vxlan_from_control_plane" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_vxlan_from_worker" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_vxlan_linux_from_control_plane" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "adopted_control_plane_vxlan_linux_from_worker" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "adopted_load_balancer_api_from_0x_0x_0x_0p_0" {
  cidr_ipv4         = "0.0.0.0/0"
  description       = "Kubernetes API"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.adopted_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "adopted_worker_all_from_control_plane" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.adopted_control_plane.id
  security_group_id            = aws_security_group.adopted_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "adopted_worker_all_from_worker" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.adopted_worker.id
  security_group_id            = aws_security_group.adopted_worker.id
}

# Kubernetes cluster adopted: slot 0 of the control plane
locals {
  adopted_control_plane_0_bundle = replace(replace(file("${path.module}/data/adopted/adopted-control-plane-0.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.adopted_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.adopted.zone_id)
  adopted_control_plane_0_tags = {
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "0"
    "kubernetes.io/cluster/adopted"  = "owned"
  }
}

data "aws_ssm_parameter" "adopted_control_plane_0_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "adopted_control_plane_0" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "adopted-control-plane-0-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.adopted_api.arn]
  vpc_zone_identifier       = ["subnet-0000000000000000a"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.adopted_control_plane_0.id
    version = aws_launch_template.adopted_control_plane_0.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "adopted-control-plane-0"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "adopted"
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
    value               = "control-plane"
  }

  tag {
    key                 = "cluster-operator.aws/slot"
    propagate_at_launch = true
    value               = "0"
  }

  tag {
    key                 = "kubernetes.io/cluster/adopted"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.adopted_control_plane_0_bundle,
    aws_s3_object.adopted_nodeup_amd64,
    aws_s3_object.adopted_pki_ca_crt,
    aws_s3_object.adopted_pki_ca_key,
    aws_s3_object.adopted_pki_etcd_ca_crt,
    aws_s3_object.adopted_pki_etcd_ca_key,
    aws_s3_object.adopted_pki_front_proxy_ca_crt,
    aws_s3_object.adopted_pki_front_proxy_ca_key,
    aws_s3_object.adopted_pki_sa_key,
    aws_s3_object.adopted_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "adopted_control_plane_0_drain" {
  autoscaling_group_name = aws_autoscaling_group.adopted_control_plane_0.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "adopted_control_plane_0" {
  image_id      = data.aws_ssm_parameter.adopted_control_plane_0_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "adopted-control-plane-0-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/adopted/aws_launch_template.adopted_control_plane_0.user_data"), "630e4ff26e7f81b9292f49789f5a6116d252a07c701f0d0dbf9e83c1c7437ac9", sha256(local.adopted_control_plane_0_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

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
    name = aws_iam_instance_profile.adopted_control_plane.name
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
    security_groups             = [aws_security_group.adopted_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "adopted-control-plane-0"
      "cluster-operator.aws/cluster"   = "adopted"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "kubernetes.io/cluster/adopted"  = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "adopted-control-plane-0"
      "cluster-operator.aws/cluster"   = "adopted"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "kubernetes.io/cluster/adopted"  = "owned"
    }
  }
}

resource "aws_s3_object" "adopted_control_plane_0_bundle" {
  bucket       = aws_s3_bucket.adopted.id
  content      = local.adopted_control_plane_0_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.adopted_control_plane_0_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster adopted: slot 1 of the control plane
locals {
  adopted_control_plane_1_bundle = replace(replace(file("${path.module}/data/adopted/adopted-control-plane-1.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.adopted_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.adopted.zone_id)
  adopted_control_plane_1_tags = {
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "1"
    "kubernetes.io/cluster/adopted"  = "owned"
  }
}

data "aws_ssm_parameter" "adopted_control_plane_1_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "adopted_control_plane_1" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "adopted-control-plane-1-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.adopted_api.arn]
  vpc_zone_identifier       = ["subnet-0000000000000000b"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.adopted_control_plane_1.id
    version = aws_launch_template.adopted_control_plane_1.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "adopted-control-plane-1"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "adopted"
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
    value               = "control-plane"
  }

  tag {
    key                 = "cluster-operator.aws/slot"
    propagate_at_launch = true
    value               = "1"
  }

  tag {
    key                 = "kubernetes.io/cluster/adopted"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.adopted_control_plane_1_bundle,
    aws_s3_object.adopted_nodeup_amd64,
    aws_s3_object.adopted_pki_ca_crt,
    aws_s3_object.adopted_pki_ca_key,
    aws_s3_object.adopted_pki_etcd_ca_crt,
    aws_s3_object.adopted_pki_etcd_ca_key,
    aws_s3_object.adopted_pki_front_proxy_ca_crt,
    aws_s3_object.adopted_pki_front_proxy_ca_key,
    aws_s3_object.adopted_pki_sa_key,
    aws_s3_object.adopted_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "adopted_control_plane_1_drain" {
  autoscaling_group_name = aws_autoscaling_group.adopted_control_plane_1.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "adopted_control_plane_1" {
  image_id      = data.aws_ssm_parameter.adopted_control_plane_1_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "adopted-control-plane-1-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/adopted/aws_launch_template.adopted_control_plane_1.user_data"), "14510e3918a7727e818e8b2977e837621ad59eabdbbe2e3c0ade87ff57e36767", sha256(local.adopted_control_plane_1_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

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
    name = aws_iam_instance_profile.adopted_control_plane.name
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
    security_groups             = [aws_security_group.adopted_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "adopted-control-plane-1"
      "cluster-operator.aws/cluster"   = "adopted"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "1"
      "kubernetes.io/cluster/adopted"  = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "adopted-control-plane-1"
      "cluster-operator.aws/cluster"   = "adopted"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "1"
      "kubernetes.io/cluster/adopted"  = "owned"
    }
  }
}

resource "aws_s3_object" "adopted_control_plane_1_bundle" {
  bucket       = aws_s3_bucket.adopted.id
  content      = local.adopted_control_plane_1_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.adopted_control_plane_1_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster adopted: slot 2 of the control plane
locals {
  adopted_control_plane_2_bundle = replace(replace(file("${path.module}/data/adopted/adopted-control-plane-2.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.adopted_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.adopted.zone_id)
  adopted_control_plane_2_tags = {
    "cluster-operator.aws/cluster"   = "adopted"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "2"
    "kubernetes.io/cluster/adopted"  = "owned"
  }
}

data "aws_ssm_parameter" "adopted_control_plane_2_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "adopted_control_plane_2" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "adopted-control-plane-2-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.adopted_api.arn]
  vpc_zone_identifier       = ["subnet-0000000000000000c"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.adopted_control_plane_2.id
    version = aws_launch_template.adopted_control_plane_2.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "adopted-control-plane-2"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "adopted"
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
    value               = "control-plane"
  }

  tag {
    key                 = "cluster-operator.aws/slot"
    propagate_at_launch = true
    value               = "2"
  }

  tag {
    key                 = "kubernetes.io/cluster/adopted"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.adopted_control_plane_2_bundle,
    aws_s3_object.adopted_nodeup_amd64,
    aws_s3_object.adopted_pki_ca_crt,
    aws_s3_object.adopted_pki_ca_key,
    aws_s3_object.adopted_pki_etcd_ca_crt,
    aws_s3_object.adopted_pki_etcd_ca_key,
    aws_s3_object.adopted_pki_front_proxy_ca_crt,
    aws_s3_object.adopted_pki_front_proxy_ca_key,
    aws_s3_object.adopted_pki_sa_key,
    aws_s3_object.adopted_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "adopted_control_plane_2_drain" {
  autoscaling_group_name = aws_autoscaling_group.adopted_control_plane_2.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "adopted_control_plane_2" {
  image_id      = data.aws_ssm_parameter.adopted_control_plane_2_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "adopted-control-plane-2-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/adopted/aws_launch_template.adopted_control_plane_2.user_data"), "bcd05058ec2d2ee7d268037a475d42bd8f3cc72bec63a06029b912ba8f6f4d62", sha256(local.adopted_control_plane_2_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

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
    name = aws_iam_instance_profile.adopted_control_plane.name
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
    security_groups             = [aws_security_group.adopted_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "adopted-control-plane-2"
      "cluster-operator.aws/cluster"   = "adopted"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "2"
      "kubernetes.io/cluster/adopted"  = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "adopted-control-plane-2"
      "cluster-operator.aws/cluster"   = "adopted"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "2"
      "kubernetes.io/cluster/adopted"  = "owned"
    }
  }
}

resource "aws_s3_object" "adopted_control_plane_2_bundle" {
  bucket       = aws_s3_bucket.adopted.id
  content      = local.adopted_control_plane_2_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.adopted_control_plane_2_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster adopted: instance group adopted-workers
locals {
  adopted_workers_bundle = replace(file("${path.module}/data/adopted/adopted-workers.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.adopted_api.dns_name))
  adopted_workers_tags = {
    "cluster-operator.aws/cluster"        = "adopted"
    "cluster-operator.aws/instance-group" = "adopted-workers"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/adopted"       = "owned"
  }
}

data "aws_ssm_parameter" "adopted_workers_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "adopted_workers" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 4
  min_size                  = 2
  name_prefix               = "adopted-workers-AutoScalingGroup-"
  vpc_zone_identifier       = ["subnet-0000000000000000a", "subnet-0000000000000000b", "subnet-0000000000000000c"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.adopted_workers.id
    version = aws_launch_template.adopted_workers.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "adopted-workers"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "adopted"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "adopted-workers"
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
    key                 = "kubernetes.io/cluster/adopted"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.adopted_nodeup_amd64,
    aws_s3_object.adopted_workers_bundle,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "adopted_workers_drain" {
  autoscaling_group_name = aws_autoscaling_group.adopted_workers.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "adopted_workers" {
  image_id      = data.aws_ssm_parameter.adopted_workers_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "adopted-workers-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/adopted/aws_launch_template.adopted_workers.user_data"), "703ff74d41e26643bd8464d140479e7abc3cd1af8039d0365c48b7fe2e10e11f", sha256(local.adopted_workers_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

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
    name = aws_iam_instance_profile.adopted_worker.name
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
    security_groups             = [aws_security_group.adopted_worker.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "adopted-workers"
      "cluster-operator.aws/cluster"        = "adopted"
      "cluster-operator.aws/instance-group" = "adopted-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/adopted"       = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "adopted-workers"
      "cluster-operator.aws/cluster"        = "adopted"
      "cluster-operator.aws/instance-group" = "adopted-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/adopted"       = "owned"
    }
  }
}

resource "aws_s3_object" "adopted_workers_bundle" {
  bucket       = aws_s3_bucket.adopted.id
  content      = local.adopted_workers_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.adopted_workers_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.adopted,
    aws_s3_bucket_ownership_controls.adopted,
    aws_s3_bucket_public_access_block.adopted,
    aws_s3_bucket_server_side_encryption_configuration.adopted,
    aws_s3_bucket_versioning.adopted,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

output "api_address" {
  description = "The DNS name of the Kubernetes API's load balancer."
  value       = lower(aws_lb.adopted_api.dns_name)
}

output "api_target_group_arn" {
  description = "The ARN of the load balancer's target group."
  value       = aws_lb_target_group.adopted_api.arn
}

output "bucket_name" {
  description = "The name of the cluster's bucket."
  value       = aws_s3_bucket.adopted.id
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "adopted"
}

output "control_plane_autoscaling_group_names" {
  description = "The names of the slots' Auto Scaling groups, by slot."
  value = [
    aws_autoscaling_group.adopted_control_plane_0.name,
    aws_autoscaling_group.adopted_control_plane_1.name,
    aws_autoscaling_group.adopted_control_plane_2.name,
  ]
}

output "control_plane_instance_profile_name" {
  description = "The name of the instance profile of the control plane's machines."
  value       = aws_iam_instance_profile.adopted_control_plane.name
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.adopted_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.adopted_control_plane.name
}

output "control_plane_security_group_id" {
  description = "The ID of the security group of the control plane's machines."
  value       = aws_security_group.adopted_control_plane.id
}

output "etcd_volume_ids" {
  description = "The IDs of etcd's volumes, by slot."
  value = [
    aws_ebs_volume.adopted_etcd_volume_0.id,
    aws_ebs_volume.adopted_etcd_volume_1.id,
    aws_ebs_volume.adopted_etcd_volume_2.id,
  ]
}

output "hosted_zone_id" {
  description = "The ID of the private hosted zone."
  value       = aws_route53_zone.adopted.zone_id
}

output "instance_group_autoscaling_group_names" {
  description = "The names of the instance groups' Auto Scaling groups, by instance group."
  value = {
    "adopted-workers" = aws_autoscaling_group.adopted_workers.name
  }
}

output "kms_key_arn" {
  description = "The ARN of the cluster's KMS key."
  value       = aws_kms_key.adopted.arn
}

output "private_subnet_ids" {
  description = "The IDs of the private subnets, by zone."
  value       = ["subnet-0000000000000000a", "subnet-0000000000000000b", "subnet-0000000000000000c"]
}

output "public_subnet_ids" {
  description = "The IDs of the public subnets, by zone."
  value       = ["subnet-0000000000000001a", "subnet-0000000000000001b", "subnet-0000000000000001c"]
}

output "region" {
  description = "The region that it stands in."
  value       = "eu-central-1"
}

output "vpc_id" {
  description = "The ID of the VPC."
  value       = "vpc-0123456789abcdef0"
}

output "worker_instance_profile_name" {
  description = "The name of the instance profile of the workers."
  value       = aws_iam_instance_profile.adopted_worker.name
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.adopted_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.adopted_worker.name
}

output "worker_security_group_id" {
  description = "The ID of the security group of the workers."
  value       = aws_security_group.adopted_worker.id
}
