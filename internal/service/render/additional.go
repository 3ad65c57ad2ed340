package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Data is a ConfigMap or Secret for an object.
type Data struct {
	// Name is the wanted name.
	Name string
	// Values are the keys and values.
	Values map[string]string
}

// Service is a Service of type ExternalName for an object.
type Service struct {
	// ID is the Service's name in the expressions of ConfigMaps and Secrets; may be empty.
	ID string
	// Name is the wanted name.
	Name string
	// ExternalName is the DNS name that the Service points to.
	ExternalName string
	// Port is 0 for none.
	Port int32
}

// Services returns the Services for an object with outputs.
func Services(m *model.Model, obj *v1alpha1.Object, facts Facts) ([]Service, error) {
	if len(m.Services) == 0 {
		return nil, nil
	}
	data, err := outputScope(m, obj, facts, nil)
	if err != nil {
		return nil, err
	}
	var services []Service
	for _, s := range m.Services {
		service, err := renderService(s, data)
		if err != nil {
			return nil, err
		}
		if service.ExternalName != "" {
			services = append(services, service)
		}
	}
	return services, nil
}

func renderService(s model.Service, data map[string]any) (Service, error) {
	name, err := s.Name.Execute(data)
	if err != nil {
		return Service{}, fmt.Errorf("render a Service's name: %w", err)
	}
	external, err := s.ExternalName.Execute(data)
	if err != nil {
		return Service{}, fmt.Errorf("render a Service's external name: %w", err)
	}
	portText, err := s.Port.Execute(data)
	if err != nil {
		return Service{}, fmt.Errorf("render a Service's port: %w", err)
	}
	service := Service{ID: s.ID, Name: ServiceName(strings.TrimSpace(name)), ExternalName: strings.TrimSpace(external)}
	if portText = strings.TrimSpace(portText); portText != "" {
		port, err := strconv.ParseInt(portText, 10, 32)
		if err != nil || port < 1 || port > 65535 {
			return Service{}, fmt.Errorf("the port of Service %s is %q, which is not a port number", service.Name, portText)
		}
		service.Port = int32(port)
	}
	return service, nil
}

// ConfigMaps returns the ConfigMaps for an object with outputs. Services are the names of the
// created Services, by ID.
func ConfigMaps(m *model.Model, obj *v1alpha1.Object, facts Facts, services map[string]string) ([]Data, error) {
	return renderData(m, m.ConfigMaps, obj, facts, services)
}

// Secrets returns the Secrets for an object with outputs.
func Secrets(m *model.Model, obj *v1alpha1.Object, facts Facts, services map[string]string) ([]Data, error) {
	return renderData(m, m.Secrets, obj, facts, services)
}

func renderData(m *model.Model, wanted []model.Data, obj *v1alpha1.Object, facts Facts, services map[string]string) ([]Data, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	data, err := outputScope(m, obj, facts, services)
	if err != nil {
		return nil, err
	}
	var out []Data
	for _, w := range wanted {
		name, err := w.Name.Execute(data)
		if err != nil {
			return nil, fmt.Errorf("render a name: %w", err)
		}
		one := Data{Name: strings.TrimSpace(name), Values: map[string]string{}}
		for _, key := range slices.Sorted(maps.Keys(w.Values)) {
			if one.Values[key], err = w.Values[key].Execute(data); err != nil {
				return nil, fmt.Errorf("render %s of %s: %w", key, one.Name, err)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// outputScope is the data of templates once there are outputs.
func outputScope(m *model.Model, obj *v1alpha1.Object, facts Facts, services map[string]string) (map[string]any, error) {
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	data := scope(obj, m.Kind, spec, facts)
	output := map[string]any{}
	for name, value := range obj.Output {
		output[name] = value.Text
	}
	names := map[string]any{}
	for id, name := range services {
		names[id] = name
	}
	data["output"], data["services"] = output, names
	return data, nil
}
