# Written by aws-operator for cluster private. The next update of the cluster overwrites changes.

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

# Kubernetes cluster private: what its machines share and what outlives them
locals {
  private_tags = {
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cost-centre"                    = "4711"
    "kubernetes.io/cluster/private"  = "owned"
    team                             = "platform"
  }
}

data "aws_ssm_parameter" "private_bastion_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "private_bastion_auto_scaling_group" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "private-BastionAutoScalingGroup-"
  vpc_zone_identifier = [
    aws_subnet.private_public_subnet_eu_central_1a.id,
    aws_subnet.private_public_subnet_eu_central_1b.id,
    aws_subnet.private_public_subnet_eu_central_1c.id,
  ]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.private_bastion_launch_template.id
    version = aws_launch_template.private_bastion_launch_template.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "private-bastion"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "private"
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
    key                 = "cost-centre"
    propagate_at_launch = true
    value               = "4711"
  }

  tag {
    key                 = "kubernetes.io/cluster/private"
    propagate_at_launch = true
    value               = "owned"
  }

  tag {
    key                 = "team"
    propagate_at_launch = true
    value               = "platform"
  }

  depends_on = [
    aws_route.private_public_default,
    aws_route_table_association.private_public_subnet_eu_central_1a,
    aws_route_table_association.private_public_subnet_eu_central_1b,
    aws_route_table_association.private_public_subnet_eu_central_1c,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_ebs_volume" "private_etcd_volume_0" {
  availability_zone = "eu-central-1a"
  encrypted         = true
  final_snapshot    = true
  iops              = 4000
  kms_key_id        = aws_kms_key.private.arn
  size              = 40
  tags = merge(local.private_tags, {
    Name                             = "private-etcd-0"
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/etcd-slot" = "0"
    "kubernetes.io/cluster/private"  = "owned"
  })
  throughput = 250
  type       = "gp3"
}

resource "aws_ebs_volume" "private_etcd_volume_1" {
  availability_zone = "eu-central-1b"
  encrypted         = true
  final_snapshot    = true
  iops              = 4000
  kms_key_id        = aws_kms_key.private.arn
  size              = 40
  tags = merge(local.private_tags, {
    Name                             = "private-etcd-1"
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/etcd-slot" = "1"
    "kubernetes.io/cluster/private"  = "owned"
  })
  throughput = 250
  type       = "gp3"
}

resource "aws_ebs_volume" "private_etcd_volume_2" {
  availability_zone = "eu-central-1c"
  encrypted         = true
  final_snapshot    = true
  iops              = 4000
  kms_key_id        = aws_kms_key.private.arn
  size              = 40
  tags = merge(local.private_tags, {
    Name                             = "private-etcd-2"
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/etcd-slot" = "2"
    "kubernetes.io/cluster/private"  = "owned"
  })
  throughput = 250
  type       = "gp3"
}

resource "aws_eip" "private_nat_address_eu_central_1a" {
  domain = "vpc"
  tags = merge(local.private_tags, {
    Name = "private-nat-eu-central-1a"
  })

  depends_on = [
    aws_internet_gateway_attachment.private,
  ]
}

resource "aws_eip" "private_nat_address_eu_central_1b" {
  domain = "vpc"
  tags = merge(local.private_tags, {
    Name = "private-nat-eu-central-1b"
  })

  depends_on = [
    aws_internet_gateway_attachment.private,
  ]
}

resource "aws_eip" "private_nat_address_eu_central_1c" {
  domain = "vpc"
  tags = merge(local.private_tags, {
    Name = "private-nat-eu-central-1c"
  })

  depends_on = [
    aws_internet_gateway_attachment.private,
  ]
}

resource "aws_iam_instance_profile" "private_control_plane" {
  name_prefix = "private-ControlPlaneInstanceProfile-"
  role        = aws_iam_role.private_control_plane.name

  depends_on = [
    aws_iam_role_policy.private_control_plane_autoscaler,
    aws_iam_role_policy.private_control_plane_boot,
    aws_iam_role_policy.private_control_plane_describe,
    aws_iam_role_policy.private_control_plane_volumes,
    aws_iam_role_policy_attachment.private_control_plane_load_balancers,
  ]
}

resource "aws_iam_instance_profile" "private_worker" {
  name_prefix = "private-WorkerInstanceProfile-"
  role        = aws_iam_role.private_worker.name

  depends_on = [
    aws_iam_role_policy.private_worker_boot,
  ]
}

resource "aws_iam_openid_connect_provider" "private_issuer" {
  client_id_list = ["sts.amazonaws.com"]
  tags           = local.private_tags
  url            = "https://private-123456789012-eu-central-1.s3.eu-central-1.amazonaws.com/oidc"

  depends_on = [
    aws_s3_bucket_policy.private,
  ]
}

resource "aws_iam_policy" "private_load_balancers" {
  description = "Load balancers of Services of cluster private"
  name_prefix = "private-LoadBalancersPolicy-"
  policy = templatefile("${path.module}/data/private/aws_iam_policy.private_load_balancers.policy.json", {
    api_listener_arn         = aws_lb_listener.private_api.arn
    vpc_id                   = aws_vpc.private.id
    worker_security_group_id = aws_security_group.private_worker.id
  })
}

