package access

// CalledVia is the condition key of the service that calls on behalf of a principal, in lower case.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-calledvia
const CalledVia = "aws:calledvia"
