package throttle

import (
	"net/http"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// refusal is an error with which a service refuses any call.
type refusal struct {
	code, message string
	status        int
}

func (r refusal) err() *wire.Error {
	return &wire.Error{Code: r.code, Message: r.message, Status: r.status}
}

// refusals are the errors of a service.
type refusals struct {
	throttled, failed refusal
	// page documents them.
	page string
}

const rateExceeded = "Rate exceeded"

// unavailable is the server error of most services that have the Query protocol.
var unavailable = refusal{
	"ServiceUnavailable", "The request has failed due to a temporary failure of the server.", http.StatusServiceUnavailable,
}

func throttling(page string) refusals {
	return refusals{refusal{"Throttling", rateExceeded, http.StatusBadRequest}, unavailable, page}
}

func throttlingException(failed, page string) refusals {
	return refusals{
		refusal{"ThrottlingException", rateExceeded, http.StatusBadRequest},
		refusal{failed, "An internal error occurred. Try again.", http.StatusInternalServerError},
		page,
	}
}

// byService are the errors of the services, by signing name. The SDKs retry all of them.
var byService = map[string]refusals{
	"autoscaling":          throttling("https://docs.aws.amazon.com/autoscaling/ec2/APIReference/CommonErrors.html"),
	"cloudformation":       throttling("https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonErrors.html"),
	"elasticloadbalancing": throttling("https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/CommonErrors.html"),
	"iam":                  throttling("https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html"),
	"route53":              throttling("https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html"),
	"sns":                  throttling("https://docs.aws.amazon.com/sns/latest/api/CommonErrors.html"),
	"sts":                  throttling("https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html"),
	"dynamodb": throttlingException("InternalServerError",
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html"),
	"ecr": throttlingException("ServerException", "https://docs.aws.amazon.com/AmazonECR/latest/userguide/common-errors.html"),
	"eks": {
		refusal{"ThrottlingException", rateExceeded, http.StatusTooManyRequests},
		refusal{"ServerException", "An internal error occurred. Try again.", http.StatusInternalServerError},
		"https://docs.aws.amazon.com/eks/latest/APIReference/CommonErrors.html",
	},
	"events": throttlingException("InternalException", "https://docs.aws.amazon.com/eventbridge/latest/APIReference/CommonErrors.html"),
	"kms":    throttlingException("KMSInternalException", "https://docs.aws.amazon.com/kms/latest/developerguide/throttling.html"),
	"pricing": throttlingException("InternalErrorException",
		"https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html"),
	"ssm": throttlingException("InternalServerError", "https://docs.aws.amazon.com/systems-manager/latest/APIReference/CommonErrors.html"),
	"ec2": {
		refusal{"RequestLimitExceeded", "Request limit exceeded.", http.StatusServiceUnavailable},
		refusal{"InternalError", "An internal error has occurred", http.StatusInternalServerError},
		"https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html",
	},
	"s3": {
		refusal{"SlowDown", "Please reduce your request rate.", http.StatusServiceUnavailable},
		refusal{"InternalError", "We encountered an internal error. Please try again.", http.StatusInternalServerError},
		"https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
	},
	"sqs": {
		refusal{"RequestThrottled", "The request was denied due to request throttling.", http.StatusForbidden},
		unavailable,
		"https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html",
	},
}
