package route53

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const maxBody = 1 << 20

// routes returns the handler of the REST API, and the operations by pattern.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_Operations_Amazon_Route_53.html
func (s *Service) routes() (*http.ServeMux, map[string]string) {
	mux := http.NewServeMux()
	operations := map[string]string{}
	add := func(pattern, operation string, h http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		pattern = method + " /2013-04-01/" + path
		mux.HandleFunc(pattern, h)
		operations[pattern] = operation
	}
	created := http.StatusCreated
	add("POST hostedzone", "CreateHostedZone", serve(s, created, s.createHostedZone, nil))
	add("GET hostedzone", "ListHostedZones", serve(s, 0, s.listHostedZones, func(q *http.Request, in *route53.ListHostedZonesInput) {
		in.Marker, in.MaxItems = param(q, "marker"), count(q)
	}))
	add("GET hostedzonesbyname", "ListHostedZonesByName", serve(s, 0, s.listHostedZonesByName, func(q *http.Request, in *route53.ListHostedZonesByNameInput) {
		in.DNSName, in.HostedZoneId, in.MaxItems = param(q, "dnsname"), param(q, "hostedzoneid"), count(q)
	}))
	add("GET hostedzonesbyvpc", "ListHostedZonesByVPC", serve(s, 0, s.listHostedZonesByVPC, func(q *http.Request, in *route53.ListHostedZonesByVPCInput) {
		in.VPCId, in.VPCRegion = param(q, "vpcid"), types.VPCRegion(aws.ToString(param(q, "vpcregion")))
	}))
	add("GET hostedzonecount", "GetHostedZoneCount", serve(s, 0, s.getHostedZoneCount, nil))
	add("GET hostedzone/{id}", "GetHostedZone", serve(s, 0, s.getHostedZone, func(q *http.Request, in *route53.GetHostedZoneInput) { in.Id = id(q) }))
	add("GET hostedzone/{id}/dnssec", "GetDNSSEC", serve(s, 0, s.getDNSSEC, func(q *http.Request, in *route53.GetDNSSECInput) { in.HostedZoneId = id(q) }))
	add("DELETE hostedzone/{id}", "DeleteHostedZone", serve(s, 0, s.deleteHostedZone, func(q *http.Request, in *route53.DeleteHostedZoneInput) { in.Id = id(q) }))
	add("POST hostedzone/{id}", "UpdateHostedZoneComment", serve(s, 0, s.updateComment, func(q *http.Request, in *route53.UpdateHostedZoneCommentInput) {
		in.Id = id(q)
	}))
	add("POST hostedzone/{id}/associatevpc", "AssociateVPCWithHostedZone", serve(s, 0, s.associateVPC, func(q *http.Request, in *route53.AssociateVPCWithHostedZoneInput) {
		in.HostedZoneId = id(q)
	}))
	add("POST hostedzone/{id}/disassociatevpc", "DisassociateVPCFromHostedZone", serve(s, 0, s.disassociateVPC, func(q *http.Request, in *route53.DisassociateVPCFromHostedZoneInput) {
		in.HostedZoneId = id(q)
	}))
	add("POST hostedzone/{id}/rrset", "ChangeResourceRecordSets", serve(s, 0, s.changeRecords, func(q *http.Request, in *route53.ChangeResourceRecordSetsInput) {
		in.HostedZoneId = id(q)
	}))
	add("GET hostedzone/{id}/rrset", "ListResourceRecordSets", serve(s, 0, s.listRecords, func(q *http.Request, in *route53.ListResourceRecordSetsInput) {
		in.HostedZoneId, in.MaxItems, in.StartRecordName = id(q), count(q), param(q, "name")
		in.StartRecordType = types.RRType(aws.ToString(param(q, "type")))
	}))
	add("GET change/{id}", "GetChange", serve(s, 0, s.getChange, func(q *http.Request, in *route53.GetChangeInput) { in.Id = id(q) }))
	add("GET tags/{kind}/{id}", "ListTagsForResource", serve(s, 0, s.listTags, func(q *http.Request, in *route53.ListTagsForResourceInput) {
		in.ResourceId, in.ResourceType = id(q), types.TagResourceType(q.PathValue("kind"))
	}))
	add("POST tags/{kind}/{id}", "ChangeTagsForResource", serve(s, 0, s.changeTags, func(q *http.Request, in *route53.ChangeTagsForResourceInput) {
		in.ResourceId, in.ResourceType = id(q), types.TagResourceType(q.PathValue("kind"))
	}))
	add("POST tags/{kind}", "ListTagsForResources", serve(s, 0, s.listTagsOfMany, func(q *http.Request, in *route53.ListTagsForResourcesInput) {
		in.ResourceType = types.TagResourceType(q.PathValue("kind"))
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		s.fail(w, req, &wire.Error{Code: "InvalidAction", Message: "The simulator's Route 53 has no operation at " + req.Method + " " + req.URL.Path + ".", Status: http.StatusNotImplemented})
	})
	return mux, operations
}

func id(req *http.Request) *string {
	value := req.PathValue("id")
	return aws.String(trimID(&value))
}

func param(req *http.Request, name string) *string {
	if v := req.URL.Query().Get(name); v != "" {
		return &v
	}
	return nil
}

func count(req *http.Request) *int32 {
	n, err := strconv.ParseInt(req.URL.Query().Get("maxitems"), 10, 32)
	if err != nil || n <= 0 {
		return nil
	}
	return aws.Int32(int32(n))
}

// serve makes an operation from a function on the SDK's types: it decodes the body into the input,
// and fill adds the parameters in path and query.
func serve[I, O any](s *Service, status int, fn func(account string, in *I) (*O, error), fill func(*http.Request, *I)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		in := new(I)
		if req.Method == http.MethodPost {
			if err := s.wire.DecodeXML(http.MaxBytesReader(w, req.Body, maxBody), in); err != nil {
				s.fail(w, req, invalidInput("Invalid XML ; %s", err))
				return
			}
		}
		if fill != nil {
			fill(req, in)
		}
		call := wire.CallFrom(req.Context())
		out, err := locked(s, func() (*O, error) { return fn(call.Account, in) })
		if err != nil {
			s.fail(w, req, err)
			return
		}
		var body bytes.Buffer
		root := strings.TrimSuffix(reflect.TypeFor[O]().Name(), "Output") + "Response"
		if err := s.wire.EncodeXML(&body, root, out); err != nil {
			s.fail(w, req, err)
			return
		}
		header := w.Header()
		header.Set("Content-Type", "text/xml")
		header.Set("X-Amzn-Requestid", call.RequestID)
		if f := reflect.ValueOf(out).Elem().FieldByName("Location"); f.IsValid() && !f.IsNil() {
			header.Set("Location", f.Elem().String())
		}
		w.WriteHeader(max(status, http.StatusOK))
		_, _ = w.Write(body.Bytes()) // a write fails only if the client has disconnected
	}
}

func locked[O any](s *Service, fn func() (*O, error)) (*O, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fn()
}

func (s *Service) fail(w http.ResponseWriter, req *http.Request, err error) {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		e = &wire.Error{Code: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError}
	}
	wire.WriteError(w, s.wire, wire.RESTXML, wire.CallFrom(req.Context()), e)
}
