package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

// call checks one intrinsic and its arguments.
func (c *checker) call(n *Node, s scope) {
	function := intrinsicByName[n.Func]
	if function == nil {
		c.problem(n.Pos, s.path, "there is no function "+n.Func, Closest(n.Func, slices.Collect(maps.Keys(intrinsicByName))))
		return
	}
	c.place(n, function, s)
	if !c.shape(n, function, s) {
		return
	}
	for _, ref := range n.ownReferences() {
		c.reference(ref, s)
	}
	below := s.at(n.Func)
	if function.maxArgs > 0 && n.Arg.Kind != List {
		c.value(n.Arg, below)
		return
	}
	switch n.Func {
	case "Condition":
		c.condition(n.Arg.Text, n.Pos, s.path)
		return
	case "Fn::And", "Fn::Or", "Fn::Not":
		for _, item := range n.Arg.Items {
			c.isCondition(item, below.path)
		}
	case "Fn::If":
		c.ifCondition(n.Arg.Items[0], below)
	case "Fn::FindInMap":
		c.findInMap(n, below)
	case "Fn::Sub":
		c.sub(n, below)
	}
	c.value(n.Arg, below)
}

func (c *checker) ifCondition(name *Node, s scope) {
	if name.Kind == String {
		c.condition(name.Text, name.Pos, s.path)
		return
	}
	if !s.loop {
		c.problem(name.Pos, s.path, "the first argument of Fn::If is the name of a condition, not "+name.describe(), "")
	}
}

// place checks that a function is allowed in its position.
func (c *checker) place(n *Node, function *intrinsic, s scope) {
	switch {
	case function.place == conditionsAndRules && !s.conditions:
		c.problem(n.Pos, s.path, n.Func+" may be used only in Conditions and Rules; use Fn::If with the name of a condition", "")
	case function.place == rulesOnly && !s.rules:
		c.problem(n.Pos, s.path, n.Func+" may be used only in Rules", "")
	case n.Func == "Fn::GetAtt" && !s.resources:
		c.problem(n.Pos, s.path, "conditions and rules cannot use Fn::GetAtt; they can refer only to parameters", "")
	}
}

// shape checks the type and number of a function's arguments.
func (c *checker) shape(n *Node, function *intrinsic, s scope) bool {
	ok := n.Arg != nil
	switch {
	case !ok:
	case function.maxArgs > 0 && n.Arg.Kind == List:
		ok = len(n.Arg.Items) >= function.minArgs && len(n.Arg.Items) <= function.maxArgs
	case function.maxArgs > 0:
		// Language extensions compute argument lists, so a call that may return a list is accepted.
		ok = n.Arg.Kind == Intrinsic && c.extended
	default:
		ok = singleArgument(n)
	}
	if !ok {
		c.problem(n.Pos, s.path, "wrong arguments for "+n.Func+"; the syntax is "+function.usage, "")
		return false
	}
	return c.argumentKinds(n, s)
}

func singleArgument(n *Node) bool {
	switch n.Func {
	case "Ref", "Condition", "Fn::RefAll":
		return n.Arg.Kind == String
	case "Fn::Sub":
		text, variables := n.SubArguments()
		return text != nil && (variables == nil || variables.Kind == Map)
	case "Fn::Base64", "Fn::ImportValue", "Fn::GetAZs":
		return n.Arg.Kind == Intrinsic || n.Arg.IsScalar()
	case "Fn::Length":
		return n.Arg.Kind == List || n.Arg.Kind == Intrinsic
	case "Fn::ToJsonString":
		return n.Arg.Kind == List || n.Arg.Kind == Map || n.Arg.Kind == Intrinsic
	case "Fn::Transform":
		return n.Arg.Get("Name") != nil
	default:
		return true
	}
}

