# Written by aws-operator for cluster apps. The next update of the cluster overwrites changes.

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

# Kubernetes cluster apps: what its machines share and what outlives them
locals {
  apps_tags = {
    Environment                      = "apps-devstg"
    Terraform                        = "true"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "kubernetes.io/cluster/apps"     = "owned"
  }
}

data "aws_ssm_parameter" "apps_bastion_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "apps_bastion_auto_scaling_group" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "apps-BastionAutoScalingGroup-"
  vpc_zone_identifier       = ["subnet-0000000000000001a", "subnet-0000000000000001b", "subnet-0000000000000001c"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.apps_bastion_launch_template.id
    version = aws_launch_template.apps_bastion_launch_template.latest_version
  }

  tag {
    key                 = "Environment"
    propagate_at_launch = true
    value               = "apps-devstg"
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "apps-bastion"
  }

  tag {
    key                 = "Terraform"
    propagate_at_launch = true
    value               = "true"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "apps"
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
    value               = "bastion"
  }

  tag {
    key                 = "kubernetes.io/cluster/apps"
    propagate_at_launch = true
    value               = "owned"
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_ebs_volume" "apps_etcd_volume_0" {
  availability_zone = "eu-central-1a"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.apps.arn
  size              = 30
  tags = merge(local.apps_tags, {
    Name                             = "apps-etcd-0"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/etcd-slot" = "0"
    "kubernetes.io/cluster/apps"     = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_ebs_volume" "apps_etcd_volume_1" {
  availability_zone = "eu-central-1b"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.apps.arn
  size              = 30
  tags = merge(local.apps_tags, {
    Name                             = "apps-etcd-1"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/etcd-slot" = "1"
    "kubernetes.io/cluster/apps"     = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_ebs_volume" "apps_etcd_volume_2" {
  availability_zone = "eu-central-1c"
  encrypted         = true
  final_snapshot    = true
  iops              = 3000
  kms_key_id        = aws_kms_key.apps.arn
  size              = 30
  tags = merge(local.apps_tags, {
    Name                             = "apps-etcd-2"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/etcd-slot" = "2"
    "kubernetes.io/cluster/apps"     = "owned"
  })
  throughput = 125
  type       = "gp3"
}

resource "aws_iam_instance_profile" "apps_control_plane" {
  name_prefix = "apps-ControlPlaneInstanceProfile-"
  role        = aws_iam_role.apps_control_plane.name

  depends_on = [
    aws_iam_role_policy.apps_control_plane_autoscaler,
    aws_iam_role_policy.apps_control_plane_boot,
    aws_iam_role_policy.apps_control_plane_describe,
    aws_iam_role_policy.apps_control_plane_volumes,
    aws_iam_role_policy_attachment.apps_control_plane_amazon_ssm_managed_instance_core,
    aws_iam_role_policy_attachment.apps_control_plane_load_balancers,
  ]
}

resource "aws_iam_instance_profile" "apps_worker" {
  name_prefix = "apps-WorkerInstanceProfile-"
  role        = aws_iam_role.apps_worker.name

  depends_on = [
    aws_iam_role_policy.apps_worker_boot,
    aws_iam_role_policy_attachment.apps_worker_amazon_ssm_managed_instance_core,
  ]
}

resource "aws_iam_policy" "apps_load_balancers" {
  description = "Load balancers of Services of cluster apps"
  name_prefix = "apps-LoadBalancersPolicy-"
  policy = templatefile("${path.module}/data/apps/aws_iam_policy.apps_load_balancers.policy.json", {
    api_listener_arn         = aws_lb_listener.apps_api.arn
    worker_security_group_id = aws_security_group.apps_worker.id
  })
}

resource "aws_iam_role" "apps_control_plane" {
  assume_role_policy = file("${path.module}/data/apps/aws_iam_role.apps_control_plane.assume_role_policy.json")
  name_prefix        = "apps-ControlPlaneRole-"
  tags = merge(local.apps_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "apps_worker" {
  assume_role_policy = file("${path.module}/data/apps/aws_iam_role.apps_worker.assume_role_policy.json")
  name_prefix        = "apps-WorkerRole-"
  tags = merge(local.apps_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy" "apps_control_plane_autoscaler" {
  name   = "autoscaler"
  policy = file("${path.module}/data/apps/aws_iam_role_policy.apps_control_plane_autoscaler.policy.json")
  role   = aws_iam_role.apps_control_plane.id
}

resource "aws_iam_role_policy" "apps_control_plane_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/apps/aws_iam_role_policy.apps_control_plane_boot.policy.json", {
    key_arn             = aws_kms_key.apps.arn
    hosted_zone_zone_id = aws_route53_zone.apps.zone_id
  })
  role = aws_iam_role.apps_control_plane.id
}

resource "aws_iam_role_policy" "apps_control_plane_describe" {
  name   = "describe"
  policy = file("${path.module}/data/apps/aws_iam_role_policy.apps_control_plane_describe.policy.json")
  role   = aws_iam_role.apps_control_plane.id
}

resource "aws_iam_role_policy" "apps_control_plane_volumes" {
  name   = "volumes"
  policy = file("${path.module}/data/apps/aws_iam_role_policy.apps_control_plane_volumes.policy.json")
  role   = aws_iam_role.apps_control_plane.id
}

resource "aws_iam_role_policy" "apps_worker_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/apps/aws_iam_role_policy.apps_worker_boot.policy.json", {
    key_arn = aws_kms_key.apps.arn
  })
  role = aws_iam_role.apps_worker.id
}

resource "aws_iam_role_policy_attachment" "apps_control_plane_amazon_ssm_managed_instance_core" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
  role       = aws_iam_role.apps_control_plane.name
}

resource "aws_iam_role_policy_attachment" "apps_control_plane_load_balancers" {
  policy_arn = aws_iam_policy.apps_load_balancers.arn
  role       = aws_iam_role.apps_control_plane.name
}

resource "aws_iam_role_policy_attachment" "apps_worker_amazon_ssm_managed_instance_core" {
  policy_arn = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
  role       = aws_iam_role.apps_worker.name
}

resource "aws_kms_alias" "apps_key" {
  name          = "alias/cluster-operator/apps"
  target_key_id = aws_kms_key.apps.key_id
}

resource "aws_kms_key" "apps" {
  deletion_window_in_days = 30
  description             = "Secrets, bucket and etcd volumes of cluster apps"
  enable_key_rotation     = true
  policy                  = file("${path.module}/data/apps/aws_kms_key.apps.policy.json")
  tags = merge(local.apps_tags, {
    Name = "apps"
  })
}

resource "aws_launch_template" "apps_bastion_launch_template" {
  image_id      = data.aws_ssm_parameter.apps_bastion_image_id.insecure_value
  instance_type = "t3.micro"
  name_prefix   = "apps-BastionLaunchTemplate-"

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      delete_on_termination = true
      encrypted             = true
      volume_size           = 8
      volume_type           = "gp3"
    }
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
    security_groups             = [aws_security_group.apps_bastion.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-bastion"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "bastion"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-bastion"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "bastion"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }
}

resource "aws_lb" "apps_api" {
  enable_cross_zone_load_balancing = true
  internal                         = true
  ip_address_type                  = "ipv4"
  load_balancer_type               = "network"
  security_groups                  = [aws_security_group.apps_load_balancer.id, "sg-0aaaaaaaaaaaaaaa1"]
  subnets                          = ["subnet-0000000000000000a", "subnet-0000000000000000b", "subnet-0000000000000000c"]
  tags = merge(local.apps_tags, {
    Name = "apps-api"
  })
}

resource "aws_lb_listener" "apps_api" {
  load_balancer_arn = aws_lb.apps_api.arn
  port              = 6443
  protocol          = "TCP"

  default_action {
    target_group_arn = aws_lb_target_group.apps_api.arn
    type             = "forward"
  }
}

resource "aws_lb_target_group" "apps_api" {
  connection_termination = true
  deregistration_delay   = 10
  port                   = 6443
  preserve_client_ip     = false
  protocol               = "TCP"
  tags = merge(local.apps_tags, {
    Name = "apps-api"
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

resource "aws_route53_zone" "apps" {
  comment       = "Names within cluster apps"
  force_destroy = true
  name          = "apps.internal"
  tags          = local.apps_tags

  vpc {
    vpc_id     = "vpc-0123456789abcdef0"
    vpc_region = "eu-central-1"
  }
}

resource "aws_s3_bucket" "apps" {
  bucket        = "apps-123456789012-eu-central-1"
  force_destroy = true
  tags = merge(local.apps_tags, {
    Name = "apps-123456789012-eu-central-1"
  })
}

resource "aws_s3_bucket_lifecycle_configuration" "apps" {
  bucket = aws_s3_bucket.apps.id

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

resource "aws_s3_bucket_ownership_controls" "apps" {
  bucket = aws_s3_bucket.apps.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_policy" "apps" {
  bucket = aws_s3_bucket.apps.id
  policy = templatefile("${path.module}/data/apps/aws_s3_bucket_policy.apps.policy.json", {
    worker_role_arn = aws_iam_role.apps_worker.arn
  })

  depends_on = [
    aws_iam_role_policy.apps_worker_boot,
    aws_iam_role_policy_attachment.apps_worker_amazon_ssm_managed_instance_core,
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]
}

resource "aws_s3_bucket_public_access_block" "apps" {
  block_public_acls       = true
  block_public_policy     = true
  bucket                  = aws_s3_bucket.apps.id
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "apps" {
  bucket = aws_s3_bucket.apps.id

  rule {
    bucket_key_enabled = false

    apply_server_side_encryption_by_default {
      kms_master_key_id = aws_kms_key.apps.arn
      sse_algorithm     = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_versioning" "apps" {
  bucket = aws_s3_bucket.apps.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "apps_nodeup_amd64" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/octet-stream"
  key          = "nodeup/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a/nodeup-linux-amd64"
  source       = "${path.module}/data/apps/nodeup-0a0a0a0a0a0a0a0a-linux-amd64"
  source_hash  = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_ca_crt" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/apps/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_ca_key" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/apps/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_etcd_ca_crt" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/apps/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_etcd_ca_key" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/apps/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_front_proxy_ca_crt" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/apps/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_front_proxy_ca_key" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/apps/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_sa_key" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/apps/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "apps_pki_sa_pub" {
  bucket       = aws_s3_bucket.apps.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/apps/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "apps_bastion" {
  description = "Bastions of cluster apps"
  name_prefix = "apps-BastionSecurityGroup-"
  tags = merge(local.apps_tags, {
    Name = "apps-bastion"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_security_group" "apps_control_plane" {
  description = "Control plane of cluster apps"
  name_prefix = "apps-ControlPlaneSecurityGroup-"
  tags = merge(local.apps_tags, {
    Name = "apps-control-plane"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_security_group" "apps_load_balancer" {
  description = "API load balancer of cluster apps"
  name_prefix = "apps-LoadBalancerSecurityGroup-"
  tags = merge(local.apps_tags, {
    Name = "apps-api"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_security_group" "apps_worker" {
  description = "Workers of cluster apps"
  name_prefix = "apps-WorkerSecurityGroup-"
  tags = merge(local.apps_tags, {
    Name = "apps-worker"
  })
  vpc_id = "vpc-0123456789abcdef0"
}

resource "aws_vpc_security_group_egress_rule" "apps_bastion" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.apps_bastion.id
}

resource "aws_vpc_security_group_egress_rule" "apps_control_plane" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.apps_control_plane.id
}

resource "aws_vpc_security_group_egress_rule" "apps_load_balancer" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.apps_load_balancer.id
}

resource "aws_vpc_security_group_egress_rule" "apps_worker" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.apps_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "apps_bastion_ssh_from_10x_0x_0x_0p_8" {
  cidr_ipv4         = "10.0.0.0/8"
  description       = "SSH"
  from_port         = 22
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.apps_bastion.id
  to_port           = 22
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_api_from_control_plane" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_api_from_load_balancer" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_load_balancer.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_api_from_worker" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_cilium_health_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_cilium_health_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_echo_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_echo_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_etcd_from_control_plane" {
  description                  = "etcd, clients and members"
  from_port                    = 2379
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 2380
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_kubelet_from_control_plane" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_kubelet_from_worker" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_ssh_from_bastion" {
  description                  = "SSH"
  from_port                    = 22
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_bastion.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 22
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_vxlan_from_control_plane" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_vxlan_from_worker" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_vxlan_linux_from_control_plane" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "apps_control_plane_vxlan_linux_from_worker" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "apps_load_balancer_api_from_10x_0x_0x_0p_8" {
  cidr_ipv4         = "10.0.0.0/8"
  description       = "Kubernetes API"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.apps_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_load_balancer_api_from_172x_18x_32x_0p_20" {
  cidr_ipv4         = "172.18.32.0/20"
  description       = "Kubernetes API"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.apps_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_load_balancer_api_from_control_plane" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_load_balancer.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_load_balancer_api_from_worker" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_load_balancer.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "apps_worker_all_from_control_plane" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.apps_control_plane.id
  security_group_id            = aws_security_group.apps_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "apps_worker_all_from_worker" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.apps_worker.id
  security_group_id            = aws_security_group.apps_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "apps_worker_ssh_from_bastion" {
  description                  = "SSH"
  from_port                    = 22
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.apps_bastion.id
  security_group_id            = aws_security_group.apps_worker.id
  to_port                      = 22
}

# Kubernetes cluster apps: slot 0 of the control plane
locals {
  apps_control_plane_0_bundle = replace(replace(file("${path.module}/data/apps/apps-control-plane-0.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.apps_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.apps.zone_id)
  apps_control_plane_0_tags = {
    Environment                      = "apps-devstg"
    Terraform                        = "true"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "0"
    "kubernetes.io/cluster/apps"     = "owned"
  }
}

data "aws_ssm_parameter" "apps_control_plane_0_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "apps_control_plane_0" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "apps-control-plane-0-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.apps_api.arn]
  vpc_zone_identifier       = ["subnet-0000000000000000a"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.apps_control_plane_0.id
    version = aws_launch_template.apps_control_plane_0.latest_version
  }

  tag {
    key                 = "Environment"
    propagate_at_launch = true
    value               = "apps-devstg"
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "apps-control-plane-0"
  }

  tag {
    key                 = "Terraform"
    propagate_at_launch = true
    value               = "true"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "apps"
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
    key                 = "kubernetes.io/cluster/apps"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.apps_control_plane_0_bundle,
    aws_s3_object.apps_nodeup_amd64,
    aws_s3_object.apps_pki_ca_crt,
    aws_s3_object.apps_pki_ca_key,
    aws_s3_object.apps_pki_etcd_ca_crt,
    aws_s3_object.apps_pki_etcd_ca_key,
    aws_s3_object.apps_pki_front_proxy_ca_crt,
    aws_s3_object.apps_pki_front_proxy_ca_key,
    aws_s3_object.apps_pki_sa_key,
    aws_s3_object.apps_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "apps_control_plane_0_drain" {
  autoscaling_group_name = aws_autoscaling_group.apps_control_plane_0.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "apps_control_plane_0" {
  image_id      = data.aws_ssm_parameter.apps_control_plane_0_image_id.insecure_value
  instance_type = "m5.large"
  name_prefix   = "apps-control-plane-0-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/apps/aws_launch_template.apps_control_plane_0.user_data"), "40d9898cad73c86ff0187faf8a63532fd73e34dbf0315d61a94b2a20ba22b914", sha256(local.apps_control_plane_0_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      delete_on_termination = true
      encrypted             = true
      iops                  = 3000
      throughput            = 125
      volume_size           = 64
      volume_type           = "gp3"
    }
  }

  iam_instance_profile {
    name = aws_iam_instance_profile.apps_control_plane.name
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
    security_groups             = [aws_security_group.apps_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-control-plane-0"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-control-plane-0"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }
}

resource "aws_s3_object" "apps_control_plane_0_bundle" {
  bucket       = aws_s3_bucket.apps.id
  content      = local.apps_control_plane_0_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.apps_control_plane_0_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster apps: slot 1 of the control plane
locals {
  apps_control_plane_1_bundle = replace(replace(file("${path.module}/data/apps/apps-control-plane-1.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.apps_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.apps.zone_id)
  apps_control_plane_1_tags = {
    Environment                      = "apps-devstg"
    Terraform                        = "true"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "1"
    "kubernetes.io/cluster/apps"     = "owned"
  }
}

data "aws_ssm_parameter" "apps_control_plane_1_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "apps_control_plane_1" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "apps-control-plane-1-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.apps_api.arn]
  vpc_zone_identifier       = ["subnet-0000000000000000b"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.apps_control_plane_1.id
    version = aws_launch_template.apps_control_plane_1.latest_version
  }

  tag {
    key                 = "Environment"
    propagate_at_launch = true
    value               = "apps-devstg"
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "apps-control-plane-1"
  }

  tag {
    key                 = "Terraform"
    propagate_at_launch = true
    value               = "true"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "apps"
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
    key                 = "kubernetes.io/cluster/apps"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.apps_control_plane_1_bundle,
    aws_s3_object.apps_nodeup_amd64,
    aws_s3_object.apps_pki_ca_crt,
    aws_s3_object.apps_pki_ca_key,
    aws_s3_object.apps_pki_etcd_ca_crt,
    aws_s3_object.apps_pki_etcd_ca_key,
    aws_s3_object.apps_pki_front_proxy_ca_crt,
    aws_s3_object.apps_pki_front_proxy_ca_key,
    aws_s3_object.apps_pki_sa_key,
    aws_s3_object.apps_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "apps_control_plane_1_drain" {
  autoscaling_group_name = aws_autoscaling_group.apps_control_plane_1.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "apps_control_plane_1" {
  image_id      = data.aws_ssm_parameter.apps_control_plane_1_image_id.insecure_value
  instance_type = "m5.large"
  name_prefix   = "apps-control-plane-1-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/apps/aws_launch_template.apps_control_plane_1.user_data"), "6e53910d9aa403a8a7c65269987ae06f7f36cc995e6d3a87a1a369c34852a837", sha256(local.apps_control_plane_1_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      delete_on_termination = true
      encrypted             = true
      iops                  = 3000
      throughput            = 125
      volume_size           = 64
      volume_type           = "gp3"
    }
  }

  iam_instance_profile {
    name = aws_iam_instance_profile.apps_control_plane.name
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
    security_groups             = [aws_security_group.apps_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-control-plane-1"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "1"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-control-plane-1"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "1"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }
}

resource "aws_s3_object" "apps_control_plane_1_bundle" {
  bucket       = aws_s3_bucket.apps.id
  content      = local.apps_control_plane_1_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.apps_control_plane_1_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster apps: slot 2 of the control plane
locals {
  apps_control_plane_2_bundle = replace(replace(file("${path.module}/data/apps/apps-control-plane-2.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.apps_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.apps.zone_id)
  apps_control_plane_2_tags = {
    Environment                      = "apps-devstg"
    Terraform                        = "true"
    "cluster-operator.aws/cluster"   = "apps"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "2"
    "kubernetes.io/cluster/apps"     = "owned"
  }
}

data "aws_ssm_parameter" "apps_control_plane_2_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "apps_control_plane_2" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "apps-control-plane-2-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.apps_api.arn]
  vpc_zone_identifier       = ["subnet-0000000000000000c"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.apps_control_plane_2.id
    version = aws_launch_template.apps_control_plane_2.latest_version
  }

  tag {
    key                 = "Environment"
    propagate_at_launch = true
    value               = "apps-devstg"
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "apps-control-plane-2"
  }

  tag {
    key                 = "Terraform"
    propagate_at_launch = true
    value               = "true"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "apps"
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
    key                 = "kubernetes.io/cluster/apps"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.apps_control_plane_2_bundle,
    aws_s3_object.apps_nodeup_amd64,
    aws_s3_object.apps_pki_ca_crt,
    aws_s3_object.apps_pki_ca_key,
    aws_s3_object.apps_pki_etcd_ca_crt,
    aws_s3_object.apps_pki_etcd_ca_key,
    aws_s3_object.apps_pki_front_proxy_ca_crt,
    aws_s3_object.apps_pki_front_proxy_ca_key,
    aws_s3_object.apps_pki_sa_key,
    aws_s3_object.apps_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "apps_control_plane_2_drain" {
  autoscaling_group_name = aws_autoscaling_group.apps_control_plane_2.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "apps_control_plane_2" {
  image_id      = data.aws_ssm_parameter.apps_control_plane_2_image_id.insecure_value
  instance_type = "m5.large"
  name_prefix   = "apps-control-plane-2-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/apps/aws_launch_template.apps_control_plane_2.user_data"), "b5a5e2b8e3002499247e360fbd7419c5c2aefad79912a7bacaa2ab6a25f15f8a", sha256(local.apps_control_plane_2_bundle)))

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      delete_on_termination = true
      encrypted             = true
      iops                  = 3000
      throughput            = 125
      volume_size           = 64
      volume_type           = "gp3"
    }
  }

  iam_instance_profile {
    name = aws_iam_instance_profile.apps_control_plane.name
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
    security_groups             = [aws_security_group.apps_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-control-plane-2"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "2"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Environment                      = "apps-devstg"
      Name                             = "apps-control-plane-2"
      Terraform                        = "true"
      "cluster-operator.aws/cluster"   = "apps"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "2"
      "kubernetes.io/cluster/apps"     = "owned"
    }
  }
}

resource "aws_s3_object" "apps_control_plane_2_bundle" {
  bucket       = aws_s3_bucket.apps.id
  content      = local.apps_control_plane_2_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.apps_control_plane_2_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster apps: instance group ingress
locals {
  apps_ingress_bundle = replace(file("${path.module}/data/apps/apps-ingress.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.apps_api.dns_name))
  apps_ingress_tags = {
    Environment                           = "apps-devstg"
    Terraform                             = "true"
    "cluster-operator.aws/cluster"        = "apps"
    "cluster-operator.aws/instance-group" = "ingress"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/apps"          = "owned"
  }
}

data "aws_ssm_parameter" "apps_ingress_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "apps_ingress" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "apps-ingress-AutoScalingGroup-"
  vpc_zone_identifier       = ["subnet-0000000000000000b"]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.apps_ingress.id
    version = aws_launch_template.apps_ingress.latest_version
  }

  tag {
    key                 = "Environment"
    propagate_at_launch = true
    value               = "apps-devstg"
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "apps-ingress"
  }

  tag {
    key                 = "Terraform"
    propagate_at_launch = true
    value               = "true"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "apps"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "ingress"
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
    key                 = "kubernetes.io/cluster/apps"
    propagate_at_launch = true
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.apps_ingress_bundle,
    aws_s3_object.apps_nodeup_amd64,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "apps_ingress_drain" {
  autoscaling_group_name = aws_autoscaling_group.apps_ingress.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "apps_ingress" {
  image_id      = data.aws_ssm_parameter.apps_ingress_image_id.insecure_value
  instance_type = "m5.large"
  name_prefix   = "apps-ingress-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/apps/aws_launch_template.apps_ingress.user_data"), "758e7fd979492873c1ea249fcdd3fe839b97ebaaed1e28c1ca726c058e183a2c", sha256(local.apps_ingress_bundle)))

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
    name = aws_iam_instance_profile.apps_worker.name
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
    security_groups             = [aws_security_group.apps_worker.id, "sg-0aaaaaaaaaaaaaaa2"]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Environment                           = "apps-devstg"
      Name                                  = "apps-ingress"
      Terraform                             = "true"
      "cluster-operator.aws/cluster"        = "apps"
      "cluster-operator.aws/instance-group" = "ingress"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/apps"          = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Environment                           = "apps-devstg"
      Name                                  = "apps-ingress"
      Terraform                             = "true"
      "cluster-operator.aws/cluster"        = "apps"
      "cluster-operator.aws/instance-group" = "ingress"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/apps"          = "owned"
    }
  }
}

resource "aws_s3_object" "apps_ingress_bundle" {
  bucket       = aws_s3_bucket.apps.id
  content      = local.apps_ingress_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.apps_ingress_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster apps: instance group nodes
locals {
  apps_nodes_bundle = replace(file("${path.module}/data/apps/apps-nodes.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.apps_api.dns_name))
  apps_nodes_tags = {
    Environment                           = "apps-devstg"
    Team                                  = "apps"
    Terraform                             = "true"
    "cluster-operator.aws/cluster"        = "apps"
    "cluster-operator.aws/instance-group" = "nodes"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "kubernetes.io/cluster/apps"          = "owned"
  }
}

data "aws_ssm_parameter" "apps_nodes_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "apps_nodes" {
  capacity_rebalance        = true
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 5
  min_size                  = 2
  name_prefix               = "apps-nodes-AutoScalingGroup-"
  vpc_zone_identifier       = ["subnet-0000000000000000a", "subnet-0000000000000000b", "subnet-0000000000000000c"]
  wait_for_capacity_timeout = "0"

  mixed_instances_policy {
    instances_distribution {
      on_demand_allocation_strategy            = "prioritized"
      on_demand_base_capacity                  = 1
      on_demand_percentage_above_base_capacity = 20
      spot_allocation_strategy                 = "capacity-optimized"
    }

    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.apps_nodes.id
        version            = aws_launch_template.apps_nodes.latest_version
      }

      override {
        instance_type = "m5.large"
      }

      override {
        instance_type = "m5a.large"
      }
    }
  }

  tag {
    key                 = "Environment"
    propagate_at_launch = true
    value               = "apps-devstg"
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "apps-nodes"
  }

  tag {
    key                 = "Team"
    propagate_at_launch = true
    value               = "apps"
  }

  tag {
    key                 = "Terraform"
    propagate_at_launch = true
    value               = "true"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "apps"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "nodes"
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
    key                 = "kubernetes.io/cluster/apps"
    propagate_at_launch = true
    value               = "owned"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/apps"
    propagate_at_launch = false
    value               = "owned"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/enabled"
    propagate_at_launch = false
    value               = "true"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/label/cluster-operator.aws/cluster"
    propagate_at_launch = false
    value               = "apps"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/label/cluster-operator.aws/instance-group"
    propagate_at_launch = false
    value               = "nodes"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/label/stack"
    propagate_at_launch = false
    value               = "apps"
  }

  depends_on = [
    aws_s3_object.apps_nodes_bundle,
    aws_s3_object.apps_nodeup_amd64,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "apps_nodes_drain" {
  autoscaling_group_name = aws_autoscaling_group.apps_nodes.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "apps_nodes" {
  image_id      = data.aws_ssm_parameter.apps_nodes_image_id.insecure_value
  instance_type = "m5.large"
  name_prefix   = "apps-nodes-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/apps/aws_launch_template.apps_nodes.user_data"), "c5e189de752340d3d15c633488b076a35a01eabaae2bb97a52f1e5f5f0f38538", sha256(local.apps_nodes_bundle)))

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
    name = aws_iam_instance_profile.apps_worker.name
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
    security_groups             = [aws_security_group.apps_worker.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Environment                           = "apps-devstg"
      Name                                  = "apps-nodes"
      Team                                  = "apps"
      Terraform                             = "true"
      "cluster-operator.aws/cluster"        = "apps"
      "cluster-operator.aws/instance-group" = "nodes"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/apps"          = "owned"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Environment                           = "apps-devstg"
      Name                                  = "apps-nodes"
      Team                                  = "apps"
      Terraform                             = "true"
      "cluster-operator.aws/cluster"        = "apps"
      "cluster-operator.aws/instance-group" = "nodes"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "kubernetes.io/cluster/apps"          = "owned"
    }
  }
}

resource "aws_s3_object" "apps_nodes_bundle" {
  bucket       = aws_s3_bucket.apps.id
  content      = local.apps_nodes_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.apps_nodes_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.apps,
    aws_s3_bucket_ownership_controls.apps,
    aws_s3_bucket_public_access_block.apps,
    aws_s3_bucket_server_side_encryption_configuration.apps,
    aws_s3_bucket_versioning.apps,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

output "api_address" {
  description = "The DNS name of the Kubernetes API's load balancer."
  value       = lower(aws_lb.apps_api.dns_name)
}

output "api_target_group_arn" {
  description = "The ARN of the load balancer's target group."
  value       = aws_lb_target_group.apps_api.arn
}

output "bastion_autoscaling_group_name" {
  description = "The name of the bastions' Auto Scaling group."
  value       = aws_autoscaling_group.apps_bastion_auto_scaling_group.name
}

output "bastion_security_group_id" {
  description = "The ID of the security group of the bastions."
  value       = aws_security_group.apps_bastion.id
}

output "bucket_name" {
  description = "The name of the cluster's bucket."
  value       = aws_s3_bucket.apps.id
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "apps"
}

output "control_plane_autoscaling_group_names" {
  description = "The names of the slots' Auto Scaling groups, by slot."
  value = [
    aws_autoscaling_group.apps_control_plane_0.name,
    aws_autoscaling_group.apps_control_plane_1.name,
    aws_autoscaling_group.apps_control_plane_2.name,
  ]
}

output "control_plane_instance_profile_name" {
  description = "The name of the instance profile of the control plane's machines."
  value       = aws_iam_instance_profile.apps_control_plane.name
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.apps_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.apps_control_plane.name
}

output "control_plane_security_group_id" {
  description = "The ID of the security group of the control plane's machines."
  value       = aws_security_group.apps_control_plane.id
}

output "etcd_volume_ids" {
  description = "The IDs of etcd's volumes, by slot."
  value = [
    aws_ebs_volume.apps_etcd_volume_0.id,
    aws_ebs_volume.apps_etcd_volume_1.id,
    aws_ebs_volume.apps_etcd_volume_2.id,
  ]
}

output "hosted_zone_id" {
  description = "The ID of the private hosted zone."
  value       = aws_route53_zone.apps.zone_id
}

output "instance_group_autoscaling_group_names" {
  description = "The names of the instance groups' Auto Scaling groups, by instance group."
  value = {
    ingress = aws_autoscaling_group.apps_ingress.name
    nodes   = aws_autoscaling_group.apps_nodes.name
  }
}

output "kms_key_arn" {
  description = "The ARN of the cluster's KMS key."
  value       = aws_kms_key.apps.arn
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
  value       = aws_iam_instance_profile.apps_worker.name
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.apps_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.apps_worker.name
}

output "worker_security_group_id" {
  description = "The ID of the security group of the workers."
  value       = aws_security_group.apps_worker.id
}
