package reads

import (
	"reflect"
	"slices"
	"strings"
)

// unordered are the reads of each service whose order AWS does not document; for EC2, these are all
// that describe.
var unordered = map[string][]string{
	"autoscaling":          {"DescribeAutoScalingGroups", "DescribeAutoScalingInstances", "DescribeTags"},
	"cloudformation":       {"DescribeStacks", "DescribeStackResources"},
	"elasticloadbalancing": {"DescribeListeners", "DescribeLoadBalancers", "DescribeTags", "DescribeTargetGroups", "DescribeTargetHealth"},
}

func isUnordered(service, operation string) bool {
	return service == "ec2" && strings.HasPrefix(operation, "Describe") || slices.Contains(unordered[service], operation)
}

// nested are the types of structures whose order inside of results varies, too. That of others may
// have a meaning, for example of name servers in DHCP options.
var nested = []string{"Instance", "Tag", "TagDescription"}

// shuffled returns a copy of an output in which results and their tags have another order. The
// original may be what the service stores.
func (r *Reads) shuffled(output any) any { return r.shuffle(reflect.ValueOf(output), true).Interface() }

// shuffle copies a value. All of its own lists get another order if they are results, otherwise only
// those of nested types.
func (r *Reads) shuffle(v reflect.Value, results bool) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return v
		}
		made := reflect.New(v.Type().Elem())
		made.Elem().Set(r.shuffle(v.Elem(), results))
		return made
	case reflect.Struct:
		made := reflect.New(v.Type()).Elem()
		made.Set(v)
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Name != "ResultMetadata" {
				made.Field(i).Set(r.shuffle(v.Field(i), results))
			}
		}
		return made
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.Struct {
			return v
		}
		order := r.random.Perm(v.Len())
		if !results && !slices.Contains(nested, v.Type().Elem().Name()) {
			slices.Sort(order)
		}
		made := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for to, from := range order {
			made.Index(to).Set(r.shuffle(v.Index(from), false))
		}
		return made
	default:
		return v
	}
}

// smallest are the smallest pages that a caller may ask for, by service: the documentation of each
// operation's MaxResults, MaxRecords or PageSize. The simulator reduces no other pages.
var smallest = map[string]int32{"ec2": 5, "autoscaling": 1, "elasticloadbalancing": 1}

// shrinkPage reduces the page that a caller asks for, in half of all reads. Without a size, EC2
// returns everything.
func (r *Reads) shrinkPage(service string, input any) {
	least, ok := smallest[service]
	if !ok || r.random.IntN(2) == 0 {
		return
	}
	v := reflect.ValueOf(input).Elem()
	for _, name := range []string{"MaxResults", "MaxRecords", "PageSize"} {
		field := v.FieldByName(name)
		if !field.IsValid() {
			continue
		}
		if size, ok := reflect.TypeAssert[*int32](field); ok && size != nil && *size > least {
			*size = least + r.random.Int32N(*size-least)
		}
	}
}

// kinds are the resources that a read may not find yet, by the prefix of their IDs, with EC2's error.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
var kinds = map[string]struct{ code, message string }{
	"i":    {"InvalidInstanceID.NotFound", "The instance ID '%s' does not exist"},
	"vol":  {"InvalidVolume.NotFound", "The volume '%s' does not exist."},
	"snap": {"InvalidSnapshot.NotFound", "The snapshot '%s' does not exist."},
	"sg":   {"InvalidGroup.NotFound", "The security group '%s' does not exist"},
}

// missesOneIn returns of how many reads one does not find a new resource. Snapshots are rarely late:
// tools that describe them at once have seen that once for a dozen, or once in a week of runs, and
// Terraform's AWS provider does not even repeat the read.
// https://github.com/cmachler/aws-lambda-ebs-backups/issues/13
// https://github.com/ansible-collections/amazon.aws/issues/119
func missesOneIn(id string) int {
	if strings.HasPrefix(id, "snap-") {
		return 20
	}
	return 2
}

// staysFound reports whether a resource that a read has found is found by all later ones. Terraform's
// AWS provider finds a new security group three times in a row, and a new table once, and relies on
// that afterwards.
// https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/wait.go
// https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/dynamodb/wait.go
func staysFound(id string) bool {
	prefix, _, _ := strings.Cut(id, "-")
	_, ofEC2 := kinds[prefix]
	return !ofEC2 || prefix == "sg"
}

// idsIn returns the IDs of such resources in an input or output: in its own members, in lists of IDs,
// and in lists of instances or of resources to tag.
func idsIn(value any) []string { return appendIDs(nil, reflect.ValueOf(value)) }

func appendIDs(found []string, v reflect.Value) []string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return appendIDs(found, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if holdsIDs(v.Type().Field(i)) {
				found = appendIDs(found, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = appendIDs(found, v.Index(i))
		}
	case reflect.String:
		if prefix, _, _ := strings.Cut(v.String(), "-"); kinds[prefix].code != "" {
			return append(found, v.String())
		}
	default:
	}
	return found
}

// holdsIDs reports whether a member of an input or output is an ID, or a list of IDs or of instances.
func holdsIDs(member reflect.StructField) bool {
	return member.IsExported() &&
		(strings.HasSuffix(member.Name, "Id") || strings.HasSuffix(member.Name, "Ids") || member.Name == "Instances" ||
			member.Name == "Resources")
}
