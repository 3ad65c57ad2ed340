package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// Figures of instance types from
// https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-types.html and
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html
func TestInstanceTypesMatchAWS(t *testing.T) {
	w := start(t)
	for _, c := range []struct {
		name                              string
		vCPUs, MiB, interfaces, addresses int64
		architecture                      types.ArchitectureType
	}{
		{"m5.large", 2, 8192, 3, 10, "x86_64"},
		{"m6i.32xlarge", 128, 524288, 15, 50, "x86_64"},
		{"m6a.xlarge", 4, 16384, 4, 15, "x86_64"},
		{"m7g.medium", 1, 4096, 2, 4, "arm64"},
		{"c5.9xlarge", 36, 73728, 8, 30, "x86_64"},
		{"c7i.large", 2, 4096, 3, 10, "x86_64"},
		{"r5.2xlarge", 8, 65536, 4, 15, "x86_64"},
		{"t3.micro", 2, 1024, 2, 2, "x86_64"},
		{"t3a.medium", 2, 4096, 3, 6, "x86_64"},
		{"t4g.small", 2, 2048, 3, 4, "arm64"},
		{"t2.small", 1, 2048, 3, 4, "x86_64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := w.DescribeInstanceTypes(
				t.Context(), &awsec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{types.InstanceType(c.name)}},
			)
			if err != nil {
				t.Fatal(err)
			}
			i := out.InstanceTypes[0]
			if int64(*i.VCpuInfo.DefaultVCpus) != c.vCPUs || *i.MemoryInfo.SizeInMiB != c.MiB ||
				int64(*i.NetworkInfo.MaximumNetworkInterfaces) != c.interfaces ||
				int64(*i.NetworkInfo.Ipv4AddressesPerInterface) != c.addresses ||
				i.ProcessorInfo.SupportedArchitectures[0] != c.architecture {
				t.Errorf("described as %+v %+v %+v", i.VCpuInfo, i.MemoryInfo, i.NetworkInfo)
			}
		})
	}
	_, err := w.DescribeInstanceTypes(t.Context(), &awsec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m99.large"}})
	wiretest.WantCode(t, err, "InvalidInstanceType")
	seen := 0
	p := awsec2.NewDescribeInstanceTypesPaginator(w.Client, &awsec2.DescribeInstanceTypesInput{})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen += len(page.InstanceTypes)
	}
	if seen < 200 {
		t.Errorf("%d types", seen)
	}
}

func TestOfferings(t *testing.T) {
	w := start(t)
	w.service.SetOffered(region+"c", "m6i.large", false)
	out, err := w.DescribeInstanceTypeOfferings(t.Context(), &awsec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{{Name: aws.String("instance-type"), Values: []string{"m6i.large"}}},
	})
	if err != nil || len(out.InstanceTypeOfferings) != 2 {
		t.Errorf("offered %+v %v", out, err)
	}
}

func TestImagesCanBeRemovedAndRestored(t *testing.T) {
	w := start(t)
	out, err := w.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{
		Owners: []string{"099720109477"},
		Filters: []types.Filter{
			{Name: aws.String("name"), Values: []string{"ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"}},
		},
	})
	if err != nil || len(out.Images) != 1 {
		t.Fatalf("images %+v %v", out, err)
	}
	id := *out.Images[0].ImageId
	w.service.RemoveImage(region, id)
	_, err = w.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{id}})
	wiretest.WantCode(t, err, "InvalidAMIID.NotFound")
	w.service.RestoreImage(region, id)
	if _, err = w.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{id}}); err != nil {
		t.Error(err)
	}
}

func TestKeyPairs(t *testing.T) {
	w := start(t)
	made, err := w.CreateKeyPair(t.Context(), &awsec2.CreateKeyPairInput{KeyName: aws.String("made"), KeyType: types.KeyTypeEd25519})
	if err != nil || aws.ToString(made.KeyMaterial) == "" {
		t.Fatalf("made %+v %v", made, err)
	}
	_, err = w.ImportKeyPair(t.Context(), &awsec2.ImportKeyPairInput{KeyName: aws.String("bad"), PublicKeyMaterial: []byte("nonsense")})
	wiretest.WantCode(t, err, "InvalidKey.Format")
	_, err = w.CreateKeyPair(t.Context(), &awsec2.CreateKeyPairInput{KeyName: aws.String("made")})
	wiretest.WantCode(t, err, "InvalidKeyPair.Duplicate")
	found, err := w.DescribeKeyPairs(
		t.Context(), &awsec2.DescribeKeyPairsInput{KeyNames: []string{"made"}, IncludePublicKey: aws.Bool(true)},
	)
	if err != nil || len(found.KeyPairs) != 1 || aws.ToString(found.KeyPairs[0].PublicKey) == "" {
		t.Errorf("found %+v %v", found, err)
	}
	if _, err := w.DeleteKeyPair(t.Context(), &awsec2.DeleteKeyPairInput{KeyName: aws.String("made")}); err != nil {
		t.Fatal(err)
	}
	_, err = w.DescribeKeyPairs(t.Context(), &awsec2.DescribeKeyPairsInput{KeyNames: []string{"made"}})
	wiretest.WantCode(t, err, "InvalidKeyPair.NotFound")
}