// argumentKinds checks the arguments whose types the function defines.
func (c *checker) argumentKinds(n *Node, s scope) bool {
	if n.Arg.Kind != List {
		return true
	}
	before := len(c.problems)
	switch n.Func {
	case "Fn::Join":
		c.argument(n, 0, "a string", (*Node).IsScalar, s)
		c.argument(n, 1, "a list", isListLike, s)
	case "Fn::Split":
		c.argument(n, 0, "a string", (*Node).IsScalar, s)
		c.argument(n, 1, "a string", isScalarLike, s)
	case "Fn::Select":
		c.argument(n, 0, "a number", isIndexLike, s)
		c.argument(n, 1, "a list", isListLike, s)
	case "Fn::Cidr":
		c.argument(n, 0, "a CIDR block", isScalarLike, s)
		c.argument(n, 1, "a number", isIndexLike, s)
	}
	return len(c.problems) == before
}

func (c *checker) argument(n *Node, index int, what string, fits func(*Node) bool, s scope) {
	arg := n.Arg.Items[index]
	if fits(arg) || c.extended && arg.Kind == Intrinsic {
		return
	}
	c.problem(arg.Pos, s.path, fmt.Sprintf("argument %d of %s must be %s, not %s; the syntax is %s",
		index+1, n.Func, what, arg.describe(), intrinsicByName[n.Func].usage), "")
}

func isScalarLike(n *Node) bool { return n.IsScalar() || n.Kind == Intrinsic && !returnsList(n) }

func isListLike(n *Node) bool {
	return n.Kind == List || n.Kind == Intrinsic && n.Func != "Fn::Join" && n.Func != "Fn::Sub" && n.Func != "Fn::Base64"
}

func isIndexLike(n *Node) bool {
	if n.Kind == Intrinsic {
		return !returnsList(n)
	}
	text, ok := n.Scalar()
	if !ok {
		return false
	}
	_, err := strconv.Atoi(text)
	return err == nil
}

func returnsList(n *Node) bool {
	return n.Func == "Fn::GetAZs" || n.Func == "Fn::Split" || n.Func == "Fn::Cidr"
}

// sub checks the names in a Fn::Sub's text and that its variables are used.
func (c *checker) sub(n *Node, s scope) {
	text, variables := n.SubArguments()
	used := map[string]bool{}
	for _, part := range ParseSub(text.Text) {
		used[part.Variable] = true
		if strings.IndexFunc(part.Variable, notInVariable) >= 0 {
			c.problem(
				text.Pos,
				s.path,
				"the variable ${"+part.Variable+"} of Fn::Sub may hold only letters, digits, '_', '.' and ':'; write ${!"+
					part.Variable+"} to keep the text as it is",
				"",
			)
		}
	}
	if variables == nil {
		return
	}
	for _, field := range variables.Fields {
		if !used[field.Key] {
			c.problem(field.KeyPos, s.path, "the text of Fn::Sub does not use the variable "+field.Key, "")
		}
	}
}

func notInVariable(r rune) bool {
	return notAlphanumeric(r) && r != '_' && r != '.' && r != ':' && r != '&'
}

// findInMap checks the mapping's name and its keys if they are literals.
func (c *checker) findInMap(n *Node, s scope) {
	if c.expanded {
		return
	}
	level, missing := c.t.Mappings, "there is no mapping "
	for i, item := range n.Arg.Items[:3] {
		// A fourth argument is the default for missing keys.
		name, literal := item.Scalar()
		if !literal || len(n.Arg.Items) > 3 && i > 0 {
			return
		}
		next := level.Get(name)
		if next == nil {
			c.problem(item.Pos, s.path, missing+name, Closest(name, level.keys()))
			return
		}
		level, missing = next, "mapping "+n.Arg.Items[0].Text+" has no key "
		if i == 1 {
			missing += name + "/"
		}
	}
}

func (n *Node) keys() []string {
	if n == nil {
		return nil
	}
	keys := make([]string, len(n.Fields))
	for i := range n.Fields {
		keys[i] = n.Fields[i].Key
	}
	return keys
}
