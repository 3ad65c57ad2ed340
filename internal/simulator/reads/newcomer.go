package reads

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// newcomer is a kind of resource that a service may not find just after its creation.
type newcomer struct {
	service, create string
	// made is the member of the creation's output, or else of its input, with the resource's name.
	made []string
	// named are the members of inputs that name a resource. An ARN or URL ends with the name.
	named []string
	// only is the only operation that may not find it; empty means any.
	only          string
	code, message string
}

// newcomers are such kinds of services other than EC2:
//
//   - https://docs.aws.amazon.com/kms/latest/developerguide/programming-eventual-consistency.html
//   - https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
var newcomers = []newcomer{
	{
		service: "kms", create: "CreateKey", made: []string{"KeyMetadata", "KeyId"}, named: []string{"KeyId", "TargetKeyId"},
		code: "NotFoundException", message: "Key '%s' does not exist",
	},
	{
		service: "dynamodb", create: "CreateTable", made: []string{"TableName"}, named: []string{"TableName"}, only: "DescribeTable",
		code: "ResourceNotFoundException", message: "Requested resource not found: Table: %s not found",
	},
}

// member returns the text of a member of a structure, by the path to it, or "".
func member(of any, path ...string) string {
	v := reflect.ValueOf(of)
	for _, name := range path {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return ""
		}
		v = v.FieldByName(name)
	}
	if !v.IsValid() {
		return ""
	}
	if text, ok := reflect.TypeAssert[*string](v); ok && text != nil {
		return *text
	}
	return ""
}

// last returns what comes after the last slash.
func last(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// key identifies a resource that was created.
func (n *newcomer) key(call *wire.Call, name string) string {
	return strings.Join([]string{n.service, call.Account, call.Region, last(name)}, "/")
}

// createdBy returns the keys of what a creation made.
func createdBy(call *wire.Call, input, output any) []string {
	if call.Service == "ec2" {
		if !isCreation(call.Operation) {
			return nil
		}
		named := idsIn(input) // for example the volume of a new snapshot
		return slices.DeleteFunc(idsIn(output), func(id string) bool { return slices.Contains(named, id) })
	}
	for i := range newcomers {
		n := &newcomers[i]
		if n.service != call.Service || n.create != call.Operation {
			continue
		}
		name := member(output, n.made...)
		if name == "" {
			name = member(input, n.made...)
		}
		return []string{n.key(call, name)}
	}
	return nil
}

// missing returns the error of a call that does not find a resource that it names, by the key of the
// resource.
func missing(call *wire.Call, input any) map[string]error {
	errs := map[string]error{}
	if call.Service == "ec2" {
		if !isRead(call.Operation) {
			return nil
		}
		for _, id := range idsIn(input) {
			errs[id] = notFound(id)
		}
		return errs
	}
	for i := range newcomers {
		n := &newcomers[i]
		if n.service != call.Service || call.Operation == n.create || n.only != "" && n.only != call.Operation {
			continue
		}
		for _, name := range n.named {
			if text := member(input, name); text != "" {
				message := n.message
				if strings.Contains(message, "%s") {
					message = fmt.Sprintf(message, text)
				}
				errs[n.key(call, text)] = wire.Errorf(n.code, "%s", message)
			}
		}
	}
	return errs
}

// notFound returns EC2's error for an ID that does not exist.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html#api-error-codes-table-specific-actions
func notFound(id string) error {
	prefix, _, _ := strings.Cut(id, "-")
	kind := kinds[prefix]
	return wire.Errorf(kind.code, "%s", fmt.Sprintf(kind.message, id)).WithStatus(http.StatusBadRequest)
}
