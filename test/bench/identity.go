package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// identify creates a role and an AWSIdentity, which all objects of the namespace use.
func (w *suite) identify(ctx context.Context) error {
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + account + `"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	client := iam.New(iam.Options{
		Region: region, BaseEndpoint: aws.String(w.operator.endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
	role, err := client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("tenant"), AssumeRolePolicyDocument: aws.String(trust)})
	if err != nil {
		return fmt.Errorf("create a role: %w", err)
	}
	identity := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "aws-operator.aws/v1alpha1", "kind": "AWSIdentity", "metadata": map[string]any{"name": "tenant"},
		"spec": map[string]any{
			"roleARN": aws.ToString(role.Role.Arn), "sessionTags": map[string]any{"team": "a"},
			"allowedNamespaces": map[string]any{"selector": map[string]any{}},
		},
	}}
	identities := w.dynamic.Resource(schema.GroupVersionResource{Group: "aws-operator.aws", Version: "v1alpha1", Resource: "awsidentities"})
	if _, err := identities.Create(ctx, identity, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create an AWSIdentity: %w", err)
	}
	patch := []byte(`{"metadata":{"annotations":{"aws-operator/identity":"tenant"}}}`)
	namespaces := w.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := namespaces.Patch(ctx, "default", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("annotate the namespace: %w", err)
	}
	return waitFor(ctx, time.Minute, "the identity to be ready", func() (bool, error) {
		found, err := identities.Get(ctx, "tenant", metav1.GetOptions{})
		return err == nil && isReady(found), nil
	})
}
