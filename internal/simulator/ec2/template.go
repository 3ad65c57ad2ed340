package ec2

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// launchTemplate is a launch template with its versions.
type launchTemplate struct {
	id, name, creator string
	created           time.Time
	versions          map[int64]*templateVersion
	standard, latest  int64
}

type templateVersion struct {
	number               int64
	created              time.Time
	creator, description string
	data                 *types.ResponseLaunchTemplateData
}

// recast converts one of the SDK's structures to another with the same member names, such as a
// request's launch data to a response's.
func recast[T any](from any) (*T, error) {
	text, err := json.Marshal(from)
	if err != nil {
		return nil, wire.Errorf("InternalError", "cannot encode %T: %v", from, err).WithStatus(500)
	}
	to := new(T)
	if err := json.Unmarshal(text, to); err != nil {
		return nil, wire.Errorf("InternalError", "cannot read %T as %T: %v", from, to, err).WithStatus(500)
	}
	return to, nil
}

func noTemplate(idOrName string) *wire.Error {
	if hexID.MatchString(idOrName) && idOrName[:3] == "lt-" {
		return wire.Errorf(
			"InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", idOrName,
		)
	}
	return wire.Errorf(
		"InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", idOrName,
	)
}

// template returns a launch template by ID or name. The caller holds the lock.
func (r *region) template(id, name *string) (*launchTemplate, error) {
	switch {
	case id != nil && name != nil:
		return nil, wire.Errorf(
			"InvalidParameterCombination", "The parameters LaunchTemplateId and LaunchTemplateName cannot be used together.",
		)
	case id != nil:
		if err := checkID("InvalidLaunchTemplateId", "lt-", *id); err != nil {
			return nil, err
		}
		if t, ok := r.templates[*id]; ok {
			return t, nil
		}
		return nil, noTemplate(*id)
	case name != nil:
		for _, t := range r.templates {
			if t.name == *name {
				return t, nil
			}
		}
		return nil, noTemplate(*name)
	default:
		return nil, missing("LaunchTemplateId or LaunchTemplateName")
	}
}

// version returns a version by its number, $Latest or $Default; "" is the default.
func (t *launchTemplate) version(text string) (*templateVersion, error) {
	number := t.standard
	switch text {
	case "", "$Default":
	case "$Latest":
		number = t.latest
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Invalid launch template version: %s.", text)
		}
		number = n
	}
	v, ok := t.versions[number]
	if !ok {
		return nil, wire.Errorf(
			"InvalidLaunchTemplateId.VersionNotFound",
			"Could not find the specified version %s for the launch template with ID %s.",
			text,
			t.id,
		)
	}
	return v, nil
}

// LaunchTemplate resolves a version (a number, $Latest or $Default) of a launch template, by the
// template's ID or name. It returns the errors of AWS.
func (s *Service) LaunchTemplate(account, regionName, idOrName, version string) (TemplateVersion, error) {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	id, name := &idOrName, (*string)(nil)
	if !hexID.MatchString(idOrName) {
		id, name = nil, &idOrName
	}
	t, err := r.template(id, name)
	if err != nil {
		return TemplateVersion{}, err
	}
	v, err := t.version(version)
	if err != nil {
		return TemplateVersion{}, err
	}
	return TemplateVersion{ID: t.id, Name: t.name, Version: strconv.FormatInt(v.number, 10), Data: v.data}, nil
}

var templateName = lazyregexp.New(`^[a-zA-Z0-9().\-/_]{3,128}$`)

// addTemplate creates a launch template with its first version. The caller holds the lock.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateLaunchTemplate.html
func (s *Service) addTemplate(
	r *region, name, creator, description string, data *types.RequestLaunchTemplateData, tags map[string]string,
) (*launchTemplate, error) {
	if !templateName.MatchString(name) {
		return nil, wire.Errorf(
			"InvalidLaunchTemplateName.MalformedException",
			"The launch template name %q is not valid: it has 3 to 128 letters, digits and ().-/_",
			name,
		)
	}
	for _, t := range r.templates {
		if t.name == name {
			return nil, wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
	}
	if err := s.within(Templates, len(r.templates), "LaunchTemplateLimitExceeded"); err != nil {
		return nil, err
	}
	t := &launchTemplate{
		id: newID("lt"), name: name, creator: creator, created: s.env.Clock.Now(), versions: map[int64]*templateVersion{}, standard: 1,
	}
	if _, err := s.addVersion(t, creator, description, data); err != nil {
		return nil, err
	}
	s.tags(r.Target).Register(t.id, types.ResourceTypeLaunchTemplate, tags)
	r.templates[t.id] = t
	return t, nil
}

// The quotas of launch templates.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/launch-template-restrictions.html
const (
	Templates          vpc.Quota = "LaunchTemplates"
	VersionsOfTemplate vpc.Quota = "VersionsOfLaunchTemplate"
)

var templateQuotas = map[vpc.Quota]int{Templates: 5000, VersionsOfTemplate: 10000}

// within returns an error if n launch templates or versions exhaust the quota. Neither codes nor words of
// AWS are on record; the codes are made as those of EC2's other limits.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func (s *Service) within(q vpc.Quota, n int, code string) error {
	most, ok := s.options.Quotas[q]
	if !ok {
		most = templateQuotas[q]
	}
	if n >= most {
		return wire.Errorf(code, "The quota of %d has been reached.", most)
	}
	return nil
}

// addVersion adds a version to a template.
func (s *Service) addVersion(
	t *launchTemplate, creator, description string, data *types.RequestLaunchTemplateData,
) (*templateVersion, error) {
	if data == nil {
		return nil, missing("LaunchTemplateData")
	}
	if err := s.within(VersionsOfTemplate, len(t.versions), "LaunchTemplateVersionLimitExceeded"); err != nil {
		return nil, err
	}
	response, err := recast[types.ResponseLaunchTemplateData](data)
	if err != nil {
		return nil, err
	}
	if err := checkTemplateData(response); err != nil {
		return nil, err
	}
	t.latest++
	v := &templateVersion{number: t.latest, created: s.env.Clock.Now(), creator: creator, description: description, data: response}
	t.versions[v.number] = v
	return v, nil
}

// checkTemplateData returns the errors that EC2 reports when a template is created.
func checkTemplateData(d *types.ResponseLaunchTemplateData) error {
	if d.UserData != nil {
		if _, err := decodeUserData(*d.UserData); err != nil {
			return err
		}
	}
	if len(d.NetworkInterfaces) > 0 && (len(d.SecurityGroupIds) > 0 || len(d.SecurityGroups) > 0) {
		return wire.Errorf(
			"InvalidParameterCombination",
			"Network interfaces and an instance-level security groups may not be specified on the same request",
		)
	}
	return nil
}

func (t *launchTemplate) describe(tags []types.Tag) *types.LaunchTemplate {
	return &types.LaunchTemplate{
		LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, CreatedBy: &t.creator, CreateTime: &t.created,
		DefaultVersionNumber: aws.Int64(t.standard), LatestVersionNumber: aws.Int64(t.latest), Tags: tags,
	}
}

func (t *launchTemplate) describeVersion(v *templateVersion) types.LaunchTemplateVersion {
	return types.LaunchTemplateVersion{
		LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, VersionNumber: aws.Int64(v.number), CreatedBy: &v.creator,
		CreateTime:     &v.created,
		DefaultVersion: aws.Bool(v.number == t.standard), VersionDescription: wire.Optional(v.description), LaunchTemplateData: v.data,
	}
}
