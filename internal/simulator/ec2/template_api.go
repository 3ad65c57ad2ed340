package ec2

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) templateOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreateLaunchTemplate":           wire.Op(s.createLaunchTemplate),
		"CreateLaunchTemplateVersion":    wire.Op(s.createLaunchTemplateVersion),
		"DeleteLaunchTemplate":           wire.Op(s.deleteLaunchTemplate),
		"DeleteLaunchTemplateVersions":   wire.Op(s.deleteLaunchTemplateVersions),
		"DescribeLaunchTemplateVersions": wire.Op(s.describeLaunchTemplateVersions),
		"DescribeLaunchTemplates":        wire.Op(s.describeLaunchTemplates),
		"GetLaunchTemplateData":          wire.Op(s.getLaunchTemplateData),
		"ModifyLaunchTemplate":           wire.Op(s.modifyLaunchTemplate),
	}
}

func (s *Service) createLaunchTemplate(ctx context.Context, in *ec2.CreateLaunchTemplateInput) (*ec2.CreateLaunchTemplateOutput, error) {
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeLaunchTemplate)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	t, err := s.addTemplate(
		r,
		aws.ToString(in.LaunchTemplateName),
		wire.CallFrom(ctx).Principal,
		aws.ToString(in.VersionDescription),
		in.LaunchTemplateData,
		tags,
	)
	if err != nil {
		return nil, err
	}
	return &ec2.CreateLaunchTemplateOutput{LaunchTemplate: t.describe(s.tags(r.Target).List(t.id))}, nil
}

