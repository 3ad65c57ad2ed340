package bootstrap_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// fingerprint is all that machines and AWS are given: every bundle's hash and every template with
// its parameters and tags.
func (f fixture) fingerprint() (map[string]string, error) {
	c, g, err := f.resolve()
	if err != nil {
		return nil, err
	}
	prints := map[string]string{}
	note := func(s *render.Stack, err error) error {
		if err != nil {
			return err
		}
		prints["template "+s.Name] = string(s.Template.CanonicalJSON()) + fmt.Sprint(s.Parameters, s.Tags, s.Policy)
		prints["shape "+s.Name] = s.Shape()
		return nil
	}
	base, err := render.Base(c)
	if err := note(base, err); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for name := range base.Template.Outputs {
		values[name] = "the-" + name
	}
	maps.Copy(values, outputs)
	for _, slot := range c.Slots {
		b, err := bootstrap.ControlPlane(c, slot.Index, values)
		if err != nil {
			return nil, err
		}
		prints["bundle "+slot.StackName], prints["parts "+slot.StackName] = b.Hash(), fmt.Sprint(b.Parts())
		if err := note(render.Slot(c, slot.Index, values, b.Hash())); err != nil {
			return nil, err
		}
	}
	b, err := bootstrap.Worker(c, g, values, []byte(caCertificate))
	if err != nil {
		return nil, err
	}
	prints["bundle "+g.StackName], prints["parts "+g.StackName] = b.Hash(), fmt.Sprint(b.Parts())
	return prints, note(render.Group(c, g, values, b.Hash()))
}

// needNoNode are the fields that change neither a bundle nor a template, each with its reason.
var needNoNode = map[string]string{
	"cluster.spec.release":                            "a name; what the release holds counts",
	"cluster.spec.role.externalID":                    "who makes the cluster, not what it is",
	"cluster.spec.identity":                           "who makes the cluster, not what it is",
	"cluster.spec.paused":                             "whether the operator acts",
	"cluster.spec.controlPlaneEndpoint":               "what the operator reports to Cluster API",
	"group.spec.providerIDList":                       "what the operator reports to Cluster API",
	"cluster.spec.updatePolicy":                       "when the operator acts",
	"cluster.spec.volumePolicy":                       "heeded when the cluster is deleted",
	"cluster.spec.addons":                             "installed in the running cluster",
	"cluster.spec.iam.hostedZones":                    "for the roles of optional addons, of which the cluster names none",
	"cluster.spec.controlPlane.repair":                "when slots are replaced, not what they are",
	"cluster.spec.backup":                             "when snapshots are taken",
	"group.spec.rollingUpdate.surge":                  "heeded by the operator's own engine, not by AWS",
	"group.spec.rollingUpdate.canary":                 "heeded by the operator's own engine, not by AWS",
	"group.spec.repair":                               "when nodes are replaced, not what they are",
	"group.spec.taints.timeAdded":                     "set by Kubernetes on nodes, of no meaning in a spec",
	"group.spec.updatePolicy":                         "when the operator acts",
	"release.spec.state":                              "for users",
	"release.spec.addons":                             "installed in the running cluster",
	"release.spec.artifacts.version":                  "for users: the hash identifies what is installed",
	"release.spec.artifacts.sources.arm64":            "instances of another architecture",
	"release.spec.artifacts.sources.amd64.unverified": "only set for an artifact without a hash",
	"release.spec.images.arm64":                       "instances of another architecture",
}

