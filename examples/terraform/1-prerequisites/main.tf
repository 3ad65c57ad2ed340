# What is there before the cluster: a VPC with public and private subnets in three zones, the ways out, and a zone of names.
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
  region = var.region
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "cluster" {
  type    = string
  default = "demo"
}

variable "domain" {
  type    = string
  default = "example.com"
}

locals {
  zones = { for i, letter in ["a", "b", "c"] : "${var.region}${letter}" => i }
  # By these the cluster's load balancers find their subnets.
  shared = { "kubernetes.io/cluster/${var.cluster}" = "shared" }
}

resource "aws_vpc" "this" {
  cidr_block           = "10.20.0.0/16"
  enable_dns_support   = true
  enable_dns_hostnames = true
  tags                 = merge(local.shared, { Name = var.cluster })
}

resource "aws_subnet" "private" {
  for_each          = local.zones
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 4, each.value)
  tags              = merge(local.shared, { Name = "${var.cluster}-private-${each.key}", "kubernetes.io/role/internal-elb" = "1" })
}

resource "aws_subnet" "public" {
  for_each          = local.zones
  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 8, 200 + each.value)
  tags              = merge(local.shared, { Name = "${var.cluster}-public-${each.key}", "kubernetes.io/role/elb" = "1" })
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = { Name = var.cluster }
}

resource "aws_eip" "nat" {
  domain     = "vpc"
  tags       = { Name = var.cluster }
  depends_on = [aws_internet_gateway.this]
}

resource "aws_nat_gateway" "this" {
  allocation_id = aws_eip.nat.id
  subnet_id     = aws_subnet.public["${var.region}a"].id
  tags          = { Name = var.cluster }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }
  tags = { Name = "${var.cluster}-public" }
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id
  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.this.id
  }
  tags = { Name = "${var.cluster}-private" }
}

resource "aws_route_table_association" "public" {
  for_each       = aws_subnet.public
  subnet_id      = each.value.id
  route_table_id = aws_route_table.public.id
}

resource "aws_route_table_association" "private" {
  for_each       = aws_subnet.private
  subnet_id      = each.value.id
  route_table_id = aws_route_table.private.id
}

resource "aws_route53_zone" "this" {
  name          = var.domain
  force_destroy = true
}

output "cluster" {
  value = var.cluster
}

output "region" {
  value = var.region
}

output "vpc_id" {
  value = aws_vpc.this.id
}

output "private_subnets" {
  value = { for zone, subnet in aws_subnet.private : zone => subnet.id }
}

output "public_subnets" {
  value = { for zone, subnet in aws_subnet.public : zone => subnet.id }
}

output "zone_id" {
  value = aws_route53_zone.this.zone_id
}

output "domain" {
  value = var.domain
}