resource "aws_iam_role" "private_control_plane" {
  assume_role_policy = file("${path.module}/data/private/aws_iam_role.private_control_plane.assume_role_policy.json")
  name_prefix        = "private-ControlPlaneRole-"
  tags = merge(local.private_tags, {
    "cluster-operator.aws/role" = "control-plane"
  })
}

resource "aws_iam_role" "private_worker" {
  assume_role_policy = file("${path.module}/data/private/aws_iam_role.private_worker.assume_role_policy.json")
  name_prefix        = "private-WorkerRole-"
  tags = merge(local.private_tags, {
    "cluster-operator.aws/role" = "worker"
  })
}

resource "aws_iam_role_policy" "private_control_plane_autoscaler" {
  name   = "autoscaler"
  policy = file("${path.module}/data/private/aws_iam_role_policy.private_control_plane_autoscaler.policy.json")
  role   = aws_iam_role.private_control_plane.id
}

resource "aws_iam_role_policy" "private_control_plane_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/private/aws_iam_role_policy.private_control_plane_boot.policy.json", {
    key_arn             = aws_kms_key.private.arn
    hosted_zone_zone_id = aws_route53_zone.private.zone_id
  })
  role = aws_iam_role.private_control_plane.id
}

resource "aws_iam_role_policy" "private_control_plane_describe" {
  name   = "describe"
  policy = file("${path.module}/data/private/aws_iam_role_policy.private_control_plane_describe.policy.json")
  role   = aws_iam_role.private_control_plane.id
}

resource "aws_iam_role_policy" "private_control_plane_volumes" {
  name   = "volumes"
  policy = file("${path.module}/data/private/aws_iam_role_policy.private_control_plane_volumes.policy.json")
  role   = aws_iam_role.private_control_plane.id
}

resource "aws_iam_role_policy" "private_worker_boot" {
  name = "boot"
  policy = templatefile("${path.module}/data/private/aws_iam_role_policy.private_worker_boot.policy.json", {
    key_arn = aws_kms_key.private.arn
  })
  role = aws_iam_role.private_worker.id
}

resource "aws_iam_role_policy_attachment" "private_control_plane_load_balancers" {
  policy_arn = aws_iam_policy.private_load_balancers.arn
  role       = aws_iam_role.private_control_plane.name
}

resource "aws_internet_gateway" "private" {
  tags = merge(local.private_tags, {
    Name = "private"
  })
}

resource "aws_internet_gateway_attachment" "private" {
  internet_gateway_id = aws_internet_gateway.private.id
  vpc_id              = aws_vpc.private.id
}

resource "aws_kms_alias" "private_key" {
  name          = "alias/cluster-operator/private"
  target_key_id = aws_kms_key.private.key_id
}

resource "aws_kms_key" "private" {
  deletion_window_in_days = 30
  description             = "Secrets, bucket and etcd volumes of cluster private"
  enable_key_rotation     = true
  policy                  = file("${path.module}/data/private/aws_kms_key.private.policy.json")
  tags = merge(local.private_tags, {
    Name = "private"
  })
}

resource "aws_launch_template" "private_bastion_launch_template" {
  image_id      = data.aws_ssm_parameter.private_bastion_image_id.insecure_value
  instance_type = "t3.micro"
  name_prefix   = "private-BastionLaunchTemplate-"
  user_data     = base64encode(file("${path.module}/data/private/aws_launch_template.private_bastion_launch_template.user_data"))

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
    security_groups             = [aws_security_group.private_bastion.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "private-bastion"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "bastion"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "private-bastion"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "bastion"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }
}

resource "aws_lb" "private_api" {
  enable_cross_zone_load_balancing = true
  internal                         = false
  ip_address_type                  = "ipv4"
  load_balancer_type               = "network"
  security_groups                  = [aws_security_group.private_load_balancer.id]
  subnets = [
    aws_subnet.private_public_subnet_eu_central_1a.id,
    aws_subnet.private_public_subnet_eu_central_1b.id,
    aws_subnet.private_public_subnet_eu_central_1c.id,
  ]
  tags = merge(local.private_tags, {
    Name = "private-api"
  })

  depends_on = [
    aws_route.private_public_default,
    aws_route_table_association.private_public_subnet_eu_central_1a,
    aws_route_table_association.private_public_subnet_eu_central_1b,
    aws_route_table_association.private_public_subnet_eu_central_1c,
  ]
}

resource "aws_lb_listener" "private_api" {
  load_balancer_arn = aws_lb.private_api.arn
  port              = 6443
  protocol          = "TCP"

  default_action {
    target_group_arn = aws_lb_target_group.private_api.arn
    type             = "forward"
  }
}

