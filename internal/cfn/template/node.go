package template

// Kind is the kind of value in a [Node].
type Kind int

// Kinds of a node.
const (
	// Null is YAML's and JSON's null, which CloudFormation refuses in most places.
	Null Kind = iota
	// Bool is true or false.
	Bool
	// Number is a number as it was written.
	Number
	// String is text.
	String
	// List is a sequence of nodes.
	List
	// Map is a set of named nodes.
	Map
	// Intrinsic is a call of one of CloudFormation's functions.
	Intrinsic
)

// String returns the kind's name for error messages.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case List:
		return "list"
	case Map:
		return "map"
	case Intrinsic:
		return "intrinsic function"
	default:
		return "unknown"
	}
}

// Node is one value of a template tree. Kind determines which fields are set.
type Node struct {
	// Kind determines which of the other fields contain the value.
	Kind Kind
	// Pos is where the value begins.
	Pos Position
	// Bool is the value of a Bool.
	Bool bool
	// Text is the value of a String and the literal of a Number.
	Text string
	// Items are the elements of a List.
	Items []*Node
	// Fields are the members of a Map in source order. Printing sorts them.
	Fields []Field
	// Func is an Intrinsic's long name: "Ref", "Condition", "Fn::GetAtt" …
	Func string
	// Arg is an Intrinsic's argument. For Fn::GetAtt it is always a List of the logical ID and the
	// attribute, whose parts are joined by dots.
	Arg *Node
}

// Field is one member of a Map.
type Field struct {
	// Key is the member's name.
	Key string
	// KeyPos is the position of the name.
	KeyPos Position
	// Value is the member's value.
	Value *Node
}

// Get returns the value of a Map's member, nil if n is not a Map or has no such member.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return n.Fields[i].Value
		}
	}
	return nil
}

// IsScalar reports whether n is a string, a number or a boolean.
func (n *Node) IsScalar() bool {
	return n != nil && (n.Kind == String || n.Kind == Number || n.Kind == Bool)
}

// Scalar returns the text that CloudFormation uses for a string, number or boolean, and whether n
// is one of these.
func (n *Node) Scalar() (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.Kind == String, n.Kind == Number:
		return n.Text, true
	case n.Kind == Bool && n.Bool:
		return "true", true
	case n.Kind == Bool:
		return "false", true
	default:
		return "", false
	}
}

// IsNoValue reports whether n is a Ref to AWS::NoValue, which omits the value.
func (n *Node) IsNoValue() bool {
	return n != nil && n.Kind == Intrinsic && n.Func == "Ref" &&
		n.Arg != nil && n.Arg.Kind == String && n.Arg.Text == "AWS::NoValue"
}

// NewString returns a String node.
func NewString(text string) *Node { return &Node{Kind: String, Text: text} }

// NewBool returns a Bool node.
func NewBool(value bool) *Node { return &Node{Kind: Bool, Bool: value} }

// NewNumber returns a Number node of a literal such as "5".
func NewNumber(literal string) *Node { return &Node{Kind: Number, Text: literal} }

// NewList returns a List node.
func NewList(items ...*Node) *Node { return &Node{Kind: List, Items: items} }

// NewRef returns a Ref to a parameter, a resource or a pseudo parameter.
func NewRef(target string) *Node {
	return &Node{Kind: Intrinsic, Func: "Ref", Arg: NewString(target)}
}

// NewGetAtt returns a Fn::GetAtt of a resource's attribute.
func NewGetAtt(logicalID, attribute string) *Node {
	return &Node{Kind: Intrinsic, Func: "Fn::GetAtt", Arg: NewList(NewString(logicalID), NewString(attribute))}
}
