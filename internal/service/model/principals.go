package model

import (
	"fmt"
	"strings"
)

// services are the services that act for the objects of a kind of the same namespace, and the ARNs of
// their resources, without account and region if ARNs of the kind have none. A rule of a bus that is
// not the default has the bus before its name.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/grant-destinations-permissions-to-s3.html
// https://docs.aws.amazon.com/sns/latest/dg/subscribe-sqs-queue-to-sns-topic.html
var services = map[string]struct {
	principal string
	arns      []string
}{
	"EventBridgeRule": {"events.amazonaws.com", []string{"events:%s:rule/%s", "events:%s:rule/*/%s"}},
	"S3Bucket":        {"s3.amazonaws.com", []string{"s3:::%s"}},
	"SNSTopic":        {"sns.amazonaws.com", []string{"sns:%s:%s", "sns:%s:%s.fifo"}},
}

// principal returns the Principal of a statement for an entry of a list of fields such as spec.senders:
// an account, an organization, a service, or the service of a kind. None is public: that of an
// organization is everyone only with the condition.
func principal(entry any, data map[string]any) (any, error) {
	text := func(field string) string { return asText(get(field, entry)) }
	switch {
	case text("account") != "":
		return map[string]any{"AWS": fmt.Sprintf("arn:%s:iam::%s:root", asText(data["partition"]), text("account"))}, nil
	case text("organization") != "":
		return map[string]any{"AWS": "*"}, nil
	case text("service") != "" && text("sourceARN") != "":
		return map[string]any{"Service": text("service")}, nil
	case services[text("kind")].principal != "" && text("name") != "":
		return map[string]any{"Service": services[text("kind")].principal}, nil
	}
	return nil, &RefusedError{Message: fmt.Sprintf(
		"The entry %s names no principal; set account, organization, service with sourceARN, or kind with name.", asText(entry))}
}

// condition returns the Condition of a statement for an entry, which [principal] accepts; nil for an
// account. A source whose ARN has no account must be in that of the object.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html#cross-service-confused-deputy-prevention
func condition(entry any, data map[string]any) any {
	text := func(field string) string { return asText(get(field, entry)) }
	switch {
	case text("account") != "":
		return nil
	case text("organization") != "":
		return map[string]any{"StringEquals": map[string]any{"aws:PrincipalOrgID": text("organization")}}
	}
	account := asText(data["accountID"])
	var arns []any
	if arn := text("sourceARN"); arn != "" {
		arns = append(arns, arn)
	}
	for _, form := range services[text("kind")].arns {
		values := []any{text("name")}
		if strings.Count(form, "%s") > 1 {
			values = append([]any{asText(data["region"]) + ":" + account}, values...)
		}
		arns = append(arns, fmt.Sprintf("arn:"+asText(data["partition"])+":"+form, values...))
	}
	sources := map[string]any{"ArnLike": map[string]any{"aws:SourceArn": arns}}
	if len(arns) > 0 && strings.Contains(asText(arns[0]), ":::") {
		sources["StringEquals"] = map[string]any{"aws:SourceAccount": account}
	}
	return sources
}

// RefusedError is the error of a template that refuses the object, with a sentence that names the field and
// the remedy.
type RefusedError struct{ Message string }

// Error returns the sentence.
func (r *RefusedError) Error() string { return r.Message }

// refuse is the template function with which a template refuses an object.
func refuse(format string, values ...any) (any, error) {
	return nil, &RefusedError{Message: fmt.Sprintf(format, values...)}
}
