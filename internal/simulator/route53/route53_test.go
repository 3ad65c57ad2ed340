package route53_test

import (
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsroute53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/route53"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// networks are the existing VPCs.
type networks map[string]vpc.VPC

// VPC returns a VPC in any account and region.
func (n networks) VPC(_, _, id string) (vpc.VPC, bool) {
	v, ok := n[id]
	return v, ok
}

type suite struct {
	*awsroute53.Client

	t       *testing.T
	service *route53.Service
	clock   *testclock.FakeClock
	faults  *fault.Injector
}

func start(t *testing.T) *suite {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := route53.New(&resource.Env{Clock: clk}, networks{
		"vpc-1": {DNSSupport: true, DNSHostnames: true}, "vpc-2": {DNSSupport: true, DNSHostnames: true}, "vpc-3": {DNSSupport: true},
	}, route53.WithPropagation(time.Minute), route53.WithBalancers(func(_, name string) []netip.Addr {
		if name != "demo-apilo-ab3d-0123456789abcdef.elb.eu-central-1.amazonaws.com" {
			return nil
		}
		return []netip.Addr{netip.MustParseAddr("127.3.0.7")}
	}))
	faults := fault.New()
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{s.Service()}, faults, clk))
	return &suite{Client: awsroute53.NewFromConfig(config), t: t, service: s, clock: clk, faults: faults}
}

func (w *suite) zone(name, vpcID string) *string {
	w.t.Helper()
	in := &awsroute53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String(name + vpcID)}
	if vpcID != "" {
		in.VPC = &types.VPC{VPCId: &vpcID, VPCRegion: types.VPCRegionEuCentral1}
	}
	out, err := w.CreateHostedZone(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return out.HostedZone.Id
}

func change(action types.ChangeAction, name string, kind types.RRType, values ...string) types.Change {
	set := &types.ResourceRecordSet{Name: &name, Type: kind, TTL: aws.Int64(10)}
	for _, v := range values {
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: aws.String(v)})
	}
	return types.Change{Action: action, ResourceRecordSet: set}
}

func alias(name, target, zone string) types.Change {
	return types.Change{Action: types.ChangeActionUpsert, ResourceRecordSet: &types.ResourceRecordSet{
		Name: &name, Type: types.RRTypeA, AliasTarget: &types.AliasTarget{DNSName: &target, HostedZoneId: &zone},
	}}
}

func (w *suite) change(zone *string, changes ...types.Change) error {
	_, err := w.ChangeResourceRecordSets(
		w.t.Context(), &awsroute53.ChangeResourceRecordSetsInput{HostedZoneId: zone, ChangeBatch: &types.ChangeBatch{Changes: changes}},
	)
	return err
}

