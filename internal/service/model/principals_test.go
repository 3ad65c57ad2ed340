package model

import (
	"errors"
	"fmt"
	"testing"
)

// TestPrincipals tests whom entries of fields such as spec.senders allow, and that none is public.
func TestPrincipals(t *testing.T) {
	data := map[string]any{"partition": "aws-cn", "region": "cn-north-1", "accountID": "123456789012"}
	for _, c := range []struct {
		entry                map[string]any
		principal, condition string // without a principal, it is refused
	}{
		{map[string]any{"account": "210987654321"}, "map[AWS:arn:aws-cn:iam::210987654321:root]", "<nil>"},
		{map[string]any{"organization": "o-a1b2c3d4e5"}, "map[AWS:*]", "map[StringEquals:map[aws:PrincipalOrgID:o-a1b2c3d4e5]]"},
		{
			map[string]any{"service": "cloudwatch.amazonaws.com", "sourceARN": "arn:aws-cn:cloudwatch:cn-north-1:210987654321:alarm:a"},
			"map[Service:cloudwatch.amazonaws.com]", "map[ArnLike:map[aws:SourceArn:[arn:aws-cn:cloudwatch:cn-north-1:210987654321:alarm:a]]]",
		},
		{
			map[string]any{"service": "s3.amazonaws.com", "sourceARN": "arn:aws-cn:s3:::uploads"},
			"map[Service:s3.amazonaws.com]", "map[ArnLike:map[aws:SourceArn:[arn:aws-cn:s3:::uploads]] StringEquals:map[aws:SourceAccount:123456789012]]",
		},
		{
			map[string]any{"kind": "S3Bucket", "name": "uploads"},
			"map[Service:s3.amazonaws.com]", "map[ArnLike:map[aws:SourceArn:[arn:aws-cn:s3:::uploads]] StringEquals:map[aws:SourceAccount:123456789012]]",
		},
		{
			map[string]any{"kind": "SNSTopic", "name": "news"},
			"map[Service:sns.amazonaws.com]",
			"map[ArnLike:map[aws:SourceArn:[arn:aws-cn:sns:cn-north-1:123456789012:news arn:aws-cn:sns:cn-north-1:123456789012:news.fifo]]]",
		},
		{
			map[string]any{"kind": "EventBridgeRule", "name": "paid"},
			"map[Service:events.amazonaws.com]",
			"map[ArnLike:map[aws:SourceArn:[arn:aws-cn:events:cn-north-1:123456789012:rule/paid arn:aws-cn:events:cn-north-1:123456789012:rule/*/paid]]]",
		},
		{map[string]any{}, "", ""},
		{map[string]any{"service": "s3.amazonaws.com"}, "", ""}, // any bucket of any account
		{map[string]any{"kind": "SQSQueue", "name": "a"}, "", ""},
		{map[string]any{"kind": "S3Bucket"}, "", ""},
	} {
		got, err := principal(c.entry, data)
		if _, refused := errors.AsType[*RefusedError](err); c.principal == "" {
			if !refused {
				t.Errorf("%v: %v, %v", c.entry, got, err)
			}
			continue
		}
		if err != nil || fmt.Sprint(got) != c.principal || fmt.Sprint(condition(c.entry, data)) != c.condition {
			t.Errorf("%v: %v, %v, %v", c.entry, got, condition(c.entry, data), err)
		}
	}
}
