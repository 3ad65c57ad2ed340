package access

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// The files list, for each operation of the simulator, the actions that it needs, the types of
// resources that each action is on, and the condition keys that come from the request. Each names
// its page of AWS's service authorization reference. A line is one of
//
//	resource TYPE TEMPLATE MEMBER…        an ARN, and the members of inputs that name the resource
//	key NAME MEMBER… [OPERATION]          a condition key and its member
//	late TYPE…                            types about whose resources the service itself decides
//	OPERATION[=ACTION] TYPE [if MEMBER] [to SERVICE]
//
// In a template, {p}, {r} and {a} stand for the partition, the region and the account, and {} for the
// name; a word in braces stands for a member of the input; "-" is the template of EC2. TYPE may be followed by "*" for a resource that the call
// creates, by ":MEMBER" if the operation has a member of its own, and by "?" if the member is
// optional. TYPE "-" is an action without resource types. With "if", the action is needed only for
// requests that have a member; "to" names the service that a role is passed to. Without ACTION, the
// action has the operation's name; an empty one means that no permission is needed.
//
//go:embed actions/*.txt
var files embed.FS

// ResourceType is a type of resources of a service.
type ResourceType struct {
	// Name is the type; Template the ARN with placeholders.
	Name, Template string
	// Members are the members of inputs that may name a resource.
	Members []string
}

// Permission is an action that an operation needs, on the resources of one type.
type Permission struct {
	// Action is the action with its prefix.
	Action string
	// Resource is nil for actions without resource types.
	Resource *ResourceType
	// Members are the members that name the resources.
	Members []string
	// New says that the call creates the resource. Optional says that the permission is not needed
	// for a request that names no resource. Otherwise is the name of the resource of such a request.
	New, Optional bool
	Otherwise     string
	// If is the member without which the permission is not needed.
	If string
	// PassedTo is the service that a role is passed to.
	PassedTo string
	// Late says that the service itself decides.
	Late bool
	// Tags says that the action tags what the operation creates.
	Tags bool
}

// Key is a condition key whose values come from members of inputs.
type Key struct {
	// Name is the key. A name that ends in ":" is followed by the keys of a map.
	Name string
	// Members are the members; the operation, if set, is the only one with the key.
	Members   []string
	Operation string
}

// table is the parsed files.
type table struct {
	permissions map[string][]Permission
	keys        map[string][]Key
}

var loaded = sync.OnceValue(func() *table {
	t, err := load()
	if err != nil {
		panic(err) // the files are part of the program, and a test loads them
	}
	return t
})

// Permissions returns what an operation needs. An operation that is not in the table needs the action
// of its name.
func Permissions(service, operation string) []Permission {
	name := service + ":" + operation
	if found, ok := loaded().permissions[name]; ok {
		return found
	}
	return []Permission{{Action: name}}
}

// Operations returns the operations in the table with the prefix of their service, sorted, as
// "ec2:CreateVolume".
func Operations() []string { return slices.Sorted(maps.Keys(loaded().permissions)) }

// Documented reports whether an operation is in the table.
func Documented(service, operation string) bool {
	_, ok := loaded().permissions[service+":"+operation]
	return ok
}

// Keys returns the condition keys of a service's inputs.
func Keys(service string) []Key { return loaded().keys[service] }

func load() (*table, error) {
	t := &table{permissions: map[string][]Permission{}, keys: map[string][]Key{}}
	entries, err := files.ReadDir("actions")
	if err != nil {
		return nil, fmt.Errorf("read the actions: %w", err)
	}
	for _, entry := range entries {
		data, err := files.ReadFile("actions/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the actions: %w", err)
		}
		f := file{table: t, service: strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), types: map[string]*ResourceType{}}
		for i, line := range strings.Split(string(data), "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if err := f.parse(strings.Fields(line)); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", entry.Name(), i+1, err)
			}
		}
	}
	return t, nil
}

// file is a file that is being parsed.
type file struct {
	*table

	service string
	types   map[string]*ResourceType
	late    []string
}

func (f *file) parse(fields []string) error {
	if len(fields) < 2 {
		return fmt.Errorf("%q has too few words", fields)
	}
	switch fields[0] {
	case "resource":
		r := &ResourceType{Name: fields[1], Template: fields[2], Members: fields[3:]}
		if r.Template == "-" {
			r.Template = "arn:{p}:" + f.service + ":{r}:{a}:" + r.Name + "/{}"
		}
		f.types[r.Name] = r
	case "key":
		key := Key{Name: strings.ToLower(fields[1]), Members: fields[2:]}
		if last := fields[len(fields)-1]; len(fields) > 3 && strings.HasPrefix(last, "Create") {
			key.Members, key.Operation = fields[2:len(fields)-1], last
		}
		f.keys[f.service] = append(f.keys[f.service], key)
	case "late":
		f.late = fields[1:]
	default:
		return f.permission(fields)
	}
	return nil
}

func (f *file) permission(fields []string) error {
	operation, action, named := strings.Cut(fields[0], "=")
	id := f.service + ":" + operation
	if named && action == "" {
		f.permissions[id] = []Permission{}
		return nil
	}
	if !named {
		action = operation
	}
	p := Permission{Action: action}
	if !strings.Contains(action, ":") {
		p.Action = f.service + ":" + action
	}
	for rest := fields[2:]; len(rest) >= 2; rest = rest[2:] {
		switch rest[0] {
		case "if":
			p.If = rest[1]
			p.Tags = rest[1] == "Tags" || rest[1] == "TagSpecifications"
		case "to":
			p.PassedTo = rest[1]
		default:
			return fmt.Errorf("%q is neither if nor to", rest[0])
		}
	}
	if err := f.on(&p, fields[1]); err != nil {
		return err
	}
	f.permissions[id] = append(f.permissions[id], p)
	return nil
}

// on sets the resource of a permission.
func (f *file) on(p *Permission, text string) error {
	if text == "-" {
		return nil
	}
	text, p.Otherwise, _ = strings.Cut(text, "|")
	text, p.Optional = strings.CutSuffix(text, "?")
	text, p.New = strings.CutSuffix(text, "*")
	name, member, own := strings.Cut(text, ":")
	p.Resource = f.types[name]
	if p.Resource == nil {
		return fmt.Errorf("there is no resource type %q", name)
	}
	p.Members = p.Resource.Members
	if own {
		p.Members = []string{member}
	}
	p.Late = slices.Contains(f.late, name)
	return nil
}

// ARN returns the ARN of a resource by its name, which may be an ARN itself.
func (t *ResourceType) ARN(partition, region, account, name string) string {
	if strings.HasPrefix(name, "arn:") {
		return name
	}
	if _, rest, isURL := strings.Cut(name, "://"); isURL { // of a queue, or an identity provider
		parts := strings.Split(rest, "/")
		if name = rest; len(parts) >= 3 && strings.Contains(t.Template, ":sqs:") { //nolint:mnd // host, account and name
			account, name = parts[len(parts)-2], parts[len(parts)-1]
		}
	}
	if strings.HasPrefix(name, "/aws/service/") && strings.Contains(t.Template, ":ssm:") {
		account = "" // of a public parameter, in denials, too: https://github.com/aws-samples/sample-OpenClaw-on-AWS-with-Bedrock/issues/65
	}
	return strings.NewReplacer("{p}", partition, "{r}", region, "{a}", account, "{}", strings.TrimPrefix(name, "/")).Replace(t.Template)
}
