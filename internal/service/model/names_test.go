package model_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/service/model"
)

func TestFieldName(t *testing.T) {
	for property, want := range map[string]string{
		"QueueName":                       "queueName",
		"DBInstanceClass":                 "dbInstanceClass",
		"KMSKeyId":                        "kmsKeyId",
		"ARN":                             "arn",
		"Arn":                             "arn",
		"S3BucketName":                    "s3BucketName",
		"EnableIAMDatabaseAuthentication": "enableIAMDatabaseAuthentication",
		"VPCSecurityGroups":               "vpcSecurityGroups",
		"Name":                            "name",
		"name":                            "name",
		"":                                "",
	} {
		if got := model.FieldName(property); got != want {
			t.Errorf("FieldName(%q) is %q, want %q", property, got, want)
		}
	}
}
