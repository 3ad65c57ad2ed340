package ssm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated Parameter Store of all accounts and regions.
type Service struct {
	env     *resource.Env
	regions wire.Store[region]
	ciphers Ciphers
	public  func(region, name string) (value string, ok bool)
}

type region struct {
	wire.Target

	mu         sync.Mutex
	parameters map[string]*parameter
}

// parameter is a parameter with its versions, of which the last one is current.
type parameter struct {
	name, arn string
	tags      map[string]string
	versions  []version
}

type version struct {
	number                                             int64
	value, description, pattern, keyID, user, dataType string
	kind                                               types.ParameterType
	tier                                               types.ParameterTier
	modified                                           time.Time
}

// Option configures the service.
type Option func(*Service)

// WithPublic adds public parameters: public returns the value of a parameter whose name begins with
// /aws/service/, such as the ID of the newest machine image. They can be read in every account, but
// not listed.
// https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-public-parameters.html
func WithPublic(public func(region, name string) (value string, ok bool)) Option {
	return func(s *Service) { s.public = public }
}

// New returns a service without private parameters.
func New(env *resource.Env, options ...Option) *Service {
	s := &Service{env: env}
	for _, option := range options {
		option(s)
	}
	s.regions.New = func(p wire.Target) *region { return &region{Target: p, parameters: map[string]*parameter{}} }
	return s
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "ssm", Describe: s.access, Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "AmazonSSM", APIVersion: "2014-11-06",
		Operations: map[string]wire.Operation{
			"AddTagsToResource":      wire.Op(s.addTags),
			"DeleteParameter":        wire.Op(s.deleteParameter),
			"DeleteParameters":       wire.Op(s.deleteParameters),
			"DescribeParameters":     wire.Op(s.describeParameters),
			"GetParameter":           wire.Op(s.getParameter),
			"GetParameterHistory":    wire.Op(s.getParameterHistory),
			"GetParameters":          wire.Op(s.getParameters),
			"GetParametersByPath":    wire.Op(s.getParametersByPath),
			"ListTagsForResource":    wire.Op(s.listTags),
			"PutParameter":           wire.Op(s.putParameter),
			"RemoveTagsFromResource": wire.Op(s.removeTags),
		},
	}
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

func (p *parameter) current() *version { return &p.versions[len(p.versions)-1] }