resource "aws_lb_target_group" "private_api" {
  connection_termination = true
  deregistration_delay   = 10
  port                   = 6443
  preserve_client_ip     = false
  protocol               = "TCP"
  tags = merge(local.private_tags, {
    Name = "private-api"
  })
  target_type = "instance"
  vpc_id      = aws_vpc.private.id

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

resource "aws_nat_gateway" "private_nat_gateway_eu_central_1a" {
  allocation_id = aws_eip.private_nat_address_eu_central_1a.id
  subnet_id     = aws_subnet.private_public_subnet_eu_central_1a.id
  tags = merge(local.private_tags, {
    Name = "private-eu-central-1a"
  })

  depends_on = [
    aws_route.private_public_default,
  ]
}

resource "aws_nat_gateway" "private_nat_gateway_eu_central_1b" {
  allocation_id = aws_eip.private_nat_address_eu_central_1b.id
  subnet_id     = aws_subnet.private_public_subnet_eu_central_1b.id
  tags = merge(local.private_tags, {
    Name = "private-eu-central-1b"
  })

  depends_on = [
    aws_route.private_public_default,
  ]
}

resource "aws_nat_gateway" "private_nat_gateway_eu_central_1c" {
  allocation_id = aws_eip.private_nat_address_eu_central_1c.id
  subnet_id     = aws_subnet.private_public_subnet_eu_central_1c.id
  tags = merge(local.private_tags, {
    Name = "private-eu-central-1c"
  })

  depends_on = [
    aws_route.private_public_default,
  ]
}

resource "aws_route" "private_private_default_route_eu_central_1a" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.private_nat_gateway_eu_central_1a.id
  route_table_id         = aws_route_table.private_private_route_table_eu_central_1a.id
}

resource "aws_route" "private_private_default_route_eu_central_1b" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.private_nat_gateway_eu_central_1b.id
  route_table_id         = aws_route_table.private_private_route_table_eu_central_1b.id
}

resource "aws_route" "private_private_default_route_eu_central_1c" {
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.private_nat_gateway_eu_central_1c.id
  route_table_id         = aws_route_table.private_private_route_table_eu_central_1c.id
}

resource "aws_route" "private_public_default" {
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.private.id
  route_table_id         = aws_route_table.private_public.id

  depends_on = [
    aws_internet_gateway_attachment.private,
  ]
}

resource "aws_route53_zone" "private" {
  comment       = "Names within cluster private"
  force_destroy = true
  name          = "private.internal"
  tags          = local.private_tags

  vpc {
    vpc_id     = aws_vpc.private.id
    vpc_region = "eu-central-1"
  }
}