// along holds what has to change with a field, or in place of the fixture's, for the cluster to be
// valid still.
var along = map[string]func(*fixture){
	"cluster.spec.release": func(f *fixture) { f.release.Name = "v1.36.3x" },
	"cluster.spec.region": func(f *fixture) {
		zones := []string{"us-east-1a", "us-east-1b", "us-east-1c"}
		f.cluster.Spec.Network.Zones, f.cluster.Spec.ControlPlane.Zones, f.group.Spec.Zones = zones, zones, zones
		f.cluster.Spec.API.Audit.Ship.KMSKeyARN, f.cluster.Spec.API.Encryption.KMSKeyARN = "", ""
	},
	"cluster.spec.network.zones": func(f *fixture) { f.cluster.Spec.ControlPlane.Zones, f.group.Spec.Zones = nil, nil },
	"cluster.spec.network.vpc": func(f *fixture) {
		f.existing.ID = "vpc-0123456789abcdef9"
	},
	"cluster.spec.network.subnets.zone": func(f *fixture) {
		f.cluster.Spec.ControlPlane.Zones = nil
		f.existing.Subnets[0].Zone = "eu-central-1d"
	},
	"cluster.spec.network.subnets.role": func(f *fixture) {
		f.cluster.Spec.ControlPlane.Zones = nil
		f.cluster.Spec.Network.Subnets = slices.Delete(f.cluster.Spec.Network.Subnets, 3, 4)
	},
	"cluster.spec.addons.disabled":              func(f *fixture) { f.cluster.Spec.Addons[0] = v1alpha1.Addon{Name: "cni"} },
	"cluster.spec.controlPlane.etcdVolume.type": func(f *fixture) { f.cluster.Spec.ControlPlane.EtcdVolume.ThroughputMiBps = 0 },
	"cluster.spec.controlPlane.rootVolume.type": func(f *fixture) { f.cluster.Spec.ControlPlane.RootVolume.ThroughputMiBps = 0 },
	"group.spec.rootVolume.type":                func(f *fixture) { f.group.Spec.RootVolume.ThroughputMiBps = 0 },
	"group.spec.replicas":                       func(f *fixture) { f.group.Spec.Autoscale, f.group.Spec.Replicas = false, new(int32(4)) },
	"group.spec.manager": func(f *fixture) {
		s := &f.group.Spec
		f.release.Spec.ResourceSet = "1.2.0"
		s.MinSize, s.Replicas, s.Autoscale, s.Spot, s.Placement, s.CapacityReservation = 0, nil, false, nil, nil, nil
	},
	"group.spec.volumes.type": func(f *fixture) { f.group.Spec.Volumes[0].ThroughputMiBps = 0 },
	"group.spec.architecture": func(f *fixture) { f.group.Spec.InstanceTypes = []string{"m7g.large"} },
	"group.spec.cluster":      func(f *fixture) { f.cluster.Name = "demox" },
	"release.spec.images.amd64.byRegion": func(f *fixture) {
		image := f.release.Spec.Images[v1alpha1.AMD64]
		image.Parameter, image.ByRegion = "", map[string]string{"eu-central-1": "ami-0123456789abcde"}
		f.release.Spec.Images[v1alpha1.AMD64] = image
	},
	"release.spec.images.arm64.byRegion": func(f *fixture) {
		image := f.release.Spec.Images[v1alpha1.ARM64]
		image.Parameter, image.ByRegion = "", map[string]string{"eu-central-1": "ami-0123456789abcde"}
		f.release.Spec.Images[v1alpha1.ARM64] = image
	},
}

