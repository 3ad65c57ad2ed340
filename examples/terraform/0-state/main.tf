# Where a team keeps its clusters and Terraform its states: one bucket, which only the team can read. Create it once, from your own machine.
# --state s3://BUCKET/clusters keeps the definitions and keys of clusters there, with a lock for each cluster. Terraform's own locks are files
# in the bucket, too (use_lockfile, since Terraform 1.10); no table is needed.
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

variable "bucket" {
  type        = string
  description = "The name of the bucket. Names are unique in all of AWS."
}

resource "aws_s3_bucket" "state" {
  bucket = var.bucket
}

# A version that was overwritten or deleted by mistake can be restored for 90 days.
resource "aws_s3_bucket_versioning" "state" {
  bucket = aws_s3_bucket.state.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "state" {
  bucket     = aws_s3_bucket.state.id
  depends_on = [aws_s3_bucket_versioning.state]
  rule {
    id     = "old-versions"
    status = "Enabled"
    filter {}
    noncurrent_version_expiration {
      noncurrent_days = 90
    }
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "state" {
  bucket = aws_s3_bucket.state.id
  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm = "aws:kms"
    }
    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "state" {
  bucket                  = aws_s3_bucket.state.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

output "state" {
  value       = "s3://${aws_s3_bucket.state.id}/clusters"
  description = "What --state and AWS_OPERATOR_STATE are."
}