func TestZones(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	public, private := w.zone("Example.com", ""), w.zone("demo.internal.", "vpc-1")
	got, err := w.GetHostedZone(ctx, &awsroute53.GetHostedZoneInput{Id: private})
	if err != nil || *got.HostedZone.Name != "demo.internal." || !got.HostedZone.Config.PrivateZone || len(got.VPCs) != 1 ||
		*got.HostedZone.ResourceRecordSetCount != 2 {
		t.Errorf("%+v %v", got, err)
	}
	again := &awsroute53.CreateHostedZoneInput{Name: aws.String("x.y"), CallerReference: aws.String("Example.com")}
	_, err = w.CreateHostedZone(ctx, again)
	wiretest.WantCode(t, err, "HostedZoneAlreadyExists")
	again.CallerReference, again.Name, again.VPC = aws.String("3"), aws.String("demo.internal"), &got.VPCs[0]
	_, err = w.CreateHostedZone(ctx, again)
	wiretest.WantCode(t, err, "ConflictingDomainExists")
	again.VPC = &types.VPC{VPCId: aws.String("vpc-9"), VPCRegion: types.VPCRegionEuCentral1}
	_, err = w.CreateHostedZone(ctx, again)
	wiretest.WantCode(t, err, "InvalidVPCId")

	second := &types.VPC{VPCId: aws.String("vpc-2"), VPCRegion: types.VPCRegionEuCentral1}
	if _, err := w.AssociateVPCWithHostedZone(ctx, &awsroute53.AssociateVPCWithHostedZoneInput{
		HostedZoneId: private, VPC: second,
	}); err != nil {
		t.Error(err)
	}
	_, err = w.AssociateVPCWithHostedZone(ctx, &awsroute53.AssociateVPCWithHostedZoneInput{HostedZoneId: public, VPC: second})
	wiretest.WantCode(t, err, "PublicZoneVPCAssociation")
	if _, err := w.DisassociateVPCFromHostedZone(ctx, &awsroute53.DisassociateVPCFromHostedZoneInput{
		HostedZoneId: private, VPC: second,
	}); err != nil {
		t.Error(err)
	}
	_, err = w.DisassociateVPCFromHostedZone(ctx, &awsroute53.DisassociateVPCFromHostedZoneInput{HostedZoneId: private, VPC: &got.VPCs[0]})
	wiretest.WantCode(t, err, "LastVPCAssociation")

	if list, err := w.ListHostedZonesByName(ctx, &awsroute53.ListHostedZonesByNameInput{
		DNSName: aws.String("demo.internal"),
	}); err != nil ||
		len(list.HostedZones) != 1 {
		t.Errorf("by name: %+v %v", list, err)
	}
	if list, err := w.ListHostedZonesByVPC(ctx, &awsroute53.ListHostedZonesByVPCInput{VPCId: aws.String("vpc-1"), VPCRegion: types.VPCRegionEuCentral1}); err != nil ||
		len(list.HostedZoneSummaries) != 1 {
		t.Errorf("by VPC: %+v %v", list, err)
	}
	p := awsroute53.NewListHostedZonesPaginator(w, &awsroute53.ListHostedZonesInput{MaxItems: aws.Int32(1)})
	pages := 0
	for p.HasMorePages() {
		if _, err := p.NextPage(ctx); err != nil {
			t.Fatal(err)
		}
		pages++
	}
	if pages != 2 {
		t.Errorf("%d pages", pages)
	}

	// https://docs.aws.amazon.com/Route53/latest/APIReference/API_DeleteHostedZone.html
	if err := w.change(private, change(types.ChangeActionCreate, "a.demo.internal", types.RRTypeA, "10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	_, err = w.DeleteHostedZone(ctx, &awsroute53.DeleteHostedZoneInput{Id: private})
	wiretest.WantCode(t, err, "HostedZoneNotEmpty")
	if err := w.change(private, change(types.ChangeActionDelete, "a.demo.internal", types.RRTypeA, "10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []*string{private, public} {
		if _, err := w.DeleteHostedZone(ctx, &awsroute53.DeleteHostedZoneInput{Id: id}); err != nil {
			t.Error(err)
		}
	}
	_, err = w.GetHostedZone(ctx, &awsroute53.GetHostedZoneInput{Id: private})
	wiretest.WantCode(t, err, "NoSuchHostedZone")
}

func TestChangesAreAtomic(t *testing.T) {
	w := start(t)
	z := w.zone("demo.internal", "vpc-1")
	create, upsert, remove := types.ChangeActionCreate, types.ChangeActionUpsert, types.ChangeActionDelete
	if err := w.change(
		z, change(create, "a.demo.internal", types.RRTypeA, "10.0.0.1"),
		change(upsert, "b.demo.internal.", types.RRTypeCname, "a.demo.internal"),
	); err != nil {
		t.Fatal(err)
	}
	both := alias("c.demo.internal", "127.1.0.1", "Z2")
	both.ResourceRecordSet.TTL = aws.Int64(1)
	weighted := change(create, "c.demo.internal", types.RRTypeA, "10.0.0.1")
	weighted.ResourceRecordSet.SetIdentifier, weighted.ResourceRecordSet.Weight = aws.String("1"), aws.Int64(1)
	for _, test := range []struct {
		reason string
		change types.Change
		code   string
	}{
		{"a record that is there", change(create, "A.demo.internal", types.RRTypeA, "10.0.0.2"), "InvalidChangeBatch"},
		{"a record that is not there", change(remove, "x.demo.internal", types.RRTypeA, "10.0.0.2"), "InvalidChangeBatch"},
		{"a record of another value", change(remove, "a.demo.internal", types.RRTypeA, "10.0.0.2"), "InvalidChangeBatch"},
		{"a name of another zone", change(create, "a.demo.example", types.RRTypeA, "10.0.0.2"), "InvalidChangeBatch"},
		{"a name that only ends alike", change(create, "ademo.internal", types.RRTypeA, "10.0.0.2"), "InvalidChangeBatch"},
		{"no address", change(create, "c.demo.internal", types.RRTypeA, "ten"), "InvalidChangeBatch"},
		{"an A beside a CNAME", change(create, "b.demo.internal", types.RRTypeA, "10.0.0.2"), "InvalidChangeBatch"},
		{"a CNAME at the apex", change(create, "demo.internal", types.RRTypeCname, "a.b"), "InvalidChangeBatch"},
		{"an alias of a name that is not there", alias("c.demo.internal", "x.demo.internal", *z), "InvalidChangeBatch"},
		{"an alias with a TTL", both, "InvalidInput"},
		{"no values", change(create, "c.demo.internal", types.RRTypeA), "InvalidInput"},
		{"a routing policy, which there is not", weighted, "InvalidInput"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			err := w.change(z, change(create, "new.demo.internal", types.RRTypeA, "10.0.0.9"), test.change)
			wiretest.WantCode(t, err, test.code)
		})
	}
	list, err := w.ListResourceRecordSets(
		t.Context(), &awsroute53.ListResourceRecordSetsInput{HostedZoneId: z, StartRecordName: aws.String("a.demo.internal")},
	)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range list.ResourceRecordSets {
		names = append(names, *r.Name+" "+string(r.Type))
	}
	if diff := cmp.Diff([]string{"a.demo.internal. A", "b.demo.internal. CNAME"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestChangePropagatesAfterDelay(t *testing.T) {
	w := start(t)
	z := w.zone("demo.internal", "vpc-1")
	out, err := w.ChangeResourceRecordSets(t.Context(), &awsroute53.ChangeResourceRecordSetsInput{
		HostedZoneId: z,
		ChangeBatch: &types.ChangeBatch{
			Changes: []types.Change{change(types.ChangeActionUpsert, "a.demo.internal", types.RRTypeA, "10.0.0.1")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []types.ChangeStatus{types.ChangeStatusPending, types.ChangeStatusInsync} {
		got, err := w.GetChange(t.Context(), &awsroute53.GetChangeInput{Id: out.ChangeInfo.Id})
		if err != nil || got.ChangeInfo.Status != want {
			t.Errorf("%+v %v, want %s", got, err, want)
		}
		w.clock.Step(time.Minute)
	}
}

func TestTags(t *testing.T) {
	w := start(t)
	z := w.zone("demo.internal", "vpc-1")
	plain := aws.String((*z)[len("/hostedzone/"):])
	_, err := w.ChangeTagsForResource(t.Context(), &awsroute53.ChangeTagsForResourceInput{
		ResourceId: plain, ResourceType: types.TagResourceTypeHostedzone,
		AddTags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.ChangeTagsForResource(
		t.Context(),
		&awsroute53.ChangeTagsForResourceInput{
			ResourceId:    plain,
			ResourceType:  types.TagResourceTypeHostedzone,
			RemoveTagKeys: []string{"a"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.ListTagsForResources(
		t.Context(), &awsroute53.ListTagsForResourcesInput{ResourceIds: []string{*plain}, ResourceType: types.TagResourceTypeHostedzone},
	)
	if err != nil || len(got.ResourceTagSets) != 1 || len(got.ResourceTagSets[0].Tags) != 1 || *got.ResourceTagSets[0].Tags[0].Key != "b" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestResolve(t *testing.T) {
	w := start(t)
	public, private, deep := w.zone("example.com", ""), w.zone("demo.example.com", "vpc-1"), w.zone("x.demo.example.com", "vpc-2")
	w.zone("blind.example.com", "vpc-3") // its attributes disable private zones
	up := types.ChangeActionUpsert
	for _, err := range []error{
		w.change(public, change(up, "www.example.com", types.RRTypeA, "192.0.2.1"), change(up, "*.example.com", types.RRTypeA, "192.0.2.9"),
			change(up, "a.demo.example.com", types.RRTypeA, "192.0.2.2")),
		w.change(private, change(
			up, "a.demo.example.com", types.RRTypeA, "10.0.0.2", "10.0.0.1",
		), change(up, "a.demo.example.com", types.RRTypeAaaa, "fd00::1"),
			change(up, "c.demo.example.com", types.RRTypeCname, "a.demo.example.com"),
			alias("api.demo.example.com", "dualstack.demo-APILo-aB3d-0123456789abcdef.elb.eu-central-1.amazonaws.com.", "ZELB"),
			change(up, "out.demo.example.com", types.RRTypeCname, "www.example.com"), change(
				up, "loop.demo.example.com", types.RRTypeCname, "loop.demo.example.com",
			)),
		w.change(deep, change(up, "b.x.demo.example.com", types.RRTypeA, "10.0.1.1")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ reason, vpc, name, want string }{
		{"several values, in both families", "vpc-1", "A.demo.example.com.", "10.0.0.1 10.0.0.2 fd00::1"},
		{"another VPC sees what is public", "vpc-2", "a.demo.example.com", "192.0.2.2"},
		{"without a VPC as well", "", "a.demo.example.com", "192.0.2.2"},
		{"a CNAME", "vpc-1", "c.demo.example.com", "10.0.0.1 10.0.0.2 fd00::1"},
		{"a CNAME out of the private zone", "vpc-1", "out.demo.example.com", "192.0.2.1"},
		{"a CNAME to itself", "vpc-1", "loop.demo.example.com", ""},
		{"a load balancer, in any case", "vpc-1", "demo-APILo-aB3d-0123456789abcdef.elb.eu-central-1.amazonaws.com", "127.3.0.7"},
		{"an alias to a load balancer", "vpc-1", "api.demo.example.com", "127.3.0.7"},
		{"a private zone hides the public one, wildcards too", "vpc-1", "nothing.demo.example.com", ""},
		{"a wildcard", "vpc-1", "anything.example.com", "192.0.2.9"},
		{"the zone of a VPC whose attributes forbid it", "vpc-3", "b.blind.example.com", "192.0.2.9"},
		{"the longest zone that the VPC sees", "vpc-2", "b.x.demo.example.com", "10.0.1.1"},
		{"an unknown name", "vpc-1", "example.net", ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := ""
			for i, a := range w.service.Resolve(test.vpc, test.name) {
				if i > 0 {
					got += " "
				}
				got += a.String()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFaultsAreByOperationAndZone(t *testing.T) {
	w := start(t)
	z := w.zone("demo.internal", "vpc-1")
	w.faults.Add(fault.Throttle("route53", "ChangeResourceRecordSets", 1))
	one := change(types.ChangeActionUpsert, "a.demo.internal", types.RRTypeA, "10.0.0.1")
	wiretest.WantCode(t, w.change(z, one), "Throttling")
	if err := w.change(z, one); err != nil {
		t.Error(err)
	}
	w.faults.Add(fault.Rule{Service: "route53", Operation: "GetHostedZone", Name: (*z)[len("/hostedzone/"):], Deny: true})
	_, err := w.GetHostedZone(t.Context(), &awsroute53.GetHostedZoneInput{Id: z})
	wiretest.WantCode(t, err, "AccessDenied")
	if calls := w.faults.Calls(); calls["route53/ChangeResourceRecordSets"] != 2 || calls["route53/CreateHostedZone"] != 1 {
		t.Errorf("calls %v", calls)
	}
}

func TestManyAtOnce(t *testing.T) {
	w := start(t)
	z := w.zone("demo.internal", "vpc-1")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := "n" + strconv.Itoa(i) + ".demo.internal"
			for range 10 {
				if err := w.change(z, change(types.ChangeActionUpsert, name, types.RRTypeA, "10.0.0.1")); err != nil {
					t.Error(err)
				}
				w.service.Resolve("vpc-1", name)
				if err := w.change(z, change(types.ChangeActionDelete, name, types.RRTypeA, "10.0.0.1")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if zones, records := w.service.Zones("123456789012"); zones != 1 || records != 0 {
		t.Errorf("%d zones with %d records", zones, records)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-route53-hostedzone.html
func TestPrivateZoneOfAStackHasNoNameServers(t *testing.T) {
	w := start(t)
	provider := w.service.Providers()["AWS::Route53::HostedZone"]
	for name, vpcs := range map[string][]any{"example.com": nil, "demo.internal": {map[string]any{"VPCId": "vpc-1", "VPCRegion": "us-east-1"}}} {
		made, err := provider.Create(t.Context(), resource.Request{
			Account: "123456789012", Region: "us-east-1", Properties: map[string]any{"Name": name, "VPCs": vpcs},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, has := made.Attributes["NameServers"]; has != (vpcs == nil) {
			t.Errorf("the attributes of the zone %s are %v", name, made.Attributes)
		}
	}
}
