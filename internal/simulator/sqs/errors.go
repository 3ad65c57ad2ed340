package sqs

import "github.com/aws-operator/aws-operator/internal/simulator/wire"

// queryCodes are the error codes of the Query protocol that differ from the error names of the JSON
// protocol.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-json-faqs.html
var queryCodes = map[string]string{
	"BatchEntryIdsNotDistinct":     "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
	"BatchRequestTooLong":          "AWS.SimpleQueueService.BatchRequestTooLong",
	"EmptyBatchRequest":            "AWS.SimpleQueueService.EmptyBatchRequest",
	"InvalidBatchEntryId":          "AWS.SimpleQueueService.InvalidBatchEntryId",
	"MessageNotInflight":           "AWS.SimpleQueueService.MessageNotInflight",
	"PurgeQueueInProgress":         "AWS.SimpleQueueService.PurgeQueueInProgress",
	"QueueDeletedRecently":         "AWS.SimpleQueueService.QueueDeletedRecently",
	"QueueDoesNotExist":            "AWS.SimpleQueueService.NonExistentQueue",
	"QueueNameExists":              "QueueAlreadyExists",
	"TooManyEntriesInBatchRequest": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
	"UnsupportedOperation":         "AWS.SimpleQueueService.UnsupportedOperation",
}

func missing(parameter string) *wire.Error {
	return wire.Errorf("MissingParameter", "The request must contain the parameter %s.", parameter)
}

func nonExistent() *wire.Error {
	return wire.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
}

func invalidValue(value any, parameter, reason string) *wire.Error {
	return wire.Errorf("InvalidParameterValue", "Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func badHandle(handle string) *wire.Error {
	return wire.Errorf("ReceiptHandleIsInvalid", "The input receipt handle %q is not a valid receipt handle.", handle)
}
