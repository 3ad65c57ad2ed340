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

const administrator = "arn:aws:iam::aws:policy/AdministratorAccess"

// iamOf returns a client with the credentials of the account's root user.
func iamOf(endpoint string) *iam.Client {
	return iam.New(iam.Options{
		Region: region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
}

// operatorsKey creates the user that the operator is, and returns its key: a root user could assume no role.
func operatorsKey(ctx context.Context, endpoint string) (aws.Credentials, error) {
	client, name, policy := iamOf(endpoint), aws.String("operator"), aws.String(administrator)
	if _, err := client.CreateUser(ctx, &iam.CreateUserInput{UserName: name}); err != nil {
		return aws.Credentials{}, fmt.Errorf("create a user: %w", err)
	}
	if _, err := client.AttachUserPolicy(ctx, &iam.AttachUserPolicyInput{UserName: name, PolicyArn: policy}); err != nil {
		return aws.Credentials{}, fmt.Errorf("attach a policy to the user: %w", err)
	}
	made, err := client.CreateAccessKey(ctx, &iam.CreateAccessKeyInput{UserName: name})
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("create an access key: %w", err)
	}
	return aws.Credentials{AccessKeyID: *made.AccessKey.AccessKeyId, SecretAccessKey: *made.AccessKey.SecretAccessKey}, nil
}

// identify creates a role and an AWSIdentity, which all objects of the namespace use.
func (w *suite) identify(ctx context.Context) error {
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + account + `"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`
	client := iamOf(w.operator.endpoint)
	role, err := client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("tenant"), AssumeRolePolicyDocument: aws.String(trust)})
	if err != nil {
		return fmt.Errorf("create a role: %w", err)
	}
	if _, err := client.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{
		RoleName: role.Role.RoleName, PolicyArn: aws.String(administrator),
	}); err != nil {
		return fmt.Errorf("attach a policy to the role: %w", err)
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