// other holds another valid value for fields that do not take just any.
var other = map[string]any{
	"cluster.spec.region":                       "us-east-1",
	"cluster.spec.role.arn":                     "arn:aws:iam::123456789012:role/other",
	"cluster.spec.network.cidr":                 "10.1.0.0/16",
	"cluster.spec.network.zones":                []string{"eu-central-1a", "eu-central-1b", "eu-central-1d"},
	"cluster.spec.network.topology":             "Public",
	"cluster.spec.network.nat":                  "Single",
	"cluster.spec.network.podCIDR":              "100.80.0.0/13",
	"cluster.spec.network.serviceCIDR":          "172.21.0.0/16",
	"cluster.spec.network.nodeLocalDNS.forward": "CoreDNS",
	"cluster.spec.network.subnets.id":           "subnet-0123456789abcdef8",
	"cluster.spec.network.subnets.zone":         "eu-central-1d",
	"cluster.spec.network.vpc":                  "vpc-0123456789abcdef9",
	"cluster.spec.network.subnets.role":         "Public",
	"cluster.spec.api.access":                   "Internal",
	"cluster.spec.api.allowedCIDRs":             []string{"198.51.100.0/24"},
	"cluster.spec.api.audit.policy":             &runtime.RawExtension{Raw: []byte(`{"rules":[{"level":"Request"}]}`)},
	"cluster.spec.api.audit.ship.account":       "111111111111",
	"cluster.spec.api.audit.ship.kmsKeyARN":     "arn:aws:kms:eu-central-1:210987654321:key/2",
	"cluster.spec.api.encryption.kmsKeyARN":     "arn:aws:kms:eu-central-1:210987654321:key/3",
	"cluster.spec.api.authentication": &runtime.RawExtension{Raw: []byte(`{"jwt":[{"issuer":{"url":"https://other.example.com",` +
		`"audiences":["kubernetes"]},"claimMappings":{"username":{"claim":"sub","prefix":"oidc:"}}}]}`)},
	"cluster.spec.bastion.allowedCIDRs":            []string{"198.51.100.0/24"},
	"cluster.spec.ssh.allowedCIDRs":                []string{"198.51.100.0/24"},
	"cluster.spec.controlPlane.replicas":           int32(1),
	"cluster.spec.controlPlane.instanceType":       "m6i.xlarge",
	"cluster.spec.controlPlane.zones":              []string{"eu-central-1c", "eu-central-1b", "eu-central-1a"},
	"cluster.spec.controlPlane.image":              "ami-0123456789abcdef0",
	"cluster.spec.controlPlane.restoreSnapshot":    "snap-0123456789abcdef0",
	"cluster.spec.bastion.instanceType":            "t3.small",
	"cluster.spec.updatePolicy":                    "Manual",
	"cluster.spec.volumePolicy":                    "Delete",
	"cluster.spec.serviceAccountIssuer.url":        "https://other.example.com",
	"cluster.spec.iam.permissionsBoundary":         "arn:aws:iam::123456789012:policy/other",
	"cluster.spec.iam.imageRepositories":           []string{"team/other"},
	"cluster.spec.iam.controlPlanePolicies":        []string{"arn:aws:iam::aws:policy/Z"},
	"cluster.spec.iam.workerPolicies":              []string{"arn:aws:iam::aws:policy/Z"},
	"cluster.spec.controlPlane.securityGroups":     []string{"sg-0123456789abcdef9"},
	"cluster.spec.api.securityGroups":              []string{"sg-0123456789abcdef9"},
	"cluster.spec.controlPlane.etcdVolume.type":    "io2",
	"cluster.spec.controlPlane.rootVolume.type":    "io2",
	"group.spec.rootVolume.type":                   "io2",
	"group.spec.volumes.type":                      "io2",
	"cluster.spec.nodes.files.content":             "Ygo=",
	"cluster.spec.nodes.files.encoding":            "",
	"cluster.spec.nodes.files.mode":                "0600",
	"cluster.spec.nodes.units.name":                "other.service",
	"cluster.spec.nodes.units.state":               "Installed",
	"cluster.spec.nodes.units.dropIns.name":        "20-nice.conf",
	"cluster.spec.controlPlane.files.content":      "Ygo=",
	"cluster.spec.controlPlane.files.encoding":     "",
	"cluster.spec.controlPlane.files.mode":         "0600",
	"cluster.spec.controlPlane.units.name":         "other.service",
	"cluster.spec.controlPlane.units.state":        "Installed",
	"cluster.spec.controlPlane.units.dropIns.name": "20-nice.conf",
	"group.spec.files.content":                     "Ygo=",
	"group.spec.files.encoding":                    "",
	"group.spec.files.mode":                        "0600",
	"group.spec.units.name":                        "other.service",
	"group.spec.units.state":                       "Installed",
	"group.spec.units.dropIns.name":                "20-nice.conf",
	"group.spec.instanceTypes":                     []string{"m6i.xlarge"},
	"group.spec.architecture":                      "arm64",
	"group.spec.manager":                           "Karpenter",
	"group.spec.zones":                             []string{"eu-central-1b"},
	"group.spec.subnets":                           []string{"subnet-0123456789abcdef8"},
	"group.spec.image":                             "ami-0123456789abcdef0",
	"group.spec.spot.strategy":                     "capacity-optimized",
	"group.spec.spot.maxPrice":                     "0.20",
	"group.spec.securityGroups":                    []string{"sg-0123456789abcdef9"},
	"group.spec.taints.effect":                     "NoExecute",
	"group.spec.volumes.device":                    "/dev/sdh",
	"group.spec.rollingUpdate.engine":              "Operator",
	"group.spec.rollingUpdate.onDrainTimeout":      "Abandon",
	"group.spec.rollingUpdate.surge":               new(intstr.FromInt32(1)),
	"group.spec.taints.timeAdded":                  "set by Kubernetes on nodes, of no meaning in a spec",
	"group.spec.updatePolicy":                      "Manual",
	"release.spec.kubernetes":                      "v1.36.4",
	"release.spec.resourceSet":                     "1.0.0",
	"release.spec.state":                           "Deprecated",
}

