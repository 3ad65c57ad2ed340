# One resource of each simulated service that Terraform knows, by the endpoint of
# the environment (AWS_ENDPOINT_URL).
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

provider "aws" {
  skip_credentials_validation = true
  skip_metadata_api_check     = true
}

resource "aws_sqs_queue" "this" {
  name = "terraform"
}

resource "aws_sns_topic" "this" {
  name = "terraform"
}

resource "aws_dynamodb_table" "this" {
  name         = "terraform"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
}

resource "aws_cloudformation_stack" "this" {
  name          = "terraform"
  template_body = jsonencode({ Resources = { Topic = { Type = "AWS::SNS::Topic" } } })
}

output "queue" {
  value = aws_sqs_queue.this.arn
}
