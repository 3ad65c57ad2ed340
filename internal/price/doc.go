// Package price computes what AWS charges in a month for the resources of CloudFormation templates,
// before and after a change.
//
// A [List] has the prices, by region and by the usage types that AWS's bills show, such as
// NatGateway-Hours. [Builtin] is the copy in the repository; package offer makes a newer one from
// AWS's own price lists. [Compare] takes stacks before and after a change and returns a line for
// each part of each resource that costs something else afterwards, and the totals.
//
// What is not known is never counted as nothing: a part is priced, or charged by usage, or unknown,
// and the totals say how many are unknown. Instances cost what they cost on demand, without
// discounts, free tiers and taxes; spot instances cost at most that. If the number or the type of
// instances is not fixed, the price is a range. The package is pure.
package price
