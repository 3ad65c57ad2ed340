resource "aws_iam_policy" "aws_operator_1" {
  name   = "aws-operator-1"
  policy = <<-EOT
    {
      "Version": "2012-10-17",
      "Statement": [
        {
          "Sid": "OwnStacks",
          "Effect": "Allow",
          "Action": [
            "cloudformation:ContinueUpdateRollback",
            "cloudformation:CreateChangeSet",
            "cloudformation:CreateStack",
            "cloudformation:DeleteChangeSet",
            "cloudformation:DeleteStack",
            "cloudformation:DescribeChangeSet",
            "cloudformation:DescribeStackEvents",
            "cloudformation:DescribeStackResourceDrifts",
            "cloudformation:DetectStackDrift",
            "cloudformation:DetectStackResourceDrift",
            "cloudformation:ExecuteChangeSet",
            "cloudformation:GetTemplate",
            "cloudformation:ListStackResources",
            "cloudformation:RollbackStack",
            "cloudformation:TagResource",
            "cloudformation:UntagResource",
            "cloudformation:UpdateStack",
            "cloudformation:UpdateTerminationProtection"
          ],
          "Resource": [
            "arn:aws-us-gov:cloudformation:*:*:stack/aws-operator-events/*",
            "arn:aws-us-gov:cloudformation:*:*:stack/aws-operator-dynamodb-*"
          ]
        },
        {
          "Sid": "DriftDetections",
          "Effect": "Allow",
          "Action": [
            "cloudformation:DescribeStackDriftDetectionStatus"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "FindStacks",
          "Effect": "Allow",
          "Action": [
            "cloudformation:DescribeStacks",
            "sts:GetCallerIdentity"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "ReadResources",
          "Effect": "Allow",
          "Action": [
            "cloudformation:GetResource"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "AssumeRoles",
          "Effect": "Allow",
          "Action": [
            "sts:AssumeRole",
            "sts:TagSession"
          ],
          "Resource": [
            "arn:aws-us-gov:iam::210987654321:role/other"
          ]
        },
        {
          "Sid": "Events",
          "Effect": "Allow",
          "Action": [
            "sqs:DeleteMessage",
            "sqs:ReceiveMessage"
          ],
          "Resource": [
            "arn:aws-us-gov:sqs:*:*:aws-operator-events"
          ]
        },
        {
          "Sid": "Validate",
          "Effect": "Allow",
          "Action": [
            "elasticloadbalancing:DescribeTargetHealth"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "ValidateEKS",
          "Effect": "Allow",
          "Action": [
            "eks:DescribeCluster",
            "eks:DescribeNodegroup",
            "eks:ListNodegroups"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "Import",
          "Effect": "Allow",
          "Action": [
            "cloudformation:DescribeStackResources",
            "cloudformation:ListResources"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "Quotas",
          "Effect": "Allow",
          "Action": [
            "ec2:DescribeAddresses",
            "ec2:DescribeInstanceTypes",
            "servicequotas:GetAWSDefaultServiceQuota",
            "servicequotas:GetServiceQuota"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "Images",
          "Effect": "Allow",
          "Action": [
            "ec2:CreateImage",
            "ec2:DescribeImages",
            "ec2:DescribeInstances",
            "ec2:DescribeLaunchTemplateVersions",
            "ec2:DescribeSubnets",
            "ec2:GetConsoleOutput",
            "ec2:RunInstances"
          ],
          "Resource": [
            "*"
          ]
        },
        {
          "Sid": "ImageTags",
          "Effect": "Allow",
          "Action": [
            "ec2:CreateTags"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "StringEquals": {
              "ec2:CreateAction": [
                "CreateImage",
                "RunInstances"
              ]
            }
          }
        },
        {
          "Sid": "ImageParameters",
          "Effect": "Allow",
          "Action": [
            "ssm:GetParameters"
          ],
          "Resource": [
            "arn:aws-us-gov:ssm:*::parameter/aws/service/*"
          ]
        },
        {
          "Sid": "DeleteImages",
          "Effect": "Allow",
          "Action": [
            "ec2:DeleteSnapshot",
            "ec2:DeregisterImage",
            "ec2:TerminateInstances"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "StringLike": {
              "aws:ResourceTag/cluster-operator.aws/image": [
                "*"
              ]
            }
          }
        },
        {
          "Sid": "State",
          "Effect": "Allow",
          "Action": [
            "s3:DeleteObject",
            "s3:GetObject",
            "s3:ListBucket",
            "s3:PutObject"
          ],
          "Resource": [
            "arn:aws-us-gov:s3:::state",
            "arn:aws-us-gov:s3:::state/*"
          ]
        },
        {
          "Sid": "CloudFormationApplicationautoscaling",
          "Effect": "Allow",
          "Action": [
            "application-autoscaling:DeleteScalingPolicy",
            "application-autoscaling:DeregisterScalableTarget",
            "application-autoscaling:DescribeScalableTargets",
            "application-autoscaling:DescribeScalingPolicies",
            "application-autoscaling:DescribeScheduledActions",
            "application-autoscaling:PutScalingPolicy",
            "application-autoscaling:RegisterScalableTarget"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        },
        {
          "Sid": "CloudFormationCloudwatch",
          "Effect": "Allow",
          "Action": [
            "cloudwatch:DeleteAlarms",
            "cloudwatch:DescribeAlarms",
            "cloudwatch:PutMetricAlarm"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        },
        {
          "Sid": "CloudFormationDynamodb",
          "Effect": "Allow",
          "Action": [
            "dynamodb:AssociateTableReplica",
            "dynamodb:BatchWriteItem",
            "dynamodb:CreateTable",
            "dynamodb:CreateTableReplica",
            "dynamodb:DeleteItem",
            "dynamodb:DeleteResourcePolicy",
            "dynamodb:DeleteTable",
            "dynamodb:DescribeContinuousBackups",
            "dynamodb:DescribeContributorInsights",
            "dynamodb:DescribeImport",
            "dynamodb:DescribeKinesisStreamingDestination",
            "dynamodb:DescribeTable",
            "dynamodb:DescribeTimeToLive",
            "dynamodb:DisableKinesisStreamingDestination",
            "dynamodb:EnableKinesisStreamingDestination",
            "dynamodb:GetItem",
            "dynamodb:GetResourcePolicy",
            "dynamodb:ImportTable",
            "dynamodb:ListTables",
            "dynamodb:ListTagsOfResource",
            "dynamodb:PutItem",
            "dynamodb:PutResourcePolicy",
            "dynamodb:Query",
            "dynamodb:Scan",
            "dynamodb:TagResource",
            "dynamodb:UntagResource",
            "dynamodb:UpdateContinuousBackups",
            "dynamodb:UpdateContributorInsights",
            "dynamodb:UpdateItem",
            "dynamodb:UpdateKinesisStreamingDestination",
            "dynamodb:UpdateTable",
            "dynamodb:UpdateTimeToLive"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        },
        {
          "Sid": "CloudFormationEvents",
          "Effect": "Allow",
          "Action": [
            "events:DeleteRule",
            "events:DescribeRule",
            "events:ListRules",
            "events:ListTagsForResource",
            "events:ListTargetsByRule",
            "events:PutRule",
            "events:PutTargets",
            "events:RemoveTargets",
            "events:TagResource",
            "events:UntagResource"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        },
        {
          "Sid": "CloudFormationIam",
          "Effect": "Allow",
          "Action": [
            "iam:CreateServiceLinkedRole"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        },
        {
          "Sid": "CloudFormationKms",
          "Effect": "Allow",
          "Action": [
            "kms:CreateGrant",
            "kms:Decrypt",
            "kms:DescribeKey",
            "kms:Encrypt",
            "kms:ListAliases",
            "kms:RevokeGrant"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        },
        {
          "Sid": "CloudFormationS3",
          "Effect": "Allow",
          "Action": [
            "s3:GetObject",
            "s3:ListBucket"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        }
      ]
    }
  EOT
}

resource "aws_iam_policy" "aws_operator_2" {
  name   = "aws-operator-2"
  policy = <<-EOT
    {
      "Version": "2012-10-17",
      "Statement": [
        {
          "Sid": "CloudFormationSqs",
          "Effect": "Allow",
          "Action": [
            "sqs:CreateQueue",
            "sqs:DeleteQueue",
            "sqs:GetQueueAttributes",
            "sqs:GetQueueUrl",
            "sqs:ListQueueTags",
            "sqs:ListQueues",
            "sqs:SetQueueAttributes",
            "sqs:TagQueue",
            "sqs:UntagQueue"
          ],
          "Resource": [
            "*"
          ],
          "Condition": {
            "ForAnyValue:StringEquals": {
              "aws:CalledVia": [
                "cloudformation.amazonaws.com"
              ]
            }
          }
        }
      ]
    }
  EOT
}
