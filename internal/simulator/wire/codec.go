package wire

import (
	"errors"
	"io"
)

// RegisterUnion announces the members of a union: an interface type of an SDK
// types package (as a nil pointer to it) and one pointer to each member struct.
// Member names follow from the struct names: AttributeValueMemberS is "S".
//
//	wire.RegisterUnion((*types.AttributeValue)(nil), &types.AttributeValueMemberS{}, …)
func RegisterUnion(iface any, members ...any) {}

// DecodeXML decodes an XML document into an SDK type, for REST-XML bodies.
func (s *Service) DecodeXML(r io.Reader, v any) error { return errors.ErrUnsupported }

// EncodeXML encodes an SDK type as an XML document with the given root element.
func (s *Service) EncodeXML(w io.Writer, root string, v any) error { return errors.ErrUnsupported }