func (s *Service) createLaunchTemplateVersion(
	ctx context.Context, in *ec2.CreateLaunchTemplateVersionInput,
) (*ec2.CreateLaunchTemplateVersionOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	t, err := r.template(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	data := in.LaunchTemplateData
	if in.SourceVersion != nil && data != nil {
		source, err := t.version(*in.SourceVersion)
		if err != nil {
			return nil, err
		}
		base, err := recast[types.RequestLaunchTemplateData](source.data)
		if err != nil {
			return nil, err
		}
		overlay(base, data)
		data = base
	}
	v, err := s.addVersion(t, wire.CallFrom(ctx).Principal, aws.ToString(in.VersionDescription), data)
	if err != nil {
		return nil, err
	}
	described := t.describeVersion(v)
	return &ec2.CreateLaunchTemplateVersionOutput{LaunchTemplateVersion: &described}, nil
}

func (s *Service) modifyLaunchTemplate(ctx context.Context, in *ec2.ModifyLaunchTemplateInput) (*ec2.ModifyLaunchTemplateOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	t, err := r.template(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	if in.DefaultVersion != nil {
		v, err := t.version(*in.DefaultVersion)
		if err != nil {
			return nil, err
		}
		t.standard = v.number
	}
	return &ec2.ModifyLaunchTemplateOutput{LaunchTemplate: t.describe(s.tags(r.Target).List(t.id))}, nil
}

// removeTemplate forgets a launch template. The caller holds the lock.
func (s *Service) removeTemplate(r *region, t *launchTemplate) {
	delete(r.templates, t.id)
	s.tags(r.Target).Forget(t.id)
}

func (s *Service) deleteLaunchTemplate(ctx context.Context, in *ec2.DeleteLaunchTemplateInput) (*ec2.DeleteLaunchTemplateOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	t, err := r.template(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	described := t.describe(s.tags(r.Target).List(t.id))
	s.removeTemplate(r, t)
	return &ec2.DeleteLaunchTemplateOutput{LaunchTemplate: described}, nil
}

func (s *Service) deleteLaunchTemplateVersions(
	ctx context.Context, in *ec2.DeleteLaunchTemplateVersionsInput,
) (*ec2.DeleteLaunchTemplateVersionsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	t, err := r.template(in.LaunchTemplateId, in.LaunchTemplateName)
	if err != nil {
		return nil, err
	}
	out := &ec2.DeleteLaunchTemplateVersionsOutput{}
	for _, text := range in.Versions {
		number, _ := strconv.ParseInt(text, 10, 64)
		code := types.LaunchTemplateErrorCode("")
		switch _, ok := t.versions[number]; {
		case !ok:
			code = types.LaunchTemplateErrorCodeLaunchTemplateVersionDoesNotExist
		case number == t.standard:
			code = types.LaunchTemplateErrorCodeUnexpectedError
		}
		if code != "" {
			out.UnsuccessfullyDeletedLaunchTemplateVersions = append(
				out.UnsuccessfullyDeletedLaunchTemplateVersions,
				types.DeleteLaunchTemplateVersionsResponseErrorItem{
					LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, VersionNumber: aws.Int64(number),
					ResponseError: &types.ResponseError{
						Code:    code,
						Message: aws.String("The version " + text + " does not exist or is the default version."),
					},
				},
			)
			continue
		}
		delete(t.versions, number)
		out.SuccessfullyDeletedLaunchTemplateVersions = append(
			out.SuccessfullyDeletedLaunchTemplateVersions,
			types.DeleteLaunchTemplateVersionsResponseSuccessItem{
				LaunchTemplateId: &t.id, LaunchTemplateName: &t.name, VersionNumber: aws.Int64(number),
			},
		)
	}
	return out, nil
}

func (s *Service) describeLaunchTemplates(
	ctx context.Context, in *ec2.DescribeLaunchTemplatesInput,
) (*ec2.DescribeLaunchTemplatesOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	ids := slices.Clone(in.LaunchTemplateIds)
	for _, name := range in.LaunchTemplateNames {
		t, err := r.template(nil, &name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, t.id)
	}
	found, next, err := choose(s, r, choice[*launchTemplate]{
		items: r.templates, ids: ids, missing: noTemplate, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		fields: vpc.Fields[*launchTemplate]{
			"launch-template-name": func(t *launchTemplate) []string { return []string{t.name} },
			"create-time":          func(t *launchTemplate) []string { return []string{formatTime(t.created)} },
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeLaunchTemplatesOutput{LaunchTemplates: []types.LaunchTemplate{}, NextToken: next}
	for _, t := range found {
		out.LaunchTemplates = append(out.LaunchTemplates, *t.describe(s.tags(r.Target).List(t.id)))
	}
	return out, nil
}

// versionsOf returns the versions that a request selects, newest first.
func versionsOf(t *launchTemplate, in *ec2.DescribeLaunchTemplateVersionsInput) ([]*templateVersion, error) {
	var list []*templateVersion
	if len(in.Versions) > 0 {
		for _, text := range in.Versions {
			v, err := t.version(text)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
		return list, nil
	}
	least, most := int64(1), t.latest
	if n, err := strconv.ParseInt(aws.ToString(in.MinVersion), 10, 64); err == nil {
		least = n
	}
	if n, err := strconv.ParseInt(aws.ToString(in.MaxVersion), 10, 64); err == nil {
		most = n
	}
	for _, number := range slices.Sorted(maps.Keys(t.versions)) {
		if least <= number && number <= most {
			list = append(list, t.versions[number])
		}
	}
	slices.SortFunc(list, func(a, b *templateVersion) int { return cmp.Compare(b.number, a.number) })
	return list, nil
}

// versionFields are the filters of versions, some of those of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeLaunchTemplateVersions.html.
var versionFields = vpc.Fields[*templateVersion]{
	"image-id":      func(v *templateVersion) []string { return []string{aws.ToString(v.data.ImageId)} },
	"instance-type": func(v *templateVersion) []string { return []string{string(v.data.InstanceType)} },
}

func (s *Service) describeLaunchTemplateVersions(
	ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput,
) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	passes, err := versionFields.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	var templates []*launchTemplate
	if in.LaunchTemplateId == nil && in.LaunchTemplateName == nil {
		// Without a template, a request can select only $Latest and $Default of all templates.
		if len(in.Versions) == 0 {
			return nil, missing("LaunchTemplateId or LaunchTemplateName")
		}
		for _, id := range slices.Sorted(maps.Keys(r.templates)) {
			templates = append(templates, r.templates[id])
		}
	} else {
		t, err := r.template(in.LaunchTemplateId, in.LaunchTemplateName)
		if err != nil {
			return nil, err
		}
		templates = append(templates, t)
	}
	out := &ec2.DescribeLaunchTemplateVersionsOutput{LaunchTemplateVersions: []types.LaunchTemplateVersion{}}
	for _, t := range templates {
		versions, err := versionsOf(t, in)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			if passes(v, nil) {
				out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, t.describeVersion(v))
			}
		}
	}
	return page(out, in)
}

// page returns a page of the versions; the token is the number of versions before it.
func page(
	out *ec2.DescribeLaunchTemplateVersionsOutput, in *ec2.DescribeLaunchTemplateVersionsInput,
) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	start := 0
	if in.NextToken != nil {
		n, err := strconv.Atoi(*in.NextToken)
		if err != nil || n < 0 || n > len(out.LaunchTemplateVersions) {
			return nil, invalid("Invalid value '%s' for NextToken", *in.NextToken)
		}
		start = n
	}
	size := 200
	if in.MaxResults != nil && *in.MaxResults > 0 {
		size = min(int(*in.MaxResults), size)
	}
	end := min(start+size, len(out.LaunchTemplateVersions))
	if end < len(out.LaunchTemplateVersions) {
		out.NextToken = aws.String(strconv.Itoa(end))
	}
	out.LaunchTemplateVersions = out.LaunchTemplateVersions[start:end]
	return out, nil
}

func (s *Service) getLaunchTemplateData(ctx context.Context, in *ec2.GetLaunchTemplateDataInput) (*ec2.GetLaunchTemplateDataOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	return &ec2.GetLaunchTemplateDataOutput{LaunchTemplateData: i.data}, nil
}
