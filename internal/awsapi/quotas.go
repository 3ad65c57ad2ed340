package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
)

// ServiceQuotas reads the quotas of an account.
type ServiceQuotas interface {
	GetServiceQuota(
		context.Context, *servicequotas.GetServiceQuotaInput, ...func(*servicequotas.Options),
	) (*servicequotas.GetServiceQuotaOutput, error)
	GetAWSDefaultServiceQuota(
		context.Context, *servicequotas.GetAWSDefaultServiceQuotaInput, ...func(*servicequotas.Options),
	) (*servicequotas.GetAWSDefaultServiceQuotaOutput, error)
}

// ServiceQuotas returns the client of Service Quotas for the target.
func (c *Clients) ServiceQuotas(t Target) ServiceQuotas {
	return client(c, "servicequotas", t, newServicequotasCalls)
}

// servicequotasCalls are the calls of Service Quotas that the project makes.
type servicequotasCalls struct {
	getServiceQuota call[servicequotas.GetServiceQuotaInput, servicequotas.GetServiceQuotaOutput, servicequotas.Options]

	getAWSDefaultServiceQuota call[
		servicequotas.GetAWSDefaultServiceQuotaInput, servicequotas.GetAWSDefaultServiceQuotaOutput, servicequotas.Options,
	]
}

func newServicequotasCalls(cfg aws.Config) *servicequotasCalls {
	client := servicequotas.NewFromConfig(cfg)
	return &servicequotasCalls{
		getServiceQuota:           client.GetServiceQuota,
		getAWSDefaultServiceQuota: client.GetAWSDefaultServiceQuota,
	}
}

func (c *servicequotasCalls) GetServiceQuota(
	ctx context.Context, in *servicequotas.GetServiceQuotaInput, options ...func(*servicequotas.Options),
) (*servicequotas.GetServiceQuotaOutput, error) {
	return c.getServiceQuota(ctx, in, options...)
}

func (c *servicequotasCalls) GetAWSDefaultServiceQuota(
	ctx context.Context, in *servicequotas.GetAWSDefaultServiceQuotaInput, options ...func(*servicequotas.Options),
) (*servicequotas.GetAWSDefaultServiceQuotaOutput, error) {
	return c.getAWSDefaultServiceQuota(ctx, in, options...)
}
