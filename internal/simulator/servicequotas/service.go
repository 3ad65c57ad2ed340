package servicequotas

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Quota is a quota by its codes in Service Quotas.
type Quota struct{ Service, Code string }

// Options are the quotas that the simulator enforces.
type Options struct {
	// Seed determines which quotas that were never raised have a default value only.
	Seed uint64
	// Enforced return the value of a quota in an account and region. Others have their default values.
	Enforced map[Quota]func(at wire.Target) float64
}

// Service is the simulated Service Quotas of all accounts and regions.
type Service struct {
	env     *resource.Env
	options Options
}

// New returns the service.
func New(env *resource.Env, options Options) *Service { return &Service{env: env, options: options} }

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "servicequotas", Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "ServiceQuotasV20190624", APIVersion: "2019-06-24",
		Operations: map[string]wire.Operation{
			"GetAWSDefaultServiceQuota": wire.Op(s.getDefault),
			"GetServiceQuota":           wire.Op(s.get),
			"ListServiceQuotas":         wire.Op(s.list),
		},
	}
}

// get returns the applied value. It does not retrieve a quota without one:
// https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
func (s *Service) get(ctx context.Context, in *servicequotas.GetServiceQuotaInput) (*servicequotas.GetServiceQuotaOutput, error) {
	at := wire.TargetFrom(ctx)
	q, err := s.find(at, in.ServiceCode, in.QuotaCode)
	if err != nil {
		return nil, err
	}
	if !s.isApplied(at, q) {
		return nil, noSuchResource()
	}
	return &servicequotas.GetServiceQuotaOutput{Quota: s.show(at, q, s.value(at, q))}, nil
}

func (s *Service) getDefault(
	ctx context.Context, in *servicequotas.GetAWSDefaultServiceQuotaInput,
) (*servicequotas.GetAWSDefaultServiceQuotaOutput, error) {
	at := wire.TargetFrom(ctx)
	q, err := s.find(at, in.ServiceCode, in.QuotaCode)
	if err != nil {
		return nil, err
	}
	return &servicequotas.GetAWSDefaultServiceQuotaOutput{Quota: s.show(at, q, q.standard)}, nil
}

// list returns the applied values of a service in pages.
func (s *Service) list(ctx context.Context, in *servicequotas.ListServiceQuotasInput) (*servicequotas.ListServiceQuotasOutput, error) {
	at := wire.TargetFrom(ctx)
	of := map[string]*quota{}
	known := false
	for i := range quotas {
		q := &quotas[i]
		if q.Service != aws.ToString(in.ServiceCode) {
			continue
		}
		known = true
		if in.QuotaCode != nil && *in.QuotaCode != q.Code || !s.isApplied(at, q) || q.global && !isHome(at.Region) {
			continue
		}
		of[q.Code] = q
	}
	if !known {
		return nil, noSuchResource()
	}
	if n := in.MaxResults; n != nil && (*n < 1 || int(*n) > pageSize.Most) {
		return nil, wire.Errorf("IllegalArgumentException", "MaxResults must be between 1 and 100.")
	}
	codes, next := pageSize.Page(slices.Collect(maps.Keys(of)), in.NextToken, in.MaxResults)
	out := &servicequotas.ListServiceQuotasOutput{NextToken: next}
	for _, code := range codes {
		out.Quotas = append(out.Quotas, *s.show(at, of[code], s.value(at, of[code])))
	}
	return out, nil
}

// https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_ListServiceQuotas.html
var pageSize = wire.PageSize{Standard: 100, Most: 100}

// find returns a quota. Service Quotas has those of global services in one region of a partition only.
func (s *Service) find(at wire.Target, service, code *string) (*quota, error) {
	if aws.ToString(service) == "" || aws.ToString(code) == "" {
		return nil, wire.Errorf("IllegalArgumentException", "Invalid input was provided.")
	}
	for i := range quotas {
		if q := &quotas[i]; q.Service == *service && q.Code == *code && (!q.global || isHome(at.Region)) {
			return q, nil
		}
	}
	return nil, noSuchResource()
}

func isHome(region string) bool { return region == "us-east-1" || region == "us-gov-west-1" }

func noSuchResource() *wire.Error {
	return wire.Errorf("NoSuchResourceException", "The request failed because the specified resource does not exist.")
}

// value returns the value in an account and region.
func (s *Service) value(at wire.Target, q *quota) float64 {
	if of := s.options.Enforced[q.Quota]; of != nil {
		return of(at)
	}
	return q.standard
}

// isApplied reports whether a quota has an applied value: each that differs from its default, and some of the others.
func (s *Service) isApplied(at wire.Target, q *quota) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(q.Code + strconv.FormatUint(s.options.Seed, 10)))
	return s.value(at, q) != q.standard || h.Sum64()%2 == 0
}

func (s *Service) show(at wire.Target, q *quota, value float64) *types.ServiceQuota {
	arn := "arn:" + s.env.Partition + ":servicequotas:" + at.Region + ":" + at.Account + ":" + q.Service + "/" + q.Code
	return &types.ServiceQuota{
		ServiceCode: &q.Service, QuotaCode: &q.Code, QuotaName: &q.name, QuotaArn: &arn, Value: &value, Unit: aws.String("None"),
		Adjustable: true, GlobalQuota: q.global,
	}
}
