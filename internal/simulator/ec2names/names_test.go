package ec2names_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2names"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// fill sets every member of a value recursively, so that a wrong name shows as a lost member.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "ResultMetadata" {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{1, 2})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.String:
		v.SetString("s" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) / 2)
	default:
		panic(v.Kind())
	}
}

var ignored = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ResultMetadata" }, cmp.Ignore()),
	cmp.Exporter(func(reflect.Type) bool { return false }),
	cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && f.Name() == "noSmithyDocumentSerde"
	}, cmp.Ignore()),
}

func roundTrip[I, O any](t *testing.T, operation string, call func(*ec2.Client, context.Context, *I, ...func(*ec2.Options)) (*O, error)) {
	t.Helper()
	t.Run(operation, func(t *testing.T) {
		var in, got I
		var out O
		n := 0
		fill(reflect.ValueOf(&in).Elem(), &n)
		fill(reflect.ValueOf(&out).Elem(), &n)
		service := &wire.Service{
			Name: "ec2", Protocols: []wire.Protocol{wire.EC2Query}, Names: ec2names.Names(),
			Operations: map[string]wire.Operation{operation: wire.Op(func(_ context.Context, in *I) (*O, error) {
				got = *in
				return &out, nil
			})},
		}
		client := ec2.NewFromConfig(wiretest.Serve(t, wire.NewRouter([]*wire.Service{service}, nil, clock.RealClock{})))
		answer, err := call(client, t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&in, &got, ignored); diff != "" {
			t.Errorf("the request lost something: %s", diff)
		}
		if diff := cmp.Diff(&out, answer, ignored); diff != "" {
			t.Errorf("the answer lost something: %s", diff)
		}
	})
}

// The operations that a cluster needs have the deepest types.
func TestRoundTrips(t *testing.T) {
	roundTrip(t, "RunInstances", (*ec2.Client).RunInstances)
	roundTrip(t, "DescribeInstances", (*ec2.Client).DescribeInstances)
	roundTrip(t, "DescribeImages", (*ec2.Client).DescribeImages)
	roundTrip(t, "DescribeInstanceTypes", (*ec2.Client).DescribeInstanceTypes)
	roundTrip(t, "TerminateInstances", (*ec2.Client).TerminateInstances)
	roundTrip(t, "CreateLaunchTemplate", (*ec2.Client).CreateLaunchTemplate)
	roundTrip(t, "DescribeLaunchTemplateVersions", (*ec2.Client).DescribeLaunchTemplateVersions)
	roundTrip(t, "CreateVolume", (*ec2.Client).CreateVolume)
	roundTrip(t, "DescribeVolumes", (*ec2.Client).DescribeVolumes)
	roundTrip(t, "CreateSnapshot", (*ec2.Client).CreateSnapshot)
	roundTrip(t, "AttachVolume", (*ec2.Client).AttachVolume)
	roundTrip(t, "CreateFleet", (*ec2.Client).CreateFleet)
	roundTrip(t, "ModifyInstanceAttribute", (*ec2.Client).ModifyInstanceAttribute)
	roundTrip(t, "CreateVpc", (*ec2.Client).CreateVpc)
	roundTrip(t, "DescribeVpcs", (*ec2.Client).DescribeVpcs)
	roundTrip(t, "DescribeSubnets", (*ec2.Client).DescribeSubnets)
	roundTrip(t, "DescribeRouteTables", (*ec2.Client).DescribeRouteTables)
	roundTrip(t, "CreateRoute", (*ec2.Client).CreateRoute)
	roundTrip(t, "CreateNatGateway", (*ec2.Client).CreateNatGateway)
	roundTrip(t, "DescribeNatGateways", (*ec2.Client).DescribeNatGateways)
	roundTrip(t, "AllocateAddress", (*ec2.Client).AllocateAddress)
	roundTrip(t, "AuthorizeSecurityGroupIngress", (*ec2.Client).AuthorizeSecurityGroupIngress)
	roundTrip(t, "RevokeSecurityGroupEgress", (*ec2.Client).RevokeSecurityGroupEgress)
	roundTrip(t, "DescribeSecurityGroups", (*ec2.Client).DescribeSecurityGroups)
	roundTrip(t, "DescribeSecurityGroupRules", (*ec2.Client).DescribeSecurityGroupRules)
	roundTrip(t, "CreateNetworkInterface", (*ec2.Client).CreateNetworkInterface)
	roundTrip(t, "DescribeNetworkInterfaces", (*ec2.Client).DescribeNetworkInterfaces)
	roundTrip(t, "CreateVpcEndpoint", (*ec2.Client).CreateVpcEndpoint)
	roundTrip(t, "DescribeAvailabilityZones", (*ec2.Client).DescribeAvailabilityZones)
	roundTrip(t, "CreateTags", (*ec2.Client).CreateTags)
	roundTrip(t, "DescribeTags", (*ec2.Client).DescribeTags)
}