var validName = regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`)

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationException", format, args...)
}

func notFound(name string) *wire.Error {
	return wire.Errorf("ParameterNotFound", "Parameter %s not found.", name)
}

// checkName validates a name by AWS's rules.
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
func checkName(name string) error {
	lower := strings.ToLower(strings.TrimPrefix(name, "/"))
	switch {
	case !validName.MatchString(name), len(name) > 1011:
		return validation(
			"Parameter name: can't be prefixed with \"ssm\" (case-insensitive). If formed as a path, it can consist of sub-paths divided by slash symbol; each sub-path can be formed as a mix of letters, numbers and the following 3 symbols .-_",
		)
	case strings.HasPrefix(lower, "aws"):
		return wire.Errorf("AccessDeniedException", "No access to reserved parameter name: %s.", name)
	case strings.HasPrefix(lower, "ssm"):
		return validation("Parameter name: can't be prefixed with \"ssm\" (case-insensitive).")
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return validation("Parameter name must be a fully qualified name.")
	case strings.Count(name, "/") > 15:
		return wire.Errorf(
			"HierarchyLevelLimitExceededException", "Hierarchy level limit exceeded: a parameter name can have at most 15 levels.",
		)
	}
	return nil
}

// check sets the defaults of a version and validates it by AWS's rules.
func (v *version) check() error {
	switch v.kind {
	case types.ParameterTypeString, types.ParameterTypeStringList, types.ParameterTypeSecureString:
	default:
		return wire.Errorf("UnsupportedParameterType", "The parameter type %s is not supported.", v.kind)
	}
	limit := 4096
	switch v.tier {
	case "", types.ParameterTierStandard:
		v.tier = types.ParameterTierStandard
	case types.ParameterTierIntelligentTiering:
		v.tier = types.ParameterTierStandard
		if len(v.value) > limit {
			v.tier, limit = types.ParameterTierAdvanced, 8192
		}
	default:
		limit = 8192
	}
	if v.value == "" {
		return validation(
			"1 validation error detected: Value '' at 'value' failed to satisfy constraint: Member must have length greater than or equal to 1.",
		)
	}
	if len(v.value) > limit {
		return validation("%s tier parameters support a maximum parameter value of %d characters.", v.tier, limit)
	}
	if v.pattern != "" {
		pattern, err := regexp.Compile("^(?:" + v.pattern + ")$")
		if err != nil {
			return wire.Errorf("InvalidAllowedPatternException", "The request does not meet the regular expression requirement.")
		}
		if !pattern.MatchString(v.value) {
			return wire.Errorf(
				"ParameterPatternMismatchException", "Parameter value, cannot be validated against allowedPattern: %s", v.pattern,
			)
		}
	}
	if v.kind == types.ParameterTypeSecureString {
		v.keyID = cmp.Or(v.keyID, "alias/aws/ssm")
	}
	v.dataType = cmp.Or(v.dataType, "text")
	return nil
}

// put creates a parameter or, if overwrite is set, a new version of it. The caller holds the lock.
func (s *Service) put(r *region, name string, v version, overwrite bool) (*parameter, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	p, ok := r.parameters[name]
	if ok && !overwrite {
		return nil, wire.Errorf(
			"ParameterAlreadyExists",
			"The parameter already exists. To overwrite this value, set the overwrite option in the request to true.",
		)
	}
	if ok && v.kind == "" {
		v.kind = p.current().kind
	}
	if !ok && v.kind == "" {
		return nil, validation("A parameter type is required when you create a parameter.")
	}
	if err := v.check(); err != nil {
		return nil, err
	}
	if !ok {
		p = &parameter{name: name, tags: map[string]string{}, arn: r.ARN(s.partition(), "ssm", "parameter/"+strings.TrimPrefix(name, "/"))}
		r.parameters[name] = p
		v.number = 1
	} else {
		v.number = p.current().number + 1
		v.description = cmp.Or(v.description, p.current().description)
	}
	v.modified = s.env.Clock.Now()
	p.versions = append(p.versions, v)
	if len(p.versions) > 100 { // the oldest version without a label is deleted, as in AWS
		p.versions = p.versions[1:]
	}
	return p, nil
}

func (s *Service) putParameter(ctx context.Context, in *ssm.PutParameterInput) (*ssm.PutParameterOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(in.Tags) > 0 && aws.ToBool(in.Overwrite) {
		return nil, validation(
			"Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please remove overwrite flag. To update tags for an existing parameter, please use AddTagsToResource or RemoveTagsFromResource.",
		)
	}
	if err := tagRules.Check(nil, tagMap(in.Tags)); err != nil {
		return nil, err
	}
	next := version{
		value: aws.ToString(in.Value), description: aws.ToString(in.Description), pattern: aws.ToString(in.AllowedPattern),
		keyID: aws.ToString(in.KeyId), dataType: aws.ToString(in.DataType), kind: in.Type, tier: in.Tier,
		user: wire.CallFrom(ctx).Principal,
	}
	arn := r.ARN(s.partition(), "ssm", "parameter/"+strings.TrimPrefix(aws.ToString(in.Name), "/"))
	if err := s.useKey(ctx, "kms:Encrypt", arn, &next); err != nil {
		return nil, err
	}
	p, err := s.put(r, aws.ToString(in.Name), next, aws.ToBool(in.Overwrite))
	if err != nil {
		return nil, err
	}
	maps.Copy(p.tags, tagMap(in.Tags))
	return &ssm.PutParameterOutput{Version: p.current().number, Tier: p.current().tier}, nil
}

// find returns a parameter like [region.find], or a public one.
func (s *Service) find(r *region, id string) (*parameter, *version, string, error) {
	if s.public != nil && strings.HasPrefix(id, "/aws/service/") {
		if value, ok := s.public(r.Region, id); ok {
			p := &parameter{name: id, arn: "arn:" + s.partition() + ":ssm:" + r.Region + "::parameter" + id}
			p.versions = []version{
				{
					number:   1,
					value:    value,
					dataType: "text",
					kind:     types.ParameterTypeString,
					tier:     types.ParameterTierStandard,
					modified: publicSince,
				},
			}
			if strings.HasPrefix(value, "ami-") {
				p.versions[0].dataType = "aws:ec2:image"
			}
			return p, p.current(), "", nil
		}
	}
	return r.find(id)
}

// publicSince is the time of the last change of public parameters.
var publicSince = time.Date(2026, 9, 15, 0, 0, 0, 0, time.UTC)

// find returns a parameter and one of its versions: the one in a selector after a colon, or the
// current one. Names may be ARNs.
func (r *region) find(id string) (p *parameter, v *version, selector string, err error) {
	name := id
	if _, rest, ok := strings.Cut(id, ":parameter/"); ok && strings.HasPrefix(id, "arn:") {
		name = rest
		if _, plain := r.parameters[rest]; !plain {
			name = "/" + rest
		}
	}
	name, selector, selected := strings.Cut(name, ":")
	p, ok := r.parameters[name]
	if !ok {
		return nil, nil, "", notFound(id)
	}
	if !selected {
		return p, p.current(), "", nil
	}
	for i := range p.versions {
		if strconv.FormatInt(p.versions[i].number, 10) == selector {
			return p, &p.versions[i], ":" + selector, nil
		}
	}
	return nil, nil, "", wire.Errorf(
		"ParameterVersionNotFound", "Systems Manager could not find version %s of %s. Verify the version and try again.", selector, name,
	)
}

// shown returns the value as a reader sees it.
func (v *version) shown(decrypt bool) string {
	if v.kind != types.ParameterTypeSecureString || decrypt {
		return v.value
	}
	sum := sha256.Sum256([]byte(v.value))
	return base64.StdEncoding.EncodeToString(append([]byte("simulated ciphertext "), sum[:]...))
}

func (p *parameter) show(v *version, selector string, decrypt *bool) types.Parameter {
	return types.Parameter{
		ARN: &p.arn, Name: &p.name, DataType: &v.dataType, LastModifiedDate: &v.modified, Type: v.kind,
		Value: aws.String(v.shown(aws.ToBool(decrypt))), Version: v.number, Selector: wire.Optional(selector),
	}
}

func (s *Service) getParameter(ctx context.Context, in *ssm.GetParameterInput) (*ssm.GetParameterOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	p, v, selector, err := s.find(r, aws.ToString(in.Name))
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ctx, p, v, selector, in.WithDecryption)
	if err != nil {
		return nil, err
	}
	return &ssm.GetParameterOutput{Parameter: &shown}, nil
}

// Value returns a parameter's value, decrypted, for other simulated services. It returns an error
// if the parameter does not exist.
func (s *Service) Value(_ context.Context, account, regionName, name string) (string, error) {
	r := s.regions.At(wire.Target{Account: account, Region: regionName})
	r.mu.Lock()
	defer r.mu.Unlock()
	_, v, _, err := s.find(r, name)
	if err != nil {
		return "", err
	}
	return v.value, nil
}

func (s *Service) getParameters(ctx context.Context, in *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
	if len(in.Names) == 0 || len(in.Names) > 10 {
		return nil, validation(
			"1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length less than or equal to 10",
		)
	}
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &ssm.GetParametersOutput{Parameters: []types.Parameter{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		p, v, selector, err := s.find(r, name)
		if err != nil {
			out.InvalidParameters = append(out.InvalidParameters, name)
			continue
		}
		shown, err := s.show(ctx, p, v, selector, in.WithDecryption)
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, shown)
	}
	return out, nil
}

func (s *Service) getParametersByPath(ctx context.Context, in *ssm.GetParametersByPathInput) (*ssm.GetParametersByPathOutput, error) {
	path := aws.ToString(in.Path)
	if !strings.HasPrefix(path, "/") {
		return nil, validation(
			"The parameter doesn't meet the parameter name requirements. The parameter name must begin with a forward slash \"/\".",
		)
	}
	path = strings.TrimSuffix(path, "/") + "/"
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	names, err := r.matching(in.ParameterFilters)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		rest, below := strings.CutPrefix(name, path)
		return !below || !aws.ToBool(in.Recursive) && strings.Contains(rest, "/")
	})
	names, next := wire.PageSize{Standard: 10, Most: 10}.Page(names, in.NextToken, in.MaxResults)
	out := &ssm.GetParametersByPathOutput{Parameters: []types.Parameter{}, NextToken: next}
	for _, name := range names {
		p := r.parameters[name]
		shown, err := s.show(ctx, p, p.current(), "", in.WithDecryption)
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, shown)
	}
	return out, nil
}

func (s *Service) describeParameters(ctx context.Context, in *ssm.DescribeParametersInput) (*ssm.DescribeParametersOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	filters := in.ParameterFilters
	for _, f := range in.Filters { // the older form
		filters = append(
			filters, types.ParameterStringFilter{Key: aws.String(string(f.Key)), Values: f.Values, Option: aws.String("BeginsWith")},
		)
	}
	names, err := r.matching(filters)
	if err != nil {
		return nil, err
	}
	names, next := wire.PageSize{Standard: 50, Most: 50}.Page(names, in.NextToken, in.MaxResults)
	out := &ssm.DescribeParametersOutput{Parameters: []types.ParameterMetadata{}, NextToken: next}
	for _, name := range names {
		p := r.parameters[name]
		v := p.current()
		out.Parameters = append(out.Parameters, types.ParameterMetadata{
			ARN: &p.arn, Name: &p.name, Type: v.kind, Tier: v.tier, Version: v.number, LastModifiedDate: &v.modified,
			LastModifiedUser: wire.Optional(v.user), DataType: &v.dataType, Description: wire.Optional(v.description),
			AllowedPattern: wire.Optional(v.pattern), KeyId: wire.Optional(v.keyID), Policies: []types.ParameterInlinePolicy{},
		})
	}
	return out, nil
}

// matching returns the names of the parameters that match all filters.
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_ParameterStringFilter.html
func (r *region) matching(filters []types.ParameterStringFilter) ([]string, error) {
	names := slices.Collect(maps.Keys(r.parameters))
	for _, f := range filters {
		takes, err := filter(f)
		if err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !takes(r.parameters[name]) })
	}
	return names, nil
}

func filter(f types.ParameterStringFilter) (func(*parameter) bool, error) {
	key, option := aws.ToString(f.Key), aws.ToString(f.Option)
	value := func(p *parameter) string {
		switch key {
		case "Name":
			return p.name
		case "Type":
			return string(p.current().kind)
		case "KeyId":
			return p.current().keyID
		case "Tier":
			return string(p.current().tier)
		default:
			return p.tags[strings.TrimPrefix(key, "tag:")]
		}
	}
	if key == "Path" {
		return func(p *parameter) bool {
			return slices.ContainsFunc(f.Values, func(path string) bool {
				rest, below := strings.CutPrefix(p.name, strings.TrimSuffix(path, "/")+"/")
				return below && (option == "Recursive" || !strings.Contains(rest, "/"))
			})
		}, nil
	}
	if !slices.Contains([]string{"Name", "Type", "KeyId", "Tier"}, key) && !strings.HasPrefix(key, "tag:") {
		return nil, wire.Errorf("InvalidFilterKey", "The specified key isn't valid: %s.", key)
	}
	if len(f.Values) == 0 {
		return func(p *parameter) bool { return value(p) != "" }, nil
	}
	return func(p *parameter) bool {
		return slices.ContainsFunc(f.Values, func(want string) bool {
			switch option {
			case "", "Equals":
				return value(p) == want
			case "BeginsWith":
				return strings.HasPrefix(strings.TrimPrefix(value(p), "/"), strings.TrimPrefix(want, "/"))
			default:
				return strings.Contains(value(p), want)
			}
		})
	}, nil
}

func (s *Service) getParameterHistory(ctx context.Context, in *ssm.GetParameterHistoryInput) (*ssm.GetParameterHistoryOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	p, _, _, err := r.find(aws.ToString(in.Name))
	if err != nil {
		return nil, err
	}
	out := &ssm.GetParameterHistoryOutput{}
	for i := range p.versions {
		v := &p.versions[i]
		out.Parameters = append(out.Parameters, types.ParameterHistory{
			Name: &p.name, Type: v.kind, Tier: v.tier, Version: v.number, LastModifiedDate: &v.modified,
			LastModifiedUser: wire.Optional(v.user),
			DataType:         &v.dataType, Description: wire.Optional(v.description), AllowedPattern: wire.Optional(v.pattern),
			KeyId: wire.Optional(v.keyID),
			Value: aws.String(v.shown(aws.ToBool(in.WithDecryption))), Labels: []string{}, Policies: []types.ParameterInlinePolicy{},
		})
	}
	return out, nil
}

func (s *Service) deleteParameter(ctx context.Context, in *ssm.DeleteParameterInput) (*ssm.DeleteParameterOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	p, _, _, err := r.find(aws.ToString(in.Name))
	if err != nil {
		return nil, err
	}
	delete(r.parameters, p.name)
	return nil, nil
}

func (s *Service) deleteParameters(ctx context.Context, in *ssm.DeleteParametersInput) (*ssm.DeleteParametersOutput, error) {
	if len(in.Names) == 0 || len(in.Names) > 10 {
		return nil, validation(
			"1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length less than or equal to 10",
		)
	}
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &ssm.DeleteParametersOutput{DeletedParameters: []string{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if _, ok := r.parameters[name]; !ok {
			out.InvalidParameters = append(out.InvalidParameters, name)
			continue
		}
		delete(r.parameters, name)
		out.DeletedParameters = append(out.DeletedParameters, name)
	}
	return out, nil
}

// withTags runs fn on the tags of a parameter.
// tagRules are the errors for tags. The code for too many is documented; no words of AWS are on
// record.
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AddTagsToResource.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "ValidationException", Message: "aws: prefixed tag key names are not allowed for external use."},
	Key:      tagging.LongKey("ValidationException", "key"),
	Value:    tagging.LongValue("ValidationException", "value"),
	TooMany:  tagging.Refusal{Code: "TooManyTagsError", Message: "The resource has too many tags. At most 50 are allowed."},
}
