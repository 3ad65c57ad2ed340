# Written by aws-operator for cluster audited. The next update of the cluster overwrites changes.

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

# Kubernetes cluster audited: what its machines share and what outlives them
locals {
  audited_tags = {
    "cluster-operator.aws/cluster"   = "audited"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "kubernetes.io/cluster/audited"  = "owned"
  }
}

resource "aws_ebs_volume" "audited_etcd_volume_0" {
  availability_zone = "eu-central-1a"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.audited.arn
  size              = 20
  tags = merge(local.audited_tags, {
    Name                             = "audited-etcd-0"
    "cluster-operator.aws/cluster"   = "audited"
    "cluster-operator.aws/etcd-slot" = "0"
    "kubernetes.io/cluster/audited"  = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_iam_instance_profile" "audited_control_plane" {
  name_prefix = "audited-ControlPlaneInstanceProfile-"
  role        = aws_iam_role.audited_control_plane.name

  depends_on = [
    aws_iam_role_policy.audited_control_plane_autoscaler,
    aws_iam_role_policy.audited_control_plane_boot,
    aws_iam_role_policy.audited_control_plane_describe,
    aws_iam_role_policy.audited_control_plane_volumes,
    aws_iam_role_policy_attachment.audited_control_plane_audit,
    aws_iam_role_policy_attachment.audited_control_plane_encryption,
    aws_iam_role_policy_attachment.audited_control_plane_load_balancers,
  ]
}

resource "aws_iam_instance_profile" "audited_worker" {
  name_prefix = "audited-WorkerInstanceProfile-"
  role        = aws_iam_role.audited_worker.name

  depends_on = [
    aws_iam_role_policy.audited_worker_boot,
  ]
}

resource "aws_iam_policy" "audited_audit" {
  description = "Audit log of cluster audited"
  name_prefix = "audited-AuditPolicy-"
  policy = templatefile("${path.module}/data/audited/aws_iam_policy.audited_audit.policy.json", {
    key_arn = aws_kms_key.audited.arn
  })
}

resource "aws_iam_policy" "audited_encryption" {
  description = "Encryption of resources in etcd of cluster audited"
  name_prefix = "audited-EncryptionPolicy-"
  policy = templatefile("${path.module}/data/audited/aws_iam_policy.audited_encryption.policy.json", {
    key_arn = aws_kms_key.audited.arn
  })
}

resource "aws_iam_policy" "audited_load_balancers" {
  description = "Load balancers of Services of cluster audited"
  name_prefix = "audited-LoadBalancersPolicy-"
  policy = templatefile("${path.module}/data/audited/aws_iam_policy.audited_load_balancers.policy.json", {
    api_listener_arn         = aws_lb_listener.audited_api.arn
    vpc_id                   = aws_vpc.audited.id
    worker_security_group_id = aws_security_group.audited_worker.id
  })
}

resource "aws_iam_role" "audited_control_plane" {
  assume_role_policy = file("${path.module}/data/audited/aws_iam_role.audited_control_plane.assume_role_policy.json")
  name_prefix        = "audited-ControlPlaneRole-"
  tags = merge(local.audited_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "audited_worker" {
  assume_role_policy = file("${path.module}/data/audited/aws_iam_role.audited_worker.assume_role_policy.json")
  name_prefix        = "audited-WorkerRole-"
  tags = merge(local.audited_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy" "audited_control_plane_autoscaler" {
  name   = "autoscaler"
  policy = file("${path.module}/data/audited/aws_iam_role_policy.audited_control_plane_autoscaler.policy.json")
  role   = aws_iam_role.audited_control_plane.id
}

resource "aws_iam_role_policy" "audited_control_plane_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/audited/aws_iam_role_policy.audited_control_plane_boot.policy.json", {
    key_arn             = aws_kms_key.audited.arn
    hosted_zone_zone_id = aws_route53_zone.audited.zone_id
  })
  role = aws_iam_role.audited_control_plane.id
}

resource "aws_iam_role_policy" "audited_control_plane_describe" {
  name   = "describe"
  policy = file("${path.module}/data/audited/aws_iam_role_policy.audited_control_plane_describe.policy.json")
  role   = aws_iam_role.audited_control_plane.id
}

resource "aws_iam_role_policy" "audited_control_plane_volumes" {
  name   = "volumes"
  policy = file("${path.module}/data/audited/aws_iam_role_policy.audited_control_plane_volumes.policy.json")
  role   = aws_iam_role.audited_control_plane.id
}

resource "aws_iam_role_policy" "audited_worker_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/audited/aws_iam_role_policy.audited_worker_boot.policy.json", {
    key_arn = aws_kms_key.audited.arn
  })
  role = aws_iam_role.audited_worker.id
}

resource "aws_iam_role_policy_attachment" "audited_control_plane_audit" {
  policy_arn = aws_iam_policy.audited_audit.arn
  role       = aws_iam_role.audited_control_plane.name
}

resource "aws_iam_role_policy_attachment" "audited_control_plane_encryption" {
  policy_arn = aws_iam_policy.audited_encryption.arn
  role       = aws_iam_role.audited_control_plane.name
}

resource "aws_iam_role_policy_attachment" "audited_control_plane_load_balancers" {
  policy_arn = aws_iam_policy.audited_load_balancers.arn
  role       = aws_iam_role.audited_control_plane.name
}

resource "aws_internet_gateway" "audited" {
  tags = merge(local.audited_tags, {
    Name = "audited"
  })
}

resource "aws_internet_gateway_attachment" "audited" {
  internet_gateway_id = aws_internet_gateway.audited.id
  vpc_id              = aws_vpc.audited.id
}

resource "aws_kms_alias" "audited_key" {
  name          = "alias/cluster-operator/audited"
  target_key_id = aws_kms_key.audited.key_id
}

resource "aws_kms_key" "audited" {
  deletion_window_in_days = 30
  description             = "Secrets, bucket and etcd volumes of cluster audited"
  enable_key_rotation     = true
  policy                  = file("${path.module}/data/audited/aws_kms_key.audited.policy.json")
  tags = merge(local.audited_tags, {
    Name = "audited"
  })
}

resource "aws_lb" "audited_api" {
  enable_cross_zone_load_balancing = true
  internal                         = false
  ip_address_type                  = "ipv4"
  load_balancer_type               = "network"
  security_groups                  = [aws_security_group.audited_load_balancer.id]
  subnets = [
    aws_subnet.audited_public_subnet_eu_central_1a.id,
    aws_subnet.audited_public_subnet_eu_central_1b.id,
  ]
  tags = merge(local.audited_tags, {
    Name = "audited-api"
  })

  depends_on = [
    aws_route.audited_public_default,
    aws_route_table_association.audited_public_subnet_eu_central_1a,
    aws_route_table_association.audited_public_subnet_eu_central_1b,
  ]
}

resource "aws_lb_listener" "audited_api" {
  load_balancer_arn = aws_lb.audited_api.arn
  port              = 6443
  protocol          = "TCP"

  default_action {
    target_group_arn = aws_lb_target_group.audited_api.arn
    type             = "forward"
  }
}

resource "aws_lb_target_group" "audited_api" {
  connection_termination = true
  deregistration_delay   = 10
  port                   = 6443
  preserve_client_ip     = false
  protocol               = "TCP"
  tags = merge(local.audited_tags, {
    Name = "audited-api"
  })
  target_type = "instance"
  vpc_id      = aws_vpc.audited.id

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

resource "aws_route" "audited_public_default" {
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.audited.id
  route_table_id         = aws_route_table.audited_public.id

  depends_on = [
    aws_internet_gateway_attachment.audited,
  ]
}

resource "aws_route53_zone" "audited" {
  comment       = "Names within cluster audited"
  force_destroy = true
  name          = "audited.internal"
  tags          = local.audited_tags

  vpc {
    vpc_id     = aws_vpc.audited.id
    vpc_region = "eu-central-1"
  }
}

resource "aws_route_table" "audited_public" {
  tags = merge(local.audited_tags, {
    Name = "audited-public"
  })
  vpc_id = aws_vpc.audited.id
}

resource "aws_route_table_association" "audited_public_subnet_eu_central_1a" {
  route_table_id = aws_route_table.audited_public.id
  subnet_id      = aws_subnet.audited_public_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "audited_public_subnet_eu_central_1b" {
  route_table_id = aws_route_table.audited_public.id
  subnet_id      = aws_subnet.audited_public_subnet_eu_central_1b.id
}

resource "aws_s3_bucket" "audited" {
  bucket        = "audited-123456789012-eu-central-1"
  force_destroy = true
  tags = merge(local.audited_tags, {
    Name = "audited-123456789012-eu-central-1"
  })
}

resource "aws_s3_bucket_lifecycle_configuration" "audited" {
  bucket = aws_s3_bucket.audited.id

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

resource "aws_s3_bucket_ownership_controls" "audited" {
  bucket = aws_s3_bucket.audited.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_policy" "audited" {
  bucket = aws_s3_bucket.audited.id
  policy = templatefile("${path.module}/data/audited/aws_s3_bucket_policy.audited.policy.json", {
    worker_role_arn        = aws_iam_role.audited_worker.arn
    control_plane_role_arn = aws_iam_role.audited_control_plane.arn
  })

  depends_on = [
    aws_iam_role_policy.audited_control_plane_autoscaler,
    aws_iam_role_policy.audited_control_plane_boot,
    aws_iam_role_policy.audited_control_plane_describe,
    aws_iam_role_policy.audited_control_plane_volumes,
    aws_iam_role_policy.audited_worker_boot,
    aws_iam_role_policy_attachment.audited_control_plane_audit,
    aws_iam_role_policy_attachment.audited_control_plane_encryption,
    aws_iam_role_policy_attachment.audited_control_plane_load_balancers,
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]
}

resource "aws_s3_bucket_public_access_block" "audited" {
  block_public_acls       = true
  block_public_policy     = true
  bucket                  = aws_s3_bucket.audited.id
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "audited" {
  bucket = aws_s3_bucket.audited.id

  rule {
    bucket_key_enabled = false

    apply_server_side_encryption_by_default {
      kms_master_key_id = aws_kms_key.audited.arn
      sse_algorithm     = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_versioning" "audited" {
  bucket = aws_s3_bucket.audited.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "audited_nodeup_amd64" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/octet-stream"
  key          = "nodeup/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a/nodeup-linux-amd64"
  source       = "${path.module}/data/audited/nodeup-0a0a0a0a0a0a0a0a-linux-amd64"
  source_hash  = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_ca_crt" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/audited/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_ca_key" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/audited/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_etcd_ca_crt" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/audited/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_etcd_ca_key" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/audited/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_front_proxy_ca_crt" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/audited/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_front_proxy_ca_key" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/audited/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_sa_key" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/audited/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "audited_pki_sa_pub" {
  bucket       = aws_s3_bucket.audited.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/audited/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "audited_control_plane" {
  description = "Control plane of cluster audited"
  name_prefix = "audited-ControlPlaneSecurityGroup-"
  tags = merge(local.audited_tags, {
    Name = "audited-control-plane"
  })
  vpc_id = aws_vpc.audited.id
}

resource "aws_security_group" "audited_load_balancer" {
  description = "API load balancer of cluster audited"
  name_prefix = "audited-LoadBalancerSecurityGroup-"
  tags = merge(local.audited_tags, {
    Name = "audited-api"
  })
  vpc_id = aws_vpc.audited.id
}

resource "aws_security_group" "audited_worker" {
  description = "Workers of cluster audited"
  name_prefix = "audited-WorkerSecurityGroup-"
  tags = merge(local.audited_tags, {
    Name = "audited-worker"
  })
  vpc_id = aws_vpc.audited.id
}

resource "aws_subnet" "audited_public_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.11.0.0/20"
  tags = merge(local.audited_tags, {
    Name                     = "audited-public-eu-central-1a"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.audited.id
}

resource "aws_subnet" "audited_public_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.11.32.0/20"
  tags = merge(local.audited_tags, {
    Name                     = "audited-public-eu-central-1b"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.audited.id
}

resource "aws_vpc" "audited" {
  cidr_block           = "10.11.0.0/16"
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags = merge(local.audited_tags, {
    Name = "audited"
  })
}

resource "aws_vpc_endpoint" "audited_s3" {
  route_table_ids   = [aws_route_table.audited_public.id]
  service_name      = "com.amazonaws.eu-central-1.s3"
  tags              = local.audited_tags
  vpc_endpoint_type = "Gateway"
  vpc_id            = aws_vpc.audited.id
}

resource "aws_vpc_security_group_egress_rule" "audited_control_plane" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.audited_control_plane.id
}

resource "aws_vpc_security_group_egress_rule" "audited_load_balancer" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.audited_load_balancer.id
}

resource "aws_vpc_security_group_egress_rule" "audited_worker" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.audited_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_api_from_control_plane" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_api_from_load_balancer" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_load_balancer.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_api_from_worker" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_cilium_health_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_cilium_health_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_echo_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_echo_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_etcd_from_control_plane" {
  description                  = "etcd, clients and members"
  from_port                    = 2379
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 2380
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_kubelet_from_control_plane" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_kubelet_from_worker" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_vxlan_from_control_plane" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_vxlan_from_worker" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_vxlan_linux_from_control_plane" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "audited_control_plane_vxlan_linux_from_worker" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "audited_load_balancer_api_from_0x_0x_0x_0p_0" {
  cidr_ipv4         = "0.0.0.0/0"
  description       = "Kubernetes API"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.audited_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "audited_worker_all_from_control_plane" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.audited_control_plane.id
  security_group_id            = aws_security_group.audited_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "audited_worker_all_from_worker" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.audited_worker.id
  security_group_id            = aws_security_group.audited_worker.id
}

# Kubernetes cluster audited: slot 0 of the control plane
locals {
  audited_control_plane_0_bundle = replace(replace(replace(file("${path.module}/data/audited/audited-control-plane-0.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.audited_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.audited.zone_id), "tf-output-key.invalid", aws_kms_key.audited.arn)
  audited_control_plane_0_tags = {
    "cluster-operator.aws/cluster"   = "audited"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "0"
    "kubernetes.io/cluster/audited"  = "owned"
  }
}

data "aws_ssm_parameter" "audited_control_plane_0_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "audited_control_plane_0" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "audited-control-plane-0-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.audited_api.arn]
  vpc_zone_identifier       = [aws_subnet.audited_public_subnet_eu_central_1a.id]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.audited_control_plane_0.id
    version = aws_launch_template.audited_control_plane_0.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "audited-control-plane-0"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "audited"
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
    key                 = "kubernetes.io/cluster/audited"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.audited_control_plane_0_bundle,
    aws_s3_object.audited_nodeup_amd64,
    aws_s3_object.audited_pki_ca_crt,
    aws_s3_object.audited_pki_ca_key,
    aws_s3_object.audited_pki_etcd_ca_crt,
    aws_s3_object.audited_pki_etcd_ca_key,
    aws_s3_object.audited_pki_front_proxy_ca_crt,
    aws_s3_object.audited_pki_front_proxy_ca_key,
    aws_s3_object.audited_pki_sa_key,
    aws_s3_object.audited_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "audited_control_plane_0_drain" {
  autoscaling_group_name = aws_autoscaling_group.audited_control_plane_0.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "audited_control_plane_0" {
  image_id      = data.aws_ssm_parameter.audited_control_plane_0_image_id.insecure_value
  instance_type = "t3.medium"
  name_prefix   = "audited-control-plane-0-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/audited/aws_launch_template.audited_control_plane_0.user_data"), "e244c55d5ccffccc4f5bfeb3a6d331b55830c64d369aa9db06c0ec42447c7801", sha256(local.audited_control_plane_0_bundle)))

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
    name = aws_iam_instance_profile.audited_control_plane.name
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_put_response_hop_limit = 1
    http_tokens                 = "required"
  }

  network_interfaces {
    associate_public_ip_address = true
    delete_on_termination       = true
    device_index                = 0
    security_groups             = [aws_security_group.audited_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "audited-control-plane-0"
      "cluster-operator.aws/cluster"   = "audited"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "kubernetes.io/cluster/audited"  = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "audited-control-plane-0"
      "cluster-operator.aws/cluster"   = "audited"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "kubernetes.io/cluster/audited"  = "owned"
    }
  }
}

resource "aws_s3_object" "audited_control_plane_0_bundle" {
  bucket       = aws_s3_bucket.audited.id
  content      = local.audited_control_plane_0_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.audited_control_plane_0_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster audited: instance group audited-workers
locals {
  audited_workers_bundle = replace(file("${path.module}/data/audited/audited-workers.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.audited_api.dns_name))
  audited_workers_tags = {
    "cluster-operator.aws/cluster"        = "audited"
    "cluster-operator.aws/instance-group" = "audited-workers"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/audited"       = "owned"
  }
}

data "aws_ssm_parameter" "audited_workers_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "audited_workers" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 3
  min_size                  = 1
  name_prefix               = "audited-workers-AutoScalingGroup-"
  vpc_zone_identifier = [
    aws_subnet.audited_public_subnet_eu_central_1a.id,
    aws_subnet.audited_public_subnet_eu_central_1b.id,
  ]
  wait_for_capacity_timeout = "0"

  mixed_instances_policy {
    instances_distribution {
      on_demand_allocation_strategy            = "prioritized"
      on_demand_base_capacity                  = 0
      on_demand_percentage_above_base_capacity = 100
    }

    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.audited_workers.id
        version            = aws_launch_template.audited_workers.latest_version
      }

      override {
        instance_type = "t3.medium"
      }

      override {
        instance_type = "t3a.medium"
      }
    }
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "audited-workers"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "audited"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "audited-workers"
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
    key                 = "kubernetes.io/cluster/audited"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.audited_nodeup_amd64,
    aws_s3_object.audited_workers_bundle,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "audited_workers_drain" {
  autoscaling_group_name = aws_autoscaling_group.audited_workers.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "audited_workers" {
  image_id      = data.aws_ssm_parameter.audited_workers_image_id.insecure_value
  instance_type = "t3.medium"
  name_prefix   = "audited-workers-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/audited/aws_launch_template.audited_workers.user_data"), "1c4f924127c3eb738da35e67c941d52e0fed2e646b23ac23ec46e3267eb8a6e8", sha256(local.audited_workers_bundle)))

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
    name = aws_iam_instance_profile.audited_worker.name
  }

  metadata_options {
    http_endpoint               = "enabled"
    http_put_response_hop_limit = 1
    http_tokens                 = "required"
  }

  network_interfaces {
    associate_public_ip_address = true
    delete_on_termination       = true
    device_index                = 0
    security_groups             = [aws_security_group.audited_worker.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "audited-workers"
      "cluster-operator.aws/cluster"        = "audited"
      "cluster-operator.aws/instance-group" = "audited-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/audited"       = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "audited-workers"
      "cluster-operator.aws/cluster"        = "audited"
      "cluster-operator.aws/instance-group" = "audited-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/audited"       = "owned"
    }
  }
}

resource "aws_s3_object" "audited_workers_bundle" {
  bucket       = aws_s3_bucket.audited.id
  content      = local.audited_workers_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.audited_workers_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.audited,
    aws_s3_bucket_ownership_controls.audited,
    aws_s3_bucket_public_access_block.audited,
    aws_s3_bucket_server_side_encryption_configuration.audited,
    aws_s3_bucket_versioning.audited,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

output "api_address" {
  description = "The DNS name of the Kubernetes API's load balancer."
  value       = lower(aws_lb.audited_api.dns_name)
}

output "api_target_group_arn" {
  description = "The ARN of the load balancer's target group."
  value       = aws_lb_target_group.audited_api.arn
}

output "bucket_name" {
  description = "The name of the cluster's bucket."
  value       = aws_s3_bucket.audited.id
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "audited"
}

output "control_plane_autoscaling_group_names" {
  description = "The names of the slots' Auto Scaling groups, by slot."
  value       = [aws_autoscaling_group.audited_control_plane_0.name]
}

output "control_plane_instance_profile_name" {
  description = "The name of the instance profile of the control plane's machines."
  value       = aws_iam_instance_profile.audited_control_plane.name
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.audited_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.audited_control_plane.name
}

output "control_plane_security_group_id" {
  description = "The ID of the security group of the control plane's machines."
  value       = aws_security_group.audited_control_plane.id
}

output "etcd_volume_ids" {
  description = "The IDs of etcd's volumes, by slot."
  value       = [aws_ebs_volume.audited_etcd_volume_0.id]
}

output "hosted_zone_id" {
  description = "The ID of the private hosted zone."
  value       = aws_route53_zone.audited.zone_id
}

output "instance_group_autoscaling_group_names" {
  description = "The names of the instance groups' Auto Scaling groups, by instance group."
  value = {
    "audited-workers" = aws_autoscaling_group.audited_workers.name
  }
}

output "kms_key_arn" {
  description = "The ARN of the cluster's KMS key."
  value       = aws_kms_key.audited.arn
}

output "public_subnet_ids" {
  description = "The IDs of the public subnets, by zone."
  value = [
    aws_subnet.audited_public_subnet_eu_central_1a.id,
    aws_subnet.audited_public_subnet_eu_central_1b.id,
  ]
}

output "region" {
  description = "The region that it stands in."
  value       = "eu-central-1"
}

output "vpc_id" {
  description = "The ID of the VPC."
  value       = aws_vpc.audited.id
}

output "worker_instance_profile_name" {
  description = "The name of the instance profile of the workers."
  value       = aws_iam_instance_profile.audited_worker.name
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.audited_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.audited_worker.name
}

output "worker_security_group_id" {
  description = "The ID of the security group of the workers."
  value       = aws_security_group.audited_worker.id
}