// TestEveryFieldShapesSomething changes each field of Cluster, InstanceGroup and Release in turn. A
// field that changes nothing that a machine or AWS is given must be on the list, with the reason;
// one on the list must change nothing.
func TestEveryFieldShapesSomething(t *testing.T) {
	scenarios := map[string]func() fixture{"a new VPC": newFixture, "existing gateways": behindGateways, "an existing VPC": inExistingVPC}
	shapes := map[string]bool{}
	problems := map[string][]string{}
	for name, scenario := range scenarios {
		before, err := scenario().fingerprint()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, path := range fieldsOf(scenario()) {
			f := scenario()
			if with := along[path]; with != nil && (f.existing != nil || !strings.HasSuffix(path, "network.vpc")) {
				with(&f)
			}
			if !f.change(t, path) {
				problems[path] = append(problems[path], name+": it is not set")
				continue
			}
			after, err := f.fingerprint()
			if err != nil {
				problems[path] = append(problems[path], fmt.Sprintf("%s: %v", name, err))
				continue
			}
			shapes[path] = shapes[path] || !maps.Equal(before, after)
			for key := range after {
				if stack, is := strings.CutPrefix(key, "bundle "); is && (before[key] != after[key]) != (before["parts "+stack] != after["parts "+stack]) {
					t.Errorf("%s: changing %s changes the bundle of stack %s, but not its parts, or the other way round", name, path, stack)
				}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(problems)) {
		_, tried := shapes[path]
		if _, listed := reasonFor(path); !tried && !listed {
			t.Errorf("%s was not tried: %s", path, strings.Join(problems[path], "; "))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(shapes)) {
		reason, listed := reasonFor(path)
		if !shapes[path] && !listed {
			t.Errorf("changing %s changes neither a bundle nor a template, and it is not on the list of those that need not", path)
		}
		if shapes[path] && listed {
			t.Errorf("changing %s changes a bundle or a template; the list says it need not: %s", path, reason)
		}
	}
}

// replaceNoNode are the fields of a group that change its stack, and yet replace none of its nodes,
// each with its reason.
var replaceNoNode = map[string]string{
	"group.spec.minSize":       "machines come or go, and the others stay",
	"group.spec.maxSize":       "machines come or go, and the others stay",
	"group.spec.tags":          "those of new machines and of the Auto Scaling group: what is there keeps its own",
	"group.spec.autoscale":     "a tag of the Auto Scaling group",
	"group.spec.rollingUpdate": "how nodes are replaced, not what they are",
}

// TestWhatReplacesNodes changes each field of an InstanceGroup in turn: whatever shapes a node
// replaces the group's nodes, and nothing else does.
func TestWhatReplacesNodes(t *testing.T) {
	for name, scenario := range map[string]func() fixture{"a new VPC": newFixture, "an existing VPC": inExistingVPC} {
		before, err := scenario().fingerprint()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := scenario()
		stack := model.GroupStackName(f.cluster.Name, f.group.Name)
		for _, path := range fieldsOf(f) {
			f := scenario()
			if !strings.HasPrefix(path, "group.") || path == "group.spec.cluster" || !f.change(t, path) {
				continue
			}
			if with := along[path]; with != nil {
				with(&f)
			}
			after, err := f.fingerprint()
			if err != nil || maps.Equal(before, after) {
				continue
			}
			replaces := before["shape "+stack] != after["shape "+stack]
			reason, listed := reasonIn(replaceNoNode, path)
			switch {
			case replaces && listed:
				t.Errorf("%s: changing %s replaces nodes; the list says it need not: %s", name, path, reason)
			case !replaces && !listed:
				t.Errorf("%s: changing %s replaces no node, and it is not on the list of those that need not", name, path)
			}
		}
	}
}

// reasonFor returns why a field needs no node: its own reason or that of what it is part of.
func reasonFor(path string) (string, bool) { return reasonIn(needNoNode, path) }

func reasonIn(reasons map[string]string, path string) (string, bool) {
	for path != "" {
		if reason, ok := reasons[path]; ok {
			return reason, true
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return "", false
}

// roots are the specs whose fields are tried.
func (f *fixture) roots() map[string]reflect.Value {
	return map[string]reflect.Value{
		"cluster.spec": reflect.ValueOf(&f.cluster.Spec).Elem(),
		"group.spec":   reflect.ValueOf(&f.group.Spec).Elem(),
		"release.spec": reflect.ValueOf(&f.release.Spec).Elem(),
	}
}

// fieldsOf returns the paths of all fields that have no fields of their own.
func fieldsOf(f fixture) []string {
	var paths []string
	for name, root := range f.roots() {
		walk(root, name, func(path string, _ reflect.Value) { paths = append(paths, path) })
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// change gives a field another value, and says whether the fixture has it.
func (f *fixture) change(t *testing.T, path string) bool {
	t.Helper()
	changed := false
	for name, root := range f.roots() {
		walk(root, name, func(at string, value reflect.Value) {
			if at == path && !changed {
				changed = alter(t, path, value)
			}
		})
	}
	return changed
}

// walk visits the leafs: through pointers, the first element of lists of structs, each key of maps
// of structs.
func walk(v reflect.Value, path string, visit func(string, reflect.Value)) {
	switch {
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct && isOurs(v.Type().Elem()):
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case v.Kind() == reflect.Struct && isOurs(v.Type()):
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			at := path
			if name != "" {
				at += "." + name
			}
			walk(v.Field(i), at, visit)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && isOurs(v.Type().Elem()):
		if v.Len() > 0 {
			walk(v.Index(0), path, visit)
		}
	case v.Kind() == reflect.Map && isOurs(v.Type().Elem()):
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			walk(element, path+"."+key.String(), func(at string, leaf reflect.Value) {
				visit(at, leaf)
				v.SetMapIndex(key, element)
			})
		}
	default:
		visit(path, v)
	}
}

// isOurs says whether a struct's fields are fields of the API, and not the inside of a value.
func isOurs(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && (strings.Contains(t.PkgPath(), "cluster/v1alpha1") || t.Name() == "Taint")
}

// alter gives a leaf another value. It says false for one that the fixture does not set.
func alter(t *testing.T, path string, v reflect.Value) bool {
	t.Helper()
	if value, ok := other[path]; ok {
		if v.IsZero() && v.Kind() != reflect.Bool && !mayBeUnset(path) {
			return false
		}
		v.Set(reflect.ValueOf(value).Convert(v.Type()))
		return true
	}
	switch v.Kind() {
	case reflect.String:
		if v.String() == "" {
			return false
		}
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		if v.Len() == 0 {
			return false
		}
		v.Set(reflect.Append(v, reflect.ValueOf(v.Index(0).String()+"x").Convert(v.Type().Elem())))
	case reflect.Map:
		return alterMap(v)
	case reflect.Pointer:
		return alterPointer(t, path, v)
	default:
		t.Fatalf("%s is a %s, which this test cannot change", path, v.Type())
	}
	return true
}

// mayBeUnset says whether a field has a value to try although the fixture leaves it out.
func mayBeUnset(path string) bool {
	return strings.HasSuffix(path, ".image") || strings.HasSuffix(path, ".restoreSnapshot")
}

func alterMap(v reflect.Value) bool {
	for _, key := range v.MapKeys() {
		v.SetMapIndex(key, reflect.ValueOf(v.MapIndex(key).String()+"1"))
		return true
	}
	return false
}

func alterPointer(t *testing.T, path string, v reflect.Value) bool {
	t.Helper()
	if v.IsNil() {
		return false
	}
	switch inner := v.Elem(); inner.Type().Name() {
	case "Duration":
		inner.Field(0).SetInt(inner.Field(0).Int() + int64(time.Minute))
	case "IntOrString":
		inner.FieldByName("IntVal").SetInt(inner.FieldByName("IntVal").Int() - 1)
	case "RawExtension":
		inner.FieldByName("Raw").SetBytes([]byte(`{"b":2}`))
	case "int32":
		inner.SetInt(inner.Int() + 1)
	case "Time":
		return false
	default:
		t.Fatalf("%s is a %s, which this test cannot change", path, v.Type())
	}
	return true
}
