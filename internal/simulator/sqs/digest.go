package sqs

import (
	"crypto/md5" //nolint:gosec // SQS's own checksum
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // SQS's own checksum
	return hex.EncodeToString(sum[:])
}

// attributesMD5 returns the checksum of a message's attributes, or "" if there are none.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
func attributesMD5(attributes map[string]types.MessageAttributeValue) string {
	if len(attributes) == 0 {
		return ""
	}
	sum := md5.New() //nolint:gosec // SQS's own checksum
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		writeSized(sum, []byte(name))
		writeSized(sum, []byte(aws.ToString(value.DataType)))
		if strings.HasPrefix(aws.ToString(value.DataType), "Binary") {
			sum.Write([]byte{2})
			writeSized(sum, value.BinaryValue)
		} else {
			sum.Write([]byte{1})
			writeSized(sum, []byte(aws.ToString(value.StringValue)))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func writeSized(h hash.Hash, data []byte) {
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data)))) //nolint:gosec // messages are at most 1 MiB
	h.Write(data)
}

var (
	validAttributeName = lazyregexp.New(`^[A-Za-z0-9_.-]{1,256}$`)
	validDataType      = lazyregexp.New(`^(String|Number|Binary)(\..+)?$`)
)

func checkMessageAttributes(attributes map[string]types.MessageAttributeValue) error {
	if len(attributes) > 10 {
		return invalidValue(len(attributes), "MessageAttributes", "A message can have at most 10 attributes.")
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v := attributes[name]
		dataType := aws.ToString(v.DataType)
		if !validAttributeName.MatchString(name) {
			return invalidValue(name, "MessageAttributeName", "Can only include alphanumeric characters, hyphens, underscores and periods.")
		}
		if !validDataType.MatchString(dataType) {
			return invalidValue(
				dataType,
				"DataType",
				"The type of message (user) attribute '"+name+"' is invalid. You must use only the following supported type prefixes: Binary, Number, String.",
			)
		}
		if strings.HasPrefix(dataType, "Binary") != (v.BinaryValue != nil) || v.BinaryValue == nil && aws.ToString(v.StringValue) == "" {
			return invalidValue(
				name, "MessageAttributes", "The message (user) attribute '"+name+"' must contain a non-empty message attribute value.",
			)
		}
	}
	return nil
}
