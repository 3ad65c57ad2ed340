package render

import (
	"errors"
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
	// Field is the entry of spec.writeTo that asks for it, and whose name must be used; empty if the
	// model does.
	Field string
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
		if reveal(service.ExternalName, facts.Secrets) != service.ExternalName {
			return nil, fmt.Errorf("Service %s would show the value of a Secret as its externalName", service.Name)
		}
		if service.ExternalName != "" {
			services = append(services, service)
		}
	}
	return services, nil
}

// MissingValueError means that a ConfigMap, Secret or Service needs a value that the object does
// not have.
type MissingValueError struct {
	// Kind and Name identify what needs the value; the name may be empty.
	Kind, Name string
	// Field is the key or field that contains the value.
	Field string
	// Value is the expression of the value.
	Value string
	// Entry is the entry of spec.writeTo that contains the expression; empty if the model does.
	Entry string
}

// Error names the value and what needs it.
func (e *MissingValueError) Error() string {
	return fmt.Sprintf("%s needs {{ %s }} for its %s, which has no value", strings.TrimSpace(e.Kind+" "+e.Name), e.Value, e.Field)
}

// text renders one text of a ConfigMap, Secret or Service. The error is a *MissingValueError if the
// text prints an unset value.
func text(t *model.Text, data map[string]any, kind, name, field string) (string, error) {
	rendered, err := t.ExecuteSet(data)
	if unset, ok := errors.AsType[*model.UnsetError](err); ok {
		return "", &MissingValueError{Kind: kind, Name: name, Field: field, Value: unset.Value}
	}
	if err != nil {
		return "", fmt.Errorf("render the %s of %s: %w", field, strings.TrimSpace(kind+" "+name), err)
	}
	return rendered, nil
}

// optional is text for a field that may be empty: the result is empty if nothing is left without
// the unset values.
func optional(t *model.Text, data map[string]any, kind, name, field string) (string, error) {
	rendered, err := text(t, data, kind, name, field)
	if missing, ok := errors.AsType[*MissingValueError](err); ok {
		if rest, err := t.Execute(data); err != nil || strings.TrimSpace(rest) != "" {
			return "", missing
		}
		return "", nil
	}
	return strings.TrimSpace(rendered), err
}

// renderService renders a Service, whose ExternalName is empty if it is not to be created.
func renderService(s model.Service, data map[string]any) (Service, error) {
	const kind = "Service"
	name, err := text(s.Name, data, kind, "", "name")
	if err != nil {
		return Service{}, err
	}
	service := Service{ID: s.ID, Name: ServiceName(strings.TrimSpace(name))}
	if service.ExternalName, err = optional(s.ExternalName, data, kind, service.Name, "externalName"); err != nil || service.ExternalName == "" {
		return service, err
	}
	portText, err := optional(s.Port, data, kind, service.Name, "port")
	if err != nil {
		return Service{}, err
	}
	if portText != "" {
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
	return renderData("ConfigMap", m, m.ConfigMaps, obj, facts, services)
}

// Secrets returns the Secrets for an object with outputs.
func Secrets(m *model.Model, obj *v1alpha1.Object, facts Facts, services map[string]string) ([]Data, error) {
	return renderData("Secret", m, m.Secrets, obj, facts, services)
}

func renderData(
	kind string, m *model.Model, wanted []model.Data, obj *v1alpha1.Object, facts Facts, services map[string]string,
) ([]Data, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	data, err := outputScope(m, obj, facts, services)
	if err != nil {
		return nil, err
	}
	var out []Data
	for _, w := range wanted {
		one := Data{Values: map[string]string{}}
		if one.Name, err = text(w.Name, data, kind, "", "name"); err != nil {
			return nil, err
		}
		one.Name = strings.TrimSpace(one.Name)
		for _, key := range slices.Sorted(maps.Keys(w.Values)) {
			value, err := text(w.Values[key], data, kind, one.Name, "key "+key)
			if err != nil {
				return nil, err
			}
			if one.Values[key] = reveal(value, facts.Secrets); one.Values[key] != value && kind != kindSecret {
				return nil, fmt.Errorf("key %s of %s %s would show the value of a Secret; write it to a Secret", key, kind, one.Name)
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
	data := scope(obj, m, spec, facts)
	output := map[string]any{}
	for name, value := range obj.Status.Output {
		output[name] = value.Text
	}
	names := map[string]any{}
	for id, name := range services {
		names[id] = name
	}
	data["output"], data["services"] = output, names
	return data, nil
}
