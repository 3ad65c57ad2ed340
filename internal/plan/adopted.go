package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	servicerender "github.com/aws-operator/aws-operator/internal/service/render"
)

// adoptionOf is what the stack of a subject adopts.
type adoptionOf struct {
	subject int
	*servicerender.Adoption
}

// readAdopted compares the resources that stacks without a deployed one adopt with their templates.
func (d *serviceDraft) readAdopted(ctx context.Context) error {
	notes := make([]string, len(d.adoptions))
	if err := parallel(len(d.adoptions), func(i int) (err error) {
		if s := &d.subjects[d.adoptions[i].subject]; s.Deployed == nil {
			notes[i], err = d.readOne(ctx, s, d.adoptions[i].Adoption)
		}
		return err
	}); err != nil {
		return err
	}
	for _, note := range notes {
		if note != "" {
			d.note("%s", note)
		}
	}
	return nil
}

// readOne compares one resource. The note, if any, says why that was not possible.
func (d *serviceDraft) readOne(ctx context.Context, s *Subject, adoption *servicerender.Adoption) (note string, err error) {
	t, _ := schema.Default().Type(adoption.Type)
	s.Adopted = &Adopted{LogicalID: adoption.Resource, Identifier: t.IdentifierText(adoption.Identifier)}
	out, err := d.options.Clients.CloudControl(d.target).GetResource(ctx, &cloudcontrol.GetResourceInput{
		TypeName: aws.String(adoption.Type), Identifier: aws.String(s.Adopted.Identifier),
	})
	switch code := awsapi.Code(err); {
	case code == "ResourceNotFoundException" && adoption.Create:
		s.Adopted = nil
		return "", nil
	case code == "ResourceNotFoundException":
		s.Adopted.Refused = fmt.Sprintf("there is no %s %s.", adoption.Type, s.Adopted.Identifier)
		return "", nil
	case code == "UnsupportedActionException" || code == "TypeNotFoundException":
		return fmt.Sprintf("%s adopts a resource that AWS cannot read: what differs is not known.", s.Of), nil
	case err != nil:
		return "", awsapi.Explain(err)
	}
	changes, ok := diff.Live(
		aws.ToString(out.ResourceDescription.Properties), adoption.Resource, *sideOf(s.Wanted), schema.Default(),
	)
	if !ok {
		return fmt.Sprintf("%s adopts a resource that cannot be compared: what differs is not known.", s.Of), nil
	}
	s.Adopted.Changes = diff.Sets(changes)
	var wrong []string
	for i := range s.Adopted.Changes {
		if p := &s.Adopted.Changes[i]; p.ForcesReplacement || p.MayReplace {
			wrong = append(wrong, p.Path)
		}
	}
	if len(wrong) > 0 {
		s.Adopted.Refused = fmt.Sprintf(
			"a change of %s can replace the resource, so that the object cannot adopt it. Write what the resource has.", strings.Join(wrong, ", "))
	}
	return "", nil
}
