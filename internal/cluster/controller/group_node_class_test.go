package controller_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/nodeclass/nodeclasstest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
)

// A group of Karpenter has no nodes, but an EC2NodeClass with the user data of its launch template, which
// follows the group.
func TestGroupOfKarpenter(t *testing.T) {
	host := fake.New(fake.Options{})
	w := newSuite(t, host, nil)
	w.start()
	r := &running{suite: w, host: host, cluster: w.aCluster("demo"), group: w.aGroup("pool", "demo")}
	r.cluster.Spec.Release, r.cluster.Spec.ControlPlane.Replicas = w.releaseOf("1.2.0"), 1
	r.group.Spec.Manager, r.group.Spec.MinSize = v1alpha1.ManagerKarpenter, 0
	w.create(r.cluster, r.group)
	w.condition(r.cluster, "Ready", metav1.ConditionTrue, "")
	r.inside = w.inside("demo")
	r.condition(r.group, "NodeClassApplied", metav1.ConditionFalse, "KarpenterNotInstalled")
	if err := r.inside.Create(t.Context(), nodeclasstest.Definition()); err != nil {
		t.Fatal(err)
	}
	r.editGroup(func() { r.group.Spec.Labels = map[string]string{"pool": "first"} })
	r.condition(r.group, "NodeClassApplied", metav1.ConditionTrue, "Applied")
	first := r.nodeClassFollows("")
	r.editGroup(func() { r.group.Spec.Labels = map[string]string{"pool": "second"} })
	r.nodeClassFollows(first)
	r.condition(r.group, "Ready", metav1.ConditionTrue, "")
	if err := r.client.Delete(t.Context(), r.group); err != nil {
		t.Fatal(err)
	}
	r.waitDeleted(r.group)
	class := nodeclasstest.New(r.group.Name)
	if err := r.inside.Get(t.Context(), client.ObjectKeyFromObject(class), class); !apierrors.IsNotFound(err) {
		t.Errorf("the EC2NodeClass of the deleted group: %v", err)
	}
}

// editGroup changes the group like a user.
func (r *running) editGroup(change func()) {
	r.t.Helper()
	r.eventually("the group is edited", func() error {
		if err := r.client.Get(r.t.Context(), client.ObjectKeyFromObject(r.group), r.group); err != nil {
			return err
		}
		change()
		return r.client.Update(r.t.Context(), r.group)
	})
}

// nodeClassFollows waits until the group's NodeClass has the user data of the newest launch template, other
// than before, and returns it.
func (r *running) nodeClassFollows(before string) (userData string) {
	r.t.Helper()
	r.eventually("the EC2NodeClass has the user data of the launch template", func() error {
		class := nodeclasstest.New(r.group.Name)
		if err := r.inside.Get(r.t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			return err
		}
		userData, _, _ = unstructured.NestedString(class.Object, "spec", "userData")
		if userData == before {
			return fmt.Errorf("it is the former one: %w", errStill)
		}
		if made := r.launchTemplateUserData(); made != userData {
			return fmt.Errorf("the NodeClass has %q, the launch template %q", userData, made)
		}
		return nil
	})
	return userData
}

// launchTemplateUserData returns the user data of the newest version of the group's launch template.
func (r *running) launchTemplateUserData() string {
	r.t.Helper()
	templates, err := r.ec2().DescribeLaunchTemplates(r.t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range templates.LaunchTemplates {
		versions, err := r.ec2().DescribeLaunchTemplateVersions(r.t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateId: templates.LaunchTemplates[i].LaunchTemplateId, Versions: []string{"$Latest"},
		})
		if err != nil || len(versions.LaunchTemplateVersions) != 1 {
			r.t.Fatal(versions, err)
		}
		data := versions.LaunchTemplateVersions[0].LaunchTemplateData
		if !isOfGroup(data.TagSpecifications, r.group.Name) {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(aws.ToString(data.UserData))
		if err != nil {
			r.t.Fatal(err)
		}
		return string(text)
	}
	r.t.Fatal("the group has no launch template")
	return ""
}

func isOfGroup(specifications []types.LaunchTemplateTagSpecification, group string) bool {
	for _, one := range specifications {
		for _, tag := range one.Tags {
			if aws.ToString(tag.Key) == "cluster-operator.aws/instance-group" && aws.ToString(tag.Value) == group {
				return true
			}
		}
	}
	return false
}