resource "aws_route_table" "private_private_route_table_eu_central_1a" {
  tags = merge(local.private_tags, {
    Name = "private-private-eu-central-1a"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_route_table" "private_private_route_table_eu_central_1b" {
  tags = merge(local.private_tags, {
    Name = "private-private-eu-central-1b"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_route_table" "private_private_route_table_eu_central_1c" {
  tags = merge(local.private_tags, {
    Name = "private-private-eu-central-1c"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_route_table" "private_public" {
  tags = merge(local.private_tags, {
    Name = "private-public"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_route_table_association" "private_private_subnet_eu_central_1a" {
  route_table_id = aws_route_table.private_private_route_table_eu_central_1a.id
  subnet_id      = aws_subnet.private_private_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "private_private_subnet_eu_central_1b" {
  route_table_id = aws_route_table.private_private_route_table_eu_central_1b.id
  subnet_id      = aws_subnet.private_private_subnet_eu_central_1b.id
}

resource "aws_route_table_association" "private_private_subnet_eu_central_1c" {
  route_table_id = aws_route_table.private_private_route_table_eu_central_1c.id
  subnet_id      = aws_subnet.private_private_subnet_eu_central_1c.id
}

resource "aws_route_table_association" "private_public_subnet_eu_central_1a" {
  route_table_id = aws_route_table.private_public.id
  subnet_id      = aws_subnet.private_public_subnet_eu_central_1a.id
}

resource "aws_route_table_association" "private_public_subnet_eu_central_1b" {
  route_table_id = aws_route_table.private_public.id
  subnet_id      = aws_subnet.private_public_subnet_eu_central_1b.id
}

resource "aws_route_table_association" "private_public_subnet_eu_central_1c" {
  route_table_id = aws_route_table.private_public.id
  subnet_id      = aws_subnet.private_public_subnet_eu_central_1c.id
}

resource "aws_s3_bucket" "private" {
  bucket        = "private-123456789012-eu-central-1"
  force_destroy = true
  tags = merge(local.private_tags, {
    Name = "private-123456789012-eu-central-1"
  })
}

resource "aws_s3_bucket_lifecycle_configuration" "private" {
  bucket = aws_s3_bucket.private.id

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

resource "aws_s3_bucket_ownership_controls" "private" {
  bucket = aws_s3_bucket.private.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_policy" "private" {
  bucket = aws_s3_bucket.private.id
  policy = templatefile("${path.module}/data/private/aws_s3_bucket_policy.private.policy.json", {
    worker_role_arn = aws_iam_role.private_worker.arn
  })

  depends_on = [
    aws_iam_role_policy.private_worker_boot,
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]
}

resource "aws_s3_bucket_public_access_block" "private" {
  block_public_acls       = true
  block_public_policy     = false
  bucket                  = aws_s3_bucket.private.id
  ignore_public_acls      = true
  restrict_public_buckets = false
}

resource "aws_s3_bucket_server_side_encryption_configuration" "private" {
  bucket = aws_s3_bucket.private.id

  rule {
    bucket_key_enabled = false

    apply_server_side_encryption_by_default {
      kms_master_key_id = aws_kms_key.private.arn
      sse_algorithm     = "aws:kms"
    }
  }
}

resource "aws_s3_bucket_versioning" "private" {
  bucket = aws_s3_bucket.private.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "private_nodeup_amd64" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/octet-stream"
  key          = "nodeup/0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a/nodeup-linux-amd64"
  source       = "${path.module}/data/private/nodeup-0a0a0a0a0a0a0a0a-linux-amd64"
  source_hash  = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_oidc__well_known_openid_configuration" {
  bucket                 = aws_s3_bucket.private.id
  content                = file("${path.module}/data/private/oidc.well-known.openid-configuration.json")
  content_type           = "application/json"
  key                    = "oidc/.well-known/openid-configuration"
  server_side_encryption = "AES256"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_ca_crt" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.crt"
  source       = "${path.module}/data/private/secrets/ca.crt"
  source_hash  = "8d87c7e6232e52fa53f493447352b891ff91df98b442a25fed0603447ee7f2a1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_ca_key" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/ca.key"
  source       = "${path.module}/data/private/secrets/ca.key"
  source_hash  = "db566733324827f37ba4524bc19c08b98be934431d5aa2f7a3e9acdd7fb3880d"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_etcd_ca_crt" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.crt"
  source       = "${path.module}/data/private/secrets/etcd/ca.crt"
  source_hash  = "48a257a520247822cf428dec1da57950841eed5ce00e371fd876a27128b2cdb1"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_etcd_ca_key" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/etcd/ca.key"
  source       = "${path.module}/data/private/secrets/etcd/ca.key"
  source_hash  = "05ea500e8592d3f68793845e5c9bb73dc3135c46c382a067ec1e57f23d5c81f9"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_front_proxy_ca_crt" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.crt"
  source       = "${path.module}/data/private/secrets/front-proxy-ca.crt"
  source_hash  = "4392092b02e71cfd5af6c212d921cde5da6ce33f4710406e34b7491d44275f30"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_front_proxy_ca_key" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/front-proxy-ca.key"
  source       = "${path.module}/data/private/secrets/front-proxy-ca.key"
  source_hash  = "f3868fa1e90e074786fecb40cbb76f4eaed5fd9be2e53af7caf732db3507095f"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_sa_key" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.key"
  source       = "${path.module}/data/private/secrets/sa.key"
  source_hash  = "ce654ee508b543ac52ad50622f72f78ef2c50e48d694504213360c04383b382a"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_s3_object" "private_pki_sa_pub" {
  bucket       = aws_s3_bucket.private.id
  content_type = "application/x-pem-file"
  key          = "pki/sa.pub"
  source       = "${path.module}/data/private/secrets/sa.pub"
  source_hash  = "1abae4963566bd51fe56ed38e55cfd271bd722854dbac851b9c3ce7dd8e6faf8"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "private_bastion" {
  description = "Bastions of cluster private"
  name_prefix = "private-BastionSecurityGroup-"
  tags = merge(local.private_tags, {
    Name = "private-bastion"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_security_group" "private_control_plane" {
  description = "Control plane of cluster private"
  name_prefix = "private-ControlPlaneSecurityGroup-"
  tags = merge(local.private_tags, {
    Name = "private-control-plane"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_security_group" "private_load_balancer" {
  description = "API load balancer of cluster private"
  name_prefix = "private-LoadBalancerSecurityGroup-"
  tags = merge(local.private_tags, {
    Name = "private-api"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_security_group" "private_worker" {
  description = "Workers of cluster private"
  name_prefix = "private-WorkerSecurityGroup-"
  tags = merge(local.private_tags, {
    Name = "private-worker"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_subnet" "private_private_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.20.0.0/20"
  tags = merge(local.private_tags, {
    Name                              = "private-private-eu-central-1a"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_subnet" "private_private_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.20.32.0/20"
  tags = merge(local.private_tags, {
    Name                              = "private-private-eu-central-1b"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_subnet" "private_private_subnet_eu_central_1c" {
  availability_zone = "eu-central-1c"
  cidr_block        = "10.20.64.0/20"
  tags = merge(local.private_tags, {
    Name                              = "private-private-eu-central-1c"
    "kubernetes.io/role/internal-elb" = "1"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_subnet" "private_public_subnet_eu_central_1a" {
  availability_zone = "eu-central-1a"
  cidr_block        = "10.20.16.0/21"
  tags = merge(local.private_tags, {
    Name                     = "private-public-eu-central-1a"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_subnet" "private_public_subnet_eu_central_1b" {
  availability_zone = "eu-central-1b"
  cidr_block        = "10.20.48.0/21"
  tags = merge(local.private_tags, {
    Name                     = "private-public-eu-central-1b"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_subnet" "private_public_subnet_eu_central_1c" {
  availability_zone = "eu-central-1c"
  cidr_block        = "10.20.80.0/21"
  tags = merge(local.private_tags, {
    Name                     = "private-public-eu-central-1c"
    "kubernetes.io/role/elb" = "1"
  })
  vpc_id = aws_vpc.private.id
}

resource "aws_vpc" "private" {
  cidr_block           = "10.20.0.0/16"
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags = merge(local.private_tags, {
    Name = "private"
  })
}

resource "aws_vpc_endpoint" "private_s3" {
  route_table_ids = [
    aws_route_table.private_public.id,
    aws_route_table.private_private_route_table_eu_central_1a.id,
    aws_route_table.private_private_route_table_eu_central_1b.id,
    aws_route_table.private_private_route_table_eu_central_1c.id,
  ]
  service_name      = "com.amazonaws.eu-central-1.s3"
  tags              = local.private_tags
  vpc_endpoint_type = "Gateway"
  vpc_id            = aws_vpc.private.id
}

resource "aws_vpc_security_group_egress_rule" "private_bastion" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.private_bastion.id
}

resource "aws_vpc_security_group_egress_rule" "private_control_plane" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.private_control_plane.id
}

resource "aws_vpc_security_group_egress_rule" "private_load_balancer" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.private_load_balancer.id
}

resource "aws_vpc_security_group_egress_rule" "private_worker" {
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  security_group_id = aws_security_group.private_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "private_bastion_ssh_from_192x_0x_2x_0p_24" {
  cidr_ipv4         = "192.0.2.0/24"
  description       = "SSH"
  from_port         = 22
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.private_bastion.id
  to_port           = 22
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_api_from_control_plane" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_api_from_load_balancer" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_load_balancer.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_api_from_worker" {
  description                  = "Kubernetes API"
  from_port                    = 6443
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_cilium_health_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_cilium_health_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 4240
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 4240
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_echo_from_control_plane" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_echo_from_worker" {
  description                  = "Health checks of Cilium"
  from_port                    = 8
  ip_protocol                  = "icmp"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = -1
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_etcd_from_control_plane" {
  description                  = "etcd, clients and members"
  from_port                    = 2379
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 2380
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_kubelet_from_control_plane" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_kubelet_from_worker" {
  description                  = "Logs, exec and metrics from the kubelet"
  from_port                    = 10250
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 10250
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_ssh_from_bastion" {
  description                  = "SSH"
  from_port                    = 22
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_bastion.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 22
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_vxlan_from_control_plane" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_vxlan_from_worker" {
  description                  = "Packets of pods, wrapped by Calico"
  from_port                    = 4789
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 4789
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_vxlan_linux_from_control_plane" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "private_control_plane_vxlan_linux_from_worker" {
  description                  = "Packets of pods, wrapped by Cilium or Flannel"
  from_port                    = 8472
  ip_protocol                  = "udp"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_control_plane.id
  to_port                      = 8472
}

resource "aws_vpc_security_group_ingress_rule" "private_load_balancer_api_from_192x_0x_2x_0p_24" {
  cidr_ipv4         = "192.0.2.0/24"
  description       = "Kubernetes API"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.private_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_load_balancer_api_from_198x_51x_100x_0p_24" {
  cidr_ipv4         = "198.51.100.0/24"
  description       = "Kubernetes API"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.private_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_load_balancer_api_from_nat_eu_central_1a" {
  cidr_ipv4         = "${aws_eip.private_nat_address_eu_central_1a.public_ip}/32"
  description       = "Nodes, by their NAT gateway"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.private_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_load_balancer_api_from_nat_eu_central_1b" {
  cidr_ipv4         = "${aws_eip.private_nat_address_eu_central_1b.public_ip}/32"
  description       = "Nodes, by their NAT gateway"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.private_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_load_balancer_api_from_nat_eu_central_1c" {
  cidr_ipv4         = "${aws_eip.private_nat_address_eu_central_1c.public_ip}/32"
  description       = "Nodes, by their NAT gateway"
  from_port         = 6443
  ip_protocol       = "tcp"
  security_group_id = aws_security_group.private_load_balancer.id
  to_port           = 6443
}

resource "aws_vpc_security_group_ingress_rule" "private_worker_all_from_control_plane" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.private_control_plane.id
  security_group_id            = aws_security_group.private_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "private_worker_all_from_worker" {
  description                  = "Pods, host ports and webhooks"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.private_worker.id
  security_group_id            = aws_security_group.private_worker.id
}

resource "aws_vpc_security_group_ingress_rule" "private_worker_ssh_from_bastion" {
  description                  = "SSH"
  from_port                    = 22
  ip_protocol                  = "tcp"
  referenced_security_group_id = aws_security_group.private_bastion.id
  security_group_id            = aws_security_group.private_worker.id
  to_port                      = 22
}

# Kubernetes cluster private: slot 0 of the control plane
locals {
  private_control_plane_0_bundle = replace(replace(file("${path.module}/data/private/private-control-plane-0.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.private_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.private.zone_id)
  private_control_plane_0_tags = {
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "0"
    "cost-centre"                    = "4711"
    "kubernetes.io/cluster/private"  = "owned"
    team                             = "platform"
  }
}

data "aws_ssm_parameter" "private_control_plane_0_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "private_control_plane_0" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "private-control-plane-0-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.private_api.arn]
  vpc_zone_identifier       = [aws_subnet.private_private_subnet_eu_central_1a.id]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.private_control_plane_0.id
    version = aws_launch_template.private_control_plane_0.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "private-control-plane-0"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "private"
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
    key                 = "cost-centre"
    propagate_at_launch = true
    value               = "4711"
  }

  tag {
    key                 = "kubernetes.io/cluster/private"
    propagate_at_launch = true
    value               = "owned"
  }

  tag {
    key                 = "team"
    propagate_at_launch = true
    value               = "platform"
  }

  depends_on = [
    aws_s3_object.private_control_plane_0_bundle,
    aws_s3_object.private_nodeup_amd64,
    aws_s3_object.private_oidc__well_known_openid_configuration,
    aws_s3_object.private_pki_ca_crt,
    aws_s3_object.private_pki_ca_key,
    aws_s3_object.private_pki_etcd_ca_crt,
    aws_s3_object.private_pki_etcd_ca_key,
    aws_s3_object.private_pki_front_proxy_ca_crt,
    aws_s3_object.private_pki_front_proxy_ca_key,
    aws_s3_object.private_pki_sa_key,
    aws_s3_object.private_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "private_control_plane_0_drain" {
  autoscaling_group_name = aws_autoscaling_group.private_control_plane_0.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "private_control_plane_0" {
  image_id      = data.aws_ssm_parameter.private_control_plane_0_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "private-control-plane-0-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/private/aws_launch_template.private_control_plane_0.user_data"), "3cec9a8c00569200a51bd6001248dac67734a5b9f332f0e2e1417802b44c72a0", sha256(local.private_control_plane_0_bundle)))

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
    name = aws_iam_instance_profile.private_control_plane.name
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
    security_groups             = [aws_security_group.private_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "private-control-plane-0"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "private-control-plane-0"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "0"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }
}

resource "aws_s3_object" "private_control_plane_0_bundle" {
  bucket       = aws_s3_bucket.private.id
  content      = local.private_control_plane_0_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.private_control_plane_0_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster private: slot 1 of the control plane
locals {
  private_control_plane_1_bundle = replace(replace(file("${path.module}/data/private/private-control-plane-1.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.private_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.private.zone_id)
  private_control_plane_1_tags = {
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "1"
    "cost-centre"                    = "4711"
    "kubernetes.io/cluster/private"  = "owned"
    team                             = "platform"
  }
}

data "aws_ssm_parameter" "private_control_plane_1_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "private_control_plane_1" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "private-control-plane-1-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.private_api.arn]
  vpc_zone_identifier       = [aws_subnet.private_private_subnet_eu_central_1b.id]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.private_control_plane_1.id
    version = aws_launch_template.private_control_plane_1.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "private-control-plane-1"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "private"
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
    key                 = "cost-centre"
    propagate_at_launch = true
    value               = "4711"
  }

  tag {
    key                 = "kubernetes.io/cluster/private"
    propagate_at_launch = true
    value               = "owned"
  }

  tag {
    key                 = "team"
    propagate_at_launch = true
    value               = "platform"
  }

  depends_on = [
    aws_s3_object.private_control_plane_1_bundle,
    aws_s3_object.private_nodeup_amd64,
    aws_s3_object.private_oidc__well_known_openid_configuration,
    aws_s3_object.private_pki_ca_crt,
    aws_s3_object.private_pki_ca_key,
    aws_s3_object.private_pki_etcd_ca_crt,
    aws_s3_object.private_pki_etcd_ca_key,
    aws_s3_object.private_pki_front_proxy_ca_crt,
    aws_s3_object.private_pki_front_proxy_ca_key,
    aws_s3_object.private_pki_sa_key,
    aws_s3_object.private_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "private_control_plane_1_drain" {
  autoscaling_group_name = aws_autoscaling_group.private_control_plane_1.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "private_control_plane_1" {
  image_id      = data.aws_ssm_parameter.private_control_plane_1_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "private-control-plane-1-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/private/aws_launch_template.private_control_plane_1.user_data"), "aa5c4181349a937144b9322337741794770555a879f7425145f514466ef7c9b7", sha256(local.private_control_plane_1_bundle)))

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
    name = aws_iam_instance_profile.private_control_plane.name
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
    security_groups             = [aws_security_group.private_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "private-control-plane-1"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "1"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "private-control-plane-1"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "1"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }
}

resource "aws_s3_object" "private_control_plane_1_bundle" {
  bucket       = aws_s3_bucket.private.id
  content      = local.private_control_plane_1_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.private_control_plane_1_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster private: slot 2 of the control plane
locals {
  private_control_plane_2_bundle = replace(replace(file("${path.module}/data/private/private-control-plane-2.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.private_api.dns_name)), "tf-output-hostedzone.invalid", aws_route53_zone.private.zone_id)
  private_control_plane_2_tags = {
    "cluster-operator.aws/cluster"   = "private"
    "cluster-operator.aws/namespace" = "default"
    "cluster-operator.aws/operator"  = "aws-operator"
    "cluster-operator.aws/role"      = "control-plane"
    "cluster-operator.aws/slot"      = "2"
    "cost-centre"                    = "4711"
    "kubernetes.io/cluster/private"  = "owned"
    team                             = "platform"
  }
}

data "aws_ssm_parameter" "private_control_plane_2_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "private_control_plane_2" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 1
  min_size                  = 1
  name_prefix               = "private-control-plane-2-AutoScalingGroup-"
  target_group_arns         = [aws_lb_target_group.private_api.arn]
  vpc_zone_identifier       = [aws_subnet.private_private_subnet_eu_central_1c.id]
  wait_for_capacity_timeout = "0"

  launch_template {
    id      = aws_launch_template.private_control_plane_2.id
    version = aws_launch_template.private_control_plane_2.latest_version
  }

  tag {
    key                 = "Name"
    propagate_at_launch = true
    value               = "private-control-plane-2"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "private"
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
    key                 = "cost-centre"
    propagate_at_launch = true
    value               = "4711"
  }

  tag {
    key                 = "kubernetes.io/cluster/private"
    propagate_at_launch = true
    value               = "owned"
  }

  tag {
    key                 = "team"
    propagate_at_launch = true
    value               = "platform"
  }

  depends_on = [
    aws_s3_object.private_control_plane_2_bundle,
    aws_s3_object.private_nodeup_amd64,
    aws_s3_object.private_oidc__well_known_openid_configuration,
    aws_s3_object.private_pki_ca_crt,
    aws_s3_object.private_pki_ca_key,
    aws_s3_object.private_pki_etcd_ca_crt,
    aws_s3_object.private_pki_etcd_ca_key,
    aws_s3_object.private_pki_front_proxy_ca_crt,
    aws_s3_object.private_pki_front_proxy_ca_key,
    aws_s3_object.private_pki_sa_key,
    aws_s3_object.private_pki_sa_pub,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "private_control_plane_2_drain" {
  autoscaling_group_name = aws_autoscaling_group.private_control_plane_2.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 600
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "private_control_plane_2" {
  image_id      = data.aws_ssm_parameter.private_control_plane_2_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "private-control-plane-2-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/private/aws_launch_template.private_control_plane_2.user_data"), "ecb1f2853a98725d627a8a80d56b56c0e2d8ff7ad419803538693107bc368d26", sha256(local.private_control_plane_2_bundle)))

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
    name = aws_iam_instance_profile.private_control_plane.name
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
    security_groups             = [aws_security_group.private_control_plane.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                             = "private-control-plane-2"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "2"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                             = "private-control-plane-2"
      "cluster-operator.aws/cluster"   = "private"
      "cluster-operator.aws/namespace" = "default"
      "cluster-operator.aws/operator"  = "aws-operator"
      "cluster-operator.aws/role"      = "control-plane"
      "cluster-operator.aws/slot"      = "2"
      "cost-centre"                    = "4711"
      "kubernetes.io/cluster/private"  = "owned"
      team                             = "platform"
    }
  }
}

resource "aws_s3_object" "private_control_plane_2_bundle" {
  bucket       = aws_s3_bucket.private.id
  content      = local.private_control_plane_2_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.private_control_plane_2_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

# Kubernetes cluster private: instance group private-workers
locals {
  private_workers_bundle = replace(file("${path.module}/data/private/private-workers.bundle.json"), "tf-output-apiaddress.invalid", lower(aws_lb.private_api.dns_name))
  private_workers_tags = {
    "cluster-operator.aws/cluster"        = "private"
    "cluster-operator.aws/instance-group" = "private-workers"
    "cluster-operator.aws/namespace"      = "default"
    "cluster-operator.aws/operator"       = "aws-operator"
    "cluster-operator.aws/role"           = "worker"
    "cost-centre"                         = "4711"
    "kubernetes.io/cluster/private"       = "owned"
    team                                  = "platform"
  }
}

data "aws_ssm_parameter" "private_workers_image_id" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/amd64/hvm/ebs-gp3/ami-id"
}

resource "aws_autoscaling_group" "private_workers" {
  health_check_grace_period = 0
  health_check_type         = "EC2"
  max_size                  = 9
  min_size                  = 3
  name_prefix               = "private-workers-AutoScalingGroup-"
  vpc_zone_identifier = [
    aws_subnet.private_private_subnet_eu_central_1a.id,
    aws_subnet.private_private_subnet_eu_central_1b.id,
    aws_subnet.private_private_subnet_eu_central_1c.id,
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
        launch_template_id = aws_launch_template.private_workers.id
        version            = aws_launch_template.private_workers.latest_version
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
    value               = "private-workers"
  }

  tag {
    key                 = "cluster-operator.aws/cluster"
    propagate_at_launch = true
    value               = "private"
  }

  tag {
    key                 = "cluster-operator.aws/instance-group"
    propagate_at_launch = true
    value               = "private-workers"
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
    key                 = "cost-centre"
    propagate_at_launch = true
    value               = "4711"
  }

  tag {
    key                 = "kubernetes.io/cluster/private"
    propagate_at_launch = true
    value               = "owned"
  }

  tag {
    key                 = "team"
    propagate_at_launch = true
    value               = "platform"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/enabled"
    propagate_at_launch = false
    value               = "true"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/label/cluster-operator.aws/cluster"
    propagate_at_launch = false
    value               = "private"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/label/cluster-operator.aws/instance-group"
    propagate_at_launch = false
    value               = "private-workers"
  }

  tag {
    key                 = "k8s.io/cluster-autoscaler/private"
    propagate_at_launch = false
    value               = "owned"
  }

  depends_on = [
    aws_s3_object.private_nodeup_amd64,
    aws_s3_object.private_workers_bundle,
  ]

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

resource "aws_autoscaling_lifecycle_hook" "private_workers_drain" {
  autoscaling_group_name = aws_autoscaling_group.private_workers.name
  default_result         = "CONTINUE"
  heartbeat_timeout      = 900
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  name                   = "drain"
}

resource "aws_launch_template" "private_workers" {
  image_id      = data.aws_ssm_parameter.private_workers_image_id.insecure_value
  instance_type = "m6i.large"
  name_prefix   = "private-workers-LaunchTemplate-"
  user_data     = base64encode(replace(file("${path.module}/data/private/aws_launch_template.private_workers.user_data"), "207d391908882555bcc27256d14b8c3ea82813f1cba6d2a516b66e39355b0ada", sha256(local.private_workers_bundle)))

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
    name = aws_iam_instance_profile.private_worker.name
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
    security_groups             = [aws_security_group.private_worker.id]
  }

  tag_specifications {
    resource_type = "network-interface"
    tags = {
      Name                                  = "private-workers"
      "cluster-operator.aws/cluster"        = "private"
      "cluster-operator.aws/instance-group" = "private-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "cost-centre"                         = "4711"
      "kubernetes.io/cluster/private"       = "owned"
      team                                  = "platform"
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags = {
      Name                                  = "private-workers"
      "cluster-operator.aws/cluster"        = "private"
      "cluster-operator.aws/instance-group" = "private-workers"
      "cluster-operator.aws/namespace"      = "default"
      "cluster-operator.aws/operator"       = "aws-operator"
      "cluster-operator.aws/role"           = "worker"
      "cost-centre"                         = "4711"
      "kubernetes.io/cluster/private"       = "owned"
      team                                  = "platform"
    }
  }
}

resource "aws_s3_object" "private_workers_bundle" {
  bucket       = aws_s3_bucket.private.id
  content      = local.private_workers_bundle
  content_type = "application/json"
  key          = "bundles/${sha256(local.private_workers_bundle)}.json"

  depends_on = [
    aws_s3_bucket_lifecycle_configuration.private,
    aws_s3_bucket_ownership_controls.private,
    aws_s3_bucket_public_access_block.private,
    aws_s3_bucket_server_side_encryption_configuration.private,
    aws_s3_bucket_versioning.private,
  ]

  lifecycle {
    create_before_destroy = true
  }
}

output "api_address" {
  description = "The DNS name of the Kubernetes API's load balancer."
  value       = lower(aws_lb.private_api.dns_name)
}

output "api_target_group_arn" {
  description = "The ARN of the load balancer's target group."
  value       = aws_lb_target_group.private_api.arn
}

output "bastion_autoscaling_group_name" {
  description = "The name of the bastions' Auto Scaling group."
  value       = aws_autoscaling_group.private_bastion_auto_scaling_group.name
}

output "bastion_security_group_id" {
  description = "The ID of the security group of the bastions."
  value       = aws_security_group.private_bastion.id
}

output "bucket_name" {
  description = "The name of the cluster's bucket."
  value       = aws_s3_bucket.private.id
}

output "cluster_name" {
  description = "The cluster's name."
  value       = "private"
}

output "control_plane_autoscaling_group_names" {
  description = "The names of the slots' Auto Scaling groups, by slot."
  value = [
    aws_autoscaling_group.private_control_plane_0.name,
    aws_autoscaling_group.private_control_plane_1.name,
    aws_autoscaling_group.private_control_plane_2.name,
  ]
}

output "control_plane_instance_profile_name" {
  description = "The name of the instance profile of the control plane's machines."
  value       = aws_iam_instance_profile.private_control_plane.name
}

output "control_plane_role_arn" {
  description = "The ARN of the role of the control plane's machines."
  value       = aws_iam_role.private_control_plane.arn
}

output "control_plane_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.private_control_plane.name
}

output "control_plane_security_group_id" {
  description = "The ID of the security group of the control plane's machines."
  value       = aws_security_group.private_control_plane.id
}

output "etcd_volume_ids" {
  description = "The IDs of etcd's volumes, by slot."
  value = [
    aws_ebs_volume.private_etcd_volume_0.id,
    aws_ebs_volume.private_etcd_volume_1.id,
    aws_ebs_volume.private_etcd_volume_2.id,
  ]
}

output "hosted_zone_id" {
  description = "The ID of the private hosted zone."
  value       = aws_route53_zone.private.zone_id
}

output "instance_group_autoscaling_group_names" {
  description = "The names of the instance groups' Auto Scaling groups, by instance group."
  value = {
    "private-workers" = aws_autoscaling_group.private_workers.name
  }
}

output "kms_key_arn" {
  description = "The ARN of the cluster's KMS key."
  value       = aws_kms_key.private.arn
}

output "private_subnet_ids" {
  description = "The IDs of the private subnets, by zone."
  value = [
    aws_subnet.private_private_subnet_eu_central_1a.id,
    aws_subnet.private_private_subnet_eu_central_1b.id,
    aws_subnet.private_private_subnet_eu_central_1c.id,
  ]
}

output "public_subnet_ids" {
  description = "The IDs of the public subnets, by zone."
  value = [
    aws_subnet.private_public_subnet_eu_central_1a.id,
    aws_subnet.private_public_subnet_eu_central_1b.id,
    aws_subnet.private_public_subnet_eu_central_1c.id,
  ]
}

output "region" {
  description = "The region that it stands in."
  value       = "eu-central-1"
}

output "service_account_issuer" {
  description = "The issuer's URL, which roles trust."
  value       = "https://private-123456789012-eu-central-1.s3.eu-central-1.amazonaws.com/oidc"
}

output "service_account_issuer_arn" {
  description = "The ARN of the OpenID Connect provider of the cluster's service accounts."
  value       = aws_iam_openid_connect_provider.private_issuer.arn
}

output "vpc_id" {
  description = "The ID of the VPC."
  value       = aws_vpc.private.id
}

output "worker_instance_profile_name" {
  description = "The name of the instance profile of the workers."
  value       = aws_iam_instance_profile.private_worker.name
}

output "worker_role_arn" {
  description = "The ARN of the role of the workers."
  value       = aws_iam_role.private_worker.arn
}

output "worker_role_name" {
  description = "The name of that role."
  value       = aws_iam_role.private_worker.name
}

output "worker_security_group_id" {
  description = "The ID of the security group of the workers."
  value       = aws_security_group.private_worker.id
}
